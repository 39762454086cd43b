"""Writes cases/<kind>.json: golden values of every layer kind, from NumPy and ONNX Runtime, never from Tenon.

Run in the project's environment: python tests/layers/generate_cases.py
"""

import json
import math
import pathlib
import zlib

import numpy as np
import onnxruntime
from onnx import helper

FOLDER = pathlib.Path(__file__).parent / "cases"
ENUM = {"FLOAT": 0, "HALF": 1, "INT8": 2, "INT32": 3, "BOOL": 4, "UINT8": 5, "BF16": 7, "INT64": 8}
FILES = {}


def rng(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def uniform(name, *shape, low=-2.0, high=2.0, dtype=np.float32):
    return rng(name).uniform(low, high, shape).astype(dtype)


def integers(name, *shape, low=-9, high=10, dtype=np.int32):
    return rng(name).integers(low, high, shape).astype(dtype)


def number(value):
    if isinstance(value, (bool, np.bool_)):
        return int(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return float(f"{value:.9g}")


class Const:
    """An input that the build knows."""

    def __init__(self, values, dtype=np.int64):
        self.array = np.asarray(values, dtype)


class Typed:
    """Elements of a type that NumPy has not, by its name."""

    def __init__(self, values, name):
        self.array, self.name = np.asarray(values, np.float64), name


def tensor(value):
    if value is None:
        return None
    constant = isinstance(value, Const)
    typed = isinstance(value, Typed)
    array = np.asarray(value.array if constant or typed else value)
    record = {
        "type": value.name if typed else array.dtype.name,
        "extents": list(array.shape),
        "data": [number(v) for v in array.ravel()],
    }
    if constant:
        record["constant"] = True
    return record


def case(kind, name, fields, inputs, outputs, **more):
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    record = {
        "name": name,
        "fields": fields,
        "inputs": [tensor(i) for i in inputs],
        "outputs": [tensor(o if isinstance(o, Typed) else np.asarray(o)) for o in outputs],
        **more,
    }
    FILES.setdefault(kind, []).append(record)


def ort(op, inputs, outputs=1, opset=20, **attributes):
    arrays = [np.asarray(i.array if isinstance(i, Const) else i) if i is not None else None for i in inputs]
    names = [f"i{k}" if a is not None else "" for k, a in enumerate(arrays)]
    node = helper.make_node(op, names, [f"o{k}" for k in range(outputs)], **attributes)

    def info(name, array):
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)

    graph = helper.make_graph(
        [node],
        "g",
        [info(n, a) for n, a in zip(names, arrays, strict=True) if n],
        [helper.make_empty_tensor_value_info(f"o{k}") for k in range(outputs)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {n: a for n, a in zip(names, arrays, strict=True) if n})


def erf(x):
    return np.vectorize(math.erf)(x.astype(np.float64))


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x.astype(np.float64)))


def as_type(values, like):
    return np.asarray(values).astype(like.dtype)


def activations():
    x = uniform("activation", 2, 3, 4, low=-4, high=4)
    x[0, 0, 0] = 0.0
    d = x.astype(np.float64)
    a, b = 0.3, 0.7

    def gelu(inner):
        return 0.5 * d * (1 + inner)

    rows = [
        ("relu", 0, np.maximum(d, 0)),
        ("sigmoid", 1, sigmoid(d)),
        ("tanh", 2, np.tanh(d)),
        ("leaky_relu", 3, np.where(d > 0, d, a * d)),
        ("elu", 4, np.where(d > 0, d, a * (np.exp(d) - 1))),
        ("selu", 5, b * np.where(d > 0, d, a * (np.exp(d) - 1))),
        ("softsign", 6, d / (1 + abs(d))),
        ("softplus", 7, a * np.log(np.exp(b * d) + 1)),
        ("E33_clip", 8, np.maximum(a, np.minimum(b, d))),
        ("hard_sigmoid", 9, np.maximum(0, np.minimum(1, a * d + b))),
        ("scaled_tanh", 10, a * np.tanh(b * d)),
        ("thresholded_relu", 11, np.where(d > a, d, 0)),
        ("gelu_erf", 12, gelu(erf(d / math.sqrt(2)))),
        ("gelu_tanh", 13, gelu(np.tanh(math.sqrt(2 / math.pi) * (d + 0.044715 * d**3)))),
    ]
    for name, kind, y in rows:
        case("Activation", name, {"ActivationType": kind, "Alpha": a, "Beta": b}, [x], as_type(y, x))
    for kind, name in ((0, "half_relu"), (1, "half_sigmoid")):
        h = x.astype(np.float16)
        y = np.maximum(h, 0) if kind == 0 else sigmoid(h).astype(np.float16)
        case("Activation", name, {"ActivationType": kind}, [h], y)
    i = integers("relu", 2, 5)
    case("Activation", "E33_reluOfInt32", {"ActivationType": 0}, [i], np.maximum(i, 0))
    i = integers("relu", 2, 5, dtype=np.int64)
    case("Activation", "E33_reluOfInt64", {"ActivationType": 0}, [i], np.maximum(i, 0))


def unaries():
    x = uniform("unary", 3, 5, low=-3, high=3)
    small = uniform("unary1", 3, 5, low=-0.95, high=0.95)
    positive = uniform("unary2", 3, 5, low=0.1, high=5)
    above = uniform("unary3", 3, 5, low=1.1, high=5)
    ties = np.array([[-2.5, -1.5, -0.5, 0.5, 1.5], [2.5, 0.2, -0.2, 0.0, 3.7]], np.float32)
    rows = [
        ("exp", 0, x, np.exp),
        ("log", 1, positive, np.log),
        ("sqrt", 2, positive, np.sqrt),
        ("recip", 3, positive, lambda v: 1 / v),
        ("abs", 4, x, np.abs),
        ("neg", 5, x, np.negative),
        ("sin", 6, x, np.sin),
        ("cos", 7, x, np.cos),
        ("tan", 8, small, np.tan),
        ("sinh", 9, x, np.sinh),
        ("cosh", 10, x, np.cosh),
        ("asin", 11, small, np.arcsin),
        ("acos", 12, small, np.arccos),
        ("atan", 13, x, np.arctan),
        ("asinh", 14, x, np.arcsinh),
        ("acosh", 15, above, np.arccosh),
        ("atanh", 16, small, np.arctanh),
        ("ceil", 17, x, np.ceil),
        ("floor", 18, x, np.floor),
        ("erf", 19, x, erf),
        ("sign", 21, x, np.sign),
        ("E34_roundHalfToEven", 22, ties, np.round),
    ]
    for name, op, v, f in rows:
        case("Unary", name, {"Operation": op}, [v], as_type(f(v.astype(np.float64)), v))
    for dtype in (np.int8, np.int32, np.int64):
        i = integers("unary", 2, 6, dtype=dtype)
        i[0, 0] = 0
        case("Unary", f"E34_absOf_{np.dtype(dtype).name}", {"Operation": 4}, [i], np.abs(i))
        case("Unary", f"E34_signOf_{np.dtype(dtype).name}", {"Operation": 21}, [i], np.sign(i))
        case("Unary", f"negOf_{np.dtype(dtype).name}", {"Operation": 5}, [i], -i)
    b = integers("unary", 2, 6, low=0, high=2).astype(bool)
    case("Unary", "E34_not", {"Operation": 20}, [b], ~b)
    s = np.array([1.0, np.inf, -np.inf, np.nan, 0.0], np.float32)
    case("Unary", "isinf", {"Operation": 23}, [s], np.isinf(s))
    case("Unary", "isnan", {"Operation": 24}, [s], np.isnan(s))


def elementwises():
    a = uniform("ew", 2, 3, 4)
    b = uniform("ew2", 2, 1, 4, low=0.3, high=2)
    p = uniform("ew3", 2, 3, 4, low=0.1, high=3)
    rows = [
        ("sum", 0, a, b, np.add),
        ("prod", 1, a, b, np.multiply),
        ("max", 2, a, b, np.maximum),
        ("min", 3, a, b, np.minimum),
        ("sub", 4, a, b, np.subtract),
        ("div", 5, a, b, np.divide),
        ("pow", 6, p, b, np.power),
        ("floor_div", 7, a, b, np.floor_divide),
        ("equal", 11, a, a, np.equal),
        ("greater", 12, a, b, np.greater),
        ("less", 13, a, b, np.less),
    ]
    for name, op, x, y, f in rows:
        case("ElementWise", f"E1_{name}", {"Operation": op}, [x, y], f(x, y))
    i = integers("ewi", 3, 4)
    j = integers("ewj", 1, 4, low=1, high=5) * np.array([[1, -1, 1, -1]], np.int32)
    case("ElementWise", "int_div_truncates", {"Operation": 5}, [i, j], np.trunc(i / j).astype(np.int32))
    case("ElementWise", "int_floor_div", {"Operation": 7}, [i, j], i // j)
    case("ElementWise", "int_sum", {"Operation": 0}, [i, j], i + j)
    case(
        "ElementWise", "int64_prod", {"Operation": 1}, [i.astype(np.int64), j.astype(np.int64)], i.astype(np.int64) * j
    )
    case("ElementWise", "int_equal", {"Operation": 11}, [i, np.abs(j)], i == np.abs(j))
    c = integers("ewb", 2, 3, low=0, high=2).astype(bool)
    d = integers("ewc", 2, 1, low=0, high=2).astype(bool)
    for name, op, f in (("and", 8, np.logical_and), ("or", 9, np.logical_or), ("xor", 10, np.logical_xor)):
        case("ElementWise", name, {"Operation": op}, [c, d], f(c, d))
    e = np.zeros((0, 4), np.float32)
    case("ElementWise", "E1_zeroAgainstOneGivesZero", {"Operation": 0}, [e, uniform("e", 1, 4)], e)
    s = uniform("scalar").reshape(())
    case("ElementWise", "scalars", {"Operation": 1}, [s, s], s * s)
    h = a.astype(np.float16)
    case("ElementWise", "half_sum", {"Operation": 0}, [h, h], h + h)


def selects():
    c = integers("sel", 2, 3, 1, low=0, high=2).astype(bool)
    a, b = uniform("sela", 2, 3, 4), uniform("selb", 1, 3, 4)
    case("Select", "E2_broadcast", {}, [c, a, b], np.where(c, a, b))
    i, j = integers("seli", 1, 3, 4), integers("selj", 2, 1, 4)
    case("Select", "E2_ints", {}, [c, i, j], np.where(c, i, j))
    e = np.zeros((2, 0), np.float32)
    case("Select", "E2_anAxisOfZeroWins", {}, [np.ones((2, 1), bool), e, uniform("selz", 2, 1)], e)


def casts():
    f = np.array([-2.7, -0.5, 0.0, 0.4, 1.5, 2.5, 100.9], np.float32)
    for name, dtype in (
        ("INT32", np.int32),
        ("INT64", np.int64),
        ("HALF", np.float16),
        ("BOOL", bool),
        ("INT8", np.int8),
    ):
        case("Cast", f"E16_float_to_{name}", {"ToType": ENUM[name]}, [f], f.astype(dtype))
    i = integers("cast", 7, low=-300, high=300)
    for name, dtype in (("FLOAT", np.float32), ("INT64", np.int64), ("BOOL", bool), ("HALF", np.float16)):
        case("Cast", f"E16_int32_to_{name}", {"ToType": ENUM[name]}, [i], i.astype(dtype))
    b = integers("castb", 6, low=0, high=2).astype(bool)
    case("Cast", "E16_bool_to_float", {"ToType": 0}, [b], b.astype(np.float32))
    case("Cast", "E16_bool_to_int64", {"ToType": 8}, [b], b.astype(np.int64))
    u = integers("castu", 6, low=0, high=255).astype(np.uint8)
    case("Cast", "uint8_to_float", {"ToType": 0}, [u], u.astype(np.float32))


def moving():
    a, b, c = uniform("cat1", 2, 1, 3), uniform("cat2", 2, 4, 3), uniform("cat3", 2, 2, 3)
    case("Concatenation", "three", {"Axis": 1}, [a, b, c], np.concatenate([a, b, c], 1))
    case("Concatenation", "outer", {"Axis": 0}, [a, a], np.concatenate([a, a], 0))
    case(
        "Concatenation",
        "ints_with_an_empty_one",
        {"Axis": 0},
        [integers("cat", 3), np.zeros(0, np.int32)],
        integers("cat", 3),
    )
    case("Identity", "same", {}, [b], b)
    case("Shape", "extents", {}, [b], np.array(b.shape, np.int64))
    case("Shape", "scalar", {}, [np.float32(3).reshape(())], np.zeros(0, np.int64))
    case(
        "Squeeze", "E37_axes", {}, [uniform("sq", 1, 3, 1, 2), Const([0, -2])], uniform("sq", 1, 3, 1, 2).reshape(3, 2)
    )
    case("Unsqueeze", "E37_axes", {}, [uniform("us", 3, 2), Const([0, -1])], uniform("us", 3, 2).reshape(1, 3, 2, 1))
    case("Unsqueeze", "scalar_axis", {}, [integers("us").reshape(()), Const(0)], integers("us").reshape(1))
    x = uniform("pad", 1, 2, 3, 4)
    case(
        "Padding",
        "zeros",
        {"PrePaddingNd": [1, 2], "PostPaddingNd": [0, 3]},
        [x],
        np.pad(x, ((0, 0), (0, 0), (1, 0), (2, 3))),
    )
    case(
        "Padding",
        "negative_crops",
        {"PrePaddingNd": [-1, 1], "PostPaddingNd": [0, -2]},
        [x],
        np.pad(x, ((0, 0), (0, 0), (0, 0), (1, 0)))[:, :, 1:, :-2],
    )
    s = uniform("rev", 4, 3, 2)
    lengths = np.array([1, 4, 3], np.int64)
    case(
        "ReverseSequence",
        "time_first",
        {"BatchAxis": 1, "SequenceAxis": 0},
        [s, lengths],
        ort("ReverseSequence", [s, lengths], batch_axis=1, time_axis=0)[0],
    )
    case(
        "ReverseSequence",
        "batch_first",
        {"BatchAxis": 0, "SequenceAxis": 1},
        [s, np.array([3, 1, 2, 2], np.int32)],
        ort("ReverseSequence", [s, np.array([3, 1, 2, 2], np.int64)], batch_axis=0, time_axis=1)[0],
    )


def gathers():
    x = uniform("gather", 3, 4, 5)
    i = np.array([[0, 2], [1, -1]], np.int64)
    case("Gather", "E4_default", {"GatherAxis": 1, "Mode": 0}, [x, i], np.take(x, i, 1))
    case("Gather", "scalar_index", {"GatherAxis": 0, "Mode": 0}, [x, np.array(2, np.int32)], x[2])
    case(
        "Gather",
        "E4_outOfBoundsGivesZero",
        {"GatherAxis": 0, "Mode": 0},
        [x, np.array([1, 7, -5], np.int32)],
        np.stack([x[1], 0 * x[0], 0 * x[0]]),
    )
    b = integers("gatherb", 3, 4, low=0, high=2).astype(bool)
    case("Gather", "bool_data", {"GatherAxis": 1, "Mode": 0}, [b, i], np.take(b, i, 1))
    e = integers("gathere", 3, 2, low=0, high=4, dtype=np.int64)
    case(
        "Gather",
        "E4_oneElementwiseDimension",
        {"GatherAxis": 1, "NbElementWiseDims": 1, "Mode": 0},
        [x, e],
        np.stack([x[k][e[k]] for k in range(3)]),
    )
    g = integers("gatherel", 3, 2, 5, low=-4, high=4, dtype=np.int64)
    case("Gather", "E4_element", {"GatherAxis": 1, "Mode": 1}, [x, g], ort("GatherElements", [x, g], axis=1)[0])
    n = np.array([[[0, 1], [2, 3]], [[1, 1], [-1, 0]]], np.int64)
    case("Gather", "E4_nd", {"Mode": 2}, [x, n], ort("GatherND", [x, n])[0])
    m = np.array([[[1], [0]], [[3], [2]], [[0], [0]]], np.int64)
    case(
        "Gather",
        "E4_ndWithBatch",
        {"Mode": 2, "NbElementWiseDims": 1},
        [x, m],
        ort("GatherND", [x, m], batch_dims=1)[0],
    )


def scatters():
    x = uniform("scatter", 3, 4)
    i = np.array([[1, 0, 2, -1], [2, 2, 0, 0]], np.int64)
    u = uniform("scatteru", 2, 4)
    case("Scatter", "E5_element", {"Mode": 0, "Axis": 0}, [x, i, u], ort("ScatterElements", [x, i, u], axis=0)[0])
    n = np.array([[0], [2]], np.int64)
    case("Scatter", "E5_nd", {"Mode": 1}, [x, n, u], ort("ScatterND", [x, n, u])[0])
    m = np.array([[[0, 3], [1, -2]]], np.int64)
    v = uniform("scatterv", 1, 2)
    case("Scatter", "E5_ndPoints", {"Mode": 1}, [x, m, v], ort("ScatterND", [x, m, v])[0])


def order(*axes):
    return list(axes) + list(range(len(axes), 8))


def shuffles():
    x = uniform("shuffle", 2, 3, 4)
    case("Shuffle", "E6_transpose", {"FirstTranspose": order(2, 0, 1)}, [x], x.transpose(2, 0, 1))
    case("Shuffle", "E6_zeroCopies", {"ReshapeDimensions": [0, -1]}, [x], x.reshape(2, 12))
    case(
        "Shuffle",
        "E6_all_three",
        {"FirstTranspose": order(1, 0, 2), "ReshapeDimensions": [3, 2, 2, 2], "SecondTranspose": order(3, 0, 2, 1)},
        [x],
        x.transpose(1, 0, 2).reshape(3, 2, 2, 2).transpose(3, 0, 2, 1),
    )
    case("Shuffle", "E6_dimensionsAsInput", {}, [x, Const([-1, 6])], x.reshape(-1, 6))
    case(
        "Shuffle",
        "E6_inputGoesBeforeField",
        {"ReshapeDimensions": [24]},
        [x, Const([4, 0, -1], np.int32)],
        x.reshape(4, 3, 2),
    )
    e = np.zeros((0, 3), np.float32)
    case(
        "Shuffle",
        "E6_zeroIsAnExtent",
        {"ReshapeDimensions": [0, 5], "ZeroIsPlaceholder": False},
        [e],
        np.zeros((0, 5), np.float32),
    )
    case("Shuffle", "E6_restBesideACopiedZero", {"ReshapeDimensions": [0, -1]}, [e], np.zeros((0, 3), np.float32))
    apart = np.zeros((2, 0, 4), np.float32)
    case("Shuffle", "E6_restAroundACopiedZero", {"ReshapeDimensions": [-1, 0, 2]}, [apart], apart.reshape(4, 0, 2))
    case("Shuffle", "to_scalar", {"ReshapeDimensions": []}, [uniform("sc", 1, 1)], uniform("sc", 1, 1).reshape(()))


def reflect(position, extent):
    period = 2 * (extent - 1)
    position %= period
    return position if position < extent else period - position


def slices():
    x = uniform("slice", 3, 6)
    case("Slice", "E8_strides", {"Start": [0, 1], "Size": [2, 3], "Stride": [2, 2]}, [x], x[0::2, 1:6:2])
    case("Slice", "E8_negativeStride", {"Start": [2, 5], "Size": [3, 3], "Stride": [-1, -2]}, [x], x[::-1, 5::-2])
    case(
        "Slice",
        "E8_zeroStrideRepeats",
        {"Start": [1, 2], "Size": [2, 4], "Stride": [0, 1]},
        [x],
        np.stack([x[1, 2:6]] * 2),
    )
    case("Slice", "E8_axes", {"Start": [2], "Size": [3], "Stride": [1], "Axes": [1]}, [x], x[:, 2:5])
    case("Slice", "E8_inputs", {}, [x, Const([1, 0]), Const([2, 4]), Const([1, 1])], x[1:3, 0:4])
    case("Slice", "E8_axesAsInput", {}, [x, Const([1]), Const([2]), Const([2]), None, Const([-1])], x[:, 1:5:2])
    rows, columns = range(-2, 6), range(-3, 11)

    def pick(f):
        return np.array([[x[f(r, 3), f(c, 6)] for c in columns] for r in rows])

    outside = {"Start": [-2, -3], "Size": [8, 14], "Stride": [1, 1]}
    case("Slice", "E8_wrap", {**outside, "Mode": 1}, [x], pick(lambda p, n: p % n))
    case("Slice", "E8_clamp", {**outside, "Mode": 2}, [x], pick(lambda p, n: min(max(p, 0), n - 1)))
    case("Slice", "E8_reflect", {**outside, "Mode": 4}, [x], pick(reflect))
    filled = np.zeros((8, 14), np.float32)
    filled[2:5, 3:9] = x
    case("Slice", "E8_fillWithZero", {**outside, "Mode": 3}, [x], filled)
    filled[:] = 7.5
    filled[2:5, 3:9] = x
    case("Slice", "E8_fillValue", {**outside, "Mode": 3}, [x, None, None, None, np.float32(7.5).reshape(())], filled)
    b = integers("sliceb", 2, 4, low=0, high=2).astype(bool)
    case("Slice", "bools", {"Start": [0, 1], "Size": [2, 2]}, [b], b[:, 1:3])
    z = np.zeros((0, 3), np.float32)
    case("Slice", "E8_clampOfEmptyIsEmpty", {"Start": [0, 0], "Size": [0, 3], "Mode": 2}, [z], z)


def fills():
    case(
        "Fill",
        "E15_linspace",
        {"Dimensions": [5], "Alpha": 0.5, "Beta": 0.25},
        [],
        (0.5 + 0.25 * np.arange(5)).astype(np.float32),
    )
    case(
        "Fill",
        "E15_betaPerAxis",
        {"Dimensions": [2, 3], "ToType": 0},
        [None, np.float32(1).reshape(()), np.array([10, 0.5], np.float32)],
        np.array([[1, 1.5, 2], [11, 11.5, 12]], np.float32),
    )
    case(
        "Fill",
        "E15_int64",
        {"Dimensions": [4], "AlphaInt64": 3, "BetaInt64": -2, "AlphaBetaInt64": True, "ToType": 8},
        [],
        3 - 2 * np.arange(4),
    )
    case(
        "Fill",
        "E15_dimensionsAsInput",
        {"ToType": 3},
        [Const([6]), np.int32(2).reshape(()), np.array([3], np.int32)],
        (2 + 3 * np.arange(6)).astype(np.int32),
    )
    case("Fill", "constant", {"Dimensions": [2, 2], "Alpha": 4.5, "Beta": 0.0}, [], np.full((2, 2), 4.5, np.float32))


def reductions():
    x = uniform("reduce", 2, 3, 4)
    d = x.astype(np.float64)
    rows = [("sum", 0, np.sum), ("prod", 1, np.prod), ("max", 2, np.max), ("min", 3, np.min), ("avg", 4, np.mean)]
    for name, op, f in rows:
        case(
            "Reduce",
            f"{name}_kept",
            {"Operation": op, "ReduceAxes": 6, "KeepDimensions": True},
            [x],
            as_type(f(d, axis=(1, 2), keepdims=True), x),
        )
        case("Reduce", name, {"Operation": op, "ReduceAxes": 2, "KeepDimensions": False}, [x], as_type(f(d, axis=1), x))
        i = integers("reduce", 3, 4)
        y = np.trunc(np.mean(i, axis=0)) if op == 4 else f(i, axis=0)
        case("Reduce", f"{name}_int32", {"Operation": op, "ReduceAxes": 1}, [i], y.astype(np.int32))
    case("Reduce", "to_scalar", {"Operation": 0, "ReduceAxes": 7}, [x], as_type(d.sum(), x).reshape(()))
    empty = {
        np.float32: (0, 1, -np.inf, np.inf, np.nan),
        np.int32: (0, 1, -(2**31), 2**31 - 1, 0),
        np.int8: (0, 1, -128, 127, -128),
    }
    for dtype, values in empty.items():
        for (name, op, _), value in zip(rows, values, strict=True):
            case(
                "Reduce",
                f"E3_{name}OfNothing_{np.dtype(dtype).name}",
                {"Operation": op, "ReduceAxes": 2},
                [np.zeros((2, 0), dtype)],
                np.full(2, value).astype(dtype),
            )


def softmax(x, axis):
    d = x.astype(np.float64)
    e = np.exp(d - d.max(axis, keepdims=True))
    return as_type(e / e.sum(axis, keepdims=True), x)


def rows_wise():
    x = uniform("softmax", 2, 3, 5, low=-5, high=5)
    for axis in range(3):
        case("SoftMax", f"axis{axis}", {"Axes": 1 << axis}, [x], softmax(x, axis))
    big = x * np.float32(100)
    case("SoftMax", "large", {"Axes": 4}, [big], softmax(big, 2))
    h = x.astype(np.float16)
    case("SoftMax", "half", {"Axes": 4}, [h], softmax(h, 2))
    s, b = uniform("ln1", 1, 1, 5), uniform("ln2", 1, 1, 5)
    case(
        "Normalization",
        "layer",
        {"Axes": 4, "Epsilon": 1e-3},
        [x, s, b],
        ort("LayerNormalization", [x, s.reshape(5), b.reshape(5)], axis=-1, epsilon=1e-3)[0],
    )
    case(
        "Normalization",
        "layer_two_axes",
        {"Axes": 6, "Epsilon": 1e-5},
        [x, uniform("ln3", 1, 3, 5), None],
        ort("LayerNormalization", [x, uniform("ln3", 3, 5)], axis=1, epsilon=1e-5)[0],
    )
    y = uniform("inorm", 2, 6, 3, 4)
    c, k = uniform("in1", 1, 6, 1, 1), uniform("in2", 1, 6, 1, 1)
    case(
        "Normalization",
        "instance",
        {"Axes": 12, "Epsilon": 1e-4},
        [y, c, k],
        ort("InstanceNormalization", [y, c.ravel(), k.ravel()], epsilon=1e-4)[0],
    )
    g = y.astype(np.float64).reshape(2, 3, 2, 3, 4)
    g = (g - g.mean((2, 3, 4), keepdims=True)) / np.sqrt(g.var((2, 3, 4), keepdims=True) + 1e-4)
    g = g.reshape(2, 6, 3, 4)
    case(
        "Normalization",
        "E26_groupsWithScalePerChannel",
        {"Axes": 12, "Epsilon": 1e-4, "NbGroups": 3, "V2": True},
        [y, c, k],
        as_type(g * c + k, y),
    )
    cg, kg = uniform("gn1", 1, 3, 1, 1), uniform("gn2", 1, 3, 1, 1)
    case(
        "Normalization",
        "E26_groupsWithScalePerGroup",
        {"Axes": 12, "Epsilon": 1e-4, "NbGroups": 3},
        [y, cg, kg],
        as_type(g * np.repeat(cg, 2, 1) + np.repeat(kg, 2, 1), y),
    )
    d = x.astype(np.float64)
    case(
        "Normalization",
        "rms",
        {"Axes": 4, "Epsilon": 1e-3, "rms": True},
        [x, s, None],
        as_type(d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-3) * s, x),
    )
    v = uniform("lrn", 2, 7, 2, 3)
    case(
        "LRN",
        "window5",
        {"WindowSize": 5, "Alpha": 0.3, "Beta": 0.75, "K": 1.5},
        [v],
        ort("LRN", [v], size=5, alpha=0.3, beta=0.75, bias=1.5)[0],
    )
    f, fk, fb = uniform("full", 2, 3, 2, 4), uniform("full_kernel", 5, 24), uniform("full_bias", 5)
    fy = (f.reshape(2, 24).astype(np.float64) @ fk.T.astype(np.float64) + fb).astype(np.float32).reshape(2, 5, 1, 1)
    case("FullyConnected", "bias", {"NbOutputChannels": 5}, [f, fk, fb], fy)
    f5 = uniform("full5", 2, 3, 1, 2, 2)
    fk5 = uniform("full5_kernel", 3, 4)
    fy5 = (f5.reshape(6, 4).astype(np.float64) @ fk5.T.astype(np.float64)).astype(np.float32).reshape(2, 3, 3, 1, 1)
    case("FullyConnected", "more_axes", {"NbOutputChannels": 3}, [f5, fk5], fy5)
    p = uniform("scale", 2, 3, 4, low=0.2)
    sh, sc, po = uniform("sh", 1, 3, 1, low=0.1), uniform("sc", 1, 3, 1, low=0.1), uniform("po", 1, 3, 1)
    case(
        "Scale",
        "channel",
        {"Mode": 1, "ChannelAxis": 1, "hasShift": True, "hasScale": True, "hasPower": True},
        [p, sh, sc, po],
        as_type((p.astype(np.float64) * sc + sh) ** po, p),
    )
    case("Scale", "only_scale", {"Mode": 0, "hasScale": True}, [p, None, sc[:, :1]], p * sc[:, :1])
    slope = uniform("slope", 1, 3, 1)
    q = uniform("prelu", 2, 3, 4)
    case("ParametricReLU", "per_channel", {}, [q, slope], np.where(q > 0, q, q * slope))


def sorting():
    x = uniform("topk", 2, 5, 3)
    for largest in (1, 0):
        v, i = ort("TopK", [x, np.array([2], np.int64)], outputs=2, axis=1, largest=largest, sorted=1)
        case(
            "TopK",
            f"E9_{'max' if largest else 'min'}",
            {"Operation": 1 - largest, "K": 2, "ReduceAxes": 2},
            [x],
            [v, i.astype(np.int32)],
        )
    v, i = ort("TopK", [x, np.array([3], np.int64)], outputs=2, axis=1)
    case("TopK", "E9_kAsInput64", {"ReduceAxes": 2, "IndicesType": 8}, [x, Const(3, np.int32)], [v, i])
    t = np.array([[3, 1, 3, 2, 1, 3]], np.int32)
    case(
        "TopK",
        "E9_equalElementsKeepTheirOrder",
        {"K": 4, "ReduceAxes": 2},
        [t],
        [np.array([[3, 3, 3, 2]], np.int32), np.array([[0, 2, 5, 3]], np.int32)],
    )
    n = uniform("nz", 3, 4)
    n[n < 0.3] = 0
    case("NonZero", "E10_floats", {}, [n], np.array(np.nonzero(n), np.int32))
    b = integers("nz", 2, 2, 3, low=0, high=2).astype(bool)
    case("NonZero", "E10_bools64", {"IndicesType": 8}, [b], np.array(np.nonzero(b), np.int64))
    i = np.array([[0, 2], [3, 1]], np.int32)
    values = np.array([-1.5, 2.5], np.float32)
    for axis in (-1, 0, 1):
        case(
            "OneHot",
            f"E22_axis{axis}",
            {"Axis": axis},
            [i, values, Const(4)],
            ort("OneHot", [i.astype(np.int64), np.array([4], np.int64), values], axis=axis)[0],
        )
    c = uniform("cum", 2, 4, 3)
    for exclusive in (0, 1):
        for reverse in (0, 1):
            case(
                "Cumulative",
                f"E36_exclusive{exclusive}_reverse{reverse}",
                {"Exclusive": bool(exclusive), "Reverse": bool(reverse)},
                [c, Const(1)],
                ort("CumSum", [c, np.array(1, np.int64)], exclusive=exclusive, reverse=reverse)[0],
            )
    ci = integers("cum", 5, dtype=np.int64)
    case("Cumulative", "E36_int64", {}, [ci, Const(-1)], np.cumsum(ci))
    case("Assertion", "E21_holds", {"Message": "must hold"}, [np.array([True, True])], [])
    case("DebugTensor", "T8_takesAnything", {"Tensor": "middle"}, [uniform("debug", 2, 3)], [])
    case(
        "Requirement",
        "extentsAndValuesAreAsAskedFor",
        {
            "extents": [
                {"input": 0, "axis": 1, "other": 1, "otherAxis": 0},
                {"input": 0, "axis": 0, "other": -1, "otherAxis": 2},
            ],
            "values": [
                {"input": 1, "least": 0, "most": 5, "message": "too many"},
                {"input": 1, "least": -1, "most": 3, "extentOf": 0, "axis": 0, "message": "beyond the rows"},
            ],
            "message": "it takes rows",
        },
        [uniform("required", 2, 3), np.array([0, 5, 2], np.int32)],
        [],
    )


def convolutions():
    def one(name, x, k, bias=None, groups=1, strides=None, dilations=None, pads=None, mode=0, auto=None, **fields):
        n = x.ndim - 2
        attributes = {"group": groups, "strides": strides or [1] * n, "dilations": dilations or [1] * n}
        attributes.update({"auto_pad": auto} if auto else {"pads": pads or [0] * (2 * n)})
        inputs = [x, k] + ([bias] if bias is not None else [])
        y = ort("Conv", inputs, **attributes)[0]
        pads = pads or [0] * (2 * n)
        case(
            "Convolution",
            name,
            {
                "NbOutputMaps": k.shape[0],
                "KernelSizeNd": list(k.shape[2:]),
                "NbGroups": groups,
                "StrideNd": strides or [],
                "DilationNd": dilations or [],
                "PrePadding": pads[:n],
                "PostPadding": pads[n:],
                "PaddingMode": mode,
                **fields,
            },
            inputs,
            y,
        )

    x = uniform("conv", 2, 4, 7, 6)
    k = uniform("convk", 3, 4, 3, 2)
    b = uniform("convb", 3)
    one("plain", x, k)
    one("bias_padding", x, k, b, pads=[1, 0, 2, 1])
    one("stride_dilation", x, k, b, strides=[2, 1], dilations=[2, 3], pads=[1, 1, 1, 1])
    one("E32_sameUpper", x, k, b, strides=[2, 2], auto="SAME_UPPER", mode=2)
    one("E32_sameLower", x, k, b, strides=[2, 2], auto="SAME_LOWER", mode=3)
    one("groups", x, uniform("convg", 6, 2, 3, 3), groups=2, pads=[1, 1, 1, 1])
    one("depthwise", x, uniform("convd", 4, 1, 3, 3), groups=4, strides=[2, 1], pads=[1, 1, 1, 1])
    one("one_dimension", uniform("conv1", 2, 3, 9), uniform("conv1k", 2, 3, 4), uniform("conv1b", 2), strides=[2])
    one(
        "three_dimensions",
        uniform("conv3", 1, 2, 4, 5, 3),
        uniform("conv3k", 3, 2, 2, 3, 2),
        uniform("conv3b", 3),
        pads=[0, 1, 0, 1, 1, 0],
    )
    one("E32_roundUp", x, k, strides=[2, 2], pads=[0, 0, 0, 0], mode=0)
    case(
        "Convolution",
        "E32_explicitRoundUpReadsZeros",
        {"NbOutputMaps": 3, "KernelSizeNd": [3, 2], "StrideNd": [3, 3], "PaddingMode": 1},
        [x, k],
        ort("Conv", [np.pad(x, ((0, 0), (0, 0), (0, 2), (0, 2))), k], strides=[3, 3])[0],
    )
    y = ort("Conv", [x, k, b])[0]
    e = uniform("conve", *y.shape)
    case(
        "Convolution",
        "epilogue_add_relu",
        {"NbOutputMaps": 3, "KernelSizeNd": [3, 2], "epilogue": {"steps": [{"kind": 0}, {"kind": 2}]}},
        [x, k, b, e],
        np.maximum(y + e, 0),
    )
    m = uniform("convm", 1, 3, 1, 1)
    case(
        "Convolution",
        "epilogue_hardswish_multiply_without_bias",
        {
            "NbOutputMaps": 3,
            "KernelSizeNd": [3, 2],
            "epilogue": {"steps": [{"kind": 9, "alpha": 1 / 6, "beta": 0.5}, {"kind": 1}]},
        },
        [x, k, None, m],
        as_type((lambda v: v * np.clip(v / 6 + 0.5, 0, 1) * m)(ort("Conv", [x, k])[0].astype(np.float64)), x),
    )
    h = x.astype(np.float16)
    hk = k.astype(np.float16)
    case(
        "Convolution",
        "half",
        {"NbOutputMaps": 3, "KernelSizeNd": [3, 2]},
        [h, hk],
        ort("Conv", [h.astype(np.float32), hk.astype(np.float32)])[0].astype(np.float16),
    )


def deconvolutions():
    def one(name, x, k, bias=None, groups=1, strides=None, dilations=None, pads=None, extra=None):
        n = x.ndim - 2
        pads = pads or [0] * (2 * n)
        extra = extra or [0] * n
        inputs = [x, k] + ([bias] if bias is not None else [])
        y = ort(
            "ConvTranspose",
            inputs,
            group=groups,
            strides=strides or [1] * n,
            dilations=dilations or [1] * n,
            pads=pads,
            output_padding=extra,
        )[0]
        post = [p - e for p, e in zip(pads[n:], extra, strict=True)]
        case(
            "Deconvolution",
            name,
            {
                "NbOutputMaps": k.shape[1] * groups,
                "KernelSizeNd": list(k.shape[2:]),
                "NbGroups": groups,
                "StrideNd": strides or [],
                "DilationNd": dilations or [],
                "PrePadding": pads[:n],
                "PostPadding": post,
            },
            inputs,
            y,
        )

    x = uniform("deconv", 2, 4, 3, 5)
    one("two_by_two", x, uniform("deconvk", 4, 3, 2, 2), uniform("deconvb", 3), strides=[2, 2])
    one("overlapping", x, uniform("deconvo", 4, 2, 3, 4), strides=[2, 1], pads=[1, 0, 1, 2])
    one(
        "groups_dilation",
        x,
        uniform("deconvg", 4, 2, 3, 2),
        uniform("deconvgb", 4),
        groups=2,
        dilations=[2, 1],
        strides=[1, 2],
    )
    one("output_padding", x, uniform("deconvp", 4, 2, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1], extra=[1, 1])
    one("one_dimension", uniform("deconv1", 1, 2, 5), uniform("deconv1k", 2, 3, 4), strides=[3])
    k = uniform("deconvs", 4, 2, 3, 3)
    y = ort("ConvTranspose", [x, k], strides=[2, 2], auto_pad="SAME_UPPER", output_shape=[6, 10])[0]
    case(
        "Deconvolution",
        "E32_sameUpper",
        {"NbOutputMaps": 2, "KernelSizeNd": [3, 3], "StrideNd": [2, 2], "PaddingMode": 2},
        [x, k],
        y,
    )


def poolings():
    x = uniform("pool", 2, 3, 7, 6)

    def one(name, kind, size, strides, pads=(0, 0, 0, 0), mode=0, excludes=True, auto=None, ceil=0, data=None):
        v = x if data is None else data
        n = len(size)
        attributes = {"kernel_shape": size, "strides": strides, "ceil_mode": ceil}
        attributes.update({"auto_pad": auto} if auto else {"pads": list(pads)})
        if kind == 1:
            attributes["count_include_pad"] = 0 if excludes else 1
        y = ort("MaxPool" if kind == 0 else "AveragePool", [v], **attributes)[0]
        case(
            "Pooling",
            name,
            {
                "PoolingType": kind,
                "WindowSizeNd": size,
                "StrideNd": strides,
                "PrePadding": list(pads[:n]),
                "PostPadding": list(pads[n:]),
                "PaddingMode": mode,
                "AverageCountExcludesPadding": excludes,
            },
            [v],
            y,
        )

    one("max", 0, [3, 2], [2, 2], (1, 0, 1, 1))
    one("average_excludes_padding", 1, [3, 3], [2, 1], (1, 1, 1, 1))
    one("average_includes_padding", 1, [3, 3], [2, 1], (1, 1, 1, 1), excludes=False)
    one("E32_roundUp", 0, [2, 3], [2, 2], mode=1, ceil=1)
    one("E32_averageRoundUp", 1, [2, 3], [2, 2], mode=1, ceil=1)
    one("E32_sameUpper", 0, [3, 3], [2, 2], mode=2, auto="SAME_UPPER")
    one("E32_sameLower", 1, [3, 3], [2, 2], mode=3, auto="SAME_LOWER")
    one("three_dimensions", 1, [2, 2, 2], [1, 2, 1], (0, 0, 0, 0, 0, 0), data=uniform("pool3", 1, 2, 3, 4, 3))
    y = (
        0.75 * ort("MaxPool", [x], kernel_shape=[2, 2], strides=[2, 2])[0]
        + 0.25 * ort("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2])[0]
    )
    case(
        "Pooling",
        "blend",
        {"PoolingType": 2, "WindowSizeNd": [2, 2], "StrideNd": [2, 2], "BlendFactor": 0.25},
        [x],
        as_type(y, x),
    )
    small = integers("pool8", 1, 2, 2, 2, low=-128, high=127).astype(np.int8)
    y = np.full((1, 2, 2, 2), -128, np.int8)  # The maximum of nothing is the least number.
    y[:, :, 0, 0] = small.max(axis=(2, 3))
    case(
        "Pooling",
        "int8_windowsBehindTheEdge",
        {"PoolingType": 0, "WindowSizeNd": [2, 2], "StrideNd": [2, 2], "PostPadding": [2, 2]},
        [small],
        y,
    )


def products():
    a, b = uniform("mma", 2, 3, 4, 5), uniform("mmb", 2, 1, 5, 6)
    case("MatrixMultiply", "E11_broadcast", {}, [a, b], as_type(np.matmul(a.astype(np.float64), b), a))
    case(
        "MatrixMultiply",
        "transposed",
        {"operation0": 1, "operation1": 1},
        [uniform("mmt", 5, 4), uniform("mmu", 6, 5)],
        uniform("mmt", 5, 4).T @ uniform("mmu", 6, 5).T,
    )
    m, v = uniform("mmm", 3, 4, 5), uniform("mmv", 3, 5)
    case("MatrixMultiply", "E11_matrixVector", {"operation1": 2}, [m, v], np.einsum("bij,bj->bi", m, v))
    w = uniform("mmw", 3, 4)
    case("MatrixMultiply", "E11_vectorMatrix", {"operation0": 2}, [w, m], np.einsum("bi,bij->bj", w, m))
    case("MatrixMultiply", "E11_vectorVector", {"operation0": 2, "operation1": 2}, [v, v], np.einsum("bi,bi->b", v, v))
    left, right = uniform("mml", 17, 19), uniform("mmr", 19, 33)
    bias, extra = uniform("mmbias", 33), uniform("mme", 17, 33)
    y = left.astype(np.float64) @ right
    case("MatrixMultiply", "odd_sizes", {}, [left, right], as_type(y, left))
    case(
        "MatrixMultiply",
        "bias_alpha_gelu_add",
        {"alpha": 0.5, "epilogue": {"steps": [{"kind": 10}, {"kind": 0}]}},
        [left, right, bias, extra],
        as_type((lambda t: 0.5 * t * (1 + erf(t / math.sqrt(2))))(0.5 * y + bias) + extra, left),
    )
    case(
        "MatrixMultiply",
        "clip_without_bias",
        {"epilogue": {"steps": [{"kind": 3, "alpha": -1, "beta": 2}]}},
        [left, right],
        as_type(np.clip(y, -1, 2), left),
    )


def resizes():
    x = uniform("resize", 1, 2, 5, 4)
    transforms = {"align_corners": 0, "asymmetric": 1, "half_pixel": 2}
    rounds = {"round_prefer_ceil": 0, "round_prefer_floor": 1, "floor": 2, "ceil": 3}

    def one(name, mode, transform, sizes=None, scales=None, nearest="floor", cubic=-0.75, exclude=0, by_input=False):
        inputs = [
            x,
            None,
            np.array(scales, np.float32) if scales else None,
            np.array(sizes, np.int64) if sizes else None,
        ]
        inputs = inputs[:3] if not sizes else inputs
        y = ort(
            "Resize",
            inputs,
            mode=mode,
            coordinate_transformation_mode=transform,
            nearest_mode=nearest,
            cubic_coeff_a=cubic,
            exclude_outside=exclude,
        )[0]
        fields = {
            "ResizeMode": {"nearest": 0, "linear": 1, "cubic": 2}[mode],
            "CoordinateTransformation": transforms[transform],
            "NearestRounding": rounds[nearest],
            "CubicCoeff": cubic,
            "ExcludeOutside": bool(exclude),
        }
        if scales:
            fields["Scales"] = scales
        elif not by_input:
            fields["OutputDimensions"] = sizes
        case("Resize", name, fields, [x] + ([Const(sizes)] if by_input else []), y)

    one("E24_default_scales", "nearest", "asymmetric", scales=[1.0, 1.0, 2.0, 3.0])
    one("E24_extentIsFloorOfScaled", "nearest", "asymmetric", scales=[1.0, 1.0, 1.3, 0.7])
    for nearest in rounds:
        one(f"nearest_half_pixel_{nearest}", "nearest", "half_pixel", sizes=[1, 2, 8, 3], nearest=nearest)
        one(f"nearest_asymmetric_{nearest}", "nearest", "asymmetric", sizes=[1, 2, 8, 10], nearest=nearest)
    for transform in transforms:
        one(f"linear_{transform}_up", "linear", transform, sizes=[1, 2, 8, 9])
        one(f"linear_{transform}_down", "linear", transform, sizes=[1, 2, 3, 2])
        one(f"cubic_{transform}", "cubic", transform, sizes=[1, 2, 9, 3])
    one("linear_scales", "linear", "half_pixel", scales=[1.0, 1.0, 2.0, 2.5])
    one("cubic_scales", "cubic", "half_pixel", scales=[1.0, 1.0, 1.5, 2.5], cubic=-0.5)
    one("cubic_exclude_outside", "cubic", "half_pixel", sizes=[1, 2, 9, 7], exclude=1)
    one("dimensions_as_input", "linear", "half_pixel", sizes=[1, 2, 10, 8], by_input=True)
    one("single_pixel", "linear", "half_pixel", sizes=[1, 2, 1, 1])
    case(
        "Resize",
        "single_pixel_upper",
        {"ResizeMode": 1, "CoordinateTransformation": 2, "SelectorForSinglePixel": 1, "OutputDimensions": [1, 2, 1, 1]},
        [x],
        x[:, :, :1, :1],
    )
    i = integers("resize", 2, 3)
    case("Resize", "nearest_ints", {"Scales": [2.0, 2.0]}, [i], i.repeat(2, 0).repeat(2, 1))


def pointwise():
    x, y = uniform("pwx", 2, 3, 4), uniform("pwy", 1, 3, 1)
    silu = [{"op": 0}, {"op": 22, "a": 0}, {"op": 32, "a": 0, "b": 1}]  # x, sigmoid, mul
    case("Pointwise", "silu", {"expr": {"nodes": silu}}, [x], as_type(x * sigmoid(x), x))
    mix = [
        {"op": 0, "index": 0},
        {"op": 0, "index": 1},
        {"op": 30, "a": 0, "b": 1},
        {"op": 1, "value": 0.5},
        {"op": 32, "a": 2, "b": 3},
        {"op": 43, "a": 0, "b": 1},
        {"op": 44, "a": 5, "b": 4, "c": 3},
    ]
    case(
        "Pointwise",
        "select_of_sum_and_constant",
        {"expr": {"nodes": mix}},
        [x, y],
        as_type(np.where(x > y, (x + y) * 0.5, 0.5), x),
    )
    mean = [{"op": 0}, {"op": 46, "axes": 4, "a": 0}, {"op": 31, "a": 0, "b": 1}]
    case(
        "Pointwise",
        "minus_mean",
        {"expr": {"nodes": mean}},
        [x],
        as_type(x - x.mean(-1, keepdims=True, dtype=float), x),
    )
    i = integers("pwi", 3, 4)
    ints = [{"op": 0}, {"op": 1, "value": 3.0}, {"op": 33, "a": 0, "b": 1}]
    case("Pointwise", "constant_bends_to_integers", {"expr": {"nodes": ints}}, [i], np.trunc(i / 3).astype(np.int32))


def attend(q, k, v, scale, mask=None):
    s = np.einsum("bhid,bhjd->bhij", q.astype(np.float64), k) * scale
    if mask is not None:
        s = s + mask
    with np.errstate(invalid="ignore"):
        e = np.exp(s - s.max(-1, keepdims=True))
        return np.einsum("bhij,bhjd->bhid", e / e.sum(-1, keepdims=True), v)


def attentions():
    b, h, s, t, d = 2, 3, 4, 5, 6
    q, k, v = uniform("atq", b, h, s, d), uniform("atk", b, h, t, d), uniform("atv", b, h, t, 7)
    case("Attention", "plain", {"scale": 0.4}, [q, k, v], as_type(attend(q, k, v, 0.4), q))
    mask = uniform("atm", b, 1, s, t, low=-4, high=0)
    case("Attention", "additive_mask", {"scale": 0.4}, [q, k, v, mask], as_type(attend(q, k, v, 0.4, mask), q))
    seen = np.ones((b, 1, 1, t), bool)
    seen[1, 0, 0, 3:] = False
    case(
        "Attention",
        "E27_trueMayAttend",
        {"scale": 1.0},
        [q, k, v, seen],
        as_type(attend(q, k, v, 1.0, np.where(seen, 0, -np.inf)), q),
    )
    i, j = np.arange(s)[:, None], np.arange(t)[None, :]
    for name, kind, allowed in (("UpperLeft", 1, j <= i), ("LowerRight", 2, j <= i + t - s)):
        case(
            "Attention",
            f"E27_causal{name}",
            {"scale": 0.5, "causal": kind},
            [q, k, v],
            as_type(attend(q, k, v, 0.5, np.where(allowed, 0, -np.inf)), q),
        )
    none = np.zeros((b, 1, s, t), np.float32)
    none[0, 0, 2] = -np.inf
    y = attend(q, k, v, 0.4, none)
    y[0, :, 2] = 0
    case("Attention", "masked_rows_are_zero", {"scale": 0.4, "maskedRowsAreZero": True}, [q, k, v, none], as_type(y, q))
    packed = uniform("atp", b, s, 3 * h, d)
    parts = [packed[:, :, p * h : (p + 1) * h].transpose(0, 2, 1, 3) for p in range(3)]
    views = {n: {"axes": [0, 2, 1, 3], "firstHead": p * h, "heads": h} for p, n in enumerate("qkv")}
    case(
        "Attention",
        "packed_heads_in_rows_out",
        {"scale": 0.4, **views, "outputAxes": [0, 2, 1, 3]},
        [packed] * 3,
        as_type(attend(*parts, 0.4).transpose(0, 2, 1, 3), q),
    )
    first = packed.transpose(1, 0, 2, 3).copy()
    views = {n: {"axes": [1, 2, 0, 3], "firstHead": p * h, "heads": h} for p, n in enumerate("qkv")}
    case(
        "Attention",
        "sequence_first",
        {"scale": 0.4, **views, "outputAxes": [1, 2, 0, 3]},
        [first] * 3,
        as_type(attend(*parts, 0.4).transpose(2, 0, 1, 3), q),
    )
    case(
        "Attention",
        "key_transposed",
        {"scale": 0.4, "k": {"axes": [0, 1, 3, 2]}},
        [q, k.transpose(0, 1, 3, 2).copy(), v],
        as_type(attend(q, k, v, 0.4), q),
    )
    shared = uniform("ats", b, 1, t, d)
    case(
        "Attention",
        "shared_key_heads",
        {"scale": 0.4},
        [q, shared, shared],
        as_type(attend(q, np.repeat(shared, h, 1), np.repeat(shared, h, 1), 0.4), q),
    )


def grids():
    x = uniform("gsx", 2, 3, 5, 4)
    grid = uniform("gsg", 2, 3, 6, 2, low=-1.6, high=1.6)
    modes = {"nearest": 0, "linear": 1, "cubic": 2}
    paddings = {"zeros": 3, "border": 2, "reflection": 4}
    case("GridSample", "E25_defaults", {}, [x, grid], ort("GridSample", [x, grid])[0])
    for mode, number in modes.items():
        for padding, sample in paddings.items():
            for corners in (0, 1):
                y = ort("GridSample", [x, grid], mode=mode, padding_mode=padding, align_corners=corners)[0]
                fields = {"InterpolationMode": number, "AlignCorners": bool(corners), "SampleMode": sample}
                case("GridSample", f"{mode}_{padding}_{corners}", fields, [x, grid], y)
    x = uniform("gsv", 1, 2, 3, 4, 5)
    grid = uniform("gsw", 1, 2, 3, 2, 3, low=-1.3, high=1.3)
    for mode in ("nearest", "linear"):
        for padding, sample in paddings.items():
            y = ort("GridSample", [x, grid], mode=mode, padding_mode=padding)[0]
            fields = {"InterpolationMode": modes[mode], "SampleMode": sample}
            case("GridSample", f"E25_volume_{mode}_{padding}", fields, [x, grid], y)
    far = np.array([[[[-1e30, 1e30], [np.inf, 0.0], [0.0, -np.inf]]]], np.float32)
    image = uniform("gsf", 1, 1, 3, 3)
    case("GridSample", "far_outside", {}, [image, far], np.zeros((1, 1, 1, 3), np.float32))


def equations():
    def one(name, equation, *operands):
        case("Einsum", name, {"Equation": equation}, operands, np.einsum(equation, *operands))

    a, b, c = uniform("ea", 2, 3, 4), uniform("eb", 2, 4, 5), uniform("ec", 5, 3)
    square, cube = uniform("es", 4, 4), uniform("et", 3, 3, 3)
    one("E35_products", "bij,bjk->bik", a, b)
    one("E35_implied", "bij,bjk", a, b)
    one("E35_impliedSorts", "ba", uniform("ei", 2, 3))
    one("E35_transposed", "ijk->kij", a)
    one("E35_sum", "ijk->", a)
    one("E35_diagonal", "ii->i", square)
    one("E35_trace", "ii", square)
    one("E35_diagonalOfThree", "iii->i", cube)
    one("E35_diagonalBetween", "iji->ji", uniform("eu", 3, 2, 3))
    one("E35_ellipsis", "...ij,...jk->...ik", uniform("ev", 2, 1, 3, 4), uniform("ew", 3, 4, 2))
    one("E35_ellipsisImplied", "i...->...", a)
    one("E35_ellipsisInside", "a...b->b...", uniform("ex", 2, 3, 4, 5))
    one("E35_broadcast", "ij,ij->ij", uniform("ey", 1, 4), uniform("ez", 3, 1))
    one("E35_broadcastSum", "ij,ij->i", uniform("fa", 3, 1), uniform("fb", 3, 4))
    one("E35_outer", "i,j->ij", uniform("fc", 3), uniform("fd", 4))
    one("E35_three", "bij,bjk,ki->b", a, b, c)
    one("E35_groups", "abcd,cdef->aefb", uniform("fe", 2, 3, 4, 2), uniform("ff", 4, 2, 3, 2))
    one("E35_attention", "bhid,bhjd->bhij", uniform("fg", 2, 3, 4, 5), uniform("fh", 2, 3, 6, 5))
    one("E35_blanks", " ij , jk -> ik ", uniform("fi", 2, 3), uniform("fj", 3, 2))
    one("integers", "ij,jk->ik", integers("fk", 2, 3), integers("fl", 3, 4))
    one("scalar", ",i->i", uniform("fm"), uniform("fn", 3))
    one("half", "ij,jk->ik", uniform("fo", 2, 2, dtype=np.float16), np.eye(2, dtype=np.float16))


def suppressed(boxes, scores, most, overlap, least, limit=5000, centers=False):
    """By image and score: the best pairs of box and class, compared with those kept of their class."""
    images, count, classes = scores.shape
    chosen = []
    for n in range(images):
        pairs = [(-scores[n, b, c], c, b) for b in range(count) for c in range(classes) if scores[n, b, c] > least]
        kept = {}
        for _, c, b in sorted(pairs)[:limit]:
            box = (boxes[n, b, c] if boxes.ndim == 4 else boxes[n, b]).astype(np.float64)
            if centers:
                low, high = box[:2] - box[2:] / 2, box[:2] + box[2:] / 2
            else:
                low, high = np.minimum(box[:2], box[2:]), np.maximum(box[:2], box[2:])
            mine = kept.setdefault(c, [])

            def iou(other, low=low, high=high):
                common = np.prod(np.maximum(np.minimum(high, other[1]) - np.maximum(low, other[0]), 0))
                return common / (np.prod(high - low) + np.prod(other[1] - other[0]) - common)

            if len(mine) < most and all(iou(other) <= overlap for other in mine):
                mine.append((low, high))
                chosen.append((n, c, b))
    return np.array(chosen).reshape(-1, 3)


def detections():
    corners = uniform("nms", 2, 9, 2, low=0, high=4)
    boxes = np.concatenate([corners, corners + uniform("nmt", 2, 9, 2, low=0.5, high=3)], 2)
    scores = uniform("nmu", 2, 9, 3, low=0, high=1)

    def one(name, boxes, most, overlap, least, fields=None, **more):
        found = suppressed(boxes, scores, most, overlap or 0.0, least or 0.0, **more)
        inputs = [boxes, scores, np.int32(most)]
        for number in (overlap, least):
            inputs.append(None if number is None else np.float32(number))
        while inputs[-1] is None:
            inputs.pop()
        kind = np.int64 if (fields or {}).get("IndicesType") == 8 else np.int32
        case("NMS", name, fields or {}, inputs, [found.astype(kind), np.int32(len(found))])

    one("E23_byImageAndScore", boxes, 4, 0.3, 0.2)
    one("E23_defaults", boxes, 9, None, None)
    one("E23_onePerClass", boxes, 1, 0.5, 0.0, {"IndicesType": 8})
    one("E23_limit", boxes, 9, 0.9, 0.0, {"TopKBoxLimit": 5}, limit=5)
    one("none", boxes, 4, 0.5, 2.0)
    one("noneWanted", boxes, 0, 0.5, 0.0)
    turned = boxes[:, :, [2, 3, 0, 1]]
    one("otherCorners", turned, 9, 0.4, 0.1)
    one("centers", boxes, 9, 0.4, 0.1, {"BoundingBoxFormat": 1}, centers=True)
    per_class = np.repeat(boxes[:, :, None], 3, 2) + uniform("nmv", 2, 9, 3, 1)
    one("E23_boxesPerClass", per_class, 3, 0.3, 0.3)
    found = ort("NonMaxSuppression", [boxes[:1], scores[:1, :, :1].transpose(0, 2, 1), np.array([9], np.int64),
                                      np.array([0.25], np.float32), np.array([0.1], np.float32)])[0]  # fmt: skip
    inputs = [boxes[:1], scores[:1, :, :1], np.int32(9), np.float32(0.25), np.float32(0.1)]
    case("NMS", "asOnnxRuntime", {}, inputs, [found.astype(np.int32), np.int32(len(found))])


def selected(boxes, scores, anchors=None, **rules):
    """One box after the other, in float32, as the header of the layer says."""
    f = np.float32
    get = {"candidates": 5000, "most": 4, "mostOfClass": 0, "background": -1, "emptyClass": 0, **rules}.get
    by_class, centre, most = get("rule") == 1, get("form") == 1, get("most")
    images, count, classes = scores.shape
    limit = f(get("scoreThreshold", 0))
    if get("areLogits"):
        limit = np.log(limit / (f(1) - limit))
    more = f(bool(get("arePixels")))

    def ordered(b):
        return np.array([min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]), max(b[1], b[3])], f)

    def corners(b):
        return np.array([b[0] - f(0.5) * b[2], b[1] - f(0.5) * b[3], b[0] + f(0.5) * b[2], b[1] + f(0.5) * b[3]], f)

    def place(image, box, label):
        b = boxes[image, box, label if boxes.shape[2] > 1 else 0]
        if anchors is None:
            return corners(b) if centre else b
        a = anchors[image if anchors.shape[0] > 1 else 0, box]
        if centre:
            sizes = [a[2] * np.exp(b[2]), a[3] * np.exp(b[3])]
            return corners(np.array([b[0] * a[2] + a[0], b[1] * a[3] + a[1], *sizes], f))
        return ordered(a) + ordered(b)

    def covered(better, one):
        a, b = ordered(better), ordered(one)
        low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
        is_apart = (high < low).any()
        sides = (np.zeros(2, f) if is_apart else high - low) + (more if by_class and get("haveOneInCommon") else f(0))
        shared = sides[0] * sides[1] if (sides > 0).all() else f(0)
        areas = [np.prod(np.maximum(x[2:] - x[:2] + (more if by_class else f(0)), f(0))) for x in (a, b)]
        part = shared / (areas[0] + areas[1] - shared) if shared > 0 else f(0)
        return part > f(get("overlapThreshold")) if by_class else part >= f(get("overlapThreshold"))

    counts = np.zeros((images, 1), np.int32)
    out = np.zeros((images, most, 4), f)
    values, labels = np.zeros((images, most), f), np.full((images, most), get("emptyClass"), np.int32)
    for image in range(images):
        pairs = [(-scores[image, b, c], b, c) for b in range(count) for c in range(classes) if c != get("background")]
        pairs = sorted(p for p in pairs if (-p[0] > limit if by_class else -p[0] >= limit))
        if by_class:
            ranks = {c: [p for p in pairs if p[2] == c][: get("candidates")] for c in range(classes)}
            pairs = [p for own in ranks.values() for p in own]
        kept, left, of_class = [], [], {}
        for score, box, label in pairs[: None if by_class else get("candidates")]:
            if len(left) == most and not by_class:
                break
            here = place(image, box, label)
            if any((get("isAgnostic") or label == other) and covered(b, here) for b, other in kept):
                continue
            kept.append((here, label))
            of_class[label] = of_class.get(label, 0) + 1
            if 0 < get("mostOfClass") < of_class[label]:
                continue
            left.append((score, label, box, here))
        left = sorted(left, key=lambda one: one[:3])[:most] if by_class else left
        counts[image] = len(left)
        for i, (score, label, _, here) in enumerate(left):
            out[image, i] = np.clip(here, 0, 1) if get("clips") else here
            values[image, i] = 1 / (1 + np.exp(score)) if get("areLogits") else -score
            labels[image, i] = label
    return counts, out, values, labels


def box_selections():
    low = uniform("bsl", 2, 11, 1, 2, low=0, high=1)
    boxes = np.concatenate([low, low + uniform("bsh", 2, 11, 1, 2, low=0.2, high=0.9)], 3)
    of_each = np.repeat(boxes, 3, 2) + uniform("bse", 2, 11, 3, 1, low=-0.2, high=0.2)
    centres = uniform("bsc", 2, 11, 1, 4, low=0.1, high=0.8)
    scores = np.round(uniform("bss", 2, 11, 3, low=0, high=1), 1).astype(np.float32)  # Some are equal.

    def one(name, boxes, anchors=None, scores=scores, **rules):
        fields = {"candidates": 5000, "most": 4, **rules}
        inputs = [boxes, scores] + ([] if anchors is None else [anchors])
        case("BoxSelection", name, fields, inputs, selected(boxes, scores, anchors, **rules))

    together = {"scoreThreshold": 0.25, "overlapThreshold": 0.3}
    one("together", boxes, most=9, **together)
    one("togetherOfEachClass", of_each, most=20, background=1, **together)
    one("agnostic", boxes, most=20, isAgnostic=True, **together)
    one("fewCandidates", boxes, candidates=5, **together)
    one("centres", centres, form=1, most=20, clips=True, **together)
    one("anchors", boxes, boxes[:1, :, 0] * 2, most=20, **together)
    one("anchorsOfEachImage", centres, centres[:, :, 0] + 0.1, form=1, most=20, **together)
    one("fewOfAClass", boxes, most=20, mostOfClass=2, scoreThreshold=0.1, overlapThreshold=0.9)
    one("logits", boxes, scores=scores * 4 - 2, areLogits=True, most=20, **together)
    one("nothing", boxes, scoreThreshold=2, overlapThreshold=0.5, emptyClass=-1)
    by_class = {"rule": 1, "candidates": 6, "most": 7, "emptyClass": -1, **together}
    one("byClass", boxes, **by_class)
    one("byClassOfEach", of_each, **{**by_class, "most": 30, "background": 0, "clips": True})
    one("byClassInPixels", np.floor(boxes * 9), **{**by_class, "arePixels": True})
    one("byClassWithOneInCommon", np.floor(boxes * 9), **{**by_class, "arePixels": True, "haveOneInCommon": True})


def attended(values, maps, starts, points, weights):
    images, _, heads, columns = values.shape
    queries, levels, per_level = points.shape[1], points.shape[3], points.shape[4]
    out = np.zeros((images, queries, heads, columns))
    for n, q, m, level, p in np.ndindex(images, queries, heads, levels, per_level):
        height, width = maps[level]
        plane = values[n, starts[level] : starts[level] + height * width, m].astype(np.float64)
        plane = np.pad(plane.reshape(height, width, columns), ((2, 2), (2, 2), (0, 0)))  # What is around it.
        x, y = points[n, q, m, level, p].astype(np.float64) * (width, height) - 0.5
        if not (-1 < x < width and -1 < y < height):
            continue
        left, top = math.floor(x), math.floor(y)
        read = plane[top + 2 : top + 4, left + 2 : left + 4]
        across, down = np.array([1 - (x - left), x - left]), np.array([1 - (y - top), y - top])
        out[n, q, m] += weights[n, q, m, level, p] * np.einsum("ijc,i,j->c", read, down, across)
    return out


def deformable_attentions():
    def one(name, kind, images, heads, columns, queries, per_level):
        maps, starts = np.array([[4, 6], [2, 3], [1, 1]], np.int32), np.array([0, 24, 31], np.int32)
        values = uniform(f"{name}v", images, 33, heads, columns).astype(kind)
        points = uniform(f"{name}p", images, queries, heads, 3, per_level, 2, low=-0.3, high=1.3).astype(kind)
        weights = uniform(f"{name}w", images, queries, heads, 3, per_level).astype(kind)
        inputs = [values, maps, starts, points, weights]
        case("DeformableAttention", name, {}, inputs, as_type(attended(*inputs), values))

    one("packs", np.float32, 2, 3, 8, 5, 4)
    one("oddColumns", np.float32, 1, 2, 5, 4, 2)
    one("halves", np.float16, 2, 2, 16, 3, 4)
    one("noPoints", np.float32, 1, 2, 4, 3, 0)


def ragged():
    def one(name, x, lengths, kind=np.int32):
        bounds = np.array(lengths, kind).reshape(*x.shape[:-1], 1)
        inside = np.arange(x.shape[-1]) < bounds
        e = np.where(inside, np.exp(x.astype(np.float64)), 0)
        total = e.sum(-1, keepdims=True)
        case("RaggedSoftMax", name, {}, [x, bounds], as_type(e / np.where(total == 0, 1, total), x))

    one("sequences", uniform("rga", 3, 7), [7, 3, 1])
    one("batches", uniform("rgb", 2, 2, 5), [5, 3, 0, 9], np.int64)
    one("halves", uniform("rgc", 2, 19, dtype=np.float16), [4, 17])


def nearest(values, numbers):
    """Of a type's numbers, ascending from 0, the nearest one; of two the one at an even place."""
    values, numbers = np.asarray(values, np.float64), np.asarray(numbers)
    magnitude = np.minimum(abs(values), numbers[-1])
    above = np.clip(np.searchsorted(numbers, magnitude), 1, len(numbers) - 1)
    low, high = numbers[above - 1], numbers[above]
    up = (magnitude - low > high - magnitude) | ((magnitude - low == high - magnitude) & (above % 2 == 0))
    return np.copysign(np.where(up, high, low), values)


FP8 = [m * 2.0**-9 for m in range(8)] + [(1 + m / 8) * 2.0**e for e in range(-6, 9) for m in range(8)][:-1]
FP4 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def quantizations():
    x = uniform("qx", 2, 4, 6, low=-3, high=3)
    x[0, 0] = [0.05, 0.15, 0.25, -0.05, 100, -100]  # Halves round to even, what is too large is clamped.
    types = {"INT8": 2, "FP8": 6, "INT4": 9, "FP4": 10}

    def steps(values, scale):
        return (values.astype(np.float32) / scale.astype(np.float32)).astype(np.float64)

    def int8(values, scale):
        return np.clip(np.rint(steps(values, scale)), -128, 127).astype(np.int8)

    tenth, channel = np.float32(0.1), np.array([0.1, 0.2, 0.05, 1.5], np.float32)
    case("Quantize", "E12_tensor", {}, [x, tenth], int8(x, tenth))
    case("Quantize", "oneNumber", {"Axis": -2}, [x, tenth], int8(x, tenth))
    case("Quantize", "E12_channels", {"Axis": 1}, [x, channel], int8(x, channel[:, None]))
    case("Quantize", "E12_zeroPoint", {}, [x, tenth, Const(0, np.int8)], int8(x, tenth))
    case("Quantize", "oneScale", {"Axis": 0}, [x[0, 0], tenth.reshape(1)], int8(x[0, 0], tenth))
    case("Quantize", "half", {}, [x.astype(np.float16), tenth], int8(x.astype(np.float16), tenth))
    blocks = uniform("qb", 2, 2, 3, low=0.1, high=1)
    wide = np.repeat(np.repeat(blocks, 2, 1), 2, 2)
    case("Quantize", "E12_blocks", {"BlockShape": [1, 2, 2]}, [x, blocks], int8(x, wide))
    case("Quantize", "blocksByShape", {}, [x, blocks], int8(x, wide))
    y = np.clip(np.rint(steps(x, tenth)), -8, 7)
    case("Quantize", "E12_int4", {"ToType": types["INT4"]}, [x, tenth], Typed(y, "int4"))
    eighth = np.float32(0.125)
    large = x * 100
    y = Typed(nearest(steps(large, eighth), FP8), "fp8")
    case("Quantize", "E12_fp8", {"ToType": types["FP8"]}, [large, eighth], y)
    case("Quantize", "E12_fp4", {"ToType": types["FP4"]}, [x, eighth], Typed(nearest(steps(x, eighth), FP4), "fp4"))
    q = integers("qq", 2, 4, 6, low=-128, high=128, dtype=np.int8)
    case("Dequantize", "E13_tensor", {}, [q, tenth], q.astype(np.float32) * tenth)
    case("Dequantize", "oneNumber", {"Axis": -2, "ToType": 1}, [q, tenth], (q * tenth).astype(np.float16))
    case("Dequantize", "E13_channels", {"Axis": 1}, [q, channel], q.astype(np.float32) * channel[:, None])
    case("Dequantize", "blocks", {"BlockShape": [1, 2, 2]}, [q, blocks], q.astype(np.float32) * wide)
    case("Dequantize", "wholeAxes", {"BlockShape": [1, -1, 2]}, [q, blocks[:, :1]],
         q.astype(np.float32) * np.repeat(blocks[:, :1], 2, 2))  # fmt: skip
    case("Dequantize", "half", {"ToType": 1}, [q, np.float16(0.25)], (q * 0.25).astype(np.float16))
    four = np.arange(-8, 7).reshape(3, 5)
    case("Dequantize", "int4", {}, [Typed(four, "int4"), tenth], four.astype(np.float32) * tenth)
    numbers = np.array(FP8[::7] + [-v for v in FP8[3::11]])
    case("Dequantize", "fp8", {}, [Typed(numbers, "fp8"), eighth], (numbers * 0.125).astype(np.float32))
    numbers = np.array([*FP4, *[-v for v in FP4[1:]]])
    case("Dequantize", "fp4", {}, [Typed(numbers, "fp4"), eighth], (numbers * 0.125).astype(np.float32))


def int8_products():
    """Sums of integers, exact in float32; then scales, bias, what follows, and rounding to the scale of the result."""

    def rounded(values, scale):
        return np.clip(np.rint(values / np.float64(np.float32(scale))), -128, 127)

    def int8(name, *shape):
        return integers(name, *shape, low=-128, high=128, dtype=np.int8)

    x, k = int8("i8x", 2, 4, 6, 5), int8("i8k", 3, 4, 3, 2)
    sums = ort("Conv", [x.astype(np.float32), k.astype(np.float32)])[0].astype(np.float64)
    scales = np.array([0.003, 0.01, 0.0007], np.float32)
    bias = uniform("i8b", 3)
    form = {"NbOutputMaps": 3, "KernelSizeNd": [3, 2]}
    factor = np.float64(np.float32(0.05))
    reals = sums * factor * scales.astype(np.float64)[:, None, None] + bias.astype(np.float64)[:, None, None]
    kind = "QuantizedConvolution"
    case(kind, "reals", {"product": form, "inputScale": 0.05}, [x, k, bias, Const(scales, np.float32)],
         as_type(reals, bias))  # fmt: skip
    fields = {"product": form, "inputScale": 0.05, "outputScale": 0.3}
    case(kind, "rounded", fields, [x, k, bias, Const(scales, np.float32)], rounded(reals, 0.3).astype(np.int8))
    one = np.float32(0.002)
    case(kind, "oneScaleWithoutBias", {"product": form, "inputScale": 0.05},
         [x, k, None, Const(one, np.float32)], as_type(sums * factor * np.float64(one), bias))  # fmt: skip
    e = int8("i8e", *sums.shape)
    steps = [{"kind": 14, "alpha": 0.25}, {"kind": 0, "alpha": 0.125}, {"kind": 2}]
    y = np.maximum(rounded(reals, 0.25) * 0.25 + e * 0.125, 0)
    fields = {"product": form | {"epilogue": {"steps": steps}}, "inputScale": 0.05, "outputScale": 0.23}
    case(kind, "residual", fields, [x, k, bias, Const(scales, np.float32), e], rounded(y, 0.23).astype(np.int8))
    r = uniform("i8r", *sums.shape)
    fields = {"product": form | {"epilogue": {"steps": [{"kind": 0}]}}, "inputScale": 0.05}
    case(kind, "residualOfReals", fields, [x, k, bias, Const(scales, np.float32), r], as_type(reals + r, bias))
    groups = int8("i8g", 4, 1, 3, 3)
    operands = [x.astype(np.float32), groups.astype(np.float32)]
    y = ort("Conv", operands, group=4, pads=[1, 1, 1, 1])[0].astype(np.float64)
    form = {"NbOutputMaps": 4, "KernelSizeNd": [3, 3], "NbGroups": 4, "PrePadding": [1, 1], "PostPadding": [1, 1]}
    case(kind, "depthwise", {"product": form, "inputScale": 0.05}, [x, groups, None, Const(one, np.float32)],
         as_type(y * factor * np.float64(one), bias))  # fmt: skip

    kind = "QuantizedMatrixMultiply"
    a, b = int8("i8a", 2, 5, 7), int8("i8m", 1, 7, 3)
    sums = a.astype(np.float64) @ b.astype(np.float64)
    reals = sums * factor * scales.astype(np.float64) + bias
    case(kind, "reals", {"inputScale": 0.05}, [a, b, bias, Const(scales, np.float32)], as_type(reals, bias))
    fields = {"inputScale": 0.05, "outputScale": 0.2, "product": {"epilogue": {"steps": [{"kind": 2}]}}}
    case(kind, "rounded", fields, [a, b, bias, Const(scales, np.float32)],
         rounded(np.maximum(reals, 0), 0.2).astype(np.int8))  # fmt: skip
    fields = {"inputScale": 0.05, "product": {"operation1": 1, "alpha": 0.5}}
    case(kind, "transposedByAlpha", fields, [a, b.transpose(0, 2, 1), None, Const(one, np.float32)],
         as_type(sums * factor * np.float64(one) * 0.5, bias))  # fmt: skip


def channel_gates():
    """Squeeze and excite, and convolutions of what it gates."""

    def multiplied(x, kernel, bias):
        sums = np.einsum("nc...,mc->nm...", x.astype(np.float64), kernel.astype(np.float64).reshape(kernel.shape[:2]))
        return sums if bias is None else sums + bias.astype(np.float64).reshape(1, -1, *[1] * (x.ndim - 2))

    for name, shape in (("image", (2, 6, 3, 4)), ("line", (1, 5, 7))):
        channels, ones = shape[1], [1] * (len(shape) - 2)
        x = uniform(f"cg_{name}", *shape)
        first, second = uniform(f"cg1_{name}", 3, channels, *ones), uniform(f"cg2_{name}", 4, 3, *ones)
        b = uniform(f"cgb_{name}", 4)
        hidden = multiplied(x.astype(np.float64).mean(axis=tuple(range(2, x.ndim)), keepdims=True), first, None)
        y = sigmoid(multiplied(hidden * sigmoid(hidden), second, b))
        fields = {"first": {"steps": [{"kind": 7}]}, "second": {"steps": [{"kind": 5}]}}
        case("ChannelGate", name, fields, [x, first, second, None, b], as_type(y, x))
    x, kernel, bias = uniform("gc_x", 2, 6, 3, 4), uniform("gc_w", 5, 6, 1, 1), uniform("gc_b", 5)
    form = {"NbOutputMaps": 5, "KernelSizeNd": [1, 1]}
    for name, count in (("ofEach", 2), ("ofAll", 1)):
        gate = uniform(f"gc_{name}", count, 6, 1, 1, low=0, high=1)
        gated = (x.astype(np.float64) * gate.astype(np.float64)).astype(np.float32)
        sums = multiplied(gated, kernel, bias)
        case("GatedConvolution", name, {"product": form}, [x, kernel, bias, gate], as_type(sums, x))
        extra = uniform("gc_e", 2, 5, 3, 4)
        steps = {"epilogue": {"steps": [{"kind": 0}, {"kind": 2}]}}
        case("GatedConvolution", f"{name}WithResidual", {"product": form | steps},
             [x, kernel, bias, extra, gate], as_type(np.maximum(sums + extra, 0), x))  # fmt: skip


def image_convolutions():
    """First convolutions: the image in float32 or in the weights' type, with and without a pooling behind."""
    x, kernel, bias = uniform("ic_x", 2, 3, 9, 8), uniform("ic_w", 4, 3, 3, 3), uniform("ic_b", 4)
    form = {"NbOutputMaps": 4, "KernelSizeNd": [3, 3], "StrideNd": [2, 2], "PrePadding": [1, 1], "PostPadding": [1, 1]}
    form["epilogue"] = {"steps": [{"kind": 2}]}
    pool = {"WindowSizeNd": [3, 3], "StrideNd": [2, 2], "PrePadding": [1, 1], "PostPadding": [1, 1]}
    for name, type_ in (("float", np.float32), ("half", np.float16)):
        w, b, rounded = kernel.astype(type_), bias.astype(type_), x.astype(type_).astype(np.float32)
        given = [rounded, w.astype(np.float32), b.astype(np.float32)]
        y = np.maximum(ort("Conv", given, strides=[2, 2], pads=[1, 1, 1, 1])[0].astype(type_), 0)
        case("ImageConvolution", name, {"product": form}, [x, w, b], y)
        case("ImageConvolution", f"{name}WithoutBias", {"product": form | {"epilogue": {}}}, [x, w],
             ort("Conv", given[:2], strides=[2, 2], pads=[1, 1, 1, 1])[0].astype(type_))  # fmt: skip
        pooled = ort("MaxPool", [y.astype(np.float32)], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])[0]
        case("ImageConvolution", f"{name}Pooled", {"product": form, "pooling": pool}, [x, w, b], pooled.astype(type_))


def patch_embeddings():
    """Windows of images side by side, as rows behind rows of a table, which all have added."""
    kernel, x = uniform("pe_w", 5, 3, 2, 8), uniform("pe_x", 2, 3, 5, 17)  # The last row and column are in no window.
    for name, type_, leading in (("float", np.float32, 0), ("half", np.float16, 2), ("ofHalves", np.float16, 1)):
        image = x.astype(type_ if name == "ofHalves" else np.float32)
        w, table = kernel.astype(type_), uniform(f"pe_t{leading}", 1, leading + 4, 5).astype(type_)
        given = [image.astype(type_).astype(np.float32), w.astype(np.float32)]
        rows = ort("Conv", given, strides=[2, 8])[0].astype(type_).reshape(2, 5, 4).swapaxes(1, 2)
        rows = np.concatenate([np.zeros((2, leading, 5), type_), rows], axis=1)
        case("PatchEmbedding", name, {"patch": [2, 8]}, [image, w, table], rows + table)


def embedding_norms():
    """Rows of tables by indices, some of which pick nothing, and rows as they are, added and normalized."""

    def picked(table, indices):
        at = np.where(indices < 0, indices + len(table), indices)
        rows = table[np.clip(at, 0, len(table) - 1)]
        return np.where(((at >= 0) & (at < len(table)))[..., np.newaxis], rows, 0)

    words, types, positions = uniform("en_w", 5, 6), uniform("en_t", 2, 6), uniform("en_p", 1, 3, 6)
    scale, shift = uniform("en_s", 1, 1, 6), uniform("en_b", 1, 1, 6)
    ids = np.array([[0, 4, -1], [5, -6, 2]], np.int64)
    segments = np.array([[1, 0, 2]], np.int32)
    for name, type_, table in (("float", np.float32, np.float32), ("half", np.float16, np.float16),
                               ("rounded", np.float16, np.float32)):  # fmt: skip
        w, t, p, s, b = (each.astype(type_) for each in (words, types, positions, scale, shift))
        w = w if table == type_ else words
        x = picked(w.astype(type_).astype(np.float64), ids) + picked(t.astype(np.float64), segments) + p
        for form, more in (("", b), ("WithoutShift", None)):
            y = (x - x.mean(axis=2, keepdims=True)) / np.sqrt(x.var(axis=2, keepdims=True) + 0.25) * s
            y = y if more is None else y + more
            case("EmbeddingNorm", name + form, {"epsilon": 0.25}, [s, more, w, ids, t, segments, p], as_type(y, s))


def normalized_products():
    """A layer norm and the product behind it, whose weights bring the sums of their columns."""
    kind = "NormalizedProduct"
    for name, shape in (("rows", (5, 6)), ("batches", (2, 3, 6))):
        ones = [1] * (len(shape) - 2)
        x, matrix, bias = uniform(f"np_{name}", *shape), uniform(f"npw_{name}", *ones, 6, 4), uniform("np_b", 4)
        rows = x.astype(np.float64)
        rows = (rows - rows.mean(axis=-1, keepdims=True)) / np.sqrt(rows.var(axis=-1, keepdims=True) + 1e-5)
        sums = Const(matrix.astype(np.float64).sum(axis=-2).reshape(4).astype(np.float32), np.float32)
        y = np.maximum(rows @ matrix.astype(np.float64) + bias, 0)
        fields = {"product": {"epilogue": {"steps": [{"kind": 2}]}}}
        case(kind, name, fields, [x, matrix, bias, sums], as_type(y, x))
        case(kind, f"{name}WithoutBias", {"product": {"operation1": 1}}, [x, matrix.swapaxes(-1, -2), None, sums],
             as_type(rows @ matrix.astype(np.float64), x))  # fmt: skip


def measured_products():
    """Products between layer norms: of rows, and of what is added, by moments of groups of 32 columns."""
    kind = "MeasuredProduct"

    def moments(values):
        groups = values.astype(np.float64).reshape(*values.shape[:-1], -1, 32)
        means = groups.mean(axis=-1)
        squares = ((groups - means[..., None]) ** 2).sum(axis=-1)
        return np.stack([np.moveaxis(means, -1, 0), np.moveaxis(squares, -1, 0)], axis=-1).astype(np.float32)

    def normal(values):
        wide = values.astype(np.float64)
        return (wide - wide.mean(axis=-1, keepdims=True)) / np.sqrt(wide.var(axis=-1, keepdims=True) + 1e-5)

    add = {"epilogue": {"steps": [{"kind": 0}]}}
    x, extra = uniform("mp_x", 2, 64), uniform("mp_e", 2, 64) + np.float32(2)
    matrix, bias = np.round(uniform("mp_w", 64, 64) * 4) / np.float32(4), uniform("mp_b", 64)
    scale, shift = uniform("mp_s", 1, 64), uniform("mp_t", 1, 64)
    wide = matrix.astype(np.float64)
    product = x.astype(np.float64) @ wide
    plain = as_type(product + bias, x)
    case(kind, "measured", {"measures": True}, [x, matrix, bias], [plain, moments(plain)])
    sums = Const(wide.sum(axis=-2).astype(np.float32), np.float32)
    case(kind, "rowsNormalized", {"product": {"operation1": 1}, "normalized": 1},
         [x, matrix.T, bias, None, moments(x), sums], as_type(normal(x) @ wide + bias, x))  # fmt: skip
    added = as_type(product + normal(extra) * scale + shift, x)
    case(kind, "sumNormalized", {"product": add, "normalized": 2, "measures": True},
         [x, matrix, None, extra, moments(extra), scale, shift], [added, moments(added)])  # fmt: skip
    unshifted = as_type(product + bias + normal(extra) * scale, x)
    case(kind, "withoutShift", {"product": add, "normalized": 2},
         [x, matrix, bias, extra, moments(extra), scale], unshifted)  # fmt: skip


def convolution_sums():
    """Two convolutions of single pixels, one of them with strides, that are added."""
    kind = "ConvolutionSum"
    x, y, bias = uniform("cs_x", 2, 3, 2, 3), uniform("cs_y", 2, 2, 3, 5), uniform("cs_b", 4)
    filters = uniform("cs_w", 4, 5, 1, 1)
    strided = y[:, :, ::2, ::2].astype(np.float64)
    channels = np.concatenate([x.astype(np.float64), strided], axis=1)
    sums = np.einsum("nchw,mc->nmhw", channels, filters[:, :, 0, 0].astype(np.float64))
    fields = {"NbOutputMaps": 4, "secondStride": [2, 2]}
    biased = np.maximum(sums + bias.reshape(1, 4, 1, 1), 0)
    case(kind, "secondIsStrided", fields | {"epilogue": {"steps": [{"kind": 2}]}}, [x, filters, bias, y],
         as_type(biased, x))  # fmt: skip
    case(kind, "withoutBias", fields, [x, filters, None, y], as_type(sums, x))
    turned = np.concatenate([filters[:, 3:], filters[:, :3]], axis=1)
    case(kind, "firstIsStrided", {"NbOutputMaps": 4, "firstStride": [2, 2]}, [y, turned, None, x], as_type(sums, x))
    # 80,000 and -79,000, of which float16 has neither: what two layers would round is not rounded between.
    one, halves = np.ones((1, 2, 1, 1), np.float16), np.array([[40000, 40000, -39500, -39500]], np.float16)
    case(kind, "partsBeyondTheType", {"NbOutputMaps": 1}, [one, halves.reshape(1, 4, 1, 1), None, one],
         np.full((1, 1, 1, 1), halves.astype(np.float64).sum(), np.float16))  # fmt: skip


def quantized_norms():
    """A norm whose result is rounded to int8 by one scale."""
    x, scale, shift = uniform("qn_x", 5, 6), uniform("qn_s", 1, 6), uniform("qn_b", 1, 6)
    rows = x.astype(np.float64)
    rows = (rows - rows.mean(axis=-1, keepdims=True)) / np.sqrt(rows.var(axis=-1, keepdims=True) + 1e-5)
    for name, operands, y in (
        ("rows", [x, scale, shift], rows * scale + shift),
        ("withoutBias", [x, scale], rows * scale),
    ):
        steps = np.clip(np.rint(y / np.float64(0.03125)), -128, 127).astype(np.int8)
        case("QuantizedNormalization", name, {"norm": {"Axes": 2}, "scale": 0.03125}, operands, steps)


def weight_only_products():
    """Weights of few bits with a scale per block of their column."""
    kind = "WeightOnlyProduct"
    a, bias = uniform("wop_a", 2, 3, 8), uniform("wop_b", 5)
    scales = uniform("wop_s", 2, 5, low=0.01, high=0.1)
    for name, type_, low, high in (("int8", None, -128, 128), ("int4", "int4", -8, 8)):
        weights = integers(f"wop_{name}", 8, 5, low=low, high=high, dtype=np.int8)
        real = weights.astype(np.float64) * scales.astype(np.float64).repeat(4, 0)
        sums = a.astype(np.float64) @ real
        given = Typed(weights, type_) if type_ else weights
        case(kind, f"{name}Blocks", {"alpha": 0.5}, [a, given, scales, bias], as_type(sums * 0.5 + bias, bias))
        given = Typed(weights.T, type_) if type_ else np.ascontiguousarray(weights.T)
        fields = {"IsTransposed": True, "epilogue": {"steps": [{"kind": 2}]}}
        operands = [a, given, np.ascontiguousarray(scales.T), None]
        case(kind, f"{name}TransposedThenRelu", fields, operands, as_type(np.maximum(sums, 0), bias))


def dynamic_quantizations():
    x = uniform("dqx", 3, 32, low=-5, high=5)
    x[1, :16] = 0
    peaks = abs(x.reshape(3, 2, 16)).max(-1).astype(np.float64)
    scales = nearest((peaks / 6).astype(np.float32), FP8)
    ratio = np.divide(x.reshape(3, 2, 16), scales[..., None], out=np.zeros((3, 2, 16)), where=scales[..., None] != 0)
    y = nearest(ratio.astype(np.float32), FP4).reshape(3, 32)
    outputs = [Typed(y, "fp4"), Typed(scales, "fp8")]
    case("DynamicQuantize", "E14_fp4", {"Axis": 1}, [x], outputs)
    case("DynamicQuantize", "E14_blockShape", {"BlockShape": [1, 16]}, [x], outputs)
    powers = 2.0 ** np.ceil(np.log2(abs(x).max(-1, keepdims=True) / 448))
    y = nearest((x / powers).astype(np.float32), FP8)
    fields = {"Axis": 1, "BlockSize": 32, "ToType": 6, "ScaleType": 11}
    case("DynamicQuantize", "E14_mxfp8", fields, [x], [Typed(y, "fp8"), Typed(powers, "e8m0")])
    half = np.float32(0.5)
    scales = nearest((peaks / 6 / 0.5).astype(np.float32), FP8)
    whole = scales * 0.5
    ratio = np.divide(x.reshape(3, 2, 16), whole[..., None], out=np.zeros((3, 2, 16)), where=whole[..., None] != 0)
    y = nearest(ratio.astype(np.float32), FP4).reshape(3, 32)
    case("DynamicQuantize", "E14_factor", {"Axis": 1}, [x, half], [Typed(y, "fp4"), Typed(scales, "fp8")])


def transformers():
    x = uniform("rox", 2, 3, 5, 8)
    angle = uniform("roa", 2, 5, 4, low=-3, high=3, dtype=np.float64)

    def turned(x, angle, interleaved, dim):
        y = x.astype(np.float64)
        part = y[..., :dim].copy()
        a, b = (part[..., 0::2], part[..., 1::2]) if interleaved else (part[..., : dim // 2], part[..., dim // 2 :])
        cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
        one, two = a * cosine - b * sine, a * sine + b * cosine
        y[..., :dim] = np.stack([one, two], -1).reshape(part.shape) if interleaved else np.concatenate([one, two], -1)
        return y.astype(np.float32)

    def caches(angle):
        return [np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)]

    for interleaved in (False, True):
        fields = {"Interleaved": interleaved}
        name = "interleaved" if interleaved else "halves"
        case("RotaryEmbedding", f"E29_{name}", fields, [x, *caches(angle)], turned(x, angle, interleaved, 8))
        part = angle[..., :2]
        fields = fields | {"RotaryEmbeddingDim": 4}
        case("RotaryEmbedding", f"E29_some_{name}", fields, [x, *caches(part)], turned(x, part, interleaved, 4))
    table = uniform("rot", 9, 4, low=-3, high=3, dtype=np.float64)
    at = integers("rop", 2, 5, low=0, high=9, dtype=np.int64)
    case("RotaryEmbedding", "E29_positions", {}, [x, *caches(table), at], turned(x, table[at], False, 8))
    cache, update = uniform("kvc", 2, 3, 6, 4), uniform("kvu", 2, 3, 2, 4)
    for name, starts in {"E28_inside": [1, 4], "E28_pastTheEnd": [5, 9], "E28_start": [0, 0]}.items():
        y = cache.copy()
        for b, start in enumerate(starts):
            for s in range(2):
                if start + s < 6:
                    y[b, :, start + s] = update[b, :, s]
        kind = np.int64 if name == "E28_inside" else np.int32
        case("KVCacheUpdate", name, {}, [cache, update, np.array(starts, kind)], y)
    packed, begins = uniform("kvp", 5, 3, 4), np.array([0, 3, 5], np.int32)
    y = cache.copy()
    y[0, :, 2:5], y[1, :, 5] = packed[:3].transpose(1, 0, 2), packed[3]  # The last position lies behind the end.
    case("KVCacheUpdate", "packed", {"UpdateForm": 1}, [cache, packed, np.array([2, 5], np.int32), begins], y)
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    case("KVCacheUpdate", "E28_farOutside", {}, [cache, update, np.array([most, least])], cache)
    y = cache.copy()
    y[0, :, 2:5], y[1, :, 4:6] = packed[:3].transpose(1, 0, 2), packed[3:].transpose(1, 0, 2)
    far = [packed, np.array([2, 4]), np.array([least, 3, most])]  # Sequences begin and end where they can.
    case("KVCacheUpdate", "packedFarOutside", {"UpdateForm": 1}, [cache, *far], y)


def ragged_attentions():
    def attended(q, k, v, hidden, how):
        """One sequence of one head: rows of q, of k and v; `hidden` adds up what may not be seen, or is a mask."""
        scores = q.astype(np.float64) @ k.astype(np.float64).T
        if how.get("Normalization", 1) == 1:
            scores = scores + hidden
            seen = np.isfinite(scores).any(-1, keepdims=True)
            e = np.exp(scores - np.where(seen, scores.max(-1, keepdims=True, initial=-np.inf), 0))
            scores = np.where(seen, e / np.where(seen, e.sum(-1, keepdims=True), 1), 0)
        if how.get("QuantizedTo") == 2:
            steps = np.rint(scores.astype(np.float32) / np.float32(0.01)).astype(np.float64)
            scores = np.clip(steps, -128, 127) * np.float64(np.float32(0.01))
        return scores @ v.astype(np.float64)

    def causal(rows, columns, kind):
        i, j = np.arange(rows)[:, None], np.arange(columns)[None, :]
        allowed = [j < columns, j <= i, j <= i + columns - rows][kind]
        return np.where(allowed & (i >= 0), 0.0, -np.inf)

    def one(name, heads, key_heads, queries, keys, mask=None, room=None, **how):
        """`queries`, `keys`: lengths of the sequences; without `room` packed ones, else padded to (queries, keys)."""
        is_query_packed, is_key_packed = how.get("QueryForm", 0) == 1, how.get("KeyValueForm", 0) == 1
        batch, d, width = len(queries), 4, 5

        def operand(letter, lengths, count, packed, columns, longest):
            shape = (sum(lengths), count, columns) if packed else (batch, count, longest, columns)
            return uniform(name + letter, *shape)

        def sequence(tensor, b, head, lengths, packed):
            begin = sum(lengths[:b])
            return tensor[begin : begin + lengths[b], head] if packed else tensor[b, head, : lengths[b]]

        q = operand("q", queries, heads, is_query_packed, d, room and room[0])
        k = operand("k", keys, key_heads, is_key_packed, d, room and room[1])
        v = operand("v", keys, key_heads, is_key_packed, width, room and room[1])
        y = np.zeros((*q.shape[:-1], width))
        for b in range(batch):
            for head in range(heads):
                rows, columns = queries[b], keys[b]
                hidden = causal(rows, columns, how.get("Causal", 0))
                if mask is not None:
                    hidden = np.where(mask[b, 0, :, :columns], 0.0, -np.inf)
                part = attended(
                    sequence(q, b, head, queries, is_query_packed),
                    sequence(k, b, head * key_heads // heads, keys, is_key_packed),
                    sequence(v, b, head * key_heads // heads, keys, is_key_packed),
                    hidden,
                    how,
                )
                sequence(y, b, head, queries, is_query_packed)[:] = part
        begins = [None, None]
        if is_query_packed:
            begins[0] = np.cumsum([0, *queries], dtype=np.int32)
        begins[1] = np.cumsum([0, *keys], dtype=np.int64) if is_key_packed else np.array(keys, np.int32)
        scale = np.float32(0.01) if "QuantizedTo" in how else None
        case("RaggedAttention", name, how, [q, k, v, mask, scale, *begins], as_type(y, q))

    packed = {"QueryForm": 1, "KeyValueForm": 1}
    one("paddedKeys", 2, 2, [3, 3], [5, 2], room=(3, 5))
    one("paddedKeysMasked", 2, 2, [3, 3], [4, 2], rng("ram").random((2, 1, 3, 5)) < 0.6, room=(3, 5))
    one("paddedKeysCausalLowerRight", 4, 2, [3, 3, 3], [5, 3, 4], room=(3, 5), Causal=2)
    one("packed", 4, 2, [3, 1, 4], [2, 5, 4], **packed)
    one("packedWithAnEmptySequence", 2, 1, [2, 0, 3], [4, 2, 0], **packed)
    one("E27_packedCausalUpperLeft", 2, 2, [3, 2], [3, 4], **packed, Causal=1)
    one("E27_packedCausalLowerRight", 2, 2, [3, 2], [2, 4], **packed, Causal=2)
    one("packedQueriesOfPaddedKeys", 2, 2, [3, 1], [2, 4], room=(3, 4), QueryForm=1, Causal=2)
    one("withoutNormalization", 2, 2, [3, 1], [2, 4], **packed, Normalization=0)
    one("quantized", 2, 2, [3, 1], [2, 4], **packed, QuantizedTo=2)


def experts():
    """As the documentation of the layer has it, expert by expert."""

    def one(name, tokens=(2, 3), hidden=4, inner=6, count=5, each=2, biases=False, limit=np.inf, **how):
        alpha, beta = how.get("SwigluParamAlpha", 1.0), how.get("SwigluParamBeta", 0.0)
        x = uniform(name + "x", *tokens, hidden)
        which = integers(name + "e", *tokens, each, low=0, high=count)
        scores = uniform(name + "s", *tokens, each, low=0, high=1)
        gate, up = uniform(name + "g", count, hidden, inner), uniform(name + "u", count, hidden, inner)
        down = uniform(name + "d", count, inner, hidden)
        operands = [x, which, scores, gate, up, down]
        if biases:
            operands += [uniform(name + "gb", count, inner), uniform(name + "ub", count, inner)]
            operands.append(uniform(name + "db", count, hidden))
        scale = how.pop("scale", None)
        y = np.zeros(x.shape)
        for at in np.ndindex(*tokens):
            for k in range(each):
                e = which[at][k]
                token, bias = x[at].astype(np.float64), [w[e].astype(np.float64) for w in operands[6:9]] or [0, 0, 0]
                g = np.minimum(token @ gate[e] + bias[0], limit)
                u = np.clip(token @ up[e] + bias[1], -limit, limit) + beta
                h = u * g * (sigmoid(alpha * g) if how.get("ActivationType", 1) == 1 else 1)
                if how.get("QuantizationBlockShape"):
                    whole = np.float64(np.float32(scale))
                    peaks = abs(h.reshape(-1, 2)).max(-1)
                    blocks = nearest((peaks / 6 / whole).astype(np.float32), FP8) * whole
                    ratio = h.reshape(-1, 2).astype(np.float32) / blocks.astype(np.float32)[:, None]
                    h = (nearest(ratio, FP4) * blocks[:, None]).ravel()
                elif scale is not None:
                    step = np.float32(np.ravel(scale)[e % np.size(scale)])
                    h = np.clip(np.rint(h.astype(np.float32) / step), -128, 127).astype(np.float64) * np.float64(step)
                y[at] += scores[at][k] * (h @ down[e] + bias[2])
        if np.isfinite(limit):
            how["SwigluParamLimit"] = limit
        if scale is not None:
            operands += [None] * (9 - len(operands)) + [np.asarray(scale, np.float32)]
        case("MoE", name, how, operands, as_type(y, x))

    one("E30_silu")
    one("E30_biases", biases=True)
    one("none", ActivationType=0)
    one("limited", biases=True, limit=1.5, SwigluParamAlpha=1.7, SwigluParamBeta=1.0)
    one("oneToken", tokens=(1, 1), each=1)
    one("allExperts", count=3, each=3)
    one("int8Inside", QuantizationToType=2, scale=0.05)
    one("int8InsideByExpert", QuantizationToType=2, scale=[0.05, 0.1, 0.02, 0.03, 0.07], biases=True)
    blocks = {"QuantizationToType": 10, "QuantizationBlockShape": [1, 1, 2], "DynQOutputScaleType": 6}
    one("fp4InsideByBlock", **blocks, scale=0.02)


RECURRENT = {"Relu": (0, 0, 0), "Sigmoid": (1, 0, 0), "Tanh": (2, 0, 0), "HardSigmoid": (9, 0.2, 0.5)}


def recurrence(name, op, direction="forward", lengths=None, batch=3, steps=5, inputs=4, hidden=6, **how):
    """`how`: states, peepholes, no_bias; activations; and what the operator calls clip, linear_before_reset, …"""
    gates, ways = {"RNN": 1, "GRU": 3, "LSTM": 4}[op], 2 if direction == "bidirectional" else 1
    x = uniform(name + "x", steps, batch, inputs)
    w, r = uniform(name + "w", ways, gates * hidden, inputs), uniform(name + "r", ways, gates * hidden, hidden)
    operands = [x, w, r, None if how.pop("no_bias", False) else uniform(name + "b", ways, 2 * gates * hidden)]
    operands.append(None if lengths is None else np.array(lengths, np.int32))
    states = how.pop("states", False)
    operands.append(uniform(name + "h", ways, batch, hidden) if states else None)
    if op == "LSTM":
        operands.append(uniform(name + "c", ways, batch, hidden) if states else None)
        operands.append(uniform(name + "p", ways, 3 * hidden) if how.pop("peepholes", False) else None)
    while operands[-1] is None:
        operands.pop()
    standard = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[op]
    names = how.get("activations", standard * ways)
    outputs = ort(op, operands, 3 if op == "LSTM" else 2, 17, direction=direction, hidden_size=hidden, **how)
    fields = {
        "Cell": ["RNN", "GRU", "LSTM"].index(op),
        "Direction": ["forward", "reverse", "bidirectional"].index(direction),
        "Activations": [dict(zip(("Type", "Alpha", "Beta"), RECURRENT[n], strict=True)) for n in names],
        "Clip": how.get("clip", 0.0),
        "IsResetAfter": bool(how.get("linear_before_reset", 0)),
        "IsCoupled": bool(how.get("input_forget", 0)),
    }
    case("RecurrentNetwork", name, fields, operands, outputs)


def recurrences():
    for op in ("RNN", "GRU", "LSTM"):
        low = op.lower()
        recurrence(f"{low}_forward", op)
        recurrence(f"{low}_reverse_with_states", op, "reverse", states=True)
        recurrence(f"{low}_both_with_lengths", op, "bidirectional", [5, 1, 3], states=True)
        recurrence(f"{low}_without_bias", op, no_bias=True, batch=1, steps=1)
        recurrence(f"{low}_clipped", op, clip=0.4)
    recurrence("gru_reset_after", "GRU", linear_before_reset=1)
    recurrence(
        "gru_reset_after_both_with_lengths", "GRU", "bidirectional", [2, 4, 5], states=True, linear_before_reset=1
    )
    recurrence("lstm_peepholes", "LSTM", "bidirectional", peepholes=True, states=True)
    recurrence("lstm_coupled", "LSTM", input_forget=1)
    recurrence("lstm_other_activations", "LSTM", activations=["HardSigmoid", "Relu", "Tanh"])
    recurrence("rnn_other_activations", "RNN", "bidirectional", activations=["Relu", "Sigmoid"])


def stacks():
    """Layer by layer in ONNX Runtime; whose GRU resets behind the product, as that of 8.x does."""

    def one(name, op, layers, front=(3,), both=False, lengths=None, states=False, bias=True):
        steps, inputs, hidden, onnx = 4, 5, 6, {"RELU": "RNN", "TANH": "RNN"}.get(op, op)
        gates, ways, batch = {"RNN": 1, "GRU": 3, "LSTM": 4}[onnx], 2 if both else 1, math.prod(front)
        x = uniform(name + "x", *front, steps, inputs)
        first = [uniform(name + n, *front, layers * ways, hidden) if states else None for n in "hc"]
        operands = [x, None if lengths is None else np.array(lengths, np.int32).reshape(front), first[0], None]
        if onnx == "LSTM":
            operands[3] = first[1]
        running, last = x.reshape(batch, steps, inputs).transpose(1, 0, 2), []
        for layer in range(layers):
            w = uniform(f"{name}w{layer}", ways, gates * hidden, running.shape[-1])
            r = uniform(f"{name}r{layer}", ways, gates * hidden, hidden)
            b = uniform(f"{name}b{layer}", ways, 2 * gates * hidden) if bias else None
            operands += [w, r, b]
            of_layer = slice(layer * ways, (layer + 1) * ways)
            begin = [
                None if f is None else f.reshape(batch, layers * ways, hidden)[:, of_layer].transpose(1, 0, 2)
                for f in first[: 2 if onnx == "LSTM" else 1]
            ]
            given = [running, w, r, b, None if lengths is None else operands[1].ravel(), *begin]
            how = {"linear_before_reset": 1} if onnx == "GRU" else {}
            if op == "RELU":
                how = {"activations": ["Relu"] * ways}
            while given[-1] is None:
                given.pop()
            found = ort(onnx, given, 3 if onnx == "LSTM" else 2, 17, hidden_size=hidden, **how,
                        direction="bidirectional" if both else "forward")  # fmt: skip
            running = found[0].transpose(0, 2, 1, 3).reshape(steps, batch, ways * hidden)
            last.append(found[1:])
        outputs = [running.transpose(1, 0, 2).reshape(*front, steps, ways * hidden)]
        for each in zip(*last, strict=True):
            outputs.append(np.concatenate(each).transpose(1, 0, 2).reshape(*front, layers * ways, hidden))
        cell = ["RNN", "GRU", "LSTM"].index(onnx)
        fields = {"Cell": cell, "IsRelu": op == "RELU", "IsBothWays": both, "Layers": layers}
        case("StackedRecurrence", name, fields, operands, outputs)

    one("lstm", "LSTM", 1)
    one("lstmTwoLayersBothWays", "LSTM", 2, both=True, states=True, lengths=[4, 1, 3])
    one("gruThreeLayers", "GRU", 3, states=True)
    one("gruBothWaysWithoutBias", "GRU", 2, both=True, bias=False)
    one("relu", "RELU", 2)
    one("tanhBothWays", "TANH", 1, both=True, lengths=[2, 4, 3])
    one("oneSequence", "LSTM", 2, front=(), states=True)
    one("twoAxesInFront", "GRU", 1, front=(2, 3), lengths=[4, 2, 1, 3, 4, 2], states=True)


def determinants():
    def one(name, x):
        case("Determinant", name, {}, [x], np.linalg.det(x.astype(np.float64)).astype(x.dtype))

    for size in (1, 2, 3, 4, 5, 9):
        one(f"size{size}", uniform(f"determinant{size}", 2, size, size))
    one("oneMatrix", uniform("determinant", 6, 6))
    one("severalAxes", uniform("determinants", 2, 3, 4, 4))
    one("firstPivotIsZero", np.array([[0, 2, 1], [4, 0, 3], [1, 5, 0]], np.float32))
    one("singular", np.array([[1, 2], [2, 4]], np.float32))
    # Of a triangular matrix the product of its diagonal, whatever stands above it.
    steep = np.triu(uniform("steep", 40, 40)) + np.diag(np.repeat([1e-7, 1e7], 20)).astype(np.float32)
    np.fill_diagonal(steep, np.tile([1e-7, 1e7], 20))
    case("Determinant", "betweenTheEndsOfFloats", {}, [steep], np.float32(np.prod(np.diag(steep).astype(np.float64))))
    case("Determinant", "noRows", {}, [np.zeros((3, 0, 0), np.float32)], np.ones(3, np.float32))


def row_orders():
    def one(name, x):
        unique, inverse = np.unique(x, axis=0, return_inverse=True)
        order = np.argsort(inverse.reshape(-1), kind="stable")
        ranks = inverse.reshape(-1)[order]
        case("RowOrder", name, {}, [x], [order, np.concatenate([[True], ranks[1:] != ranks[:-1]])[: len(x)]])

    for kind in (np.float32, np.int8, np.uint8, np.int32, np.int64, bool):
        one(np.dtype(kind).name, integers("rows", 12, 3, low=0, high=2).astype(kind))
    one("wide", uniform("wideRows", 5, 30))
    one("lastColumnDecides", np.concatenate([np.ones((6, 20)), integers("last", 6, 1)], 1).astype(np.float32))
    one("negative", integers("negativeRows", 9, 2, low=-3, high=3).astype(np.int8))
    one("oneRow", uniform("oneRow", 1, 4))
    nan, inf = np.nan, np.inf
    x = np.array([[nan, 2], [0.0, 3], [inf, nan], [-0.0, 3], [nan, 1], [-inf, 0], [nan, 1], [inf, 0]], np.float32)
    isnew = np.array([1, 1, 0, 1, 1, 1, 1, 1], bool)
    case("RowOrder", "nansBehindAll", {}, [x], [np.array([5, 1, 3, 7, 2, 4, 6, 0]), isnew])
    case("RowOrder", "noColumns", {}, [np.zeros((3, 0), np.float32)], [np.arange(3), np.array([1, 0, 0], bool)])
    case("RowOrder", "noRows", {}, [np.zeros((0, 3), np.float32)], [np.zeros(0, np.int64), np.zeros(0, bool)])


def remainders():
    a = np.concatenate([uniform("dividend", 20, low=-9, high=9), [0.0, -0.0, 7.0, -7.0, 3e38, 1e-40]]).astype(
        np.float32
    )
    b = np.concatenate([uniform("divisor", 20), [2.0, 2.0, -2.0, np.inf, 1e-3, 3.0]]).astype(np.float32)
    case("Remainder", "signOfTheDividend", {}, [a, b], np.fmod(a, b))
    case("Remainder", "signOfTheDivisor", {"IsFloored": True}, [a, b], np.mod(a, b))
    nan, inf = np.nan, np.inf
    a, b = np.array([[inf, -inf, 1, nan, 1]], np.float32), np.array([[2, 2, 0, 2, nan]], np.float32)
    case("Remainder", "none", {"IsFloored": True}, [a, b], np.full((1, 5), nan, np.float32))


def byte_scales():
    def one(name, x, scale=None, zero=None):
        wide = x.astype(np.float32)
        low, high = np.minimum(wide.min(initial=0), 0), np.maximum(wide.max(initial=0), 0)
        scale = (high - low) / np.float32(255) if scale is None else np.float32(scale)
        zero = np.rint(np.clip(-low / scale, 0, 255)) if zero is None else zero
        outputs = [np.array(scale, np.float32), np.array(zero, np.uint8), np.array(zero, np.float32)]
        case("ByteScale", name, {}, [x], outputs)

    # Of the operator's example in ONNX's text.
    one("example", np.array([0, 2, -3, -2.5, 1.34, 0.5], np.float32), 0.0196078438, 153)
    one("aboveZero", uniform("aboveZero", 3, 4, low=2, high=9))
    one("belowZero", uniform("belowZero", 40, low=-9, high=-2))
    one("oneNumber", np.array(-7.25, np.float32))
    one("half", uniform("halves", 2, 3, 5, low=-9, high=4).astype(np.float16))
    one("zeroPointBetweenTwo", np.array([-0.5, 254.5], np.float32), 1, 0)
    one("zeros", np.zeros((2, 3), np.float32), 1, 0)
    one("noElements", np.zeros((2, 0), np.float32), 1, 0)
    one("beyondFloat", np.array([-3e38, 3e38], np.float32), np.inf, 0)
    one("infinite", np.array([-np.inf, 1], np.float32), np.inf, 0)
    one("noNumber", np.array([-4, np.nan, 1], np.float32), np.nan, 0)


def bit_casts():
    x = np.array([[0.0, -0.0, 1.0], [-2.5, np.inf, 1e-42]], np.float32)
    case("BitCast", "floatToInt", {"ToType": ENUM["INT32"]}, [x], x.view(np.int32))
    case("BitCast", "intToFloat", {"ToType": ENUM["FLOAT"]}, [x.view(np.int32)], x)
    half = x.astype(np.float16)
    case("BitCast", "halfToBfloat", {"ToType": ENUM["BF16"]}, [half],
         Typed((half.view(np.uint16).astype(np.uint32) << 16).view(np.float32), "bfloat16"))  # fmt: skip
    byte = np.array([0, 1, 127, 128, 255], np.uint8)
    case("BitCast", "bytes", {"ToType": ENUM["INT8"]}, [byte], byte.view(np.int8))


def main():
    for make in (
        activations,
        unaries,
        elementwises,
        selects,
        casts,
        moving,
        gathers,
        scatters,
        shuffles,
        slices,
        fills,
        reductions,
        rows_wise,
        sorting,
        convolutions,
        deconvolutions,
        poolings,
        products,
        resizes,
        pointwise,
        attentions,
        grids,
        equations,
        detections,
        box_selections,
        deformable_attentions,
        ragged,
        quantizations,
        int8_products,
        channel_gates,
        image_convolutions,
        patch_embeddings,
        embedding_norms,
        normalized_products,
        measured_products,
        convolution_sums,
        quantized_norms,
        weight_only_products,
        dynamic_quantizations,
        transformers,
        ragged_attentions,
        experts,
        recurrences,
        stacks,
        determinants,
        row_orders,
        remainders,
        bit_casts,
        byte_scales,
    ):
        make()
    FOLDER.mkdir(exist_ok=True)
    for kind, cases in sorted(FILES.items()):
        lines = ",\n".join(json.dumps(record, separators=(",", ":")) for record in cases)
        (FOLDER / f"{kind}.json").write_text(f'{{"kind":"{kind}","cases":[\n{lines}\n]}}\n')
        print(f"{kind}: {len(cases)} cases")


if __name__ == "__main__":
    main()
