"""float64, a type beyond the API: layers compute it in double, plans keep it, NumPy reads and writes it."""

import pathlib
from collections.abc import Callable

import numpy as np
import pytest
import tenon
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.INTERNAL_ERROR)
EXACT = {"rtol": 1e-13, "atol": 1e-14}  # float32 is off by 1e-8.


def drawn(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2, 2, shape)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def made(
    add: Callable[[trt.INetworkDefinition, list[trt.ITensor]], trt.ITensor], inputs: list[np.ndarray]
) -> trt.IHostMemory:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    types = {np.float64: trt.float64, np.float32: trt.float32, np.int32: trt.int32}
    tensors = [network.add_input(f"in{i}", types[x.dtype.type], x.shape) for i, x in enumerate(inputs)]
    out = add(network, tensors)
    out.name = "out"
    network.mark_output(out)
    config = builder.create_builder_config()
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return plan


def result(engine: trt.ICudaEngine, inputs: list[np.ndarray]) -> np.ndarray:
    context = engine.create_execution_context()
    out = np.empty(tuple(engine.get_tensor_shape("out")), trt.nptype(engine.get_tensor_dtype("out")))
    for i, x in enumerate(inputs):
        assert context.set_tensor_address(f"in{i}", x)
    assert context.set_tensor_address("out", out)
    assert context.execute_async_v3(0)
    return out


def run(add: Callable, inputs: list[np.ndarray]) -> np.ndarray:
    return result(trt.Runtime(LOGGER).deserialize_cuda_engine(made(add, inputs)), inputs)


def test_the_type_and_its_names() -> None:
    assert trt.float64 is trt.DataType.FLOAT64 and tenon.float64 is trt.float64
    assert trt.nptype(trt.float64) is np.float64 and trt.float64.itemsize == 8
    assert trt.Weights(np.ones(3)).dtype == trt.float64 and trt.Weights(np.ones(3)).nbytes == 24


def test_a_plan_that_is_saved_and_loaded_computes_in_double(tmp_path: pathlib.Path) -> None:
    x, w = drawn(1, 3, 4), drawn(2, 3, 4)

    def add(network: trt.INetworkDefinition, tensors: list[trt.ITensor]) -> trt.ITensor:
        constant = network.add_constant(w.shape, w).get_output(0)
        product = network.add_elementwise(tensors[0], constant, trt.ElementWiseOperation.PROD).get_output(0)
        return network.add_unary(product, trt.UnaryOperation.EXP).get_output(0)

    path = tmp_path / "double.plan"
    path.write_bytes(made(add, [x]))
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(path.read_bytes())
    assert engine.get_tensor_dtype("in0") == engine.get_tensor_dtype("out") == trt.float64
    found = result(engine, [x])
    np.testing.assert_allclose(found, np.exp(x * w), **EXACT)
    assert np.abs(found - np.exp((x * w).astype(np.float32))).max() > 1e-9
    again = tenon.load(trt.Runtime(LOGGER), str(path))
    np.testing.assert_array_equal(result(again, [x]), found)
    assert "FP64" in engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON)


def test_a_cast_to_double_and_back_sums_what_float_would_lose() -> None:
    x = np.array([2**24, 1, 1, 1, -(2**24)], np.float32)

    def add(network: trt.INetworkDefinition, tensors: list[trt.ITensor]) -> trt.ITensor:
        wide = network.add_cast(tensors[0], trt.float64).get_output(0)
        total = network.add_cumulative(
            wide, network.add_constant((), np.zeros((), np.int32)).get_output(0), trt.CumulativeOperation.SUM, False,
            False,
        )  # fmt: skip
        return network.add_cast(total.get_output(0), trt.float32).get_output(0)

    np.testing.assert_array_equal(run(add, [x]), np.cumsum(x.astype(np.float64)).astype(np.float32))


def windows(x: np.ndarray, k: int) -> np.ndarray:
    return np.lib.stride_tricks.sliding_window_view(x, (k, k), (2, 3))


CASES: dict[str, tuple[list[np.ndarray], Callable, Callable]] = {
    "unary": (
        [np.abs(drawn(3, 4, 5))],
        lambda n, t: n.add_unary(t[0], trt.UnaryOperation.LOG),
        np.log,
    ),
    "activation": (
        [drawn(4, 4, 5)],
        lambda n, t: n.add_activation(t[0], trt.ActivationType.SIGMOID),
        sigmoid,
    ),
    "product": (
        [drawn(5, 2, 7, 5), drawn(6, 2, 5, 3)],
        lambda n, t: n.add_matrix_multiply(t[0], trt.MatrixOperation.NONE, t[1], trt.MatrixOperation.NONE),
        np.matmul,
    ),
    "convolution": (
        [drawn(7, 1, 2, 6, 6)],
        lambda n, t: n.add_convolution_nd(t[0], 3, (3, 3), drawn(8, 3, 2, 3, 3), drawn(9, 3)),
        lambda x: np.einsum("nchwij,ocij->nohw", windows(x, 3), drawn(8, 3, 2, 3, 3)) + drawn(9, 3)[:, None, None],
    ),
    "pooling": (
        [drawn(10, 1, 2, 5, 5)],
        lambda n, t: n.add_pooling_nd(t[0], trt.PoolingType.AVERAGE, (3, 3)),
        lambda x: windows(x, 3).mean((-2, -1)),
    ),
    "softmax": (
        [drawn(11, 3, 6)],
        lambda n, t: n.add_softmax(t[0]),
        lambda x: np.exp(x) / np.exp(x).sum(0, keepdims=True),
    ),
    "reduce": (
        [drawn(12, 3, 1000)],
        lambda n, t: n.add_reduce(t[0], trt.ReduceOperation.AVG, 2, False),
        lambda x: x.mean(1),
    ),
    "einsum": (
        [drawn(13, 3, 4), drawn(14, 4, 5)],
        lambda n, t: n.add_einsum(t, "ij,jk->ki"),
        lambda a, b: (a @ b).T,
    ),
    "gather": (
        [drawn(15, 5, 3), np.array([4, 0, 4], np.int32)],
        lambda n, t: n.add_gather(t[0], t[1], 0),
        lambda x, i: x[i],
    ),
    "concatenation": (
        [drawn(16, 2, 3), drawn(17, 4, 3)],
        lambda n, t: n.add_concatenation(t),
        lambda a, b: np.concatenate([a, b]),
    ),
    "slice": (
        [drawn(18, 5, 6)],
        lambda n, t: n.add_slice(t[0], (1, 5), (2, 3), (2, -2)),
        lambda x: x[1:5:2, 5:0:-2],
    ),
    "shuffle": (
        [drawn(19, 4, 6)],
        lambda n, t: transposed(n, t[0]),
        lambda x: x.T.reshape(3, 8),
    ),
    "top_k": (
        [drawn(20, 3, 9)],
        lambda n, t: n.add_topk(t[0], trt.TopKOperation.MAX, 4, 2),
        lambda x: -np.sort(-x, 1)[:, :4],
    ),
    "select": (
        [drawn(21, 4, 4), drawn(22, 4, 4)],
        lambda n, t: n.add_select(
            n.add_elementwise(t[0], t[1], trt.ElementWiseOperation.GREATER).get_output(0), t[0], t[1]
        ),
        np.maximum,
    ),
    "normalization": (
        [drawn(23, 3, 8)],
        lambda n, t: n.add_normalization(
            t[0], n.add_constant((1, 8), drawn(24, 1, 8)).get_output(0),
            n.add_constant((1, 8), drawn(25, 1, 8)).get_output(0), 2,
        ),
        lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + float(np.float32(1e-5)))
        * drawn(24, 1, 8) + drawn(25, 1, 8),
    ),
    "resize": (
        [drawn(26, 1, 1, 3, 4)],
        lambda n, t: doubled(n, t[0]),
        lambda x: x.repeat(2, 2).repeat(2, 3),
    ),
}  # fmt: skip


def transposed(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ILayer:
    layer = network.add_shuffle(x)
    layer.first_transpose = (1, 0)
    layer.reshape_dims = (3, 8)
    return layer


def doubled(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ILayer:
    layer = network.add_resize(x)
    layer.scales = [1, 1, 2, 2]
    return layer


@pytest.mark.parametrize("kind", CASES)
def test_layers_compute_in_double(kind: str) -> None:
    inputs, add, expected = CASES[kind]
    found = run(lambda network, tensors: add(network, tensors).get_output(0), inputs)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected(*inputs), **EXACT)


def test_a_chain_that_is_fused_in_float_keeps_its_digits() -> None:
    """A factor on a product, a batch norm and a leaky activation behind a convolution: their fields would be floats."""
    x, w, scale, shift = drawn(30, 1, 3, 8, 8), drawn(31, 4, 3, 3, 3), drawn(32, 1, 4, 1, 1), drawn(33, 1, 4, 1, 1)

    def add(network: trt.INetworkDefinition, tensors: list[trt.ITensor]) -> trt.ITensor:
        layer = network.add_convolution_nd(tensors[0], 4, (3, 3), w)
        constant = [network.add_constant(a.shape, a).get_output(0) for a in (scale, shift, np.full((1, 1, 1, 1), 0.1))]
        scaled = network.add_elementwise(layer.get_output(0), constant[0], trt.ElementWiseOperation.PROD).get_output(0)
        moved = network.add_elementwise(scaled, constant[1], trt.ElementWiseOperation.SUM).get_output(0)
        less = network.add_elementwise(moved, constant[2], trt.ElementWiseOperation.PROD).get_output(0)
        return network.add_elementwise(moved, less, trt.ElementWiseOperation.MAX).get_output(0)

    y = np.einsum("nchwij,ocij->nohw", windows(x, 3), w) * scale + shift
    np.testing.assert_allclose(run(add, [x]), np.maximum(y, 0.1 * y), **EXACT)


def test_float_and_double_do_not_meet_without_a_cast() -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    a, b = network.add_input("a", trt.float64, (3,)), network.add_input("b", trt.float32, (3,))
    total = network.add_elementwise(a, b, trt.ElementWiseOperation.SUM)
    total.get_output(0).name = "out"
    network.mark_output(total.get_output(0))
    assert builder.build_serialized_network(network, builder.create_builder_config()) is None
