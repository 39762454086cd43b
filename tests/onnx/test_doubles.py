"""Models with doubles: kept as float64, against NumPy and ONNX Runtime; in float where the user asks for it (W14)."""

import os
import subprocess
import sys

import numpy as np
import onnx
import onnx.helper as helper
import onnx.numpy_helper
import onnxruntime
import pytest
import tensorrt as trt
from running import plan_of, run, run_once

DOUBLE, FLOAT = onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT


def model_of(nodes: list, inputs: dict[str, tuple], output: int, constants: dict[str, np.ndarray]) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "doubles",
        [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info("y", output, None)],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def mixed_model() -> onnx.ModelProto:
    """Doubles from an input, raw initializers, an attribute and a cast."""
    rng = np.random.default_rng(1)
    nodes = [
        helper.make_node("Constant", [], ["c"], value=onnx.numpy_helper.from_array(np.array([0.1, 1 / 3, -2.7, 5.0]))),
        helper.make_node("Gemm", ["x", "w", "c"], ["g"]),
        helper.make_node("Cast", ["f"], ["wide"], to=DOUBLE),
        helper.make_node("Add", ["g", "wide"], ["s"]),
        helper.make_node("Clip", ["s", "low", "high"], ["k"]),
        helper.make_node("Softmax", ["k"], ["p"], axis=1),
        helper.make_node("ReduceMean", ["p", "axes"], ["m"], keepdims=1),
        helper.make_node("Sub", ["p", "m"], ["y"]),
    ]
    constants = {
        "w": rng.uniform(-1, 1, (5, 4)), "low": np.array(-0.3), "high": np.array(1 / 7), "axes": np.array([0]),
    }  # fmt: skip
    return model_of(nodes, {"x": (DOUBLE, ("n", 5)), "f": (FLOAT, ("n", 4))}, DOUBLE, constants)


def test_a_model_of_doubles_is_computed_in_double_at_several_shapes() -> None:
    rng = np.random.default_rng(2)
    model = mixed_model()
    feeds = [{"x": rng.uniform(-1, 1, (n, 5)), "f": rng.uniform(-1, 1, (n, 4)).astype(np.float32)} for n in (3, 1, 7)]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for found, feed in zip(run(plan_of(model, feeds), feeds), feeds, strict=True):
        assert found["y"].dtype == np.float64
        np.testing.assert_allclose(found["y"], session.run(None, feed)[0], rtol=1e-13, atol=1e-14)


def test_shapes_that_go_through_double_arithmetic_stay_shapes() -> None:
    """floor(extent * 1.5), as exporters write sizes of images."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Cast", ["shape"], ["wide"], to=DOUBLE),
        helper.make_node("Mul", ["wide", "scales"], ["scaled"]),
        helper.make_node("Floor", ["scaled"], ["whole"]),
        helper.make_node("Cast", ["whole"], ["sizes"], to=onnx.TensorProto.INT64),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest"),
    ]
    model = model_of(nodes, {"x": (FLOAT, (1, 2, "h", "w"))}, FLOAT, {"scales": np.array([1.0, 1.0, 1.5, 7 / 3])})
    feeds = [{"x": np.random.default_rng(3).uniform(size=(1, 2, h, w)).astype(np.float32)} for h, w in ((5, 4), (3, 6))]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for found, feed in zip(run(plan_of(model, feeds), feeds), feeds, strict=True):
        np.testing.assert_array_equal(found["y"], session.run(None, feed)[0])


TYPES = """
import sys, tensorrt as trt
class Logger(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.said = []
    def log(self, severity, text):
        self.said += [text] if severity <= trt.ILogger.Severity.WARNING else []
logger = Logger()
network = trt.Builder(logger).create_network(0)
parser = trt.OnnxParser(network, logger)
assert parser.parse(sys.stdin.buffer.read())
print(network.get_input(0).dtype, network.get_output(0).dtype, [text for text in logger.said if "double" in text])
"""


@pytest.mark.parametrize(
    ("wish", "kind", "says"),
    [
        ("", "FLOAT64", "computed in double, which is slow; TENON_DOUBLE=float"),
        ("keep", "FLOAT64", "computed in double"),
        ("float", "FLOAT", "they become float"),
    ],
)
def test_W14_doubles_become_float_where_the_user_asks_for_it(wish: str, kind: str, says: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TYPES], input=mixed_model().SerializeToString(), capture_output=True, check=True,
        env={**os.environ, "TENON_DOUBLE": wish},
    )  # fmt: skip
    said = done.stdout.decode()
    assert said.startswith(f"DataType.{kind} DataType.{kind} [") and said.count("elements of type double") == 1, said
    assert says in said


def test_doubles_are_refitted_by_the_names_of_the_model() -> None:
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, logger)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    w = np.random.default_rng(4).uniform(-1, 1, (3, 2))
    model = model_of(nodes, {"x": (DOUBLE, (4, 3))}, DOUBLE, {"w": w})
    assert parser.parse(model.SerializeToString())
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.REFIT)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    refitter = trt.Refitter(engine, logger)
    assert refitter.get_all_weights() == ["w"]
    assert refitter.get_weights_prototype("w").dtype == trt.float64
    assert refitter.set_named_weights("w", trt.Weights(np.ascontiguousarray(w * 0.7))) and refitter.refit_cuda_engine()
    x = np.random.default_rng(5).uniform(size=(4, 3))
    found = run_once(engine, engine.create_execution_context(), {"x": x})
    np.testing.assert_allclose(found["y"], x @ (w * 0.7), rtol=1e-13)
