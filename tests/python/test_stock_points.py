"""Stock plugins of PointPillars, and those for BERT whose sequences stand one behind the other, against NumPy."""

import numpy as np
import pytest
import tensorrt as trt
from stock_runs import LOGGER, collection, engine_of, results, run

TOLERANCE = {np.float32: {"rtol": 1e-5, "atol": 1e-5}, np.float16: {"rtol": 2e-3, "atol": 2e-3}}


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    assert trt.init_libnvinfer_plugins(LOGGER, "")


# ---- PointPillars

VOXELS = {"max_num_points_per_voxel": 4, "max_voxels": 9, "point_cloud_range": [-2.0, -1.0, -1.0, 2.0, 1.0, 1.0]}
VOXELS |= {"voxel_size": [0.5, 0.25, 2.0]}


@pytest.mark.parametrize(("channels", "features"), [(4, 10), (5, 10), (5, 11), (3, 3)])
def test_voxel_generator(channels: int, features: int) -> None:
    random = np.random.default_rng(1)

    def case(n: int) -> list[np.ndarray]:
        points = random.uniform(-1.3, 1.3, (n, 60, channels)) * np.array([2, 1, 1] + [1] * (channels - 3))
        points[:, 30:, :3] = points[:, :30, :3] * 0.98  # Several in one pillar.
        return [points.astype(np.float32), np.array([60, 25, 0][:n], np.int32)]

    cases = [case(2), case(1), case(3)]
    fields = VOXELS | {"voxel_feature_num": features}
    low, size = np.array([-2, -1, -1]), np.array([0.5, 0.25, 2])
    for (points, numbers), (voxels, places, counts) in zip(
        cases, results("VoxelGeneratorPlugin", "1", fields, cases), strict=True
    ):
        assert places.dtype == counts.dtype == np.int32
        for frame in range(len(points)):
            gathered: dict[tuple[int, int], list[np.ndarray]] = {}
            for point in points[frame, : numbers[frame]].astype(np.float64):
                if np.any(point[:3] < low) or np.any(point[:3] >= [2, 1, 1]):
                    continue
                column, row = np.floor((point[:2] - low[:2]) / size[:2]).astype(int)
                if (row, column) in gathered or len(gathered) < 9:
                    gathered.setdefault((row, column), []).append(point)
            assert counts[frame] == len(gathered)
            want = np.zeros((9, 4, features))
            spots = np.zeros((9, 4))
            for i, ((row, column), members) in enumerate(gathered.items()):
                own = np.array(members[:4])
                centre = low + size * ([column + 0.5, row + 0.5, 0.5])
                whole = np.concatenate([own, own[:, :3] - own[:, :3].mean(0), own[:, :3] - centre], 1)
                want[i, : len(own)] = whole[:, :features]
                spots[i] = [0, 0, row, column]
            np.testing.assert_array_equal(places[frame], spots)
            np.testing.assert_allclose(voxels[frame], want, rtol=1e-4, atol=1e-5)


BOXES = {"point_cloud_range": [0.0, -4.0, -3.0, 8.0, 4.0, 1.0], "anchor_bottom_height": [-1.78, -0.6]}
BOXES |= {"anchors": [3.9, 1.6, 1.56, 0.0, 3.9, 1.6, 1.56, 1.57, 0.8, 0.6, 1.73, 0.0, 0.8, 0.6, 1.73, 1.57]}
BOXES |= {"dir_offset": 0.7, "dir_limit_offset": 0.1, "num_dir_bins": 2, "score_thresh": 0.55}


def test_decode_bbox_3d() -> None:
    random = np.random.default_rng(2)
    cases = [
        [random.standard_normal((n, *shape, numbers)).astype(np.float32) for numbers in (8, 28, 8)]
        for n, shape in ((2, (3, 5)), (1, (3, 5)), (2, (1, 4)))
    ]
    anchors = np.array(BOXES["anchors"]).reshape(4, 4)
    for (scores, deltas, directions), (rows, counts) in zip(
        cases, results("DecodeBbox3DPlugin", "1", BOXES, cases), strict=True
    ):
        height, width = scores.shape[1:3]
        assert rows.shape == (len(scores), height * width * 4, 9)
        for image in range(len(scores)):
            want = []
            for (y, x, anchor), _ in np.ndenumerate(np.zeros((height, width, 4))):
                logits = scores[image, y, x].reshape(4, 2)[anchor].astype(np.float64)
                score = 1 / (1 + np.exp(-logits.max()))
                if score < 0.55:
                    continue
                delta = deltas[image, y, x].reshape(4, 7)[anchor]
                dx, dy, dz, rotation = anchors[anchor]
                diagonal = np.hypot(dx, dy)
                centre_y = -4 + y * 8 / (height - 1) if height > 1 else -4
                bottom = BOXES["anchor_bottom_height"][anchor // 2]
                turned = delta[6] + rotation - 0.7
                label = int(not np.greater(*directions[image, y, x].reshape(4, 2)[anchor]))
                yaw = turned - np.floor(turned / np.pi + 0.1) * np.pi + 0.7 + np.pi * label
                sizes = np.exp(delta[3:6]) * [dx, dy, dz]
                place = [delta[0] * diagonal + x * 8 / (width - 1), delta[1] * diagonal + centre_y]
                want.append([*place, delta[2] * dz + dz / 2 + bottom, *sizes, yaw, logits.argmax(), score])
            assert counts[image] == len(want) > 0
            np.testing.assert_allclose(rows[image, : len(want)], want, rtol=1e-4, atol=1e-4)
            np.testing.assert_array_equal(rows[image, len(want) :], 0)


# ---- BERT, packed

HIDDEN = 8


def tables(seed: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(seed)
    rows = {"word": 11, "token_type": 2, "position": 7}
    made = {f"bert_embeddings_{name}_embeddings": random.standard_normal((n, HIDDEN)) for name, n in rows.items()}
    made |= {f"bert_embeddings_layernorm_{name}": random.standard_normal(HIDDEN) for name in ("beta", "gamma")}
    return {name: values.astype(np.float32) for name, values in made.items()}


def packed(seed: int, *lengths: int, rest: int = 0) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    count = sum(lengths) + rest
    starts = np.cumsum([0, *lengths]).astype(np.int32)
    ids = random.integers(0, 11, count, np.int32), random.integers(0, 2, count, np.int32)
    return [*ids, starts, np.zeros(max(lengths), np.int32)]


@pytest.mark.parametrize("half", [0, 1])
@pytest.mark.parametrize("version", ["2", "3", "4", "5"])
def test_packed_embeddings(version: str, half: int) -> None:
    fields = tables(3)
    cases = [packed(4, 3, 5, 1), packed(5, 7), packed(6, 2, 4, rest=3)]
    close = TOLERANCE[np.float16 if half else np.float32]
    name = "CustomEmbLayerNormPluginDynamic"
    for inputs, (y, more) in zip(cases, results(name, version, fields | {"output_fp16": half}, cases), strict=True):
        tokens, segments, starts, _ = inputs
        assert y.dtype == (np.float16 if half else np.float32) and y.shape == (len(tokens), HIDDEN, 1, 1)
        end = starts[-1]
        positions = np.concatenate([np.arange(n) for n in np.diff(starts)])
        sums = fields["bert_embeddings_word_embeddings"][tokens[:end]].astype(np.float64)
        sums += fields["bert_embeddings_token_type_embeddings"][segments[:end]]
        sums += fields["bert_embeddings_position_embeddings"][positions]
        normal = (sums - sums.mean(1, keepdims=True)) / np.sqrt(sums.var(1, keepdims=True) + 2.0**-23)
        want = normal * fields["bert_embeddings_layernorm_gamma"] + fields["bert_embeddings_layernorm_beta"]
        np.testing.assert_allclose(y[:end, :, 0, 0], want, **close)
        np.testing.assert_array_equal(y[end:], 0)
        if version in "24":
            assert more.dtype == np.float16 and more.shape == (len(starts) - 1, 12288)
            np.testing.assert_array_equal(more, 0)
        else:
            np.testing.assert_allclose(more[:end, :, 0, 0], sums, **close)
            np.testing.assert_array_equal(more[end:], 0)


def test_newest_embeddings_are_those_of_the_first_version() -> None:
    random = np.random.default_rng(7)
    fields = tables(8) | {"output_fp16": 0}

    def case(n: int) -> list[np.ndarray]:
        ids = random.integers(0, 11, (5, n), np.int32), random.integers(0, 2, (5, n), np.int32)
        return [*ids, (np.arange(5)[:, None] < random.integers(0, 6, n)).astype(np.int32)]

    cases = [case(2), case(3)]
    both = [results("CustomEmbLayerNormPluginDynamic", version, fields, cases) for version in "16"]
    for older, newer in zip(*both, strict=True):
        for a, b in zip(older, newer, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("starts", [[1, 3], [0, 3, 2], [0, 9], [0, -1, 2]])
def test_starts_that_make_no_sense_fail_the_run(starts: list[int], capfd: pytest.CaptureFixture[str]) -> None:
    inputs = [np.zeros(4, np.int32), np.zeros(4, np.int32), np.array(starts, np.int32), np.zeros(4, np.int32)]
    engine = engine_of("CustomEmbLayerNormPluginDynamic", "2", tables(9), [inputs])
    run(engine, inputs, fails=True)
    assert "the starts of sequences must begin with 0, never fall, and end within" in capfd.readouterr().err


def test_sequences_longer_than_there_are_positions_fail_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    inputs = packed(10, 8)
    run(engine_of("CustomEmbLayerNormPluginDynamic", "4", tables(9), [inputs]), inputs, fails=True)
    assert "longer than there are position embeddings" in capfd.readouterr().err


def attention(rows: np.ndarray, heads: int) -> np.ndarray:
    """Context [n, E] of rows [n, 3 * E] that hold (query, key, value) of each head."""
    size = rows.shape[1] // (3 * heads)
    query, key, value = np.moveaxis(rows.reshape(-1, heads, 3, size).astype(np.float64), 2, 0)
    scores = np.einsum("qhi,khi->hqk", query, key) / np.sqrt(size)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return np.einsum("hqk,khi->qhi", weights, value).reshape(len(rows), heads * size)


QKV = {"hidden_size": 12, "num_heads": 3}


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("version", ["2", "5"])
def test_packed_attention(version: str, dtype: type) -> None:
    fields = QKV | {"type_id": int(dtype == np.float16), "has_mask": 1, "var_seqlen": 1}
    cases = []
    for seed, lengths, rest in ((1, (3, 0, 5), 0), (2, (4,), 2), (3, (1, 2, 6), 1)):
        _, _, starts, longest = packed(seed, *lengths, rest=rest)
        random = np.random.default_rng(seed)
        rows = random.standard_normal((sum(lengths) + rest, 36, 1, 1)).astype(dtype)
        cases.append([rows, np.zeros((len(lengths), 4), dtype), starts, longest])
    name = "CustomQKVToContextPluginDynamic"
    for (rows, _, starts, _), (y,) in zip(cases, results(name, version, fields, cases), strict=True):
        want = np.zeros((len(rows), 12))
        for begin, end in zip(starts, starts[1:], strict=False):
            if begin < end:
                want[begin:end] = attention(rows[begin:end, :, 0, 0], 3)
        np.testing.assert_allclose(y[..., 0, 0], want, **TOLERANCE[dtype])


@pytest.mark.parametrize("version", ["2", "4", "5"])
@pytest.mark.parametrize("has_mask", [0, 1])
def test_newer_attention_is_that_of_the_first_version(version: str, has_mask: int) -> None:
    random = np.random.default_rng(4)
    fields = QKV | {"type_id": 0, "has_mask": has_mask}
    cases = []
    for n in (2, 1, 3):
        rows = random.standard_normal((5, n, 36, 1, 1)).astype(np.float32)
        cases.append([rows, random.integers(1, 6, n, np.int32)][: 1 + has_mask])
    both = [results("CustomQKVToContextPluginDynamic", v, fields, cases) for v in ("1", version)]
    for (older,), (newer,) in zip(*both, strict=True):
        np.testing.assert_array_equal(older, newer)


@pytest.mark.parametrize("version", ["3", "6"])
@pytest.mark.parametrize("size", [4, 16])
def test_interleaved_attention(version: str, size: int) -> None:
    random = np.random.default_rng(5)
    fields = {"hidden_size": 3 * size, "num_heads": 3}
    cases = []
    for lengths, rest in (((4, 5), 1), ((3,), 0), ((2, 1, 7), 2)):
        _, _, starts, longest = packed(1, *lengths, rest=rest)
        rows = random.integers(-128, 128, (1, 9 * size, sum(lengths) + rest, 1)).astype(np.int8)
        cases.append([rows, starts, longest])
    ends = [2.54, 0, 0, 1.27]
    scales = [np.float64(np.float32(end) / np.float32(127)) for end in (ends[0], ends[3])]
    name = "CustomQKVToContextPluginDynamic"
    for (rows, starts, _), (y,) in zip(cases, results(name, version, fields, cases, ends), strict=True):
        channels = rows[0, :, :, 0].T * scales[0]
        want = np.zeros((len(channels), 3 * size))
        for begin, end in zip(starts, starts[1:], strict=False):
            want[begin:end] = attention(channels[begin:end], 3) / scales[1]
        got = y[0, :, :, 0].T
        assert y.dtype == np.int8 and len(np.unique(got)) > 20
        assert np.abs(got - np.clip(want, -128, 127)).max() < 0.5 + 1e-6


def test_what_attention_refuses(capfd: pytest.CaptureFixture[str]) -> None:
    creator = trt.get_plugin_registry().get_creator("CustomQKVToContextPluginDynamic", "2", "")
    assert creator.create_plugin("a", collection(QKV | {"type_id": 2, "has_mask": 0})) is None
    assert "int8 has versions 3 and 6" in capfd.readouterr().err
    assert creator.create_plugin("b", collection(QKV | {"type_id": 0, "has_mask": 0, "var_seqlen": 1})) is None
    assert "field 'has_mask'" in capfd.readouterr().err
