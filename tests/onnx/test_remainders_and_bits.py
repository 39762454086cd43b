"""Mod of floating numbers, and BitCast, beside NumPy."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from running import Refused, plan_of, run

RNG = np.random.default_rng(19)
FEW = [0.0, -0.0, 1.0, -1.0, 7.25, -7.25, 0.125, np.inf, -np.inf, np.nan, 60000.0]


def model_of(node: onnx.NodeProto, inputs: dict[str, tuple[int, list[int | str]]]) -> onnx.ModelProto:
    infos = [helper.make_tensor_value_info(name, kind, shape) for name, (kind, shape) in inputs.items()]
    graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info("y")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 26)], ir_version=10)


def mod(kind: type, fmod: int, a: list[int | str], b: list[int | str], feeds: list[dict]) -> list[np.ndarray]:
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    node = helper.make_node("Mod", ["a", "b"], ["y"], fmod=fmod)
    return [each["y"] for each in run(plan_of(model_of(node, {"a": (element, a), "b": (element, b)}), feeds), feeds)]


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_remainders_are_exact(kind: type, fmod: int) -> None:
    a, b = (each.astype(kind) for each in np.meshgrid(FEW, FEW))
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = (np.fmod if fmod else np.mod)(a, b)
    (found,) = mod(kind, fmod, list(a.shape), list(a.shape), [{"a": a, "b": b}])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found[~np.isnan(found)]), np.signbit(expected[~np.isnan(expected)]))
    far = RNG.uniform(-6e4, 6e4, (3, 500)).astype(kind)
    by = RNG.uniform(-2, 2, (3, 500)).astype(kind)
    (found,) = mod(kind, fmod, [3, 500], [3, 500], [{"a": far, "b": by}])
    np.testing.assert_array_equal(found, (np.fmod if fmod else np.mod)(far, by))


@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize(
    "a, b, shapes",
    [
        ([2, 1, 4], [3, 1], [((2, 1, 4), (3, 1))]),
        ([5], [], [((5,), ())]),
        ([], [2, 3], [((), (2, 3))]),
        (["n", 3], ["n", 3], [((2, 3), (2, 3)), ((0, 3), (0, 3))]),
        (["n", 1], ["m"], [((2, 1), (3,)), ((4, 1), (1,))]),
    ],
    ids=str,
)
def test_remainders_broadcast(fmod: int, a: list, b: list, shapes: list) -> None:
    feeds = [{name: RNG.uniform(-9, 9, shape).astype(np.float32) for name, shape in zip("ab", pair, strict=True)}
             for pair in shapes]  # fmt: skip
    for feed, found in zip(feeds, mod(np.float32, fmod, a, b, feeds), strict=True):
        np.testing.assert_array_equal(found, (np.fmod if fmod else np.mod)(feed["a"], feed["b"]))


def cast(kind: type, to: type, shape: list[int | str], arrays: list[np.ndarray]) -> list[np.ndarray]:
    from_type, to_type = (helper.np_dtype_to_tensor_dtype(np.dtype(each)) for each in (kind, to))
    node = helper.make_node("BitCast", ["x"], ["y"], name="bits", to=to_type)
    feeds = [{"x": array} for array in arrays]
    return [each["y"] for each in run(plan_of(model_of(node, {"x": (from_type, shape)}), feeds), feeds)]


@pytest.mark.parametrize("real, whole", [(np.float32, np.int32), (np.float64, np.int64)])
def test_bits_go_there_and_back(real: type, whole: type) -> None:
    x = np.concatenate([np.array(FEW), RNG.standard_normal(100)]).astype(real)
    (bits,) = cast(real, whole, [len(x)], [x])
    assert bits.dtype == whole
    np.testing.assert_array_equal(bits, x.view(whole))
    (back,) = cast(whole, real, [len(x)], [bits])
    np.testing.assert_array_equal(back.view(whole), bits)


def test_bits_of_shapes_that_the_run_knows() -> None:
    arrays = [RNG.standard_normal(shape).astype(np.float32) for shape in ((2, 3), (7, 1), (0, 4), (1, 1))]
    for array, bits in zip(arrays, cast(np.float32, np.int32, ["n", "m"], arrays), strict=True):
        np.testing.assert_array_equal(bits, array.view(np.int32))


@pytest.mark.parametrize("kind, to", [(np.float32, np.int64), (np.float16, np.int16), (np.int32, np.float64)])
def test_bits_of_another_width_or_held_in_more_are_refused(kind: type, to: type) -> None:
    with pytest.raises(Refused, match="bits|Bit"):
        cast(kind, to, [3], [np.zeros(3, kind)])


def test_bits_of_bfloat16() -> None:
    x = np.array([1.0, -2.5, 0.0, 3e38], np.float32)
    node = helper.make_node("BitCast", ["x"], ["y"], to=TensorProto.FLOAT16)
    model = model_of(node, {"x": (TensorProto.BFLOAT16, [4])})
    (found,) = run(plan_of(model, [{"x": x}]), [{"x": x}])
    stored = ((x.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)
    np.testing.assert_array_equal(found["y"].view(np.uint16), stored)
