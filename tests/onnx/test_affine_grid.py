"""AffineGrid beside its formula in double: sizes that are known, and those that the run gives."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from running import Refused, check_equal, plan_of, run

RNG = np.random.default_rng(20)
SIZES = {2: [(2, 3, 5, 7), (1, 1, 1, 4), (3, 2, 6, 1), (2, 1, 40, 150)], 3: [(2, 1, 3, 4, 5), (1, 2, 1, 1, 6)]}


def model_of(kind: int, axes: int, corners: bool, size: tuple[int, ...] | None) -> onnx.ModelProto:
    node = helper.make_node("AffineGrid", ["theta", "size"], ["y"], name="grid", align_corners=int(corners))
    inputs = [helper.make_tensor_value_info("theta", kind, ["n", axes, axes + 1])]
    constants = []
    if size is None:
        inputs.append(helper.make_tensor_value_info("size", TensorProto.INT64, [axes + 2]))
    else:
        constants.append(numpy_helper.from_array(np.array(size, np.int64), "size"))
    graph = helper.make_graph([node], "g", inputs, [helper.make_empty_tensor_value_info("y")], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def expected(theta: np.ndarray, size: tuple[int, ...], corners: bool) -> np.ndarray:
    def along(extent: int) -> np.ndarray:
        if corners:
            return np.linspace(-1, 1, extent) if extent > 1 else np.zeros(1)
        return (2 * np.arange(extent) + 1) / extent - 1

    points = np.meshgrid(*(along(extent) for extent in size[2:]), indexing="ij")
    base = np.stack([*points[::-1], np.ones(size[2:])], -1)
    return np.einsum("...k,nck->n...c", base, theta.astype(np.float64))


def theta_for(size: tuple[int, ...], kind: type = np.float32) -> np.ndarray:
    axes = len(size) - 2
    return RNG.uniform(-1, 1, (size[0], axes, axes + 1)).astype(kind)


@pytest.mark.parametrize("corners", [False, True], ids=["middles", "corners"])
@pytest.mark.parametrize("axes", [2, 3])
def test_sizes_that_the_run_gives(axes: int, corners: bool) -> None:
    feeds = [{"theta": theta_for(size), "size": np.array(size)} for size in SIZES[axes]]
    plan = plan_of(model_of(TensorProto.FLOAT, axes, corners, None), feeds)
    for feed, found in zip(feeds, run(plan, feeds), strict=True):
        check_equal(found["y"], expected(feed["theta"], tuple(feed["size"]), corners), str(feed["size"]))


@pytest.mark.parametrize("corners", [False, True], ids=["middles", "corners"])
@pytest.mark.parametrize("size", [*SIZES[2], *SIZES[3]], ids=str)
def test_known_sizes(size: tuple[int, ...], corners: bool) -> None:
    feed = {"theta": theta_for(size)}
    (found,) = run(plan_of(model_of(TensorProto.FLOAT, len(size) - 2, corners, size), [feed]), [feed])
    check_equal(found["y"], expected(feed["theta"], size, corners), str(size))


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "run"])
@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_other_types(kind: type, is_known: bool) -> None:
    size = (2, 3, 5, 7)
    feed = {"theta": theta_for(size, kind), "size": np.array(size)}
    model = model_of(helper.np_dtype_to_tensor_dtype(np.dtype(kind)), 2, True, size if is_known else None)
    (found,) = run(plan_of(model, [feed]), [feed])
    check_equal(found["y"], expected(feed["theta"], size, True), np.dtype(kind).name)


@pytest.mark.parametrize("size", [(2, 3, 5), (2, 3, 4, 5, 6, 7), (1, 1, 0, 4), (1, 1, 4, -2)], ids=str)
def test_what_is_no_size_is_refused(size: tuple[int, ...]) -> None:
    with pytest.raises(Refused, match="AffineGrid of"):
        plan_of(model_of(TensorProto.FLOAT, 2, False, size), [{"theta": theta_for((1, 1, 2, 2))}])
