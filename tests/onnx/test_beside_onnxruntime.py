"""Forms of operators that the onnx package's node tests leave out, beside ONNX Runtime: types, groups, blocks."""

import itertools
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import helper
from running import check_equal, plan_of, run

RANDOM = np.random.default_rng(11)
KINDS = {np.dtype(kind): helper.np_dtype_to_tensor_dtype(np.dtype(kind)) for kind in
         ("float32", "float16", "float64", "int8", "uint8", "int32", "int64", "bool")}  # fmt: skip


@pytest.fixture(autouse=True)
def _the_same_numbers() -> None:
    """Whichever tests ran before."""
    RANDOM.bit_generator.state = np.random.default_rng(11).bit_generator.state


def node_model(
    op: str, inputs: list[np.ndarray], opset: int, outputs: int, open_: bool, known: tuple = (), **attributes: Any
) -> Any:
    """A model of one node; `open_`: no extent is known before the run but those that `known` has, (input, axis)."""
    infos = []
    for i, array in enumerate(inputs):
        dims = [
            f"x{i}_{axis}" if open_ and (i, axis) not in known else extent for axis, extent in enumerate(array.shape)
        ]
        infos.append(helper.make_tensor_value_info(f"x{i}", KINDS[array.dtype], dims))
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, [info.name for info in infos], results, **attributes)
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=name) for name in results])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def check(
    op: str,
    inputs: list[np.ndarray],
    opset: int = 17,
    outputs: int = 1,
    known: tuple = (),
    tolerance: tuple[float, float] | None = None,
    has_halves: bool = True,
    **attributes: Any,
) -> None:
    """`has_halves`: ONNX Runtime has it in float16; else it says in float32 what comes."""
    feed = {f"x{i}": array for i, array in enumerate(inputs)}
    theirs = [a.astype(np.float32) if a.dtype == np.float16 and not has_halves else a for a in inputs]
    static = node_model(op, theirs, opset, outputs, False, **attributes)
    session = onnxruntime.InferenceSession(static.SerializeToString(), providers=["CPUExecutionProvider"])
    wanted = session.run(None, {f"x{i}": array for i, array in enumerate(theirs)})
    if theirs[0].dtype != inputs[0].dtype:
        wanted = [want.astype(inputs[0].dtype) for want in wanted]
    for open_ in (False, True):
        model = node_model(op, inputs, opset, outputs, open_, known, **attributes)
        for i, want in enumerate(wanted):  # Types are declared, as exporters do it.
            declared = helper.make_tensor_value_info(f"y{i}", KINDS[want.dtype], [None] * want.ndim)
            model.graph.output[i].CopyFrom(declared)
        (found,) = run(plan_of(model, [feed]), [feed])
        for i, want in enumerate(wanted):
            assert found[f"y{i}"].dtype == want.dtype
            check_equal(found[f"y{i}"], want, f"y{i}, {'open' if open_ else 'known'} extents", tolerance)


def floats(*shape: int, kind: str = "float32") -> np.ndarray:
    return RANDOM.uniform(-2, 2, shape).astype(kind)


def whole(*shape: int, kind: str = "int32", low: int = -9, high: int = 9) -> np.ndarray:
    return RANDOM.integers(low, high, shape).astype(kind)


@pytest.mark.parametrize("opset", [18, 21])
@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("shape", [(2, 6), (2, 6, 5), (3, 6, 1), (1, 6, 3, 4), (2, 6, 2, 3, 2)])
def test_groups_are_normalized_together(opset: int, groups: int, shape: tuple[int, ...]) -> None:
    of_scale = groups if opset == 18 else 6
    given = [floats(*shape), floats(of_scale), floats(of_scale)]
    if opset == 18:  # ONNX Runtime has it from 21 on, where scales are of channels.
        x, scale, bias = given
        in_groups = x.reshape(shape[0], groups, -1).astype(np.float64)
        mean, variance = in_groups.mean(2, keepdims=True), in_groups.var(2, keepdims=True)
        normal = (in_groups - mean) / np.sqrt(variance + 1e-5) * scale[:, None] + bias[:, None]
        feed = {f"x{i}": array for i, array in enumerate(given)}
        for open_ in (False, True):
            model = node_model("GroupNormalization", given, 18, 1, open_, num_groups=groups)
            model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", KINDS[x.dtype], [None] * x.ndim))
            if open_:  # What scales are of is known.
                for info in model.graph.input[1:]:
                    info.type.tensor_type.shape.dim[0].dim_value = of_scale
            (found,) = run(plan_of(model, [feed]), [feed])
            check_equal(found["y0"], normal.reshape(shape).astype(np.float32), "y0")
        return
    check("GroupNormalization", given, 21, num_groups=groups)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_statistics_of_layer_norms_are_float32(kind: str) -> None:
    check("LayerNormalization", [floats(3, 4, 5, kind=kind), floats(5, kind=kind), floats(5, kind=kind)], outputs=3)


@pytest.mark.parametrize("extent, size", [(4, 3), (5, 3), (7, 3), (6, 3), (4, 8), (7, 2)])
@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_blocks_have_the_size_that_the_node_says(extent: int, size: int, kind: str) -> None:
    blocks = -(-extent // size)
    low, high = (0, 200) if kind == "uint8" else (-100, 100)
    scale, zero = np.abs(floats(3, blocks)) + 0.25, whole(3, blocks, kind=kind, low=low // 4, high=high // 4)
    attributes = {"axis": -1, "block_size": size}
    check("DequantizeLinear", [whole(3, extent, kind=kind, low=low, high=high), scale, zero], 21, **attributes)
    check("QuantizeLinear", [floats(3, extent) * 20, scale, zero], 21, **attributes)
    # Without a zero point, whose type says the result's: where it is int8 there is a layer.
    check("DequantizeLinear", [whole(3, extent, kind=kind, low=low, high=high), scale], 21, **attributes)
    if kind == "int8":
        check("QuantizeLinear", [floats(3, extent) * 20, scale], 21, output_dtype=3, **attributes)


@pytest.mark.parametrize(
    "blocks, size, says",
    [
        ((3, 2), 3, r"2 scales along axis 1 for an extent of 7 in blocks of 3 \(block_size\)"),
        ((3, 2), -3, r"scales of shape \[3,2\] for a tensor of shape \[3,7\] in blocks of -3 \(block_size\)"),
        ((2,), 3, r"scales of shape \[2\] for a tensor of shape \[3,7\] in blocks of 3 \(block_size\)"),
    ],
)
def test_scales_are_those_of_the_blocks(blocks: tuple[int, ...], size: int, says: str) -> None:
    given = [whole(3, 7, kind="uint8", low=0), np.abs(floats(*blocks)) + 0.25]
    model = node_model("DequantizeLinear", given, 21, 1, False, axis=1, block_size=size)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", KINDS[np.dtype("float32")], [3, 7]))
    with pytest.raises(Exception, match=says):
        plan_of(model, [{"x0": given[0], "x1": given[1]}])


@pytest.mark.parametrize("kind, ends", [("uint8", (128, 15)), ("uint8", (128, 0)), ("uint8", (128, 200)),
    ("int8", (0, -128)), ("int8", (0, -50)), ("int8", (0, 30)), ("int8", (0, 0))])  # fmt: skip
@pytest.mark.parametrize("has_relu", [False, True])
def test_a_range_that_ends_what_a_wider_one_follows(kind: str, ends: tuple[int, int], has_relu: bool) -> None:
    """x · 1, quantized, perhaps without what is negative, and once more with the same scale about another zero."""
    middle = {"uint8": 128, "int8": 0}[kind]
    model = onnx.parser.parse_model(f"""
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[n, 4] x) => (float[n, 4] y)
    <float s0 = {{0.08}}, float s = {{0.04}}, float sw = {{0.01}}, int8 zw = {{0}}, {kind} z0 = {{{middle}}},
     {kind} z1 = {{{ends[0]}}}, {kind} z2 = {{{ends[1]}}},
     int8[4, 4] w = {{100, 0, 0, 0, 0, 100, 0, 0, 0, 0, 100, 0, 0, 0, 0, 100}}>
    {{
        aq = QuantizeLinear (x, s0, z0)
        a = DequantizeLinear (aq, s0, z0)
        ww = DequantizeLinear (w, sw, zw)
        m = MatMul (a, ww)
        bq = QuantizeLinear (m, s, z1)
        b = DequantizeLinear (bq, s, z1)
        r = {"Relu" if has_relu else "Identity"} (b)
        dq = QuantizeLinear (r, s, z2)
        y = DequantizeLinear (dq, s, z2)
    }}""")
    feed = {"x": np.array([[8, -3, 1, 9], [-9, 4.9, -4.9, 0.5]], np.float32)}
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    (want,) = onnxruntime.InferenceSession(model.SerializeToString(), options).run(None, feed)
    (found,) = run(plan_of(model, [feed]), [feed])
    check_equal(found["y"], want, "y", (1e-3, 1e-4))


@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_blocks_of_nothing(kind: str) -> None:
    model = node_model("DequantizeLinear", [np.zeros((3, 0), kind), floats(3, 0)], 21, 1, False, axis=1, block_size=3)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", KINDS[np.dtype("float32")], [3, 0]))
    feed = {"x0": np.zeros((3, 0), kind), "x1": floats(3, 0)}
    (found,) = run(plan_of(model, [feed]), [feed])
    assert found["y0"].shape == (3, 0) and found["y0"].dtype == np.float32


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("kind", ["float16", "float64", "int8", "uint8", "int32", "int64", "float32"])
def test_joined_updates_keep_their_type(op: str, reduction: str, kind: str) -> None:
    data = whole(4, 3, kind=kind, low=0 if kind == "uint8" else -9)
    updates = whole(2, 3, kind=kind, low=1, high=90)
    indices = (
        whole(2, 3, kind="int64", low=0, high=4)
        if op == "ScatterElements"
        else whole(2, 1, kind="int64", low=0, high=4)
    )
    if reduction == "mul" and kind == "float16":
        updates = whole(2, 3, kind=kind, low=1, high=9)
    check(op, [data, indices, updates], 18, known=((1, 1),), has_halves=False, reduction=reduction)


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
def test_doubles_that_no_update_touches_stay(reduction: str) -> None:
    data, indices, updates = np.array([1e300, 16777217.0, -1e-300, 3.0]), np.array([[3], [3]]), np.array([2.5, 4.0])
    check("ScatterND", [data, indices, updates], 18, known=((1, 1),), reduction=reduction)


@pytest.mark.parametrize("op", ["ScatterElements", "ScatterND"])
@pytest.mark.parametrize("reduction", ["max", "min"])
def test_nan_is_the_least_and_the_greatest(op: str, reduction: str) -> None:
    """As NumPy has it; in ONNX Runtime it goes by which operand it is."""
    data, updates = floats(6), floats(6)
    data[1], updates[2], updates[5] = np.nan, np.nan, np.inf
    indices = np.array([1, 2, 2, 0, 4, 5])
    want = data.copy()
    with np.errstate(invalid="ignore"):
        (np.maximum if reduction == "max" else np.minimum).at(want, indices, updates)
    feed = {"x0": data, "x1": indices if op == "ScatterElements" else indices[:, None], "x2": updates}
    model = node_model(op, list(feed.values()), 18, 1, False, reduction=reduction)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", KINDS[data.dtype], [6]))
    (found,) = run(plan_of(model, [feed]), [feed])
    assert np.isnan(want).sum() == 2
    np.testing.assert_array_equal(found["y0"], want)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_regions_keep_their_type(kind: str) -> None:
    regions = np.array([[0, 0, 5, 4], [1, 2, 6, 6]], kind)
    if kind != "float16":  # Which ONNX Runtime has not.
        check(
            "RoiAlign",
            [floats(2, 3, 7, 8, kind=kind), regions, np.array([0, 1])],
            16,
            tolerance=(1e-5, 1e-4),
            output_height=2,
            output_width=3,
        )
        return
    x = floats(2, 3, 7, 8, kind=kind)
    feed = {"x0": x, "x1": regions, "x2": np.array([0, 1])}
    model = node_model("RoiAlign", list(feed.values()), 16, 1, False, output_height=2, output_width=3)
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", KINDS[x.dtype], [2, 3, 2, 3]))
    (found,) = run(plan_of(model, [feed]), [feed])
    assert found["y0"].dtype == np.float16


@pytest.mark.parametrize("kind", ["int8", "uint8", "int32", "int64", "float32"])
def test_shrink(kind: str) -> None:
    check("Shrink", [whole(3, 7, kind=kind, low=0 if kind == "uint8" else -9)], lambd=1.5, bias=0.75)


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize(
    "a, b",
    [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((4,), (4, 3)), ((2, 3, 4), (4,)), ((4,), (4,))],
)
def test_products_of_integers(kind: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    check("MatMul", [whole(*a, kind=kind), whole(*b, kind=kind)])


@pytest.mark.parametrize("kind, axis", [*itertools.product(["float32", "uint8", "int64"], [0, 1, -1])])
def test_searches_of_any_type_and_axis(kind: str, axis: int) -> None:
    x = RANDOM.permutation(240).reshape(4, 3, 2, 5, 2).astype(kind)
    for keep, last in itertools.product((0, 1), (0, 1)):
        for op in ("ArgMax", "ArgMin"):
            if kind == "int64" and op == "ArgMin":
                continue  # Which ONNX Runtime has not.
            if kind != "int64":
                check(op, [x], 13, axis=axis, keepdims=keep, select_last_index=last)
    model = node_model("TopK", [x, np.array([2])], 11, 2, False, axis=axis)
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2]), "x1"))
    del model.graph.input[1]
    for i, each in enumerate((x.dtype, np.dtype("int64"))):
        model.graph.output[i].CopyFrom(helper.make_tensor_value_info(f"y{i}", KINDS[each], [None] * 5))
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x0": x})
    (found,) = run(plan_of(model, [{"x0": x}]), [{"x0": x}])
    for i, want in enumerate(wanted):
        np.testing.assert_array_equal(found[f"y{i}"], want)


@pytest.mark.parametrize("kind", ["uint8", "int8", "int32"])
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "align_corners"])
def test_between_integers(kind: str, coordinates: str) -> None:
    x = whole(1, 2, 5, 7, kind=kind, low=0, high=100)
    model = node_model("Resize", [x], 18, 1, False, mode="linear", coordinate_transformation_mode=coordinates)
    model.graph.node[0].input.extend(["", "scales"])
    scales = np.array([1, 1, 1.6, 2], np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(scales, "scales"))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", KINDS[x.dtype], [None] * 4))
    (want,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x0": x})
    (found,) = run(plan_of(model, [{"x0": x}]), [{"x0": x}])
    assert found["y0"].dtype == want.dtype
    # What lies within rounding of an integer may be cut to either side.
    apart = np.abs(found["y0"].astype(int) - want.astype(int))
    assert apart.max() <= 1 and (apart == 0).mean() > 0.97


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_between_bytes_with_antialias(mode: str) -> None:
    """What floats give, rounded and kept within bytes; ONNX Runtime rounds between the axes, too."""
    x = (np.indices((12, 12)).sum(0) % 2 * 255).astype(np.uint8)[None, None]
    x[0, 0, 3:7] = whole(4, 12, kind="uint8", low=0, high=255)
    results = []
    for array in (x, x.astype(np.float32)):
        model = node_model("Resize", [array], 18, 1, False, mode=mode, antialias=1)
        model.graph.node[0].input.extend(["", "scales"])
        scales = np.array([1, 1, 0.6, 1.5], np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(scales, "scales"))
        model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y0", KINDS[array.dtype], [None] * 4))
        results.append(run(plan_of(model, [{"x0": array}]), [{"x0": array}])[0]["y0"])
    (want,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x0": array})
    check_equal(results[1], want, "of floats", (1e-3, 1e-4))
    apart = results[0].astype(int) - np.clip(np.rint(want), 0, 255).astype(int)
    assert results[0].dtype == np.uint8 and np.abs(apart).max() <= 1
    assert (apart == 0).mean() > 0.9  # A half may go to either side.


@pytest.mark.parametrize("op", ["Abs", "Sign"])
def test_signs_of_bytes(op: str) -> None:
    check(op, [whole(3, 7, kind="uint8", low=0)])


@pytest.mark.parametrize("op", ["ReduceL2", "ReduceLogSum"])
def test_roots_and_logarithms_of_integers(op: str) -> None:
    check(op, [whole(3, 7, low=1, high=9)], 13, axes=[1])
    large = [[100000, 7, 3], [46340, 46339, 0]] if op == "ReduceL2" else [[2**30, 2**30, 2**30], [2**31 - 1, 5, 2**30]]
    check(op, [np.array(large, np.int32)], 13, axes=[1])


def test_what_is_empty_is_flattened() -> None:
    check("Flatten", [floats(4, 3, 0, 4)])
    check("Flatten", [floats(4, 3, 2, 4)])
