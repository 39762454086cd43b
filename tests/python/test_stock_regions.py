"""Stock plugins that propose, refine and pool regions, against NumPy: formulas of the papers, box by box."""

import numpy as np
import pytest
import small
import tensorrt as trt
from stock_runs import LOGGER, engine_of, results, run

RANDOM = np.random.default_rng
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    assert trt.init_libnvinfer_plugins(LOGGER, "")


def overlap(a: np.ndarray, b: np.ndarray, more: float) -> float:
    """Intersection over union of corners; `more` is 1 where sides count both their ends."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]) + more
    common = np.prod(np.maximum(sides, 0))
    return common / (np.prod(a[2:] - a[:2] + more) + np.prod(b[2:] - b[:2] + more) - common)


def greedy(boxes: np.ndarray, scores: np.ndarray, most: int, keep: int, limit: float, more: float) -> list[int]:
    """Indices of the kept ones: the best first, none of which a better one covers by more than the limit."""
    order = [i for i in np.argsort(-scores, kind="stable") if np.isfinite(scores[i])][:most]
    kept: list[int] = []
    for i in order:
        if len(kept) < keep and all(overlap(boxes[i], boxes[j], more) <= limit for j in kept):
            kept.append(int(i))
    return kept


def padded(rows: np.ndarray, count: int, width: int) -> np.ndarray:
    whole = np.zeros((count, width))
    whole[: len(rows)] = np.reshape(rows, (-1, width))
    return whole


# ---- Faster R-CNN


def moved(anchors: np.ndarray, deltas: np.ndarray, height: float, width: float) -> np.ndarray:
    """Anchors [..., (x, y, w, h)] moved by [..., (dx, dy, dw, dh)], as corners within the image."""
    centre = anchors[..., :2] + deltas[..., :2] * anchors[..., 2:]
    half = np.exp(deltas[..., 2:]) * anchors[..., 2:] / 2
    return np.clip(np.concatenate([centre - half, centre + half], -1), 0, np.array([width, height] * 2) - 1)


PROPOSAL = {"input_height": 64, "input_width": 96, "rpn_stride": 16, "roi_min_size": 6.0, "nms_iou_threshold": 0.6}
PROPOSAL |= {"pre_nms_top_n": 30, "post_nms_top_n": 12, "anchor_sizes": [12.0, 24.0], "anchor_ratios": [1.0, 0.5, 2.0]}


@pytest.mark.parametrize("name", ["Proposal", "ProposalDynamic"])
def test_proposal(name: str) -> None:
    random = RANDOM(1)
    cases = [
        (
            random.standard_normal((n, 6, 4, 6)).astype(np.float32),
            (random.standard_normal((n, 24, 4, 6)) / 3).astype(np.float32),
        )
        for n in (2, 1, 3)
    ]
    rows, columns = (np.mgrid[:4, :6] + 0.5) * 16
    anchors = np.zeros((6, 4, 6, 4))
    for i in range(6):
        root = np.sqrt(PROPOSAL["anchor_ratios"][i % 3])
        size = PROPOSAL["anchor_sizes"][i // 3]
        anchors[i] = np.stack([columns, rows, np.full((4, 6), size * root), np.full((4, 6), size / root)], -1)
    for (scores, deltas), (got,) in zip(cases, results(name, "1", PROPOSAL, cases), strict=True):
        assert got.shape == (len(scores), 12, 4, 1)
        for image, regions in enumerate(got):
            boxes = moved(anchors, np.moveaxis(deltas[image].reshape(6, 4, 4, 6), 1, -1), 64, 96).reshape(-1, 4)
            is_large = np.all(boxes[:, 2:] - boxes[:, :2] > 6, 1)
            kept = greedy(boxes, np.where(is_large, scores[image].ravel(), -np.inf), 30, 12, 0.6, 1)
            want = boxes[kept][:, [1, 0, 3, 2]] / np.array([63, 95, 63, 95])
            assert 0 < len(kept)
            np.testing.assert_allclose(regions[..., 0], padded(want, 12, 4), **CLOSE)


def test_proposal_without_large_boxes_is_empty() -> None:
    random = RANDOM(2)
    inputs = random.standard_normal((1, 6, 4, 6)).astype(np.float32), np.zeros((1, 24, 4, 6), np.float32)
    fields = PROPOSAL | {"roi_min_size": 1000.0}
    ((got,),) = results("ProposalDynamic", "1", fields, [inputs])
    np.testing.assert_array_equal(got, 0)


POOLING = {"poolingH": 3, "poolingW": 2, "featureStride": 16, "preNmsTop": 40, "nmsMaxOut": 6, "anchorsRatioCount": 3}
POOLING |= {"anchorsScaleCount": 2, "iouThreshold": 0.7, "minBoxSize": 4.0, "spatialScale": 0.0625}
POOLING |= {"anchorsRatios": [0.5, 1.0, 2.0], "anchorsScales": [1.0, 2.0]}


def pooled(plane: np.ndarray, box: np.ndarray) -> np.ndarray:
    """RoI pooling (arXiv:1504.08083) of one channel into 3 by 2 cells."""
    near = np.floor(np.asarray(box, np.float32) * np.float32(0.0625) + np.float32(0.5)).astype(int)  # Half goes up.
    result = np.zeros((3, 2))
    for (row, column), _ in np.ndenumerate(result):
        ranges = []
        for cell, cells, first, last, extent in ((row, 3, near[1], near[3], 5), (column, 2, near[0], near[2], 7)):
            size = max(last - first + 1, 1) / cells
            begin = first + int(np.floor(cell * size))
            end = first + int(np.ceil((cell + 1) * size))
            ranges.append(slice(min(max(begin, 0), extent), min(max(end, 0), extent)))
        part = plane[tuple(ranges)]
        result[row, column] = part.max() if part.size else 0
    return result


def test_proposal_pooling() -> None:
    random = RANDOM(3)
    sizes = np.array([[80, 112, 1], [70, 100, 1.5], [80, 90, 0.5]], np.float32)
    cases = [
        (
            random.standard_normal((n, 12, 5, 7)).astype(np.float32),
            (random.standard_normal((n, 24, 5, 7)) / 4).astype(np.float32),
            random.standard_normal((n, 4, 5, 7)).astype(np.float32),
            sizes[:n].reshape(n, 1, 1, 3),
        )
        for n in (1, 3)
    ]
    anchors = np.zeros((6, 5, 7, 4))
    rows, columns = np.mgrid[:5, :7] * 16 + 7.5
    for i in range(6):
        width = np.round(np.sqrt(256 / POOLING["anchorsRatios"][i // 2]))
        height = np.round(width * POOLING["anchorsRatios"][i // 2])
        scale = POOLING["anchorsScales"][i % 2]
        anchors[i] = np.stack([columns, rows, np.full((5, 7), width * scale), np.full((5, 7), height * scale)], -1)
    for case, (regions, cells) in zip(cases, results("RPROI_TRT", "1", POOLING, cases), strict=True):
        for image, (scores, deltas, maps, size) in enumerate(zip(*case, strict=True)):
            height, width, scale = size.ravel()
            boxes = moved(anchors, np.moveaxis(deltas.reshape(6, 4, 5, 7), 1, -1), height, width).reshape(-1, 4)
            is_large = np.all(boxes[:, 2:] - boxes[:, :2] + 1 >= 4 * scale, 1)
            kept = greedy(boxes, np.where(is_large, scores[6:].ravel(), -np.inf), 40, 6, 0.7, 1)
            assert 0 < len(kept)
            np.testing.assert_allclose(regions[image, 0], padded(boxes[kept], 6, 4), **CLOSE)
            for region, box in enumerate(regions[image, 0]):
                want = np.stack([pooled(plane, box) for plane in maps])
                np.testing.assert_array_equal(cells[image, region], want.astype(np.float32))


# ---- Mask R-CNN


def refined(base: np.ndarray, deltas: np.ndarray, is_pixel: bool, factors: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Boxes [n, (y1, x1, y2, x2)] moved by [n, (dy, dx, dh, dw)] times the factors, within 0 and `end`."""
    more = float(is_pixel)
    deltas = deltas * factors
    growth = np.minimum(deltas[:, 2:], np.log(1000 / 16)) if is_pixel else deltas[:, 2:]
    size = base[:, 2:] - base[:, :2] + more
    centre = base[:, :2] + size / 2 + deltas[:, :2] * size
    size = size * np.exp(growth)
    corners = np.concatenate([centre - size / 2, centre + size / 2 - more], 1)
    return np.clip(corners, 0, np.tile(end, 2))


def anchors_of(level: int, height: int, width: int, is_pixel: bool) -> np.ndarray:
    stride = 4 * 2**level
    first = stride // 2 if is_pixel else 0
    made = []
    for y in range(first, height, stride):
        for x in range(first, width, stride):
            if is_pixel:
                for across, down in ((1, 1), (1.4, 0.7), (0.7, 1.4)):
                    h, w = 8 * stride * down, 8 * stride * across
                    made.append([y - h / 2, x - w / 2, y + h / 2, x + w / 2])
            else:
                for ratio in (0.5, 1, 2):
                    h, w = 8 * stride / np.sqrt(ratio), 8 * stride * np.sqrt(ratio)
                    corners = np.array([y - h / 2, x - w / 2, y + h / 2 - 1, x + w / 2 - 1])
                    made.append(corners / np.array([height - 1, width - 1] * 2))
    return np.reshape(np.array(made, np.float64), (-1, 4))


def test_proposal_layer() -> None:
    random = RANDOM(4)
    anchors = np.concatenate([anchors_of(level, 40, 56, False) for level in range(5)])
    count = len(anchors)
    fields = {"prenms_topk": 50, "keep_topk": 20, "iou_threshold": 0.5, "image_size": [3, 40, 56]}
    cases = [
        (
            random.random((n, count, 2, 1), np.float32),
            random.standard_normal((n, count, 4, 1)).astype(np.float32),
        )
        for n in (2, 1)
    ]
    factors = np.array([0.1, 0.1, 0.2, 0.2])
    for (scores, deltas), (got,) in zip(cases, results("ProposalLayer_TRT", "1", fields, cases), strict=True):
        for image, regions in enumerate(got):
            boxes = refined(anchors, deltas[image, ..., 0], False, factors, np.ones(2))
            kept = greedy(boxes, scores[image, :, 1, 0], 50, 20, 0.5, 0)
            np.testing.assert_allclose(regions, padded(boxes[kept], 20, 4), **CLOSE)


def test_multilevel_proposals() -> None:
    random = RANDOM(5)
    levels = [anchors_of(level, 48, 72, True) for level in range(5)]
    fields = {"prenms_topk": 30, "keep_topk": 8, "fg_threshold": 0.2, "iou_threshold": 0.5, "image_size": [3, 48, 72]}

    def case(n: int) -> list[np.ndarray]:
        inputs = []
        for anchors in levels:
            inputs.append((random.standard_normal((n, len(anchors), 4, 1)) / 3).astype(np.float32))
            inputs.append(random.random((n, len(anchors), 1, 1), np.float32))
        return inputs

    cases = [case(1), case(3)]
    for inputs, (got,) in zip(cases, results("MultilevelProposeROI_TRT", "1", fields, cases), strict=True):
        for image, regions in enumerate(got):
            found = []
            for level, anchors in enumerate(levels):
                boxes = refined(anchors, inputs[2 * level][image, ..., 0], True, np.ones(4), np.array([47, 71]))
                scores = inputs[2 * level + 1][image, :, 0, 0]
                kept = greedy(boxes, np.where(scores >= 0.2, scores, -np.inf), 30, 8, 0.5, 0)
                found += [(scores[i], boxes[i]) for i in kept]
            best = sorted(found, key=lambda one: -one[0])[:8]
            np.testing.assert_allclose(regions, padded(np.array([box for _, box in best]), 8, 4), **CLOSE)


@pytest.mark.parametrize("is_pixel", [False, True])
def test_detections(is_pixel: bool) -> None:
    random = RANDOM(6)
    name = "GenerateDetection_TRT" if is_pixel else "DetectionLayer_TRT"
    fields = {"num_classes": 4, "keep_topk": 10, "score_threshold": 0.3, "iou_threshold": 0.4}
    end = np.array([59.0, 99.0]) if is_pixel else np.ones(2)
    if is_pixel:
        fields["image_size"] = [3, 60, 100]

    def case(n: int) -> list[np.ndarray]:
        corners = np.sort(random.random((n, 40, 2, 2)), 2) * end
        return [
            random.standard_normal((n, 40, 16, 1, 1)).astype(np.float32),
            random.random((n, 40, 4, 1, 1), np.float32),
            corners.reshape(n, 40, 4).astype(np.float32),
        ]

    cases = [case(2), case(1)]
    factors = np.array([0.1, 0.1, 0.2, 0.2])
    for inputs, (got,) in zip(cases, results(name, "1", fields, cases), strict=True):
        for image, rows in enumerate(got):
            deltas, scores, regions = (x[image] for x in inputs)
            scores = scores[..., 0, 0].astype(np.float64)
            if is_pixel:
                scores[:, 0] = -1  # The background is no candidate.
            labels = scores.argmax(1)
            best = scores.max(1)
            chosen = deltas.reshape(40, 4, 4)[np.arange(40), labels]
            boxes = refined(regions.astype(np.float64), chosen, is_pixel, factors, end)
            found = []
            for label in (1, 2, 3):
                mine = np.where((labels == label) & (best >= 0.3), best, -np.inf)
                found += [(*boxes[i], label, best[i]) for i in greedy(boxes, mine, 40, 40, 0.4, 0)]
            want = sorted(found, key=lambda row: -row[5])[:10]
            np.testing.assert_allclose(rows, padded(np.array(want), 10, 6), **CLOSE)


# ---- Pooling of pyramids


def bilinear(plane: np.ndarray, y: float, x: float) -> float:
    y, x = np.clip(y, 0, plane.shape[0] - 1), np.clip(x, 0, plane.shape[1] - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, plane.shape[0] - 1), min(left + 1, plane.shape[1] - 1)
    rows = plane[[top, bottom]]
    across = rows[:, left] * (1 - (x - left)) + rows[:, right] * (x - left)
    return float(across[0] * (1 - (y - top)) + across[1] * (y - top))


def sampled(
    plane: np.ndarray, start: np.ndarray, step: np.ndarray, samples: tuple[int, int], offset: float, size: int
) -> np.ndarray:
    result = np.zeros((size, size))
    for (row, column), _ in np.ndenumerate(result):
        values = [
            bilinear(
                plane,
                start[0] + step[0] * (row + (i + offset) / samples[0]),
                start[1] + step[1] * (column + (j + offset) / samples[1]),
            )
            for i in range(samples[0])
            for j in range(samples[1])
        ]
        result[row, column] = np.mean(values)
    return result


def level_of(area: float, first: float, levels: int) -> int:
    return int(sum(area > first * 4**i for i in range(levels - 1)))


PYRAMID_CASES = [
    {},
    {"roi_coords_transform": 0, "sampling_ratio": 2},
    {"roi_coords_transform": 1, "sampling_ratio": 1, "roi_coords_plusone": 1},
    {"roi_coords_transform": -1, "sampling_ratio": 1, "roi_coords_absolute": 0, "roi_coords_swap": 1},
    {"legacy": 1},
]


@pytest.mark.parametrize("more", PYRAMID_CASES)
def test_pyramid_roi_align(more: dict[str, int]) -> None:
    random = RANDOM(7)
    fields = {"pooled_size": 3, "image_size": [96, 128], "fpn_scale": 48} | more
    is_legacy = more.get("legacy") == 1
    is_absolute = not is_legacy and fields.get("roi_coords_absolute", 1) == 1
    is_swapped = is_legacy or fields.get("roi_coords_swap") == 1
    extent = np.array([96.0, 128.0])
    shapes = [(24, 32), (12, 16), (6, 8), (3, 4)]

    def case(n: int) -> list[np.ndarray]:
        corners = random.uniform(-0.1, 1.1, (n, 9, 2, 2)) ** 2  # Small ones, too; in any order.
        corners = corners * extent if is_absolute else corners
        regions = (corners if is_swapped else corners[..., ::-1]).reshape(n, 9, 4)
        return [regions.astype(np.float32)] + [random.random((n, 2, *shape), np.float32) for shape in shapes]

    transform = -1 if is_legacy else fields.get("roi_coords_transform", 2)
    ratio = 1 if is_legacy else fields.get("sampling_ratio", 0)
    plus = fields.get("roi_coords_plusone", 0) / extent
    first = 224**2 * 2 / 1024**2 / 16 if is_legacy else 48**2 / (96 * 128) / 4
    cases = [case(1), case(2)]
    levels = set()
    for inputs, (got,) in zip(cases, results("PyramidROIAlign_TRT", "1", fields, cases), strict=True):
        for (image, region), _ in np.ndenumerate(got[..., 0, 0, 0]):
            corners = inputs[0][image, region].reshape(2, 2).astype(np.float64)
            corners = np.sort(corners if is_swapped else corners[:, ::-1], 0)
            low, high = np.clip(corners / (extent if is_absolute else 1), 0, 1)
            level = level_of(np.prod(high - low + plus), first, 4)
            levels.add(level)
            shape = np.array(shapes[level], np.float64)
            scale = shape - 1 if transform == -1 else shape
            shift = 0.5 if transform == 2 else 0
            start, length = low * scale - shift, (high - low) * scale
            counts = tuple(ratio if ratio else max(1, int(np.ceil(x))) for x in length / 3)
            step = length / (2 if transform == -1 else 3)
            for channel in range(2):
                want = sampled(inputs[1 + level][image, channel], start, step, counts, 0.5 if transform > 0 else 0.0, 3)
                np.testing.assert_allclose(got[image, region, channel], want, rtol=1e-3, atol=1e-3)
    assert len(levels) > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_multilevel_crop(dtype: type) -> None:
    random = RANDOM(8)
    shapes = [(104, 168), (52, 84), (26, 42), (13, 21), (7, 11)]
    fields = {"pooled_size": 2, "image_size": [3, 416, 672]}

    def case(n: int) -> list[np.ndarray]:
        corners = np.sort(random.random((n, 8, 2, 2)) ** 2, 2) * np.array([416, 672])
        corners[:, 0] = corners[:, 0, ::-1]  # No region.
        maps = [random.random((n, 2, *shape), np.float32).astype(dtype) for shape in shapes]
        return [corners.reshape(n, 8, 4).astype(dtype), *maps]

    cases = [case(2), case(1)]
    for inputs, (got,) in zip(cases, results("MultilevelCropAndResize_TRT", "1", fields, cases), strict=True):
        np.testing.assert_array_equal(got[:, 0], 0)
        for image in range(len(got)):
            for region in range(1, 8):
                y1, x1, y2, x2 = inputs[0][image, region].astype(np.float64)
                level = level_of((y2 - y1) * (x2 - x1), 224**2 / 4, 5)
                start, length = np.array([y1, x1]) / 2 ** (level + 2), np.array([y2 - y1, x2 - x1]) / 2 ** (level + 2)
                for channel in range(2):
                    plane = inputs[1 + level][image, channel].astype(np.float64)
                    want = sampled(plane, start, length / 2, (1, 1), 0.5, 2)
                    close = 1e-4 if dtype == np.float32 else 3e-3
                    np.testing.assert_allclose(got[image, region, channel], want, rtol=close, atol=close)


# ---- What they refuse

REFUSALS = [
    ("Proposal", PROPOSAL | {"input_height": 1}, "field 'input_height' of plugin 'Proposal' version '1' is 1"),
    ("RPROI_TRT", POOLING | {"anchorsRatioCount": 2}, "field 'anchorsRatioCount'"),
    ("Proposal", PROPOSAL | {"anchor_sizes": [8.0, -1.0]}, "field 'anchor_sizes' of plugin 'Proposal' version '1' has"),
    ("PyramidROIAlign_TRT", {"roi_coords_transform": 3}, "between -1 and 2"),
    ("MultilevelProposeROI_TRT", {"prenms_topk": 3, "keep_topk": 2, "iou_threshold": 0.5, "image_size": [3, 1, 9]}, ""),
]


@pytest.mark.parametrize(("name", "fields", "message"), REFUSALS)
def test_fields_that_make_no_sense_are_named(name: str, fields: dict[str, object], message: str) -> None:
    done = small.script(  # A process of its own: the first logger of one hears of this, whoever made it.
        "import stock_runs, test_stock_regions as here, tensorrt as trt\n"
        "trt.init_libnvinfer_plugins(None, '')\n"
        f"name, fields, _ = here.REFUSALS[{REFUSALS.index((name, fields, message))}]\n"
        "creator = trt.get_plugin_registry().get_creator(name, '1', '')\n"
        "assert creator.create_plugin(name, stock_runs.collection(fields)) is None\n"
    )
    assert done.returncode == 0 and message in done.stderr, done.stderr


def test_another_number_of_anchors_fails_the_build(capfd: pytest.CaptureFixture[str]) -> None:
    fields = {"prenms_topk": 50, "keep_topk": 20, "iou_threshold": 0.5, "image_size": [3, 40, 56]}
    inputs = [np.zeros((1, 7, 2, 1), np.float32), np.zeros((1, 7, 4, 1), np.float32)]
    assert engine_of("ProposalLayer_TRT", "1", fields, [inputs]) is None
    assert "A the anchors that image_size gives" in capfd.readouterr().err


def test_values_that_are_no_numbers_propose_nothing() -> None:
    inputs = [np.full((1, 6, 4, 6), np.nan, np.float32), np.full((1, 24, 4, 6), np.nan, np.float32)]
    engine = engine_of("ProposalDynamic", "1", PROPOSAL, [inputs])
    (got,) = run(engine, inputs)
    np.testing.assert_array_equal(got, 0)
