"""RapidOCR on Tenon: its three session attributes, replaced by engines after construction."""

import pathlib

import numpy as np
import tensorrt as trt
from engine import Engine
from fit import run_within
from networks import CLASSIFIER, DETECTOR, RECOGNIZER, Network
from rapidocr_onnxruntime import RapidOCR


class PlanSession:
    """Stands where RapidOCR keeps an ONNX Runtime session: called with one array, answers a list of arrays."""

    def __init__(self, network: Network, path: pathlib.Path, logger: trt.Logger) -> None:
        self.network = network
        self.engine = Engine(path, logger)

    def __call__(self, data: np.ndarray) -> list[np.ndarray]:
        return [run_within(self.network, self.engine, data)]


def reader_on_tenon(plans: dict[str, pathlib.Path], logger: trt.Logger) -> RapidOCR:
    """RapidOCR, complete with its character table, whose networks run from the plans."""
    reader = RapidOCR()
    reader.text_det.infer = PlanSession(DETECTOR, plans[DETECTOR.name], logger)
    reader.text_cls.infer = PlanSession(CLASSIFIER, plans[CLASSIFIER.name], logger)
    reader.text_rec.session = PlanSession(RECOGNIZER, plans[RECOGNIZER.name], logger)
    return reader


def sessions_of(reader: RapidOCR) -> tuple[PlanSession, PlanSession, PlanSession]:
    return reader.text_det.infer, reader.text_cls.infer, reader.text_rec.session
