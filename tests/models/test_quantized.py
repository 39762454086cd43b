"""Networks that quantize and dequantize between their layers, beside ONNX Runtime, which adds in another order."""

import pathlib

import numpy as np
import onnxruntime
import plans
import pytest
import quantized_models
import references
from zoo import image


def plain_session(path: pathlib.Path) -> onnxruntime.InferenceSession:
    """ONNX Runtime without optimizations: the arithmetic of the Q/DQ network in float32, as it is written."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = references.THREADS
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def within_one_step(got: np.ndarray, want: np.ndarray) -> float:
    """Share of the values that are at most a step apart; results are quantized, so that they are whole steps apart."""
    differences = np.diff(np.unique(want))
    steps = np.abs(got - want) / differences[differences > 1e-6].min()
    assert steps.max() <= 3.01
    return float((steps <= 1.01).mean())


@pytest.mark.parametrize(("name", "batch"), [("qdq_resnet18", 1), ("qdq_resnet18", 3), ("resnet50", 1)])
def test_quantized_network_rounds_as_onnxruntime_does(name: str, batch: int, tmp_path) -> None:
    model = image(name)
    onnx = quantized_models.materialize(name) if name == "resnet50" else model.path
    path = tmp_path / "quantized.plan"
    path.write_bytes(plans.build(model, path=onnx))
    feed = references.inputs(model, {"input": (batch, 3, 224, 224)}, 0)
    (got,) = plans.Session(path)(feed).values()
    (want,) = references.ort_outputs(references.ort_session(onnx), feed).values()
    assert got.dtype == want.dtype and got.shape == want.shape
    # A sum on the edge between two numbers falls to either side, and what follows spreads that: ONNX Runtime differs
    # from itself, too, where it adds integers instead of floats.
    (plain,) = references.ort_outputs(plain_session(onnx), feed).values()
    own = min(within_one_step(plain, want), 0.999)
    assert max(within_one_step(got, want), within_one_step(got, plain)) >= own - 0.002
    np.testing.assert_array_equal(got.argmax(-1), want.argmax(-1))
