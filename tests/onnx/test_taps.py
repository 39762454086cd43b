"""Maxima that tell where they lay, and Resize by matrices: numbers at the ends of their types, axes that stay open."""

import numpy as np
import pytest
from onnx import parser
from running import check_equal, plan_of, run

POOL = """
<ir_version: 8, opset_import: ["" : 13]>
g ({type}[1, 2, 5, 4] x) => ({type}[1, 2, 5, 4] y, int64[1, 2, 5, 4] at)
{{
    y, at = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x)
}}
"""
LEAST = {"uint8": 0, "int8": -128, "float": -np.inf}


def first_maxima(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of windows of 3 x 3 with padding 1 all around; the first one of equals, in x as a whole; a NaN is above all."""
    values, places = np.empty_like(x), np.empty(x.shape, np.int64)
    for n, c, h, w in np.ndindex(x.shape):
        found = [
            (n, c, i, j)
            for i in range(max(h - 1, 0), min(h + 2, x.shape[2]))
            for j in range(max(w - 1, 0), min(w + 2, x.shape[3]))
        ]
        best = max(found, key=lambda at: (np.isnan(x[at]), np.nan_to_num(x[at])))
        values[n, c, h, w], places[n, c, h, w] = x[best], np.ravel_multi_index(best, x.shape)
    return values, places


@pytest.mark.parametrize("type_", LEAST)
def test_indices_are_those_of_elements_where_all_are_the_least(type_: str) -> None:
    model = parser.parse_model(POOL.format(type=type_))
    kind = np.float32 if type_ == "float" else np.dtype(type_)
    x = np.full((1, 2, 5, 4), LEAST[type_], kind)
    x[0, 1, 3, 2] = 7
    feed = {"x": x}
    (found,) = run(plan_of(model, [feed]), [feed])
    values, places = first_maxima(x)
    np.testing.assert_array_equal(found["y"], values)
    np.testing.assert_array_equal(found["at"], places)


def test_indices_are_those_of_the_first_nan() -> None:
    model = parser.parse_model(POOL.format(type="float"))
    random = np.random.default_rng(5)
    x = np.where(random.random((1, 2, 5, 4)) < 0.2, np.nan, random.standard_normal((1, 2, 5, 4))).astype(np.float32)
    (found,) = run(plan_of(model, [{"x": x}]), [{"x": x}])
    values, places = first_maxima(x)
    assert 0 < np.isnan(values).sum() < values.size
    np.testing.assert_array_equal(found["y"], values)
    np.testing.assert_array_equal(found["at"], places)


NEAREST = """
<ir_version: 9, opset_import: ["" : 19]>
g ({type}[b, 3, 4, 5] x) => ({type}[b, 3, h, w] y)
{{
    sizes = Constant <value_ints = [7, 11]> ()
    y = Resize <mode = "nearest", axes = [2, 3], keep_aspect_ratio_policy = "not_larger"> (x, , , sizes)
}}
"""


@pytest.mark.parametrize("type_", ["float", "int32"])
def test_nearest_gives_elements_as_they_are(type_: str) -> None:
    import onnxruntime

    model = parser.parse_model(NEAREST.format(type=type_))
    kind = np.float32 if type_ == "float" else np.dtype(type_)
    for batch in (2, 1):
        x = np.random.default_rng(3).integers(-9, 9, (batch, 3, 4, 5)).astype(kind)
        x[0, 0, 1, 1], x[0, 1, 2, 3] = (-np.inf, np.inf) if type_ == "float" else (16777217, -16777219)
        feed = {"x": x}
        (want,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)
        feeds = [feed, {"x": np.concatenate([x, x])}]
        found = run(plan_of(model, feeds), feeds)
        np.testing.assert_array_equal(found[0]["y"], want)
        np.testing.assert_array_equal(found[1]["y"], np.concatenate([want, want]))


ANTIALIASED = """
<ir_version: 9, opset_import: ["" : 19]>
g (float[b, 3, 8, 10] x) => (float[b, 3, h, w] y)
{
    scales = Constant <value_floats = [1.0, 1.0, 0.5, 0.4]> ()
    y = Resize <mode = "linear", antialias = 1> (x, , scales)
}
"""


def test_axes_that_stay_may_be_open() -> None:
    import onnxruntime

    model = parser.parse_model(ANTIALIASED)
    feeds = [{"x": np.random.default_rng(b).random((b, 3, 8, 10), np.float32)} for b in (2, 1, 5)]
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for feed, found in zip(feeds, run(plan_of(model, feeds), feeds), strict=True):
        check_equal(found["y"], session.run(None, feed)[0], "y")
