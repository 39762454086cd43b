"""Bytes with zero points between layers, as ONNX Runtime's quantizer writes them: int8 kernels on the CPU, and numbers
beside ONNX Runtime's of the same graph in float32."""

import numpy as np
import onnx
import onnxruntime
import pytest
import tenon
from onnx import helper, numpy_helper
from running import plan_of, run

SHAPE = (2, 6, 11, 9)


class Graph:
    """Nodes with Q/DQ around them; numbers of weights have a scale per channel and no zero point."""

    def __init__(self, kind: type, seed: int):
        self.kind, self.random = kind, np.random.default_rng(seed)
        self.nodes, self.constants, self.quantized = [], [], []

    def constant(self, array: np.ndarray) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, inputs: list[str], **attributes) -> str:
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def rounded(self, x: str, scale: float, zero: int) -> str:
        numbers = [self.constant(np.float32(scale).reshape(())), self.constant(np.array(zero, self.kind))]
        quantized = self.node("QuantizeLinear", [x, *numbers])
        self.quantized.append(quantized)
        return self.node("DequantizeLinear", [quantized, *numbers])

    def weights(self, axis: int, *shape: int) -> str:
        numbers = self.random.integers(-127, 128, shape).astype(np.int8)
        scales = self.random.uniform(0.002, 0.01, shape[axis]).astype(np.float32)
        zeros = self.constant(np.zeros(shape[axis], np.int8))
        return self.node("DequantizeLinear", [self.constant(numbers), self.constant(scales), zeros], axis=axis)

    def bias(self, count: int) -> str:
        return self.constant(self.random.uniform(-1, 1, count).astype(np.float32))

    def model(self, result: str, shape: tuple[int, ...] = SHAPE, kind: int = onnx.TensorProto.FLOAT) -> onnx.ModelProto:
        outputs = [helper.make_empty_tensor_value_info(name) for name in [result, *self.quantized]]
        given = helper.make_tensor_value_info("x", kind, shape)
        graph = helper.make_graph(self.nodes, "g", [given], outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def block(graph: Graph, zeros: tuple[int, int, int]) -> str:
    """A residual block behind a first convolution of few channels, with ReLU, pooling, depthwise and a product."""
    first, second, third = zeros
    x = graph.rounded("x", 0.02, first)
    x = graph.node("Conv", [x, graph.weights(0, 20, 6, 3, 3), graph.bias(20)], pads=[1, 1, 1, 1])
    x = graph.rounded(graph.node("Relu", [x]), 0.02, second)
    skip = x = graph.rounded(graph.node("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2]), 0.02, second)
    x = graph.node("Conv", [x, graph.weights(0, 20, 1, 3, 3), graph.bias(20)], pads=[1, 1, 1, 1], group=20)
    x = graph.rounded(x, 0.03, third)
    x = graph.node("Conv", [x, graph.weights(0, 20, 20, 1, 1), graph.bias(20)])
    x = graph.node("Add", [graph.rounded(x, 0.05, third), skip])
    x = graph.rounded(graph.node("Relu", [x]), 0.05, second)
    x = graph.node("Flatten", [x])
    columns = 20 * (SHAPE[2] // 2) * (SHAPE[3] // 2)
    x = graph.node("Gemm", [x, graph.weights(0, 12, columns), graph.bias(12)], transB=1)
    return graph.rounded(x, 0.2, third)


def reference(model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """As the graph is written: in float32, without optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return dict(zip([each.name for each in session.get_outputs()], session.run(None, feed), strict=True))


def kernels(plan: bytes) -> set[str]:
    steps = tenon.inspect(plan)["programs"][0]["steps"]
    return {each["kernel"] for each in steps} & {"int8_convolution", "int8_depthwise", "int8_product"}


def on_cpus(names: set[str]) -> set[str]:
    """GPUs have kernels of other names, and none for zero points."""
    return names if tenon.devices()["chosen"] == "cpu" else set()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("kind", "zeros"),
    [
        (np.uint8, (114, 0, 131)),
        (np.uint8, (255, 3, 128)),
        (np.uint8, (0, 77, 200)),
        (np.int8, (-14, -128, 3)),
        (np.int8, (127, 5, -128)),
    ],
)
def test_blocks_round_as_onnxruntime_does(kind: type, zeros: tuple[int, int, int], seed: int) -> None:
    graph = Graph(kind, seed)
    model = graph.model(block(graph, zeros))
    feed = {"x": graph.random.uniform(-2, 2, SHAPE).astype(np.float32)}
    want = reference(model, feed)
    plan = plan_of(model, [feed])
    assert kernels(plan) == on_cpus({"int8_convolution", "int8_depthwise", "int8_product"})
    (got,) = run(plan, [feed])
    apart = np.concatenate([np.abs(got[name].astype(int) - want[name]).ravel() for name in graph.quantized])
    assert all(got[name].dtype == kind for name in graph.quantized)
    assert (apart > 1).mean() <= 0.001 and (apart > 0).mean() <= 0.005
    # Without the numbers in the middle, so that layers are fused.
    del model.graph.output[1:]
    plan = plan_of(model, [feed])
    assert kernels(plan) == on_cpus({"int8_convolution", "int8_depthwise", "int8_product"})
    (fused,) = run(plan, [feed])
    (result,) = fused.values()
    np.testing.assert_allclose(result, got[model.graph.output[0].name], atol=0.201)


def test_an_input_of_bytes_is_multiplied_as_it_is() -> None:
    graph = Graph(np.uint8, 5)
    numbers = [graph.constant(np.float32(0.02).reshape(())), graph.constant(np.array(9, np.uint8))]
    x = graph.node("DequantizeLinear", ["x", *numbers])
    x = graph.node("Conv", [x, graph.weights(0, 8, 6, 3, 3), graph.bias(8)], pads=[1, 1, 1, 1])
    model = graph.model(graph.rounded(x, 0.1, 120), kind=onnx.TensorProto.UINT8)
    feed = {"x": graph.random.integers(0, 256, SHAPE).astype(np.uint8)}
    plan = plan_of(model, [feed])
    assert kernels(plan) == on_cpus({"int8_convolution"})
    (got,), want = run(plan, [feed]), reference(model, feed)
    for name, array in want.items():
        np.testing.assert_allclose(
            got[name].astype(float), array.astype(float), atol=1 if array.dtype == np.uint8 else 0.1001
        )


def test_weights_of_bytes_without_sign() -> None:
    """Those whose zero point is 128 are int8 numbers."""
    graph = Graph(np.uint8, 6)
    scales = graph.random.uniform(0.002, 0.01, 8).astype(np.float32)
    weights = graph.random.integers(0, 256, (8, 6, 3, 3)).astype(np.uint8)
    operands = [graph.constant(each) for each in (weights, scales, np.full(8, 128, np.uint8))]
    kernel = graph.node("DequantizeLinear", operands, axis=0)
    x = graph.node("Conv", [graph.rounded("x", 0.02, 100), kernel, graph.bias(8)])
    model = graph.model(graph.rounded(x, 0.1, 120))
    feed = {"x": graph.random.uniform(-2, 2, SHAPE).astype(np.float32)}
    plan = plan_of(model, [feed])
    assert kernels(plan) == on_cpus({"int8_convolution"})
    (got,), want = run(plan, [feed]), reference(model, feed)
    for name in graph.quantized:
        np.testing.assert_allclose(got[name].astype(int), want[name].astype(int), atol=1)


@pytest.mark.parametrize("kind", [np.uint8, np.int8])
def test_rounding_and_ends(kind: type) -> None:
    """Halves become even before the zero point is added; what is too large stops at the end of the type."""
    zeros = [0, 1, 3, np.iinfo(kind).min, np.iinfo(kind).max]
    values = np.concatenate([np.arange(-300, 300) * 0.5, [1e9, -1e9, 3e38, -3e38]]).astype(np.float32)
    for zero in zeros:
        graph = Graph(kind, 1)
        model = graph.model(graph.rounded("x", 1.0, zero), values.shape)
        (got,), want = run(plan_of(model, [{"x": values}]), [{"x": values}]), reference(model, {"x": values})
        for name, array in want.items():
            np.testing.assert_array_equal(got[name], array)
