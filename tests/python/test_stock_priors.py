"""Stock plugins of SSD and YOLO, and those that copy parts of tensors, against NumPy."""

import numpy as np
import pytest
import tensorrt as trt
from stock_runs import LOGGER, collection, results

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
VARIANCES = [0.1, 0.15, 0.2, 0.25]


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    assert trt.init_libnvinfer_plugins(LOGGER, "")


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x.astype(np.float64)))


# ---- Parts of tensors


def test_batch_tile() -> None:
    cases = [(normal(1, n, 2, 3), np.broadcast_to(normal(2, 1, 3, 2, 4), (n, 3, 2, 4))) for n in (1, 4, 2)]
    for (x, tile), (y,) in zip(cases, results("BatchTilePlugin_TRT", "1", {}, cases), strict=True):
        np.testing.assert_array_equal(y, np.tile(tile[:1], (len(x), 1, 1, 1)))


def test_batch_tile_of_one_tensor_for_the_whole_batch() -> None:
    x, tile = normal(3, 4, 2, 3), normal(4, 1, 3, 2, 4)
    ((y,),) = results("BatchTilePlugin_TRT", "1", {}, [(x, tile)])
    np.testing.assert_array_equal(y, np.tile(tile, (4, 1, 1, 1)))


def test_special_slice() -> None:
    cases = [(normal(n, n, 5, 6),) for n in (2, 1, 3)]
    for (x,), (y,) in zip(cases, results("SpecialSlice_TRT", "1", {}, cases), strict=True):
        np.testing.assert_array_equal(y, x[..., :4])


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_split(dtype: type, axis: int) -> None:
    lengths = [2, 1, 4]
    shapes = [[3, 5, 6], [6, 2, 4]]
    for shape in shapes:
        shape[axis] = 7
    cases = [(normal(i, *shape).astype(dtype),) for i, shape in enumerate(shapes)]
    for (x,), parts in zip(cases, results("Split", "1", {"axis": axis, "output_lengths": lengths}, cases), strict=True):
        for part, want in zip(parts, np.split(x, np.cumsum(lengths)[:-1], axis), strict=True):
            np.testing.assert_array_equal(part, want)


# ---- YOLO


def test_region() -> None:
    cases = [(normal(n, n, 3 * 9, 4, 5) * 3,) for n in (1, 3, 2)]
    fields = {"num": 3, "coords": 4, "classes": 4}
    for (x,), (y,) in zip(cases, results("Region_TRT", "1", fields, cases), strict=True):
        v = x.reshape(len(x), 3, 9, 4, 5).astype(np.float64)
        shares = np.exp(v[:, :, 5:] - v[:, :, 5:].max(2, keepdims=True))
        shares /= shares.sum(2, keepdims=True)
        want = np.concatenate([sigmoid(v[:, :, :2]), v[:, :, 2:4], sigmoid(v[:, :, 4:5]), shares], 2)
        np.testing.assert_allclose(y, want.reshape(x.shape), **CLOSE)


def test_region_refuses_trees_of_classes(capfd: pytest.CaptureFixture[str]) -> None:
    fields = {"num": 3, "coords": 4, "classes": 4, "smTree": 1}
    assert trt.get_plugin_registry().get_creator("Region_TRT", "1", "").create_plugin("r", collection(fields)) is None
    assert "field 'smTree' of plugin 'Region_TRT' version '1' is there: it must be left out" in capfd.readouterr().err


# ---- Default boxes


def default_boxes(ys: np.ndarray, xs: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """[y, x, size, (x1, y1, x2, y2)] of sizes (w, h)."""
    y, x = ys[:, None, None], xs[None, :, None]
    w, h = sizes[:, 0] / 2, sizes[:, 1] / 2
    corners = np.broadcast_arrays(x - w, y - h, x + w, y + h)
    return np.stack(corners, -1)


def with_variances(boxes: np.ndarray) -> np.ndarray:
    flat = boxes.reshape(-1)
    return np.stack([flat, np.tile(VARIANCES, len(flat) // 4)])[..., None]


PRIOR_CASES = [
    {"flip": 1, "clip": 0, "offset": 0.5},
    {"flip": 0, "clip": 1, "offset": 0.25},
    {"flip": 1, "clip": 1, "imgH": 90, "imgW": 120, "stepH": 11.0, "stepW": 9.0},
]


@pytest.mark.parametrize("more", PRIOR_CASES)
@pytest.mark.parametrize("has_largest", [False, True])
def test_prior_box(more: dict[str, float], has_largest: bool) -> None:
    fields = {"minSize": [20.0, 44.0], "aspectRatios": [2.0, 1.0, 3.0, 2.0], "variance": VARIANCES} | more
    if has_largest:
        fields["maxSize"] = [44.0, 70.0]
    cases = [(normal(1, n, 4, 3, 5), normal(2, n, 3, 60, 80)) for n in (2, 1)]
    height, width = more.get("imgH", 60), more.get("imgW", 80)
    offset = more.get("offset", 0.5)
    ys = (np.arange(3) + offset) * more.get("stepH", height / 3)
    xs = (np.arange(5) + offset) * more.get("stepW", width / 5)
    ratios = [2, 1 / 2, 3, 1 / 3] if more["flip"] else [2, 3]
    sizes = []
    for i, least in enumerate(fields["minSize"]):
        sizes.append([least, least])
        if has_largest:
            sizes.append([np.sqrt(least * fields["maxSize"][i])] * 2)
        sizes += [[least * np.sqrt(ratio), least / np.sqrt(ratio)] for ratio in ratios]
    want = default_boxes(ys, xs, np.array(sizes)) / np.array([width, height] * 2)
    want = np.clip(want, 0, 1) if more["clip"] else want
    for (x, _), (y,) in zip(cases, results("PriorBox_TRT", "1", fields, cases), strict=True):
        assert y.shape == (len(x), 2, want.size, 1)
        for sample in y:
            np.testing.assert_allclose(sample, with_variances(want), **CLOSE)


@pytest.mark.parametrize("is_rect", [False, True])
@pytest.mark.parametrize("maps", [1, 3])
def test_grid_anchor(is_rect: bool, maps: int) -> None:
    shapes = [(5, 4), (3, 2), (1, 2)][:maps] if is_rect else [(5, 5), (3, 3), (1, 1)][:maps]
    ratios = [1.0, 2.0, 0.5, 3.0]
    fields = {"minSize": 0.25, "maxSize": 0.9, "aspectRatios": ratios, "variance": VARIANCES, "numLayers": maps}
    fields["featureMapShapes"] = [side for shape in shapes for side in (shape if is_rect else shape[:1])]
    scales = [*(np.linspace(0.25, 0.9, maps) if maps > 1 else [0.25]), 1.0]
    (got,) = results("GridAnchorRect_TRT" if is_rect else "GridAnchor_TRT", "1", fields, [()])
    assert len(got) == maps
    for i, ((height, width), boxes) in enumerate(zip(shapes, got, strict=True)):
        if i == 0:
            pairs = [(0.1, 1.0), (scales[0], 2.0), (scales[0], 0.5)]
        else:
            pairs = [(scales[i], ratio) for ratio in ratios] + [(np.sqrt(scales[i] * scales[i + 1]), 1.0)]
        sizes = np.array([[scale * np.sqrt(ratio), scale / np.sqrt(ratio)] for scale, ratio in pairs])
        want = default_boxes((np.arange(height) + 0.5) / height, (np.arange(width) + 0.5) / width, sizes)
        np.testing.assert_allclose(boxes, with_variances(want)[None], **CLOSE)


# ---- Detections

NMS = {"backgroundLabelId": 0, "numClasses": 4, "topK": 12, "keepTopK": 9, "confidenceThreshold": 0.4}
NMS |= {"nmsThreshold": 0.45, "isNormalized": 1}


def decoded(codes: np.ndarray, priors: np.ndarray, variances: np.ndarray, coding: int) -> np.ndarray:
    """Corners of one image: codes [P, L, 4], priors and variances [P, 4]."""
    if coding == 3:
        codes = codes[..., [1, 0, 3, 2]]  # Vertical first.
    codes = codes * variances[:, None]
    low, high = priors[:, None, :2], priors[:, None, 2:]
    size = high - low
    if coding == 0:
        return priors[:, None] + codes
    if coding == 2:
        return priors[:, None] + codes * np.concatenate([size, size], -1)
    centre = (low + high) / 2 + codes[..., :2] * size
    half = np.exp(codes[..., 2:]) * size / 2
    return np.concatenate([centre - half, centre + half], -1)


def share(a: np.ndarray, b: np.ndarray) -> float:
    a, b = (np.sort(x.reshape(2, 2), 0).ravel() for x in (a, b))  # Corners in either order.
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    common = np.prod(np.maximum(sides, 0))
    return common / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common) if common > 0 else 0.0


def detections(boxes: np.ndarray, scores: np.ndarray) -> list[tuple[float, ...]]:
    """Rows (class, score, corners) of one image: boxes [P, L, 4], scores [P, 4]."""
    rows = []
    for label in range(1, 4):
        mine = boxes[:, label % boxes.shape[1] if boxes.shape[1] > 1 else 0]
        order = [i for i in np.argsort(-scores[:, label], kind="stable") if scores[i, label] > 0.4][:12]
        kept: list[int] = []
        for i in order:
            if all(share(mine[i], mine[j]) <= 0.45 for j in kept):
                kept.append(i)
        rows += [(label, scores[i, label], *np.clip(mine[i], 0, 1)) for i in kept]
    return sorted(rows, key=lambda row: -row[1])[:9]


@pytest.mark.parametrize("coding", [0, 1, 2, 3])
@pytest.mark.parametrize(("is_shared", "is_scaled"), [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("name", ["NMS_TRT", "NMSDynamic_TRT"])
def test_nms(name: str, coding: int, is_shared: int, is_scaled: int) -> None:
    random = np.random.default_rng(7)
    fields = NMS | {"shareLocation": is_shared, "varianceEncodedInTarget": is_scaled, "codeType": coding}
    fields |= {"confSigmoid": 1} if name == "NMS_TRT" else {"inputOrder": [2, 0, 1]}
    count, boxes_of = 20, 1 if is_shared else 4

    def case(n: int) -> list[np.ndarray]:
        corners = np.sort(random.random((n, count, 2, 2)), 2).reshape(n, count * 4)
        variances = random.uniform(0.1, 0.3, (n, count * 4))
        priors = np.stack([corners, variances], 1)[..., None].astype(np.float32)
        codes = (random.standard_normal((n, count * boxes_of * 4, 1, 1)) / 3).astype(np.float32)
        scores = random.random((n, count * 4, 1, 1), np.float32)
        if name == "NMS_TRT":
            return [codes, priors, np.log(scores / (1 - scores))]
        return [scores, priors, codes]

    cases = [case(2), case(1), case(3)]
    for inputs, (rows, counts) in zip(cases, results(name, "1", fields, cases), strict=True):
        codes, priors, scores = inputs if name == "NMS_TRT" else inputs[::-1]
        assert counts.dtype == np.float32 and counts.shape == (len(codes), 1, 1, 1)
        for image in range(len(codes)):
            base = priors[0 if name == "NMS_TRT" else image, :, :, 0].reshape(2, count, 4).astype(np.float64)
            variances = np.ones_like(base[1]) if is_scaled and coding != 3 else base[1]
            boxes = decoded(codes[image].reshape(count, boxes_of, 4), base[0], variances, coding)
            values = scores[image].reshape(count, 4)
            want = detections(boxes, sigmoid(values) if name == "NMS_TRT" else values)
            assert 1 < len(want)
            found = counts.view(np.int32)[image, 0, 0, 0]  # As upstream: an integer in a float32's place.
            assert found == len(want)
            np.testing.assert_array_equal(rows[image, 0, :, 0], image)
            np.testing.assert_allclose(rows[image, 0, :found, 1:], want, rtol=1e-4, atol=1e-5)
            np.testing.assert_array_equal(rows[image, 0, found:, 1:], np.tile([-1, 0, 0, 0, 0, 0], (9 - found, 1)))


def test_nms_of_halves() -> None:
    random = np.random.default_rng(8)
    fields = NMS | {"shareLocation": 1, "codeType": 0, "isBatchAgnostic": 0, "inputOrder": [0, 1, 2]}
    corners = np.sort(random.random((2, 20, 2, 2)), 2).reshape(2, 80)
    priors = np.stack([corners, np.ones((2, 80))], 1)[..., None].astype(np.float16)
    codes = (random.standard_normal((2, 80, 1, 1)) / 20).astype(np.float16)
    scores = random.permutation(np.arange(160) / 160).reshape(2, 80, 1, 1).astype(np.float16)
    ((rows, counts),) = results("NMS_TRT", "1", fields, [(codes, scores, priors)])
    for image in range(2):
        base = priors[image, 0, :, 0].reshape(20, 4).astype(np.float32)
        boxes = base[:, None] + codes[image].reshape(20, 1, 4).astype(np.float32)
        want = detections(boxes, scores[image].reshape(20, 4).astype(np.float32))
        assert counts.view(np.int32)[image, 0, 0, 0] == len(want)
        np.testing.assert_allclose(rows[image, 0, : len(want), 1:], want, rtol=2e-3, atol=2e-3)


EFFICIENT = {"score_threshold": 0.3, "iou_threshold": 0.5}


def efficient(
    boxes: np.ndarray, scores: np.ndarray, most: int, of_class: int
) -> list[tuple[int, int, float, np.ndarray]]:
    """(class, box, score, corners) of one image in the order of scores; boxes [B, C, 4], scores [B, C]."""
    kept: list[tuple[int, int]] = []
    found: list[tuple[int, int, float, np.ndarray]] = []
    for at in np.argsort(-scores.ravel(), kind="stable"):
        box, label = divmod(int(at), scores.shape[1])
        corners = boxes[box, label % boxes.shape[1]]
        if scores[box, label] < 0.3 or len(found) == most:
            break
        if any(other == label and share(corners, boxes[i, label % boxes.shape[1]]) >= 0.5 for i, other in kept):
            continue
        kept.append((box, label))
        if sum(row[0] == label for row in found) < of_class:
            found.append((label, box, float(scores[box, label]), corners))
    return found


def candidates(seed: int, n: int, per_class: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    corners = np.sort(random.uniform(-0.2, 1.2, (n, 30, per_class, 2, 2)), 3).reshape(n, 30, per_class, 4)
    return [corners.astype(np.float32), random.random((n, 30, 3), np.float32)]


@pytest.mark.parametrize("is_centred", [0, 1])
def test_efficient_nms_of_onnx(is_centred: int) -> None:
    cases = [candidates(n, n, 1) for n in (2, 1, 3)]
    fields = EFFICIENT | {"max_output_boxes_per_class": 6, "center_point_box": is_centred}
    given = []
    for boxes, scores in cases:
        low, high = boxes[..., :2], boxes[..., 2:]
        centred = np.concatenate([(low + high) / 2, high - low], -1)
        given.append(((centred if is_centred else boxes)[:, :, 0], scores))
    for (boxes, scores), (rows,) in zip(cases, results("EfficientNMS_ONNX_TRT", "1", fields, given), strict=True):
        want = []
        for image in range(len(boxes)):
            want += [(image, label, box) for label, box, *_ in efficient(boxes[image], scores[image], 6, 6)]
        want += [want[-1]] * (6 * len(boxes) - len(want))
        np.testing.assert_array_equal(rows, want)


def test_efficient_nms_of_onnx_without_detections() -> None:
    boxes, scores = candidates(9, 2, 1)
    fields = EFFICIENT | {"score_threshold": 2.0, "max_output_boxes_per_class": 4}
    ((rows,),) = results("EfficientNMS_ONNX_TRT", "1", fields, [(boxes[:, :, 0], scores)])
    np.testing.assert_array_equal(rows, np.full((8, 3), -1))


@pytest.mark.parametrize("form", ["Explicit", "Implicit"])
@pytest.mark.parametrize(("pads", "clips"), [(0, 0), (1, 1)])
@pytest.mark.parametrize("per_class", [1, 3])
def test_efficient_nms_of_tensorflow(form: str, pads: int, clips: int, per_class: int) -> None:
    cases = [candidates(n, n, per_class) for n in (1, 3)]
    fields = EFFICIENT | {"max_output_size_per_class": 2, "max_total_size": 9, "pad_per_class": pads}
    fields["clip_boxes"] = clips
    room = 6 if pads else 9
    for (boxes, scores), (counts, corners, best, labels) in zip(
        cases, results(f"EfficientNMS_{form}_TF_TRT", "1", fields, cases), strict=True
    ):
        assert counts.shape == ((len(boxes),) if form == "Implicit" else (len(boxes), 1))
        assert corners.shape == (len(boxes), room, 4)
        for image in range(len(boxes)):
            want = efficient(boxes[image], scores[image], room, 2)
            found = len(want)
            assert counts.ravel()[image] == found
            np.testing.assert_array_equal(labels[image, :found], [row[0] for row in want])
            np.testing.assert_allclose(best[image, :found], [row[2] for row in want])
            sides = np.array([row[3] for row in want])
            np.testing.assert_allclose(corners[image, :found], np.clip(sides, 0, 1) if clips else sides)
            np.testing.assert_array_equal(best[image, found:], 0)
