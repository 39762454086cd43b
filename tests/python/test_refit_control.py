"""Refitting ONNX models with If, Loop and Scan: weights of subgraphs, and of the graph around them."""

import numpy as np
import onnx
import onnx.helper as oh
import onnx.numpy_helper as on
import pytest
import small
import tensorrt as trt

LOGGER = small.Recorder()
FLOAT, BOOL, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL, onnx.TensorProto.INT64
ROUNDS, SIDE = 3, 6


def values(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def info(name: str, shape: list[int], kind: int = FLOAT) -> onnx.ValueInfoProto:
    return oh.make_tensor_value_info(name, kind, shape)


def tensors(**arrays: np.ndarray) -> list[onnx.TensorProto]:
    return [on.from_array(array, name) for name, array in arrays.items()]


def branch(name: str, seed: int, operator: str, shape: list[int]) -> onnx.GraphProto:
    """Both branches call their weights `w`."""
    node = oh.make_node(operator, ["x", "w"], [name], name=f"{name} of w")
    return oh.make_graph([node], name, [], [info(name, [1, SIDE])], tensors(w=values(seed, *shape)))


def round_of_loop(seed: int) -> onnx.GraphProto:
    nodes = [
        oh.make_node("Identity", ["on"], ["on_next"]),
        oh.make_node("MatMul", ["h", "inner"], ["product"], name="product"),
        oh.make_node("Add", ["product", "outer"], ["biased"], name="bias"),
        oh.make_node("Tanh", ["biased"], ["h_next"], name="tanh"),
        oh.make_node("Mul", ["h_next", "factor"], ["each"], name="each"),
    ]
    inputs = [info("i", [], INT64), info("on", [], BOOL), info("h", [1, SIDE])]
    outputs = [info("on_next", [], BOOL), info("h_next", [1, SIDE]), info("each", [1, SIDE])]
    weights = tensors(inner=values(seed, SIDE, SIDE), factor=values(seed + 1, 1, SIDE))
    return oh.make_graph(nodes, "round", inputs, outputs, weights)


def step_of_scan(seed: int) -> onnx.GraphProto:
    nodes = [
        oh.make_node("Mul", ["state", "decay"], ["decayed"], name="decay"),
        oh.make_node("Add", ["decayed", "row"], ["state_next"], name="add"),
        oh.make_node("Identity", ["state_next"], ["seen"]),
    ]
    inputs = [info("state", [1, SIDE]), info("row", [1, SIDE])]
    outputs = [info("state_next", [1, SIDE]), info("seen", [1, SIDE])]
    return oh.make_graph(nodes, "step", inputs, outputs, tensors(decay=values(seed, 1, SIDE)))


def model(seed: int) -> bytes:
    nodes = [
        oh.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        oh.make_node("Greater", ["sum", "zero"], ["is_positive"]),
        oh.make_node(
            "If",
            ["is_positive"],
            ["chosen"],
            name="if",
            then_branch=branch("then", seed, "MatMul", [SIDE, SIDE]),
            else_branch=branch("else", seed + 1, "Mul", [1, SIDE]),
        ),
        oh.make_node("Loop", ["rounds", "", "chosen"], ["last", "all"], name="loop", body=round_of_loop(seed + 2)),
        oh.make_node(
            "Scan", ["begin", "all"], ["end", "y"], name="scan", num_scan_inputs=1, body=step_of_scan(seed + 4)
        ),
    ]
    weights = tensors(
        zero=np.array(0, np.float32),
        rounds=np.array(ROUNDS, np.int64),
        outer=values(seed + 5, 1, SIDE),
        begin=values(seed + 6, 1, SIDE),
    )
    graph = oh.make_graph(nodes, "g", [info("x", [1, SIDE])], [info("y", [ROUNDS, 1, SIDE])], weights)
    return oh.make_model(graph, opset_imports=[oh.make_opsetid("", 17)], ir_version=8).SerializeToString()


def plan(data: bytes, *flags: trt.BuilderFlag) -> trt.IHostMemory:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    assert trt.OnnxParser(network, LOGGER).parse(data), LOGGER.errors()
    config = builder.create_builder_config()
    for flag in flags:
        config.set_flag(flag)
    made = builder.build_serialized_network(network, config)
    assert made is not None, LOGGER.errors()
    return made


def load(made: trt.IHostMemory) -> trt.ICudaEngine:
    loaded = trt.Runtime(LOGGER).deserialize_cuda_engine(made)
    assert loaded is not None, LOGGER.errors()
    return loaded


def run(engine: trt.ICudaEngine) -> np.ndarray:
    """Both branches."""
    context = engine.create_execution_context()
    results = []
    for sign in (1, -1):
        x, y = sign * np.abs(values(99, 1, SIDE)), np.empty((ROUNDS, 1, SIDE), np.float32)
        context.set_tensor_address("x", x)
        context.set_tensor_address("y", y)
        assert context.execute_async_v3(0), LOGGER.errors()
        results.append(y)
    return np.stack(results)


@pytest.mark.parametrize("flag", [trt.BuilderFlag.REFIT, trt.BuilderFlag.STRIP_PLAN])
def test_W13_G13_weights_of_subgraphs_come_from_the_model(flag: trt.BuilderFlag) -> None:
    engine = load(plan(model(1), flag))
    refitter = trt.Refitter(engine, LOGGER)
    assert {"inner", "factor", "decay", "outer", "begin"} <= set(refitter.get_all_weights())
    for seed in (1, 50):
        assert trt.OnnxParserRefitter(refitter, LOGGER).refit_from_bytes(model(seed)), LOGGER.errors()
        assert refitter.get_missing_weights() == [] and refitter.get_missing() == ([], [])
        assert refitter.refit_cuda_engine(), LOGGER.errors()
        np.testing.assert_array_equal(run(engine), run(load(plan(model(seed)))))
    assert not np.array_equal(run(engine), run(load(plan(model(1)))))


def test_U4_a_weight_of_a_subgraph_by_its_name() -> None:
    engine = load(plan(model(1), trt.BuilderFlag.REFIT))
    before = run(engine)
    refitter = trt.Refitter(engine, LOGGER)
    assert refitter.set_named_weights("decay", values(70, 1, SIDE)), LOGGER.errors()
    assert refitter.refit_cuda_engine(), LOGGER.errors()
    behind = run(engine)
    np.testing.assert_array_equal(behind[:, 0] - before[:, 0] != 0, True)  # The first row has the decay of `begin`.
    assert refitter.set_named_weights("decay", values(5, 1, SIDE)) and refitter.refit_cuda_engine()
    np.testing.assert_array_equal(run(engine), before)


def test_G12_one_that_is_marked() -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    assert trt.OnnxParser(network, LOGGER).parse(model(1)), LOGGER.errors()
    assert network.mark_weights_refittable("inner")
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.REFIT_INDIVIDUAL)
    engine = load(builder.build_serialized_network(network, config))
    refitter = trt.Refitter(engine, LOGGER)
    assert refitter.get_all_weights() == ["inner"]
    assert not refitter.set_named_weights("decay", values(5, 1, SIDE))
    before = run(engine)
    assert refitter.set_named_weights("inner", values(71, SIDE, SIDE)) and refitter.refit_cuda_engine()
    assert not np.array_equal(run(engine), before)
