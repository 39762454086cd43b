"""Det of matrices of any size, one or many, beside NumPy in double."""

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from running import Refused, check_equal, plan_of, run

RNG = np.random.default_rng(135)


def model_of(kind: type | int, shape: list[int | str]) -> ModelProto:
    element = kind if isinstance(kind, int) else helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    inputs = [helper.make_tensor_value_info("x", element, shape)]
    graph = helper.make_graph(
        [helper.make_node("Det", ["x"], ["y"], name="volume")], "g", inputs, [helper.make_empty_tensor_value_info("y")]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def check(shape: list[int | str], arrays: list[np.ndarray]) -> None:
    feeds = [{"x": array} for array in arrays]
    plan = plan_of(model_of(arrays[0].dtype.type, shape), feeds)
    for array, found in zip(arrays, run(plan, feeds), strict=True):
        expected = np.linalg.det(array.astype(np.float64)).astype(array.dtype)
        assert found["y"].dtype == array.dtype
        largest = float(np.abs(expected.astype(np.float64)).max(initial=0))
        tolerance = {2: (2e-3 * largest, 2e-3), 4: (1e-6 * largest, 1e-5), 8: (1e-12 * largest, 1e-10)}
        check_equal(found["y"], expected, f"{array.shape}", tolerance[array.dtype.itemsize])


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 6, 7, 12, 31, 64])
@pytest.mark.parametrize("front", [(), (3,), (2, 1, 3)], ids=str)
def test_sizes_and_batches(size: int, front: tuple[int, ...]) -> None:
    check([*front, size, size], [RNG.uniform(-1, 1, (*front, size, size)).astype(np.float32)])


@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_other_types(kind: type) -> None:
    for size in (2, 6, 9):
        check([4, size, size], [RNG.uniform(-2, 2, (4, size, size)).astype(kind)])


def test_bfloat16() -> None:
    x = RNG.integers(-2, 3, (5, 3, 3)).astype(np.float32)
    (found,) = run(plan_of(model_of(TensorProto.BFLOAT16, [5, 3, 3]), [{"x": x}]), [{"x": x}])
    np.testing.assert_array_equal(found["y"], np.rint(np.linalg.det(x.astype(np.float64))))


def test_batch_and_size_that_the_run_knows() -> None:
    shapes = [(3, 4, 4), (1, 1, 1), (7, 9, 9), (2, 20, 20), (0, 3, 3), (2, 0, 0)]
    check(["n", "m", "m"], [RNG.uniform(-2, 2, shape).astype(np.float32) for shape in shapes])


def test_singular_matrices_and_rows_in_another_order() -> None:
    singular = np.ones((6, 6), np.float32)
    turned = np.eye(6, dtype=np.float32)[[5, 0, 3, 1, 4, 2]]
    zero_in_front = np.ones((6, 6), np.float32) - np.eye(6, dtype=np.float32)
    check([3, 6, 6], [np.stack([singular, turned, zero_in_front])])


@pytest.mark.parametrize("shape", [[3, 4], [2, 7, 6], [5], []], ids=str)
def test_what_is_no_square_matrix_is_refused_by_node_and_shape(shape: list[int]) -> None:
    said = "extent|rank" if len(shape) > 1 else "rank"
    with pytest.raises(Refused, match=f"Det.*volume.*input 0 'x'.*{said}"):
        plan_of(model_of(np.float32, shape), [{"x": np.zeros(shape, np.float32)}])


def test_matrices_that_are_square_in_no_run_are_refused(capfd: pytest.CaptureFixture) -> None:
    feeds = [{"x": np.zeros(shape, np.float32)} for shape in ((3, 3), (4, 3))]
    with pytest.raises(Refused):
        run(plan_of(model_of(np.float32, ["n", 3]), feeds), feeds[1:])
    text = capfd.readouterr().err
    assert "volume" in text and "x" in text, text
