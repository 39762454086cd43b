"""Q/DQ variants of the real models: int8 activations with one scale per tensor, int8 weights with one per channel."""

import os
import pathlib

import materialize as graphs
import numpy as np
import onnx
from onnxruntime import quantization


class Noise(quantization.CalibrationDataReader):
    """A few seeded random images: they only have to give every scale a sane size."""

    def __init__(self, count: int = 2) -> None:
        draw = np.random.default_rng(20240607)
        self._feeds = iter([{"input": draw.standard_normal((1, 3, 224, 224), np.float32)} for _ in range(count)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._feeds, None)


def materialize(name: str, out: pathlib.Path = graphs.OUT) -> pathlib.Path:
    """Path of qdq_NAME.onnx in `out`, made of NAME.onnx where it is missing or older."""
    source = graphs.materialize(name, out)
    path = out / f"qdq_{name}.onnx"
    if path.exists() and path.stat().st_mtime >= source.stat().st_mtime:
        return path
    unfinished = out / f".qdq_{name}.{os.getpid()}.onnx"  # A second process must never see half a model.
    quantization.quantize_static(
        str(source),
        str(unfinished),
        Noise(),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=True,
        activation_type=quantization.QuantType.QInt8,
        weight_type=quantization.QuantType.QInt8,
        extra_options={"ActivationSymmetric": True, "WeightSymmetric": True},
    )
    onnx.checker.check_model(str(unfinished))
    unfinished.replace(path)
    return path
