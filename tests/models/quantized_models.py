"""Quantized variants of the real models: int8 activations with one scale per tensor, int8 weights with one per channel.
Q/DQ layers stand around the operators (`qdq`), or these are operators of quantized numbers themselves (`integer`)."""

import os
import pathlib

import materialize as graphs
import numpy as np
import onnx
from onnxruntime import quantization
from onnxruntime.quantization import shape_inference


class Noise(quantization.CalibrationDataReader):
    """A few seeded random images: they only have to give every scale a sane size."""

    def __init__(self, count: int = 2) -> None:
        draw = np.random.default_rng(20240607)
        self._feeds = iter([{"input": draw.standard_normal((1, 3, 224, 224), np.float32)} for _ in range(count)])

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._feeds, None)


FORMATS = {"qdq": quantization.QuantFormat.QDQ, "integer": quantization.QuantFormat.QOperator}
# ONNX Runtime has QGemm for uint8 alone, and its means are not sums of integers.
INTEGER_OPERATORS = ["Conv", "Add", "MaxPool", "Relu", "Clip"]


def materialize(name: str, out: pathlib.Path = graphs.OUT, form: str = "qdq") -> pathlib.Path:
    """Path of FORM_NAME.onnx in `out`, made of NAME.onnx where it is missing or older."""
    source = graphs.materialize(name, out)
    path = out / f"{form}_{name}.onnx"
    if path.exists() and path.stat().st_mtime >= source.stat().st_mtime:
        return path
    unfinished = out / f".{form}_{name}.{os.getpid()}.onnx"  # A second process must never see half a model.
    if form == "integer":  # Initializers behind Identity nodes are none to the quantizer.
        prepared = out / f".{form}_{name}.{os.getpid()}.prepared.onnx"
        shape_inference.quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
        source = prepared
    quantization.quantize_static(
        str(source),
        str(unfinished),
        Noise(),
        quant_format=FORMATS[form],
        op_types_to_quantize=INTEGER_OPERATORS if form == "integer" else None,
        per_channel=True,
        activation_type=quantization.QuantType.QInt8,
        weight_type=quantization.QuantType.QInt8,
        extra_options={"ActivationSymmetric": True, "WeightSymmetric": True},
    )
    onnx.checker.check_model(str(unfinished))
    unfinished.replace(path)
    if form == "integer":
        source.unlink()
    return path
