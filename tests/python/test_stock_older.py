"""Stock plugins of the older generations, against NumPy: built, stored, loaded and run."""

from collections.abc import Sequence

import numpy as np
import pytest
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)
KINDS = {np.dtype(np.float32): trt.float32, np.dtype(np.float16): trt.float16, np.dtype(np.int32): trt.int32}
TOLERANCE = {np.float32: {"rtol": 1e-5, "atol": 1e-5}, np.float16: {"rtol": 2e-3, "atol": 2e-3}}
FLOATS = [np.float32, np.float16]


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    assert trt.init_libnvinfer_plugins(LOGGER, "")


def collection(fields: dict[str, object]) -> trt.PluginFieldCollection:
    made = []
    for name, value in fields.items():
        is_whole = np.issubdtype(np.asarray(value).dtype, np.integer)
        data = np.atleast_1d(np.asarray(value, np.int32 if is_whole else np.float32)).ravel()
        kind = trt.PluginFieldType.INT32 if is_whole else trt.PluginFieldType.FLOAT32
        made.append(trt.PluginField(name, data, kind))
    return trt.PluginFieldCollection(made)


def plugin_of(name: str, fields: dict[str, object], version: str = "1") -> trt.IPluginV2 | None:
    return trt.get_plugin_registry().get_creator(name, version, "").create_plugin(name, collection(fields))


def engine_of(
    name: str, fields: dict[str, object], inputs: Sequence[np.ndarray], version: str = "1"
) -> trt.ICudaEngine | None:
    """None when the plugin refuses the inputs."""
    builder = trt.Builder(LOGGER)
    is_half = any(x.dtype == np.float16 for x in inputs) or fields.get("output_fp16") == 1
    flags = trt.NetworkDefinitionCreationFlag
    explicit = 1 << int(
        flags.EXPLICIT_BATCH
    )  # Batches stand in the dims, also of plugins that leave them out of theirs.
    network = builder.create_network(explicit | int(is_half) << int(flags.STRONGLY_TYPED))
    tensors = [network.add_input(f"x{i}", KINDS[x.dtype], x.shape) for i, x in enumerate(inputs)]
    plugin = plugin_of(name, fields, version)
    assert plugin is not None
    layer = network.add_plugin_v2(tensors, plugin)
    for i in range(layer.num_outputs):
        layer.get_output(i).name = f"y{i}"
        network.mark_output(layer.get_output(i))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    return None if plan is None else trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def run(
    name: str, fields: dict[str, object], *inputs: np.ndarray, version: str = "1", fails: bool = False
) -> list[np.ndarray]:
    inputs = [np.ascontiguousarray(x) for x in inputs]
    engine = engine_of(name, fields, inputs, version)
    assert engine is not None
    context = engine.create_execution_context()
    outputs = []
    for i in range(engine.num_io_tensors):
        tensor = engine.get_tensor_name(i)
        if engine.get_tensor_mode(tensor) == trt.TensorIOMode.INPUT:
            context.set_tensor_address(tensor, inputs[int(tensor[1:])].ctypes.data)
        else:
            kind = trt.nptype(engine.get_tensor_dtype(tensor))
            outputs.append(np.full(tuple(context.get_tensor_shape(tensor)), 77, kind))
            context.set_tensor_address(tensor, outputs[-1].ctypes.data)
    assert context.execute_async_v3(0) is not fails
    return outputs


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("dtype", FLOATS)
def test_elementwise(dtype: type) -> None:
    x = normal(1, 3, 4, 5).astype(dtype)
    (y,) = run("LReLU_TRT", {"negSlope": 0.3}, x)
    np.testing.assert_allclose(y, np.where(x < 0, x * dtype(0.3), x), **TOLERANCE[dtype])
    (y,) = run("Clip_TRT", {"clipMin": -0.5, "clipMax": 0.25}, x)
    np.testing.assert_array_equal(y, np.clip(x, dtype(-0.5), dtype(0.25)))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(2, 3, 5), (2, 3, 5, 1, 1)])
@pytest.mark.parametrize("has_bias", [False, True])
def test_gelu(dtype: type, shape: tuple[int, ...], has_bias: bool) -> None:
    x = normal(2, *shape).astype(dtype)
    bias = normal(3, 5)
    fields = {"type_id": int(dtype == np.float16)} | ({"bias": bias} if has_bias else {})
    (y,) = run("CustomGeluPluginDynamic", fields, x)
    v = x.astype(np.float64) + (bias.reshape((5,) + (1,) * (len(shape) - 3)) if has_bias else 0)
    want = 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)))
    np.testing.assert_allclose(y, want, **TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", FLOATS)
def test_fully_connected(dtype: type) -> None:
    x, weights = normal(4, 3, 2, 7, 1, 1).astype(dtype), normal(5, 7, 4)
    (y,) = run("CustomFCPluginDynamic", {"out_dims": 4, "type_id": int(dtype == np.float16), "W": weights}, x)
    want = np.einsum("sbk,ko->sbo", x[..., 0, 0].astype(np.float64), weights)
    np.testing.assert_allclose(y[..., 0, 0], want, **TOLERANCE[dtype])


@pytest.mark.parametrize("half", [0, 1])
def test_embeddings(half: int) -> None:
    random = np.random.default_rng(6)
    length, batch, hidden = 5, 3, 8
    words, kinds, places = normal(7, 11, hidden), normal(8, 2, hidden), normal(9, 6, hidden)
    beta, gamma = normal(10, hidden), normal(11, hidden)
    tokens = random.integers(0, 11, (length, batch)).astype(np.int32)
    segments = random.integers(0, 2, (length, batch)).astype(np.int32)
    counts = np.int32([5, 2, 0])
    mask = (np.arange(length)[:, None] < counts).astype(np.int32)
    fields = {
        "output_fp16": half,
        "bert_embeddings_layernorm_beta": beta,
        "bert_embeddings_layernorm_gamma": gamma,
        "bert_embeddings_word_embeddings": words,
        "bert_embeddings_token_type_embeddings": kinds,
        "bert_embeddings_position_embeddings": places,
    }
    y, found = run("CustomEmbLayerNormPluginDynamic", fields, tokens, segments, mask)
    v = words[tokens] + kinds[segments] + places[:length, None]
    v = v.astype(np.float64)
    want = (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 2.0**-23) * gamma + beta
    np.testing.assert_allclose(y[..., 0, 0], want, **TOLERANCE[np.float16 if half else np.float32])
    assert y.dtype == (np.float16 if half else np.float32)
    np.testing.assert_array_equal(found, counts)
    tokens[1, 1] = 11
    run("CustomEmbLayerNormPluginDynamic", fields, tokens, segments, mask, fails=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("has_mask", [0, 1])
def test_attention(dtype: type, has_mask: int) -> None:
    length, batch, heads, size = 6, 3, 2, 4
    x = normal(12, length, batch, heads, 3, size).astype(dtype)
    counts = np.int32([6, 2, 0] if has_mask else [6, 6, 6])
    fields = {"type_id": int(dtype == np.float16), "hidden_size": heads * size, "num_heads": heads}
    inputs = [x.reshape(length, batch, -1, 1, 1)] + ([counts] if has_mask else [])
    (y,) = run("CustomQKVToContextPluginDynamic", fields | {"has_mask": has_mask}, *inputs)
    q, k, v = (x[..., i, :].astype(np.float64) for i in range(3))
    scores = np.einsum("sbhd,tbhd->bhst", q, k) / np.sqrt(size)
    weights = np.exp(scores) * (np.arange(length) < counts[:, None])[:, None, None]
    total = weights.sum(-1, keepdims=True)
    weights = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    want = np.einsum("bhst,tbhd->sbhd", weights, v).reshape(length, batch, -1)
    np.testing.assert_allclose(y[..., 0, 0], want, **TOLERANCE[dtype])


def reorganized(x: np.ndarray, stride: int) -> np.ndarray:
    """As Darknet's layer: channels are taken apart by blocks, and lines by the extents before."""
    n, c, h, w = x.shape
    y = np.empty(x.size, x.dtype).reshape(n, -1)
    thin = c // stride**2
    for image in range(n):
        flat = x[image].ravel()
        for at in range(c * h * w):
            i, j, k = at % w, at // w % h, at // (w * h)
            part = k // thin
            column, row = i * stride + part % stride, j * stride + part // stride
            y[image, at] = flat[column + w * stride * (row + h * stride * (k % thin))]
    return y.reshape(n, c * stride**2, h // stride, w // stride)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("version", ["1", "2"])
def test_reorganization(dtype: type, version: str) -> None:
    x = np.arange(2 * 4 * 6 * 6).reshape(2, 4, 6, 6).astype(dtype)
    (y,) = run("Reorg_TRT", {"stride": 2}, x, version=version)
    np.testing.assert_array_equal(y, reorganized(x, 2))
    np.testing.assert_array_equal(y[0, :2, 0], [[0, 2, 4], [30, 32, 34]])
    x = normal(13, 1, 18, 6, 3).astype(dtype)
    (y,) = run("Reorg_TRT", {"stride": 3}, x, version=version)
    np.testing.assert_array_equal(y, reorganized(x, 3))


@pytest.mark.parametrize("scale", [0.5, 1.5, 2.0])
def test_nearest_pixels(scale: float) -> None:
    x = normal(14, 2, 3, 4, 6)
    (y,) = run("ResizeNearest_TRT", {"scale": scale}, x)
    rows, columns = ((np.arange(int(n * scale)) / scale).astype(int) for n in (4, 6))
    np.testing.assert_array_equal(y, x[:, :, rows][..., columns])


def test_flattened_and_joined() -> None:
    x = [normal(15, 2, 3, 4, 5), normal(16, 2, 1, 2, 3), normal(17, 2, 4, 1, 1)]
    (y,) = run("FlattenConcat_TRT", {"axis": 1, "ignoreBatch": 0}, *x)
    want = np.concatenate([each.reshape(2, -1) for each in x], 1)
    assert y.shape == (*want.shape, 1, 1)
    np.testing.assert_array_equal(y[..., 0, 0], want)


@pytest.mark.parametrize("dtype", FLOATS)
def test_coordinates(dtype: type) -> None:
    x = normal(18, 2, 3, 5, 4).astype(dtype)
    (y,) = run("CoordConvAC", {}, x)
    np.testing.assert_array_equal(y[:, :3], x)
    np.testing.assert_allclose(y[:, 3], np.broadcast_to(np.linspace(-1, 1, 5)[:, None], (2, 5, 4)), atol=1e-3)
    np.testing.assert_allclose(y[:, 4], np.broadcast_to(np.linspace(-1, 1, 4), (2, 5, 4)), atol=1e-3)


@pytest.mark.parametrize("across", [0, 1])
@pytest.mark.parametrize("shared", [0, 1])
def test_normalization(across: int, shared: int) -> None:
    x, weights = normal(19, 2, 3, 4, 5), normal(20, 1 if shared else 3)
    fields = {"weights": weights, "acrossSpatial": across, "channelShared": shared, "nbWeights": 1, "eps": 0.01}
    (y,) = run("Normalize_TRT", fields, x)
    squares = (x.astype(np.float64) ** 2).sum((1, 2, 3) if across else 1, keepdims=True)
    want = x / np.sqrt(squares + 0.01) * weights.reshape(-1, 1, 1)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32])
def test_scatter(dtype: type) -> None:
    data = (normal(21, 4, 3, 2) * 9).astype(dtype)
    indices = np.int32([[0, 1], [-1, -1], [2, 0]])
    updates = (normal(22, 3, 2) * 9).astype(dtype)
    (y,) = run("ScatterND", {}, data, indices, updates)
    want = data.copy()
    for place, values in zip(indices, updates, strict=True):
        want[tuple(place)] = values
    np.testing.assert_array_equal(y, want)
    indices[0, 0] = 4
    run("ScatterND", {}, data, indices, updates, fails=True)


def test_crops_without_the_batch_in_the_dims() -> None:
    image, regions = normal(23, 2, 3, 6, 7), np.sort(np.random.default_rng(24).uniform(0, 1, (2, 4, 2, 2)), 2)
    regions = regions.reshape(2, 4, 4, 1).astype(np.float32)
    fields = {"crop_width": 3, "crop_height": 2}
    np.testing.assert_array_equal(
        run("CropAndResize", fields, image, regions)[0], run("CropAndResizeDynamic", fields, image, regions)[0]
    )


def test_suppression_without_the_batch_in_the_dims() -> None:
    corners = np.random.default_rng(25).uniform(0, 0.6, (2, 12, 1, 2))
    boxes = np.concatenate([corners, corners + 0.3], -1).astype(np.float32)
    scores = np.random.default_rng(26).uniform(0, 1, (2, 12, 3)).astype(np.float32)
    fields = {"shareLocation": 1, "backgroundLabelId": -1, "numClasses": 3, "topK": 8, "keepTopK": 6}
    fields |= {"scoreThreshold": 0.2, "iouThreshold": 0.4}
    older = run("BatchedNMS_TRT", fields, boxes, scores)
    newer = run("BatchedNMSDynamic_TRT", fields, boxes, scores)
    assert older[0].shape == (2,)
    np.testing.assert_array_equal(older[0], newer[0][:, 0])
    for i in range(1, 4):
        np.testing.assert_array_equal(older[i], newer[i])


@pytest.mark.parametrize(
    "name, fields",
    [
        ("LReLU_TRT", {}),
        ("Clip_TRT", {"clipMin": 1.0, "clipMax": 0.0}),
        ("CustomGeluPluginDynamic", {"type_id": 2}),
        ("CustomFCPluginDynamic", {"out_dims": 5, "type_id": 0, "W": np.ones(7)}),
        ("CustomQKVToContextPluginDynamic", {"type_id": 0, "hidden_size": 5, "num_heads": 2, "has_mask": 0}),
        ("Reorg_TRT", {"stride": 0}),
        ("ResizeNearest_TRT", {"scale": 0.0}),
        ("FlattenConcat_TRT", {"axis": 2}),
        ("Normalize_TRT", {"weights": [1.0, 2.0], "acrossSpatial": 0, "channelShared": 1, "eps": 0.1}),
    ],
)
def test_fields_that_make_no_sense_are_named(
    name: str, fields: dict[str, object], capfd: pytest.CaptureFixture[str]
) -> None:
    assert plugin_of(name, fields) is None
    assert f"of plugin '{name}' version '1'" in capfd.readouterr().err


@pytest.mark.parametrize(
    "name, fields, shapes",
    [
        ("Reorg_TRT", {"stride": 2}, [(1, 4, 5, 4)]),
        ("CustomFCPluginDynamic", {"out_dims": 2, "type_id": 0, "W": np.ones(6)}, [(1, 2, 4, 1, 1)]),
        ("Normalize_TRT", {"weights": [1.0, 2.0], "acrossSpatial": 0, "channelShared": 0, "eps": 0.1}, [(1, 3, 2, 2)]),
    ],
)
def test_extents_that_do_not_fit_fail_the_build(
    name: str, fields: dict[str, object], shapes: list[tuple[int, ...]], capfd: pytest.CaptureFixture[str]
) -> None:
    assert engine_of(name, fields, [np.zeros(shape, np.float32) for shape in shapes]) is None
    assert "which do not fit" in capfd.readouterr().err
