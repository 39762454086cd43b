"""The three networks of rapidocr-onnxruntime, each with the shapes that its plan must serve."""

import dataclasses
import pathlib

import rapidocr_onnxruntime

Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Network:
    name: str
    file: str
    smallest: Shape  # The optimization profile: batch x 3 x height x width.
    usual: Shape
    largest: Shape

    @property
    def path(self) -> pathlib.Path:
        return pathlib.Path(rapidocr_onnxruntime.__file__).parent / "models" / self.file


DETECTOR = Network(
    "detector",
    "ch_PP-OCRv4_det_infer.onnx",
    smallest=(1, 3, 32, 32),
    usual=(1, 3, 736, 1472),
    largest=(1, 3, 6016, 6016),
)
CLASSIFIER = Network(
    "classifier",
    "ch_ppocr_mobile_v2.0_cls_infer.onnx",
    smallest=(1, 3, 48, 192),
    usual=(6, 3, 48, 192),
    largest=(6, 3, 48, 192),
)
RECOGNIZER = Network(
    "recognizer", "ch_PP-OCRv4_rec_infer.onnx", smallest=(1, 3, 48, 48), usual=(6, 3, 48, 640), largest=(6, 3, 48, 4096)
)
NETWORKS = (DETECTOR, CLASSIFIER, RECOGNIZER)
