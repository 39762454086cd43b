"""Ranges that no result can have: limits that are no numbers, steps of 0, more elements than can be counted."""

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from running import Refused, plan_of, run

NAMES = ("start", "limit", "delta")
NUMBERS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}


def model_of(kind: type, known: dict[str, float]) -> onnx.ModelProto:
    """Operands without a known value are inputs of rank 0."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    constants = [numpy_helper.from_array(np.array(value, kind), name) for name, value in known.items()]
    inputs = [helper.make_tensor_value_info(name, element, []) for name in NAMES if name not in known]
    result = helper.make_tensor_value_info("y", element, ["n"])
    graph = helper.make_graph([helper.make_node("Range", NAMES, ["y"], name="steps")], "g", inputs, [result], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 27)], ir_version=10)


def refused(capfd: pytest.CaptureFixture, model: onnx.ModelProto, feeds: list[dict], bounds: dict, said: str) -> None:
    """By the parser or in the last run: what was said, and of which node."""
    with pytest.raises(Refused):
        run(plan_of(model, feeds, bounds), feeds[-1:])
    text = capfd.readouterr().err
    assert said in text and "steps" in text, text


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("position", NAMES)
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
def test_known_operands_must_be_finite(capfd: pytest.CaptureFixture, kind: type, position: str, number: str) -> None:
    model = model_of(kind, {"start": 0, "limit": 5, "delta": 1, position: NUMBERS[number]})
    refused(capfd, model, [{}], {}, f"Range whose {position} is {number}: start, limit and delta must be finite")


@pytest.mark.parametrize("position", ["limit", "delta"])
@pytest.mark.parametrize("is_known", [True, False])
def test_whole_numbers_by_a_fraction_are_refused(capfd: pytest.CaptureFixture, position: str, is_known: bool) -> None:
    """A step of a tenth would be 0 among whole numbers, and divided by."""
    model = model_of(np.int64, {"start": 0, "limit": 5, "delta": 1})
    del model.graph.initializer[NAMES.index(position)]
    if is_known:
        model.graph.initializer.append(numpy_helper.from_array(np.float32(0.1), position))
    else:
        model.graph.input.append(helper.make_tensor_value_info(position, TensorProto.FLOAT, []))
    feeds = [{} if is_known else {position: np.array(0.1, np.float32)}]
    refused(capfd, model, feeds, {}, f"Range whose {position} is of float, and whose start is of int64")


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.float16, np.int32, np.int64])
@pytest.mark.parametrize("limit", [-5, 0, 5])
def test_a_known_step_of_0_is_refused(capfd: pytest.CaptureFixture, kind: type, limit: int) -> None:
    for known in ({"start": 0, "limit": limit, "delta": 0}, {"start": 0, "delta": 0}):
        feeds = [{name: np.array(1, kind) for name in NAMES if name not in known}]
        refused(capfd, model_of(kind, known), feeds, {}, "Range whose delta is 0 never reaches its limit")


@pytest.mark.parametrize(
    "kind, limits, said",
    [
        (np.float32, (0, 1e30, 1), "has 1.0000000150474662e+30 elements, and may have 268435456"),
        (np.float64, (0, 1, 1e-30), "elements, and may have 268435456"),
        (np.float64, (-1.7e308, 1.7e308, 1), "has inf elements"),
        (np.int32, (-(2**31), 2**31 - 1, 1), "has 4294967295 elements"),
        (np.int64, (-(2**63), 2**63 - 1, 1), "has 1.8446744073709552e+19 elements"),
        (np.int64, (2**63 - 1, -(2**63), -1), "has 1.8446744073709552e+19 elements"),
    ],
)
def test_more_elements_than_can_be_are_refused(
    capfd: pytest.CaptureFixture, kind: type, limits: tuple, said: str
) -> None:
    refused(capfd, model_of(kind, dict(zip(NAMES, limits, strict=True))), [{}], {}, said)


@pytest.mark.parametrize("position, number", [("start", -(2**63)), ("start", 2**63 - 1), ("delta", -(2**63))])
def test_far_limits_beside_those_of_the_run_are_refused(
    capfd: pytest.CaptureFixture, position: str, number: int
) -> None:
    known = {"start": 0, "delta": 1, position: number}
    feeds = [{"limit": np.array(5)}]
    refused(capfd, model_of(np.int64, known), feeds, {}, f"Range whose {position} is {number}, beyond 2^62")


def between(least: float, most: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([least]), np.array([most])


BOUNDS = {"start": between(-10, 10), "limit": between(-10, 10), "delta": between(1, 2)}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("position", NAMES)
def test_numbers_outside_of_the_profile_are_refused_by_name(
    capfd: pytest.CaptureFixture, position: str, number: str
) -> None:
    good = {"start": np.float32([0]), "limit": np.float32([5]), "delta": np.float32([1.5])}
    feeds = [{name: array[0].reshape(()) for name, array in good.items()}] * 2
    feeds[1] = {**feeds[0], position: np.array(NUMBERS[number], np.float32)}
    with pytest.raises(Refused):
        run(plan_of(model_of(np.float32, {}), [good], BOUNDS), feeds)
    assert f"shape tensor '{position}' is {number}, outside" in capfd.readouterr().err
    (found,) = run(plan_of(model_of(np.float32, {}), [good], BOUNDS), feeds[:1])
    np.testing.assert_array_equal(found["y"], np.float32([0, 1.5, 3, 4.5]))


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_a_step_that_is_0_in_the_run_is_refused(capfd: pytest.CaptureFixture, kind: type) -> None:
    values = {"start": -1, "limit": 4, "delta": 2}
    model, bounds = model_of(kind, {}), {**BOUNDS, "delta": between(0, 2)}
    feeds = [{name: np.array(value, kind) for name, value in values.items()}] * 2
    feeds[1] = {**feeds[0], "delta": np.array(0, kind)}
    refused(capfd, model, feeds, bounds, "Range 'steps': delta must not be 0")
    (found,) = run(plan_of(model, feeds[:1], bounds), feeds[:1])
    np.testing.assert_array_equal(found["y"], [-1, 1, 3])


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("position", NAMES)
def test_what_shapes_give_must_have_a_bound(capfd: pytest.CaptureFixture, kind: type, position: str) -> None:
    """An operand is sqrt(n - 1), and where the profile has an n of 0 or 1 that may be no number, or a step of 0."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    nodes = [
        helper.make_node("Size", ["x"], ["n"]),
        helper.make_node("Cast", ["n"], ["wide"], to=element),
        helper.make_node("Sub", ["wide", "one"], ["less"]),
        helper.make_node("Sqrt", ["less"], ["q"]),
        helper.make_node("Range", [name if name != position else "q" for name in NAMES], ["y"], name="steps"),
    ]
    known = {"start": -3, "limit": 4, "delta": 1, "one": 1}
    constants = [numpy_helper.from_array(np.array(value, kind), name) for name, value in known.items()]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_empty_tensor_value_info("y")], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    feeds = [{"x": np.zeros(n, np.float32)} for n in (5, 2, 0)]
    plan = plan_of(model, feeds[:2])
    for feed, found in zip(feeds[:2], run(plan, feeds[:2]), strict=True):
        limits = {**known, position: np.sqrt(len(feed["x"]) - 1)}
        np.testing.assert_array_equal(found["y"], np.arange(*(limits[name] for name in NAMES), dtype=kind))
    refused(capfd, model, feeds, {}, f"would be larger than any memory for the shapes at hand: [{2**63 - 1}]")
