"""Large weights at addresses of a model's file that are no multiple of four: plans and results are those of a model in
which they lie well."""

import pathlib

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper as on
import pytest
import small
import tensorrt as trt
from fake_gpu import needs_fake_gpu, on_fake_gpu

LOGGER = small.Recorder()
WIDTH = 256  # A matrix of float32 has 256 KiB: as many bytes as stay in the file.
FLOAT, BOOL, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL, onnx.TensorProto.INT64
ALIGNED, ODD, HALF = (0, 0, 0), (1, 2, 3), (2, 3, 1)  # Of each initializer's place in the file, modulo four.
GRAPHS = ("dense", "convolution", "branch", "loop")


def values(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32) / np.float32(16)


def body(name: str, nodes: list[onnx.NodeProto], inputs: list[tuple], outputs: list[tuple]) -> onnx.GraphProto:
    infos = [[oh.make_tensor_value_info(*each) for each in some] for some in (inputs, outputs)]
    return oh.make_graph(nodes, name, *infos)


def nodes_of(graph: str) -> list[onnx.NodeProto]:
    rows = (4, WIDTH)
    if graph == "dense":
        return [
            oh.make_node("MatMul", ["x", "w0"], ["product"]),
            oh.make_node("Relu", ["product"], ["positive"]),
            oh.make_node("Gemm", ["positive", "w1"], ["y0"], transB=1),
            oh.make_node("MatMul", ["y0", "w2"], ["y"]),
        ]
    if graph == "convolution":
        return [
            oh.make_node("Conv", ["x", "w0"], ["convolved"], pads=[1, 1, 1, 1]),
            oh.make_node("Relu", ["convolved"], ["positive"]),
            oh.make_node("Conv", ["positive", "w1"], ["y0"], pads=[1, 1, 1, 1]),
            oh.make_node("Conv", ["y0", "w2"], ["y"]),
        ]
    if graph == "branch":
        one = [oh.make_node("MatMul", ["h", "w1"], ["then"])]
        other = [oh.make_node("MatMul", ["h", "w2"], ["m"]), oh.make_node("Relu", ["m"], ["else"])]
        return [
            oh.make_node("MatMul", ["x", "w0"], ["h"]),
            oh.make_node(
                "If", ["is"], ["y"],
                then_branch=body("one", one, [], [("then", FLOAT, rows)]),
                else_branch=body("other", other, [], [("else", FLOAT, rows)]),
            ),
        ]  # fmt: skip
    step = [
        oh.make_node("Identity", ["goes"], ["goes on"]),
        oh.make_node("MatMul", ["state", "w1"], ["m"]),
        oh.make_node("Add", ["m", "x"], ["sum"]),
        oh.make_node("Tanh", ["sum"], ["next"]),
    ]
    inputs = [("i", INT64, []), ("goes", BOOL, []), ("state", FLOAT, rows)]
    outputs = [("goes on", BOOL, []), ("next", FLOAT, rows)]
    return [
        oh.make_node("MatMul", ["x", "w0"], ["h"]),
        oh.make_node("Loop", ["count", "", "h"], ["last"], body=body("step", step, inputs, outputs)),
        oh.make_node("MatMul", ["last", "w2"], ["y"]),
    ]


def feeds_of(graph: str) -> list[dict[str, np.ndarray]]:
    x = values(9, 1, 64, 8, 8) if graph == "convolution" else values(9, 4, WIDTH)
    if graph == "branch":
        return [{"x": x, "is": np.array(answer)} for answer in (True, False)]
    return [{"x": x}]


def weights_of(graph: str, seed: int) -> list[np.ndarray]:
    shapes = [(WIDTH, WIDTH)] * 3
    if graph == "convolution":
        shapes = [(128, 64, 3, 3), (64, 128, 3, 3), (1024, 64, 1, 1)]
    return [values(seed + i, *shape) for i, shape in enumerate(shapes)]


def model(graph: str, places: tuple[int, ...], seed: int = 1) -> bytes:
    """Its initializers lie where `places` says; what moves them stands in texts that nobody reads."""
    weights = weights_of(graph, seed)
    tensors = [on.from_array(array, f"w{i}") for i, array in enumerate(weights)]
    if graph == "loop":
        tensors.append(on.from_array(np.array(3, np.int64), "count"))
    kinds = {np.dtype(np.float32): FLOAT, np.dtype(bool): BOOL}
    ends = [oh.make_tensor_value_info(name, kinds[a.dtype], a.shape) for name, a in feeds_of(graph)[0].items()]
    made = oh.make_model(
        oh.make_graph(nodes_of(graph), graph, ends, [onnx.ValueInfoProto(name="y")], tensors),
        opset_imports=[oh.make_opsetid("", 17)],
        ir_version=8,
    )
    initializers = made.graph.initializer
    for i, place in enumerate(places):
        for count in range(1, 5):
            if i == 0:
                made.producer_name = "x" * count
            else:
                initializers[i - 1].doc_string = "x" * count  # It stands behind the elements.
            if made.SerializeToString().index(initializers[i].raw_data) % 4 == place:
                break
    data = made.SerializeToString()
    assert tuple(data.index(weight.tobytes()) % 4 for weight in weights) == places
    return data


class Built:
    """A network that is parsed from a file, and what was built of it."""

    def __init__(self, folder: pathlib.Path, data: bytes, mode: str) -> None:
        file = folder / "model.onnx"
        file.write_bytes(data)  # Mapped files begin at a page, so that places are addresses.
        self.builder = trt.Builder(LOGGER)
        self.network = self.builder.create_network()
        self.parser = trt.OnnxParser(self.network, LOGGER)
        assert self.parser.parse_from_file(str(file)), LOGGER.errors()
        self.config = self.builder.create_builder_config()
        self.config.clear_flag(trt.BuilderFlag.TF32)
        if mode != "FP32":
            self.config.set_flag(getattr(trt.BuilderFlag, mode))
        if mode == "INT8":
            for i in range(self.network.num_layers):
                layer = self.network.get_layer(i)
                for j in range(layer.num_outputs):
                    layer.get_output(j).dynamic_range = (-4.0, 4.0)
            self.network.get_input(0).dynamic_range = (-0.5, 0.5)
        self.plans = [self.build(), self.build()]

    def build(self) -> bytes:
        plan = self.builder.build_serialized_network(self.network, self.config)
        assert plan is not None, LOGGER.errors()
        return bytes(plan)

    def engine(self) -> trt.ICudaEngine:
        engine = trt.Runtime(LOGGER).deserialize_cuda_engine(self.plans[0])
        assert engine is not None, LOGGER.errors()
        return engine


def results(engine: trt.ICudaEngine, graph: str) -> list[np.ndarray]:
    context, found = engine.create_execution_context(), []
    for feed in feeds_of(graph):
        y = np.full(tuple(engine.get_tensor_shape("y")), np.nan, np.float32)
        for name, array in (feed | {"y": y}).items():
            context.set_tensor_address(name, array.ctypes.data)
        assert context.execute_async_v3(0), LOGGER.errors()
        found.append(y)
    return found


def expected(graph: str, seed: int = 1) -> list[np.ndarray]:
    """By hand, for products of matrices."""
    w0, w1, w2 = (array.astype(np.float64) for array in weights_of(graph, seed))
    feeds = feeds_of(graph)
    h = feeds[0]["x"] @ w0
    if graph == "dense":
        return [np.maximum(h, 0) @ w1.T @ w2]
    if graph == "branch":
        return [h @ w1, np.maximum(h @ w2, 0)]
    for _ in range(3):
        h = np.tanh(h @ w1 + feeds[0]["x"])
    return [h @ w2]


def plans(folder: pathlib.Path, graph: str, mode: str) -> set[bytes]:
    """Different ones of two builds each, with weights here and there."""
    return {plan for places in (ALIGNED, ODD) for plan in Built(folder, model(graph, places), mode).plans}


@pytest.mark.parametrize("mode", ["FP32", "FP16", "BF16", "INT8", "REFIT"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_plans_and_results_are_those_of_weights_that_lie_well(graph: str, mode: str, tmp_path: pathlib.Path) -> None:
    well = Built(tmp_path, model(graph, ALIGNED), mode)
    reference = results(well.engine(), graph)
    if mode in ("FP32", "REFIT") and graph != "convolution":
        for found, by_hand in zip(reference, expected(graph), strict=True):
            np.testing.assert_allclose(found, by_hand, rtol=1e-4, atol=1e-5)
    for places in (ODD, HALF):
        badly = Built(tmp_path, model(graph, places), mode)
        for found, other in zip(results(badly.engine(), graph), reference, strict=True):
            assert np.isfinite(found).all() and found.any()
            np.testing.assert_array_equal(found, other)
        assert {*badly.plans} == {*well.plans} and len({*well.plans}) == 1


@pytest.mark.parametrize("graph", GRAPHS)
def test_a_refit_takes_weights_that_lie_badly(graph: str, tmp_path: pathlib.Path) -> None:
    engine = Built(tmp_path, model(graph, ODD), "REFIT").engine()
    refitter = trt.Refitter(engine, LOGGER)
    parser = trt.OnnxParserRefitter(refitter, LOGGER)
    other = tmp_path / "other.onnx"
    other.write_bytes(model(graph, HALF, seed=40))
    assert parser.refit_from_file(str(other)) and refitter.refit_cuda_engine(), LOGGER.errors()
    fresh = Built(tmp_path, model(graph, ALIGNED, seed=40), "REFIT").engine()
    for found, anew in zip(results(engine, graph), results(fresh, graph), strict=True):
        np.testing.assert_array_equal(found, anew)


@needs_fake_gpu
def test_on_a_gpu_plans_are_those_of_weights_that_lie_well(tmp_path: pathlib.Path) -> None:
    script = f"""
import pathlib, test_weights_where_they_lie as here
for graph, mode in (("dense", "FP16"), ("branch", "FP32")):
    print(len(here.plans(pathlib.Path({str(tmp_path)!r}), graph, mode)))
"""
    assert on_fake_gpu(script).split() == ["1", "1"]


@pytest.mark.parametrize("graph", ["dense", "convolution"])
def test_arrays_of_weights_that_lie_badly_are_right(graph: str, tmp_path: pathlib.Path) -> None:
    """In NumPy's eyes they are not aligned, so that it copies what it computes with."""
    network = Built(tmp_path, model(graph, ODD), "FP32").network
    found = []
    for i in range(network.num_layers):
        layer = network.get_layer(i)
        if layer.type == trt.LayerType.CONSTANT:
            layer.__class__ = trt.IConstantLayer
            found.append(layer.weights)
        elif layer.type == trt.LayerType.CONVOLUTION:
            layer.__class__ = trt.IConvolutionLayer
            found.append(layer.kernel)
    large = [array for array in found if array.nbytes >= WIDTH * WIDTH * 4]
    for array, known in zip(large, weights_of(graph, 1), strict=True):
        assert array.ctypes.data % 4 != 0 and not array.flags.aligned and not array.flags.owndata
        np.testing.assert_array_equal(array, known.reshape(-1))
        np.testing.assert_array_equal(array * np.float32(2), known.reshape(-1) * np.float32(2))
        assert array[7] == known.reshape(-1)[7] and array.max() == known.max()
        np.testing.assert_array_equal(np.sort(array.copy()), np.sort(known, axis=None))
