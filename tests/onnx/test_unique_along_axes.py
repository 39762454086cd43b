"""Unique of slices beside NumPy: shapes of all kinds, one plan for several of them, numbers that equal no other."""

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from running import Refused, check_equal, plan_of, run

RNG = np.random.default_rng(31)
OUTPUTS = ("y", "firsts", "inverse", "counts")


def model_of(kind: type, shape: list[int | str], axis: int, is_sorted: bool) -> ModelProto:
    node = helper.make_node("Unique", ["x"], OUTPUTS, axis=axis, sorted=int(is_sorted))
    x = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape)
    results = [helper.make_empty_tensor_value_info(name) for name in OUTPUTS]
    graph = helper.make_graph([node], "g", [x], results)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def unique(x: np.ndarray, axis: int, is_sorted: bool) -> dict[str, np.ndarray]:
    _, firsts, inverse, counts = np.unique(x, True, True, True, axis=axis)
    inverse = inverse.reshape(-1)
    if not is_sorted:
        order = np.argsort(firsts)
        firsts, counts, inverse = firsts[order], counts[order], np.argsort(order)[inverse]
    return dict(zip(OUTPUTS, (np.take(x, firsts, axis), firsts, inverse, counts), strict=True))


def check(kind: type, arrays: list[np.ndarray], axis: int, is_sorted: bool, is_open: bool) -> None:
    """All arrays, of one rank, by one plan; extents that differ among them, or all, are open."""
    shapes = [array.shape for array in arrays]
    shape = [f"n{i}" if is_open or len(set(each)) > 1 else each[0] for i, each in enumerate(zip(*shapes, strict=True))]
    feeds = [{"x": array} for array in arrays]
    for array, found in zip(arrays, run(plan_of(model_of(kind, shape, axis, is_sorted), feeds), feeds), strict=True):
        for name, expected in unique(array, axis, is_sorted).items():
            what = f"{name} of {array.shape} along {axis}"
            assert found[name].dtype == expected.dtype
            check_equal(found[name], expected, what)


def repeating(kind: type, shape: tuple[int, ...], axis: int) -> np.ndarray:
    """Few numbers, and slices of which about half stand there twice or more."""
    x = RNG.integers(-1, 2, shape).astype(kind)
    count = shape[axis]
    return np.take(x, RNG.integers(0, max(count // 2, 1), count), axis) if count else x


@pytest.mark.parametrize("is_open", [False, True], ids=["static", "open"])
@pytest.mark.parametrize("is_sorted", [True, False], ids=["sorted", "in-order"])
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64, np.int8, np.int32, np.int64])
def test_random_shapes(kind: type, is_sorted: bool, is_open: bool) -> None:
    for _ in range(4):
        rank = int(RNG.integers(1, 5))
        axis = int(RNG.integers(-rank, rank))
        shape = RNG.integers(1, 5, rank)
        shape[axis] = RNG.integers(1, 40)
        check(kind, [repeating(kind, tuple(shape), axis)], axis, is_sorted, is_open)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("is_sorted", [True, False], ids=["sorted", "in-order"])
def test_one_plan_for_several_shapes(axis: int, is_sorted: bool) -> None:
    shapes = [(6, 3, 5), (1, 1, 1), (2, 7, 3), (9, 8, 7)]
    check(np.float32, [repeating(np.float32, shape, axis) for shape in shapes], axis, is_sorted, is_open=True)


@pytest.mark.parametrize("is_open", [False, True], ids=["static", "open"])
@pytest.mark.parametrize("width", [1, 8, 9, 300])
def test_slices_that_differ_in_their_last_element_only(width: int, is_open: bool) -> None:
    x = np.repeat(RNG.standard_normal((1, width)).astype(np.float32), 50, 0)
    x[:, -1] = RNG.integers(0, 9, 50)
    for is_sorted in (True, False):
        check(np.float32, [x], 0, is_sorted, is_open)


@pytest.mark.parametrize("is_open", [False, True], ids=["static", "open"])
@pytest.mark.parametrize("is_sorted", [True, False], ids=["sorted", "in-order"])
def test_many_slices(is_sorted: bool, is_open: bool) -> None:
    check(np.int64, [RNG.integers(-4, 4, (20000, 4))], 0, is_sorted, is_open)


@pytest.mark.parametrize("is_open", [False, True], ids=["static", "open"])
@pytest.mark.parametrize("is_sorted", [True, False], ids=["sorted", "in-order"])
@pytest.mark.parametrize("shape, axis", [((0, 3), 0), ((4, 0), 0), ((4, 0), 1), ((0, 0), 1), ((0,), 0), ((2, 0, 3), 2)])
def test_extents_of_zero(shape: tuple[int, ...], axis: int, is_sorted: bool, is_open: bool) -> None:
    check(np.float32, [np.zeros(shape, np.float32)], axis, is_sorted, is_open)


@pytest.mark.parametrize("is_sorted", [True, False], ids=["sorted", "in-order"])
def test_a_nan_equals_no_other_and_zeros_of_both_signs_are_one(is_sorted: bool) -> None:
    """In order a NaN stands behind all numbers, and the elements behind it decide among slices that have it."""
    nan = np.nan
    x = np.array([[nan, 2], [0, 3], [nan, 1], [-0.0, 2], [0, 2], [nan, 1], [-0.0, 3], [1, nan], [1, 7]], np.float32)
    for width in (2, 10):  # Sorts that stand one after the other, and rounds of a loop.
        rows = np.concatenate([np.ones((len(x), width - 2), np.float32), x], 1)
        check(np.float32, [rows], 0, is_sorted, is_open=False)
        feed = {"x": rows}
        (found,) = run(plan_of(model_of(np.float32, list(rows.shape), 0, is_sorted), [feed]), [feed])
        order = [3, 1, 8, 7, 2, 5, 0] if is_sorted else [0, 1, 2, 3, 5, 7, 8]
        np.testing.assert_array_equal(found["firsts"], order)
        np.testing.assert_array_equal(np.signbit(found["y"]), np.signbit(rows[order]))


def test_an_axis_that_is_none_is_refused_by_its_number() -> None:
    with pytest.raises(Refused, match="axis 2"):
        plan_of(model_of(np.float32, [3, 4], 2, True), [{"x": np.zeros((3, 4), np.float32)}])


@pytest.mark.parametrize("axis", [0, 1])
def test_as_many_slices_as_the_data_say(axis: int) -> None:
    """Of the places of what is not zero: as many columns as there are, or rows as long."""
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Gather", ["places", "twice"], ["all"], axis=1 - axis),
        helper.make_node("Unique", ["all"], OUTPUTS, axis=axis),
    ]
    inputs = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4]),
        helper.make_tensor_value_info("twice", TensorProto.INT64, ["m"]),
    ]
    results = [helper.make_empty_tensor_value_info(name) for name in OUTPUTS]
    model = helper.make_model(
        helper.make_graph(nodes, "g", inputs, results), opset_imports=[helper.make_opsetid("", 18)], ir_version=9
    )
    arrays = [RNG.integers(0, 2, (rows, 4)).astype(np.float32) for rows in (5, 30, 11)]
    feeds = [{"x": x, "twice": np.array([1, 0, 1, 0, 1][: 2 + i])} for i, x in enumerate(arrays)]
    for feed, found in zip(feeds, run(plan_of(model, feeds), feeds), strict=True):
        places = np.take(np.array(np.nonzero(feed["x"])), feed["twice"], 1 - axis)
        for name, expected in unique(places, axis, True).items():
            check_equal(found[name], expected, f"{name} along {axis}")


def test_bfloat16() -> None:
    x = repeating(np.float32, (30, 3), 0)
    model = model_of(np.float32, list(x.shape), 0, True)
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.BFLOAT16
    (found,) = run(plan_of(model, [{"x": x}]), [{"x": x}])
    for name, expected in unique(x, 0, True).items():
        check_equal(found[name], expected, name)
