"""Numbers quantized in the run, and products of them, as exporters' dynamic quantization writes them."""

import json

import numpy as np
import onnx
import onnxruntime
import pytest
import tensorrt as trt
from onnx import helper, numpy_helper
from running import LOGGER, plan_of, run

FLOAT = onnx.TensorProto.FLOAT


def model(nodes: list[onnx.NodeProto], shape: tuple, outputs: list[str], *constants) -> onnx.ModelProto:
    infos = [helper.make_tensor_value_info("x", FLOAT, shape)]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = helper.make_graph(nodes, "g", infos, results, list(constants))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def quantized_products(shape: tuple, weights: list[np.ndarray]) -> onnx.ModelProto:
    """x quantized once, and as many products of it as there are weights."""
    nodes = [helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])]
    constants = []
    for i, weight in enumerate(weights):
        constants += [numpy_helper.from_array(weight, f"w{i}"),
                      numpy_helper.from_array(np.array(7, weight.dtype), f"wz{i}"),
                      numpy_helper.from_array(np.float32(0.01), f"ws{i}")]  # fmt: skip
        nodes += [helper.make_node("MatMulInteger", ["q", f"w{i}", "z", f"wz{i}"], [f"sums{i}"]),
                  helper.make_node("Cast", [f"sums{i}"], [f"real{i}"], to=FLOAT),
                  helper.make_node("Mul", ["s", f"ws{i}"], [f"scale{i}"]),
                  helper.make_node("Mul", [f"real{i}", f"scale{i}"], [f"y{i}"])]  # fmt: skip
    return model(nodes, shape, [f"y{i}" for i in range(len(weights))], *constants)


def steps_of(plan: bytes) -> list[str]:
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    text = engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON)
    return [str(layer) for layer in json.loads(text)["Layers"]]


@pytest.mark.parametrize("shape", [(1, 768), (1, 64, 56, 56)], ids=str)
def test_quantizing_is_a_look_at_the_range_and_one_step(shape: tuple[int, ...]) -> None:
    node = helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"])
    feed = {"x": np.random.default_rng(1).standard_normal(shape, np.float32)}
    assert len(steps_of(plan_of(model([node], shape, ["q", "s", "z"]), [feed]))) == 2


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
@pytest.mark.parametrize("low", [-3.0, 0.5, -9.0], ids=["both-sides", "above-zero", "wide"])
@pytest.mark.parametrize("count", [1, 3])
def test_products_are_those_of_onnxruntime(kind: type, low: float, count: int) -> None:
    generator = np.random.default_rng(2)
    limits = np.iinfo(kind)
    weights = [generator.integers(limits.min, limits.max + 1, (64, 48)).astype(kind) for _ in range(count)]
    made = quantized_products(("rows", 64), weights)
    feeds = [{"x": generator.uniform(low, 2, (rows, 64)).astype(np.float32)} for rows in (5, 1, 300)]
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")  # No sums that saturate without VNNI.
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    for feed, found in zip(feeds, run(plan_of(made, feeds), feeds), strict=True):
        for i, want in enumerate(session.run(None, feed)):
            np.testing.assert_allclose(found[f"y{i}"], want, rtol=1e-6, atol=1e-6)
