"""A network that quantizes and dequantizes between its layers, beside ONNX Runtime, which adds in another order."""

import numpy as np
import plans
import pytest
import quantized_models
import references
from zoo import image


@pytest.mark.parametrize("batch", [1, 3])
def test_qdq_resnet18_rounds_as_onnxruntime_does(batch: int, tmp_path) -> None:
    model = image("qdq_resnet18")
    path = tmp_path / "qdq_resnet18.plan"
    path.write_bytes(plans.build(model))
    feed = references.inputs(model, {"input": (batch, 3, 224, 224)}, 0)
    (got,) = plans.Session(path)(feed).values()
    (want,) = references.ort_outputs(references.ort_session(model.path), feed).values()
    assert got.dtype == want.dtype and got.shape == want.shape
    differences = np.diff(np.unique(want))
    step = differences[differences > 1e-6].min()  # The result is quantized: its numbers are whole steps apart.
    steps = np.abs(got - want) / step
    assert (steps <= 1.01).mean() >= 0.999, "a value on the edge between two steps may fall to either side"
    assert steps.max() <= 3.01
    np.testing.assert_array_equal(got.argmax(-1), want.argmax(-1))


def test_quantized_resnet50_rounds_as_onnxruntime_does(tmp_path) -> None:
    model, quantized = image("resnet50"), quantized_models.materialize("resnet50")
    path = tmp_path / "resnet50.plan"
    path.write_bytes(plans.build(model, path=quantized))
    feed = references.inputs(model, {"input": (2, 3, 224, 224)}, 0)
    (got,) = plans.Session(path)(feed).values()
    (want,) = references.ort_outputs(references.ort_session(quantized), feed).values()
    differences = np.diff(np.unique(want))
    steps = np.abs(got - want) / differences[differences > 1e-6].min()
    assert (steps <= 1.01).mean() >= 0.999
