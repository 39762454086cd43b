"""Products of quantized numbers beside int64: exact for all zero points, types and lengths of sums."""

import numpy as np
import onnx
import pytest
from onnx import helper
from running import plan_of, run

INTEGERS = (np.uint8, np.int8)
ENDS = (0, 1, None)  # Zero points at either end of their type, or drawn.


def ends(kind: type) -> tuple[int, int]:
    return np.iinfo(kind).min, np.iinfo(kind).max


def zero_at(end: int | None, generator: np.random.Generator, kind: type) -> np.ndarray:
    return draw(generator, kind) if end is None else np.array(ends(kind)[end], kind)


def draw(generator: np.random.Generator, kind: type, *shape: int) -> np.ndarray:
    limits = np.iinfo(kind)
    return generator.integers(limits.min, limits.max + 1, shape).astype(kind)


def model(op: str, inputs: list[np.ndarray], known: tuple[int, ...], **attributes) -> onnx.ModelProto:
    names = [f"x{i}" for i in range(len(inputs))]
    node = helper.make_node(op, names, ["y"], **attributes)
    infos, constants = [], []
    for i, (name, array) in enumerate(zip(names, inputs, strict=True)):
        if i in known:
            constants.append(onnx.numpy_helper.from_array(array, name))
        else:
            infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def result(op: str, inputs: list[np.ndarray], known: tuple[int, ...], **attributes) -> np.ndarray:
    made = model(op, inputs, known, **attributes)
    feed = {f"x{i}": x for i, x in enumerate(inputs) if i not in known}
    (found,) = run(plan_of(made, [feed]), [feed])
    return found["y"]


def windows(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Sums of a 3 x 3 convolution of stride 1 with a margin of 1."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    seen = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("bchwyx,mcyx->bmhw", seen, kernel)


@pytest.mark.parametrize("are_zeros_known", [True, False])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("kernel_kind", INTEGERS)
def test_convolutions_are_exact(kind: type, kernel_kind: type, end: int | None, are_zeros_known: bool) -> None:
    generator = np.random.default_rng(3)
    # As large and as long as a transform of real numbers would get wrong.
    x, kernel = draw(generator, kind, 2, 130, 12, 12), draw(generator, kernel_kind, 8, 130, 3, 3)
    kernel[0], x[0, :, :6] = np.iinfo(kernel_kind).max, np.iinfo(kind).min
    zero, kernel_zeros = zero_at(end, generator, kind), draw(generator, kernel_kind, 8)
    kernel_zeros[:2] = ends(kernel_kind)
    want = windows(x.astype(np.int64) - zero, kernel.astype(np.int64) - kernel_zeros.reshape(-1, 1, 1, 1))
    known = (1, 2, 3) if are_zeros_known else (1,)
    got = result("ConvInteger", [x, kernel, zero, kernel_zeros], known, pads=[1, 1, 1, 1])
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("kernel_kind", INTEGERS)
@pytest.mark.parametrize("depth", [1, 700, 2500])
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("known", [(), (1,), (1, 2, 3)])
def test_matrix_products_are_exact(
    kind: type, kernel_kind: type, depth: int, end: int | None, known: tuple[int, ...]
) -> None:
    generator = np.random.default_rng(depth)
    a, b = draw(generator, kind, 3, 5, depth), draw(generator, kernel_kind, depth, 20)
    a[0], b[:, 0] = np.iinfo(kind).min, np.iinfo(kernel_kind).max
    zero, zeros = zero_at(end, generator, kind), draw(generator, kernel_kind, 20)
    zeros[:2] = ends(kernel_kind)
    got = result("MatMulInteger", [a, b, zero, zeros], known)
    np.testing.assert_array_equal(got, (a.astype(np.int64) - zero) @ (b.astype(np.int64) - zeros))


def requantized(sums: np.ndarray, factors: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """In float32, one factor for all scales: how engines that multiply integers come back to eight bits."""
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(sums.astype(np.float32) * factors) + zero, limits.min, limits.max).astype(zero.dtype)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("is_symmetric", [True, False])
@pytest.mark.parametrize("has_bias", [True, False])
def test_quantized_convolutions_round_as_integer_engines_do(kind: type, is_symmetric: bool, has_bias: bool) -> None:
    generator = np.random.default_rng(7)
    x, kernel = draw(generator, kind, 1, 40, 30, 30), draw(generator, np.int8, 24, 40, 3, 3)
    zeros = [np.array(0 if is_symmetric else each, kind) for each in (99, 97)]
    x_scale, y_scale = np.float32(0.0213), np.float32(0.61)
    scales = generator.uniform(0.001, 0.01, 24).astype(np.float32)
    bias = generator.integers(-300_000, 300_000, 24).astype(np.int32)
    inputs = [x, x_scale, zeros[0], kernel, scales, np.zeros(24, np.int8), y_scale, zeros[1]]
    sums = windows(x.astype(np.int64) - zeros[0], kernel.astype(np.int64))
    if has_bias:
        inputs.append(bias)
        sums = sums + bias.reshape(-1, 1, 1)
    got = result("QLinearConv", inputs, tuple(range(1, len(inputs))), pads=[1, 1, 1, 1])
    want = requantized(sums, (x_scale * scales / y_scale).reshape(-1, 1, 1), zeros[1])
    assert np.ptp(want.astype(int)) > 100
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("is_symmetric", [True, False])
def test_quantized_matrix_products_round_as_integer_engines_do(kind: type, is_symmetric: bool) -> None:
    generator = np.random.default_rng(8)
    a, b = draw(generator, kind, 300, 90), draw(generator, np.int8, 90, 70)
    zeros = [np.array(0 if is_symmetric else each, kind) for each in (99, 17)]
    a_scale, y_scale = np.float32(0.0213), np.float32(0.77)
    scales = generator.uniform(0.001, 0.01, 70).astype(np.float32)
    inputs = [a, a_scale, zeros[0], b, scales, np.zeros(70, np.int8), y_scale, zeros[1]]
    got = result("QLinearMatMul", inputs, tuple(range(1, 8)))
    sums = (a.astype(np.int64) - zeros[0]) @ b.astype(np.int64)
    np.testing.assert_array_equal(got, requantized(sums, a_scale * scales / y_scale, zeros[1]))


@pytest.mark.parametrize("a_shape", [(7, 64), (7, 7, 64), (3, 7, 64)], ids=str)
@pytest.mark.parametrize("form", [(7,), (7, 1)], ids=str)
def test_a_product_with_a_vector_has_a_scale_per_row(a_shape: tuple[int, ...], form: tuple[int, ...]) -> None:
    generator = np.random.default_rng(9)
    a, b = draw(generator, np.uint8, *a_shape), draw(generator, np.uint8, 64)
    scales, b_scale, y_scale = generator.uniform(0.01, 0.05, 7).astype(np.float32), np.float32(0.1), np.float32(60)
    zeros = [np.array(each, np.uint8) for each in (7, 9, 100)]
    inputs = [a, scales.reshape(form), zeros[0], b, b_scale, zeros[1], y_scale, zeros[2]]
    got = result("QLinearMatMul", inputs, (1, 2, 4, 5, 6, 7))
    sums = (a.astype(np.int64) - zeros[0]) @ (b.astype(np.int64) - zeros[1])
    np.testing.assert_array_equal(got, requantized(sums, scales * b_scale / y_scale, zeros[2]))


def test_a_map_whose_scale_is_0_is_quantized_zeros() -> None:
    generator = np.random.default_rng(10)
    x, kernel = draw(generator, np.int8, 1, 20, 9, 9), draw(generator, np.int8, 12, 20, 3, 3)
    scales = generator.uniform(0.001, 0.01, 12).astype(np.float32)
    scales[3] = 0
    zero, x_scale, y_scale = np.zeros((), np.int8), np.float32(0.0213), np.float32(0.61)
    inputs = [x, x_scale, zero, kernel, scales, np.zeros(12, np.int8), y_scale, zero]
    got = result("QLinearConv", inputs, tuple(range(1, 8)), pads=[1, 1, 1, 1])
    sums = windows(x.astype(np.int64), kernel.astype(np.int64))
    np.testing.assert_array_equal(got, requantized(sums, (x_scale * scales / y_scale).reshape(-1, 1, 1), zero))


@pytest.mark.parametrize("kind", INTEGERS)
@pytest.mark.parametrize("kernel_kind", INTEGERS)
def test_depths_that_only_the_run_tells(kind: type, kernel_kind: type) -> None:
    generator = np.random.default_rng(9)
    zeros = [draw(generator, kind), draw(generator, kernel_kind)]
    types = [helper.np_dtype_to_tensor_dtype(np.dtype(each)) for each in (kind, kernel_kind)]
    infos = [
        helper.make_tensor_value_info("a", types[0], [2, 5, "k"]),
        helper.make_tensor_value_info("b", types[1], ["l", 7]),
    ]
    constants = [onnx.numpy_helper.from_array(zero, name) for zero, name in zip(zeros, ("za", "zb"), strict=True)]
    node = helper.make_node("MatMulInteger", ["a", "b", "za", "zb"], ["y"])
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")], constants)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    feeds = [
        {"a": draw(generator, kind, 2, 5, k), "b": draw(generator, kernel_kind, k, 7)} for k in (1, 700, 1024, 2500)
    ]
    for feed, found in zip(feeds, run(plan_of(made, feeds), feeds), strict=True):
        want = (feed["a"].astype(np.int64) - zeros[0]) @ (feed["b"].astype(np.int64) - zeros[1])
        np.testing.assert_array_equal(found["y"], want)
