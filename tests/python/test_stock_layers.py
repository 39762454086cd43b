"""Stock plugins that normalize, scatter and attend, against NumPy: built, stored, loaded and run."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)
KINDS = {np.dtype(np.float32): trt.float32, np.dtype(np.float16): trt.float16}
KINDS |= {np.dtype(np.int32): trt.int32, np.dtype(np.int64): trt.int64, np.dtype(np.int8): trt.int8}
TOLERANCE = {np.float32: {"rtol": 1e-5, "atol": 1e-5}, np.float16: {"rtol": 2e-3, "atol": 2e-3}}
FLOATS = [np.float32, np.float16]


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    assert trt.init_libnvinfer_plugins(LOGGER, "")


def collection(fields: dict[str, object]) -> trt.PluginFieldCollection:
    """Text as characters, integers as int32, all else as float32."""
    made = []
    for name, value in fields.items():
        if isinstance(value, str):
            made.append(trt.PluginField(name, value.encode(), trt.PluginFieldType.CHAR))
        elif np.issubdtype(np.asarray(value).dtype, np.integer):
            made.append(trt.PluginField(name, np.atleast_1d(np.asarray(value, np.int32)), trt.PluginFieldType.INT32))
        else:
            data = np.atleast_1d(np.asarray(value, np.float32))
            made.append(trt.PluginField(name, data, trt.PluginFieldType.FLOAT32))
    return trt.PluginFieldCollection(made)


def create(name: str, version: str, fields: dict[str, object]) -> trt.IPluginV2 | trt.IPluginV3 | None:
    """Versions of the V3 generation are known by the creator that the registry finds."""
    creator = trt.get_plugin_registry().get_creator(name, version, "")
    assert creator is not None
    if isinstance(creator, trt.IPluginCreatorV3One):
        return creator.create_plugin(name, collection(fields), trt.TensorRTPhase.BUILD)
    return creator.create_plugin(name, collection(fields))


def plan_of(name: str, version: str, fields: dict[str, object], inputs: Sequence[np.ndarray]) -> bytes | None:
    """None when the plugin refuses the inputs."""
    builder = trt.Builder(LOGGER)
    strong = any(x.dtype == np.float16 for x in inputs)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED) if strong else 0)
    tensors = [network.add_input(f"x{i}", KINDS[x.dtype], x.shape) for i, x in enumerate(inputs)]
    plugin = create(name, version, fields)
    assert plugin is not None
    is_newer = isinstance(plugin, trt.IPluginV3)
    layer = network.add_plugin_v3(tensors, [], plugin) if is_newer else network.add_plugin_v2(tensors, plugin)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    return None if plan is None else bytes(plan)


def run_plan(plan: bytes | None, inputs: Sequence[np.ndarray]) -> np.ndarray | None:
    """None when the plugin refuses to run."""
    assert plan is not None
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    for i, x in enumerate(inputs):
        assert context.set_tensor_address(f"x{i}", x.ctypes.data)
    y = np.full(tuple(context.get_tensor_shape("y")), 77, trt.nptype(engine.get_tensor_dtype("y")))
    assert context.set_tensor_address("y", y.ctypes.data)
    return y if context.execute_async_v3(0) else None


def run(name: str, version: str, fields: dict[str, object], *inputs: np.ndarray) -> np.ndarray | None:
    inputs = [np.ascontiguousarray(x) for x in inputs]
    return run_plan(plan_of(name, version, fields, inputs), inputs)


def run_node(node: onnx.NodeProto, shape: Sequence[int], *inputs: np.ndarray, override: bool = False) -> np.ndarray:
    value = oh.make_tensor_value_info
    kinds = [oh.np_dtype_to_tensor_dtype(x.dtype) for x in inputs]
    graph = oh.make_graph(
        [node],
        "g",
        [value(f"x{i}", kind, x.shape) for i, (kind, x) in enumerate(zip(kinds, inputs, strict=True))],
        [value("y", kinds[0], shape)],
    )
    model = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 18)], ir_version=9)
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    if override:
        parser.set_flag(trt.OnnxParserFlag.ENABLE_PLUGIN_OVERRIDE)
    assert parser.parse(model.SerializeToString()), [parser.get_error(i).desc() for i in range(parser.num_errors)]
    return run_plan(bytes(builder.build_serialized_network(network, builder.create_builder_config())), inputs)


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


GENERATIONS = {
    "CustomSkipLayerNormPluginDynamic": {version: version in "5678" for version in "12345678"},
    "DisentangledAttention_TRT": {"1": False, "2": True},
    "GroupNormalizationPlugin": {"1": False},
    "ModulatedDeformConv2d": {"1": False, "2": True},
    "MultiscaleDeformableAttnPlugin_TRT": {"1": False, "2": True},
    "ScatterElements": {"1": False, "2": True},
}


@pytest.mark.parametrize("name", GENERATIONS)
def test_creators_are_of_their_generation(name: str) -> None:
    registry = trt.get_plugin_registry()
    for version, is_v3 in GENERATIONS[name].items():
        creator = registry.get_creator(name, version, "")
        assert isinstance(creator, trt.IPluginCreatorV3One if is_v3 else trt.IPluginCreator)
        assert (registry.get_plugin_creator(name, version, "") is None) == is_v3
    found = {each.plugin_version for each in registry.all_creators if each.name == name}
    assert found == set(GENERATIONS[name])


# ---- normalization


@pytest.mark.parametrize(
    ("groups", "epsilon", "shape"), [(1, 1e-5, (2, 6, 5, 3)), (3, 0.5, (2, 6, 4)), (6, 1e-3, (1, 6, 2, 3, 4))]
)
def test_group_normalization(groups: int, epsilon: float, shape: tuple[int, ...]) -> None:
    x, gamma, beta = normal(1, *shape) * 3 + 50, normal(2, 6), normal(3, 6)
    y = run("GroupNormalizationPlugin", "1", {"eps": epsilon, "num_groups": groups}, x, gamma, beta)
    rows = x.astype(np.float64).reshape(shape[0] * groups, -1)
    rows = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + epsilon)
    per_channel = (1, 6) + (1,) * (len(shape) - 2)
    want = rows.reshape(shape) * gamma.reshape(per_channel) + beta.reshape(per_channel)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)


def test_group_normalization_of_defaults() -> None:
    x, ones, zeros = normal(4, 1, 3, 4, 4), np.ones(3, np.float32), np.zeros(3, np.float32)
    y = run("GroupNormalizationPlugin", "1", {}, x, ones, zeros)
    np.testing.assert_allclose(y, (x - x.mean()) / np.sqrt(x.var() + 1e-5), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("version", ["1", "2", "5", "6"])
def test_skip_layer_norm(version: str, has_bias: bool, kind: type) -> None:
    shape = (3, 2, 8, 1, 1) if version in "15" else (5, 2, 8)
    x, skip, bias = normal(1, *shape).astype(kind), normal(2, *shape).astype(kind), normal(3, 8)
    gamma, beta = normal(4, 8), normal(5, 8)
    fields = {"type_id": FLOATS.index(kind), "beta": beta, "gamma": gamma}
    fields |= {"ld": 8} if version in "15" else {}
    fields |= {"bias": bias} if has_bias else {}
    y = run("CustomSkipLayerNormPluginDynamic", version, fields, x, skip)
    rows = (x.astype(np.float64) + skip.astype(np.float64)).reshape(-1, 8) + (bias if has_bias else 0)
    want = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 2.0**-23) * gamma + beta
    assert y.dtype == kind
    np.testing.assert_allclose(y, want.reshape(shape), **TOLERANCE[kind])


def run_int8(
    version: str, fields: dict[str, object], inputs: Sequence[np.ndarray], ends: Sequence[float | None]
) -> list[np.ndarray]:
    """Of a skip layer norm, whose inputs and outputs have these ends of their ranges; None: no range."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    tensors = [network.add_input(f"x{i}", trt.int8, x.shape) for i, x in enumerate(inputs)]
    plugin = create("CustomSkipLayerNormPluginDynamic", version, fields)
    is_newer = isinstance(plugin, trt.IPluginV3)
    layer = network.add_plugin_v3(tensors, [], plugin) if is_newer else network.add_plugin_v2(tensors, plugin)
    for i in range(layer.num_outputs):
        tensors.append(layer.get_output(i))
        tensors[-1].name = f"y{i}"
        network.mark_output(tensors[-1])
    for tensor, end in zip(tensors, ends, strict=True):
        if end is not None:
            tensor.dynamic_range = (-end, end)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    outputs = [np.full(inputs[0].shape, 77, np.int8) for _ in range(layer.num_outputs)]
    for name, arrays in (("x", inputs), ("y", outputs)):
        for i, array in enumerate(arrays):
            assert context.set_tensor_address(f"{name}{i}", array.ctypes.data)
    assert engine.get_tensor_dtype("y0") == trt.int8
    assert context.execute_async_v3(0)
    return outputs


def check_int8(got: np.ndarray, want: np.ndarray, scale: np.float32) -> None:
    """Rounded to the nearest within the limits."""
    exact = np.clip(want / np.float64(scale), -128, 127)
    assert 5 < len(np.unique(got)) and np.abs(got - exact).max() < 0.5 + 1e-6


def scale_of(end: float | None) -> np.float32:
    return np.float32(1) if end is None else np.float32(end) / np.float32(127)


# The hidden extents fill vectors of 32, or do not; the last outputs reach beyond what an int8 holds.
@pytest.mark.parametrize("hidden", [8, 32, 40, 96])
@pytest.mark.parametrize(
    "ends", [(6.0, 1.5, 4.0, 7.0), (None, None, None, None), (None, 60.0, 2.0, 300.0), (40.0, 9.0, 1.0, 2.0)]
)
@pytest.mark.parametrize("version", "12345678")
def test_skip_layer_norm_of_int8(version: str, ends: tuple[float | None, ...], hidden: int) -> None:
    random = np.random.default_rng(hidden)
    is_interleaved = version in "3478"
    rank5, rank4, rank3 = (3, 2, hidden, 1, 1), (1, hidden, 5, 1), (2, 3, hidden)
    shape = rank5 if version in "15" else rank4 if is_interleaved else rank3
    x, skip = (random.integers(-128, 128, shape).astype(np.int8) for _ in range(2))
    gamma, beta, bias = normal(4, hidden) * 3, normal(5, hidden), normal(3, hidden)
    fields = {"beta": beta, "gamma": gamma}
    fields |= {} if is_interleaved else {"type_id": 2, "bias": bias}
    fields |= {"ld": hidden} if version in "15" else {}
    ends = ends if version in "48" else ends[:3]
    outputs = run_int8(version, fields, [x, skip], ends)
    scales = [scale_of(end) for end in ends]
    sums = x.astype(np.float64) * np.float64(scales[0]) + skip.astype(np.float64) * np.float64(scales[1])
    rows = sums[0, :, :, 0].T if is_interleaved else sums.reshape(-1, hidden) + bias
    want = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 2.0**-23) * gamma + beta
    check_int8(outputs[0], want.T.reshape(shape) if is_interleaved else want.reshape(shape), scales[2])
    if version in "48":
        check_int8(outputs[1], sums, scales[3])


@pytest.mark.parametrize("version", "34678")
def test_int8_in_a_weakly_typed_network_is_refused_with_the_reason(
    version: str, capfd: pytest.CaptureFixture[str]
) -> None:
    x = normal(1, 1, 4, 5, 1)
    fields = {"beta": normal(2, 4), "gamma": normal(3, 4)} | ({"type_id": 2} if version == "6" else {})
    assert plan_of("CustomSkipLayerNormPluginDynamic", version, fields, [x, x]) is None
    message = capfd.readouterr().err
    assert "accepts no type and format for input 0" in message
    assert "it takes int8 tensors, which only strongly typed networks give to plugins" in message


@pytest.mark.parametrize(("version", "shape"), [("3", (2, 8, 5, 1)), ("4", (1, 8, 5, 2)), ("7", (1, 9, 5, 1))])
def test_other_shapes_of_interleaved_tensors_fail_the_build(
    version: str, shape: tuple[int, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    tensors = [network.add_input(f"x{i}", trt.int8, shape) for i in range(2)]
    plugin = create("CustomSkipLayerNormPluginDynamic", version, {"beta": normal(1, 8), "gamma": normal(2, 8)})
    is_newer = isinstance(plugin, trt.IPluginV3)
    layer = network.add_plugin_v3(tensors, [], plugin) if is_newer else network.add_plugin_v2(tensors, plugin)
    network.mark_output(layer.get_output(0))
    assert builder.build_serialized_network(network, builder.create_builder_config()) is None
    assert "two tensors of one shape [1, E, S, 1], E the number of gammas" in capfd.readouterr().err


# ---- scatter


def scattered(data: np.ndarray, indices: np.ndarray, updates: np.ndarray, axis: int, reduction: str) -> np.ndarray:
    y = data.copy()
    counts = np.zeros(data.shape, int)
    for at in np.ndindex(*indices.shape):
        to = list(at)
        to[axis] = indices[at]
        to = tuple(to)
        counts[to] += 1
        if reduction in ("add", "mean"):
            y[to] += updates[at]
        elif reduction == "mul":
            y[to] *= updates[at]
        else:
            y[to] = {"min": min, "max": max}[reduction](y[to], updates[at])
    if reduction == "mean":
        counts = np.maximum(counts, 1)
        y = y // counts if np.issubdtype(data.dtype, np.integer) else y / counts
    return y.astype(data.dtype)


SHAPES = [(0, (5, 4, 3), (7, 4, 3)), (1, (2, 5, 3), (2, 4, 2)), (-1, (2, 3, 5), (1, 3, 9)), (0, (6,), (9,))]


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int32, np.int64])
@pytest.mark.parametrize("reduction", ["add", "mul", "mean", "min", "max"])
@pytest.mark.parametrize(("axis", "shape", "update_shape"), SHAPES)
@pytest.mark.parametrize("version", ["1", "2"])
def test_scatter_elements(
    version: str, axis: int, shape: tuple[int, ...], update_shape: tuple[int, ...], reduction: str, kind: type
) -> None:
    random = np.random.default_rng(7)
    data = (random.standard_normal(shape) * 4).astype(kind)
    updates = (random.standard_normal(update_shape) * 4).astype(kind)
    indices = random.integers(-shape[axis], shape[axis], update_shape)
    y = run("ScatterElements", version, {"reduction": reduction, "axis": axis}, data, indices, updates)
    want = scattered(data, indices, updates, axis, reduction)
    if np.issubdtype(kind, np.integer):
        np.testing.assert_array_equal(y, want)
    else:
        tolerance = 1e-6 if kind == np.float32 else 4e-3  # A sum of several is rounded several times.
        np.testing.assert_allclose(y, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("reduction", ["add", "mul", "mean", "min", "max"])
def test_scatter_of_bfloat16(reduction: str) -> None:
    random = np.random.default_rng(7)
    data, updates = (random.integers(-8, 8, shape).astype(np.float32) for shape in ((4, 3), (7, 3)))
    indices = random.integers(0, 4, (7, 3))
    builder = trt.Builder(LOGGER)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    tensors = [network.add_input("x0", trt.bfloat16, data.shape), network.add_input("x1", trt.int64, indices.shape)]
    tensors.append(network.add_input("x2", trt.bfloat16, updates.shape))
    layer = network.add_plugin_v3(tensors, [], create("ScatterElements", "2", {"reduction": reduction}))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    context = trt.Runtime(LOGGER).deserialize_cuda_engine(plan).create_execution_context()
    bits = [(x.view(np.uint32) >> 16).astype(np.uint16) for x in (data, updates)]  # All of them exact.
    y = np.empty(data.shape, np.uint16)
    for name, x in zip(["x0", "x1", "x2", "y"], [bits[0], indices, bits[1], y], strict=True):
        assert context.set_tensor_address(name, x.ctypes.data)
    assert context.execute_async_v3(0)
    got = (y.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_allclose(got, scattered(data, indices, updates, 0, reduction), rtol=2**-7)


@pytest.mark.parametrize("index", [4, -5, 2**40, -(2**63)])
def test_an_index_out_of_range_fails_the_run(index: int) -> None:
    data, updates = normal(1, 4, 3), normal(2, 1, 3)
    indices = np.array([[0, index, 1]])
    assert run("ScatterElements", "2", {"reduction": "add"}, data, indices, updates) is None


# ---- deformable convolution


def bilinear(plane: np.ndarray, y: float, x: float) -> np.ndarray:
    """`plane` is [height, width, ...]; zeros around it."""
    height, width = plane.shape[:2]
    total = np.zeros(plane.shape[2:])
    if not (-1 < y < height and -1 < x < width):
        return total
    top, left = math.floor(y), math.floor(x)
    for row, column in itertools.product((top, top + 1), (left, left + 1)):
        if 0 <= row < height and 0 <= column < width:
            total = total + (1 - abs(y - row)) * (1 - abs(x - column)) * plane[row, column]
    return total


def deformed(x, offset, mask, weight, bias, stride, padding, dilation, group, deformable_group) -> np.ndarray:
    """stride, padding and dilation: along the width, along the height."""
    images, channels = x.shape[:2]
    outs, depth, rows, columns = weight.shape
    height, width = offset.shape[2:]
    y = np.zeros((images, outs, height, width))
    taps = rows * columns
    for n, c, i, j, k in itertools.product(range(images), range(channels), range(height), range(width), range(taps)):
        shift = c // (channels // deformable_group) * taps + k
        down = i * stride[1] - padding[1] + k // columns * dilation[1] + offset[n, 2 * shift, i, j]
        right = j * stride[0] - padding[0] + k % columns * dilation[0] + offset[n, 2 * shift + 1, i, j]
        sample = bilinear(x[n, c], float(down), float(right)) * mask[n, shift, i, j]
        first = c // depth * (outs // group)
        for out in range(first, first + outs // group):
            y[n, out, i, j] += sample * weight[out, c % depth, k // columns, k % columns]
    return y + (0 if bias is None else bias.reshape(1, -1, 1, 1))


CONVOLUTIONS = [
    {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "group": 1, "deformable_group": 1},
    {"stride": [2, 1], "padding": [1, 2], "dilation": [1, 2], "group": 2, "deformable_group": 1},
    {"stride": [1, 2], "padding": [2, 0], "dilation": [2, 1], "group": 4, "deformable_group": 2},
]


def convolution_inputs(fields: dict[str, object], kind: type) -> list[np.ndarray]:
    images, channels, extents, kernel = 2, 4, (6, 7), (3, 2)  # Extents: height, width.
    out = [
        (extents[i] + 2 * fields["padding"][1 - i] - fields["dilation"][1 - i] * (kernel[i] - 1) - 1)
        // fields["stride"][1 - i]
        + 1
        for i in range(2)
    ]
    shifts = fields["deformable_group"] * kernel[0] * kernel[1]
    x, offset = normal(1, images, channels, *extents), normal(2, images, 2 * shifts, *out) * 2
    mask, weight = normal(3, images, shifts, *out), normal(4, 8, channels // fields["group"], *kernel)
    return [each.astype(kind) for each in (x, offset, mask, weight, normal(5, 8))]


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize("fields", CONVOLUTIONS)
@pytest.mark.parametrize("version", ["1", "2"])
def test_modulated_deform_conv2d(version: str, fields: dict[str, object], has_bias: bool, kind: type) -> None:
    inputs = convolution_inputs(fields, kind)
    inputs = inputs if has_bias else inputs[:4]
    y = run("ModulatedDeformConv2d", version, fields, *inputs)
    wide = [each.astype(np.float64) for each in inputs] + [None]
    want = deformed(*wide[:5], **fields)
    assert y.dtype == kind
    tolerance = 1e-4 if kind == np.float32 else 1e-2  # Sums of 24 products.
    np.testing.assert_allclose(y, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e30, 3e38])
def test_offsets_that_lead_nowhere_read_zeros(value: float) -> None:
    fields = CONVOLUTIONS[0]
    x, offset, mask, weight, bias = convolution_inputs(fields, np.float32)
    offset[:] = value
    y = run("ModulatedDeformConv2d", "2", fields, x, offset, mask, weight, bias)
    np.testing.assert_array_equal(y, np.broadcast_to(bias.reshape(1, -1, 1, 1), y.shape))


# ---- attention


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("channels", [5, 80])
def test_multiscale_deformable_attention(channels: int, version: str, kind: type) -> None:
    random = np.random.default_rng(3)
    shapes = np.array([[4, 5], [2, 3], [1, 1]], np.int32)
    starts = np.array([0, 20, 26], np.int32)
    images, heads, queries, points = 2, 3, 4, 2
    value = random.standard_normal((images, 27, heads, channels)).astype(kind)
    where = random.uniform(-0.3, 1.3, (images, queries, heads, 3, points, 2)).astype(kind)
    weights = random.uniform(0, 0.3, (images, queries, heads, 3, points)).astype(kind)
    y = run("MultiscaleDeformableAttnPlugin_TRT", version, {}, value, shapes, starts, where, weights)
    want = np.zeros((images, queries, heads, channels))
    for n, q, m, level, p in np.ndindex(*weights.shape):
        height, width = shapes[level]
        plane = value[n, starts[level] : starts[level] + height * width, m].reshape(height, width, channels)
        right, down = where[n, q, m, level, p].astype(np.float64)
        sample = bilinear(plane.astype(np.float64), down * height - 0.5, right * width - 0.5)
        want[n, q, m] += float(weights[n, q, m, level, p]) * sample
    assert y.dtype == kind
    np.testing.assert_allclose(y, want, **TOLERANCE[kind])


@pytest.mark.parametrize(("shapes", "starts"), [([[4, 6]], [0]), ([[4, 5]], [1]), ([[-4, -5]], [0]), ([[4, 5]], [-1])])
def test_maps_outside_of_the_values_fail_the_run(shapes: list[list[int]], starts: list[int]) -> None:
    inputs = [normal(1, 1, 20, 2, 3), np.array(shapes, np.int32), np.array(starts, np.int32)]
    inputs += [normal(2, 1, 4, 2, 1, 3, 2), normal(3, 1, 4, 2, 1, 3)]
    assert run("MultiscaleDeformableAttnPlugin_TRT", "2", {}, *inputs) is None


def buckets(length: int, span: int) -> np.ndarray:
    """Bucket of the distance j − k: log buckets of DeBERTa V2, with 2 · span positions."""
    distance = np.arange(length)[:, None] - np.arange(length)[None, :]
    middle = span // 2
    far = np.maximum(np.abs(distance), middle)
    beyond = np.log(far / middle) / np.log((2 * span - 1) / middle) * (middle - 1)
    bucket = np.where(np.abs(distance) <= middle, np.abs(distance), np.ceil(np.round(beyond, 9)) + middle)
    return np.clip(np.sign(distance) * bucket + span, 0, 2 * span - 1).astype(int)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize(("length", "span"), [(5, 16), (40, 16), (70, 8)])
@pytest.mark.parametrize("version", ["1", "2"])
def test_disentangled_attention(version: str, length: int, span: int, kind: type) -> None:
    data0 = normal(1, 3, length, length).astype(kind)
    data1, data2 = (normal(seed, 3, length, 2 * span).astype(kind) for seed in (2, 3))
    y = run("DisentangledAttention_TRT", version, {"span": span, "factor": 0.125}, data0, data1, data2)
    at = buckets(length, span)
    rows, columns = np.indices((length, length))
    want = (data0.astype(np.float64) + data1[:, rows, at] + data2[:, columns, at]) * 0.125
    assert y.dtype == kind
    np.testing.assert_allclose(y, want, **TOLERANCE[kind])


# ---- dynamic shapes


DYNAMIC = {
    "GroupNormalizationPlugin": ({"num_groups": 2}, lambda n: [(n, 4, n + 2, 3), (4,), (4,)]),
    "CustomSkipLayerNormPluginDynamic": (
        {"type_id": 0, "ld": 4, "beta": [1.0, 2.0, 3.0, 4.0], "gamma": [4.0, 3.0, 2.0, 1.0]},
        lambda n: [(n, 2, 4, 1, 1), (n, 2, 4, 1, 1)],
    ),
    "DisentangledAttention_TRT": ({"span": 4, "factor": 0.5}, lambda n: [(2, 9 * n, 9 * n)] + [(2, 9 * n, 8)] * 2),
    "ModulatedDeformConv2d": (
        {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], "group": 1, "deformable_group": 1},
        lambda n: [(n, 2, 5, n + 4), (n, 8, 4, n + 3), (n, 4, 4, n + 3), (3, 2, 2, 2)],
    ),
}


@pytest.mark.parametrize("name", DYNAMIC)
def test_one_context_runs_several_shapes(name: str) -> None:
    fields, shapes_of = DYNAMIC[name]
    for version in (each for each in GENERATIONS[name] if each in "15" or "Skip" not in name):
        builder = trt.Builder(LOGGER)
        network = builder.create_network(0)
        least, most = shapes_of(1), shapes_of(4)
        profile = builder.create_optimization_profile()
        tensors = []
        for i, (low, high) in enumerate(zip(least, most, strict=True)):
            extents = [a if a == b else -1 for a, b in zip(low, high, strict=True)]
            tensors.append(network.add_input(f"x{i}", trt.float32, extents))
            if -1 in extents:
                profile.set_shape(f"x{i}", low, shapes_of(2)[i], high)
        plugin = create(name, version, fields)
        is_newer = isinstance(plugin, trt.IPluginV3)
        layer = network.add_plugin_v3(tensors, [], plugin) if is_newer else network.add_plugin_v2(tensors, plugin)
        layer.get_output(0).name = "y"
        network.mark_output(layer.get_output(0))
        config = builder.create_builder_config()
        config.add_optimization_profile(profile)
        engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, config))
        context = engine.create_execution_context()
        for n in (3, 1, 4, 4):
            inputs = [normal(n + i, *shape) for i, shape in enumerate(shapes_of(n))]
            for i, x in enumerate(inputs):
                assert context.set_input_shape(f"x{i}", x.shape)
                assert context.set_tensor_address(f"x{i}", x.ctypes.data)
            y = np.full(tuple(context.get_tensor_shape("y")), np.nan, np.float32)
            assert context.set_tensor_address("y", y.ctypes.data)
            assert context.execute_async_v3(0)
            np.testing.assert_array_equal(y, run(name, version, fields, *inputs))


# ---- from ONNX nodes, and what is refused


def test_nodes_of_onnx_models() -> None:
    fields = CONVOLUTIONS[1]
    inputs = convolution_inputs(fields, np.float32)
    want = deformed(*[each.astype(np.float64) for each in inputs], **fields)
    node = oh.make_node("ModulatedDeformConv2d", [f"x{i}" for i in range(5)], ["y"], plugin_version="2", **fields)
    np.testing.assert_allclose(run_node(node, want.shape, *inputs), want, rtol=1e-4, atol=1e-4)

    inputs = [normal(1, 2, 9, 9), normal(2, 2, 9, 16), normal(3, 2, 9, 16)]
    node = oh.make_node("DisentangledAttention_TRT", ["x0", "x1", "x2"], ["y"], span=8, factor=0.25)
    rows, columns = np.indices((9, 9))
    at = buckets(9, 8)
    want = (inputs[0] + inputs[1][:, rows, at] + inputs[2][:, columns, at]) * 0.25
    np.testing.assert_allclose(run_node(node, want.shape, *inputs), want, rtol=1e-5, atol=1e-6)


def test_attributes_that_are_tensors() -> None:
    x, skip, beta, gamma = normal(1, 5, 8), normal(2, 5, 8), normal(3, 1, 1, 8), normal(4, 1, 1, 8)
    tensors = {"beta": onnx.numpy_helper.from_array(beta), "gamma": onnx.numpy_helper.from_array(gamma)}
    kind = onnx.numpy_helper.from_array(np.array([0]))
    name = "CustomSkipLayerNormPluginDynamic"
    node = oh.make_node(name, ["x0", "x1"], ["y"], plugin_version="6", type_id=kind, **tensors)
    rows = x.astype(np.float64) + skip
    want = (rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True) * gamma[0] + beta[0]
    np.testing.assert_allclose(run_node(node, want.shape, x, skip), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("version", ["1", "2"])
def test_the_node_of_the_same_name_as_an_operator(version: str) -> None:
    data, updates = normal(1, 4, 3), normal(2, 6, 3)
    indices = np.random.default_rng(3).integers(0, 4, (6, 3))
    node = oh.make_node("ScatterElements", ["x0", "x1", "x2"], ["y"], axis=0, reduction="mul", plugin_version=version)
    y = run_node(node, data.shape, data, indices, updates, override=True)
    np.testing.assert_allclose(y, scattered(data, indices, updates, 0, "mul"), rtol=1e-6)


SKIP = "CustomSkipLayerNormPluginDynamic"
ROWS = {"beta": [1.0, 2.0], "gamma": [1.0, 2.0]}
BAD_FIELDS = [
    ("GroupNormalizationPlugin", "1", {"num_groups": 0}, "num_groups", "is 0: it must be 1 or more"),
    ("GroupNormalizationPlugin", "1", {"eps": 0.0}, "eps", "is 0: it must be above 0 and finite"),
    ("GroupNormalizationPlugin", "1", {"eps": np.nan}, "eps", "is nan: it must be above 0 and finite"),
    ("InstanceNormalization_TRT", "123", {}, "scales", "is missing: it must have a number for each channel"),
    ("InstanceNormalization_TRT", "123", {"scales": [1.0]}, "bias", "is missing: it must have a number for each"),
    (
        "InstanceNormalization_TRT",
        "123",
        {"scales": [1.0, 2.0], "bias": [1.0]},
        "bias",
        "has 1 numbers: it must have 2, as 'scales' has",
    ),
    (
        "InstanceNormalization_TRT",
        "123",
        {"scales": [1.0], "bias": [1.0], "epsilon": -1.0},
        "epsilon",
        "is -1: it must be 0 or more and finite",
    ),
    ("ScatterElements", "12", {}, "reduction", "is missing: it must be one of add, mul, mean, min, max"),
    ("ScatterElements", "12", {"reduction": "none"}, "reduction", "is 'none': it must be one of add, mul"),
    ("ModulatedDeformConv2d", "12", {"stride": [1, 0]}, "stride", "is [1, 0]: it must be two numbers of 1 or more"),
    ("ModulatedDeformConv2d", "12", {"stride": [1]}, "stride", "has 1 numbers: it must have 2"),
    ("ModulatedDeformConv2d", "12", {"padding": [-1, 0]}, "padding", "is [-1, 0]: it must be two numbers of 0 or"),
    ("ModulatedDeformConv2d", "12", {"dilation": [0, 1]}, "dilation", "is [0, 1]: it must be two numbers of 1 or"),
    ("ModulatedDeformConv2d", "12", {"group": 0}, "group", "is 0: it must be 1 or more"),
    ("ModulatedDeformConv2d", "12", {"deformable_group": -1}, "deformable_group", "is -1: it must be 1 or more"),
    ("DisentangledAttention_TRT", "12", {"factor": 0.5}, "span", "is missing: it must be 1 or more"),
    ("DisentangledAttention_TRT", "12", {"span": 4}, "factor", "is missing: it must be above 0 and below 1"),
    ("DisentangledAttention_TRT", "12", {"span": 4, "factor": 1.0}, "factor", "is 1: it must be above 0 and below 1"),
    (SKIP, "12345678", {"gamma": [1.0]}, "beta", "is missing: it must have a number for each"),
    (SKIP, "12345678", {"beta": [1.0]}, "gamma", "is missing: it must have a number for each"),
    (SKIP, "12345678", ROWS | {"gamma": [1.0]}, "gamma", "has 1 numbers: it must have 2, as 'beta' has"),
    (SKIP, "1256", ROWS, "type_id", "is missing: it must be 0 (float32), 1 (float16) or 2 (int8)"),
    (SKIP, "1256", ROWS | {"type_id": 3}, "type_id", "is 3: it must be 0 (float32), 1 (float16) or 2 (int8)"),
    (SKIP, "15", ROWS | {"type_id": 0}, "ld", "is missing: it must be 1 or more"),
    (SKIP, "15", ROWS | {"type_id": 2, "ld": 3}, "ld", "is 3: it must be 2, the count of numbers of 'beta'"),
    (SKIP, "1256", ROWS | {"type_id": 0, "bias": [1.0]}, "bias", "has 1 numbers: it must have 2, as 'beta'"),
    (SKIP, "26", ROWS | {"type_id": 0, "ld": 2}, "ld", "is none that it has: it must be one of beta, gamma, type_id"),
]


@pytest.mark.parametrize(("name", "versions", "fields", "field", "words"), BAD_FIELDS)
def test_fields_that_make_no_sense_are_refused_by_name(
    name: str, versions: str, fields: dict[str, object], field: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    for version in versions:
        assert create(name, version, fields) is None
        wanted = f"field '{field}' of plugin '{name}' version '{version}' {words}"
        assert wanted in capfd.readouterr().err


def test_a_node_whose_attribute_is_refused_names_it() -> None:
    node = oh.make_node("DisentangledAttention_TRT", ["x0", "x0", "x0"], ["y"], span=-1, factor=0.25)
    value = oh.make_tensor_value_info
    tensors = [value("x0", onnx.TensorProto.FLOAT, [1, 2, 2])], [value("y", onnx.TensorProto.FLOAT, [1, 2, 2])]
    model = oh.make_model(oh.make_graph([node], "g", *tensors), opset_imports=[oh.make_opsetid("", 18)], ir_version=9)
    parser = trt.OnnxParser(trt.Builder(LOGGER).create_network(0), LOGGER)
    assert not parser.parse(model.SerializeToString())
    words = "field 'span' of plugin 'DisentangledAttention_TRT' version '1' is -1: it must be 1 or more"
    assert words in parser.get_error(0).desc()


@pytest.mark.parametrize("channels", [5, 6])
def test_channels_that_the_groups_do_not_divide_fail_the_build(channels: int) -> None:
    x, scale = normal(1, 1, channels, 2, 2), normal(2, channels)
    plan = plan_of("GroupNormalizationPlugin", "1", {"num_groups": 3}, [x, scale, scale])
    assert (plan is None) == (channels % 3 != 0)
