"""Stock plugins of detection against NumPy."""

import itertools

import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime
import pytest
import tensorrt as trt
from test_stock_plugins import LOGGER, engine_of, field, run

FLOAT = np.float32


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    assert trt.init_libnvinfer_plugins(LOGGER, "")


def fields_of(values: dict[str, object]) -> list[trt.PluginField]:
    """Floats become float32 fields, other numbers int32 ones."""
    return [field(name, v, FLOAT if isinstance(v, float) else np.int32) for name, v in values.items()]


def outputs_of(name: str, version: str, values: dict[str, object], *inputs: np.ndarray) -> list[np.ndarray]:
    return run(engine_of(name, version, fields_of(values), *inputs), *inputs)


# ---- Creators

SWITCHES = ["score_activation", "class_agnostic", "box_coding"]
EFFICIENT = {"score_threshold": 0.3, "iou_threshold": 0.5, "max_output_boxes": 12, "background_class": -1}
EFFICIENT |= dict.fromkeys(SWITCHES, 0)
BATCHED = {"shareLocation": 1, "backgroundLabelId": -1, "numClasses": 4, "topK": 20, "keepTopK": 15}
BATCHED |= {"scoreThreshold": 0.3, "iouThreshold": 0.4, "isNormalized": 1, "clipBoxes": 0, "scoreBits": 16}
BATCHED |= {"caffeSemantics": 1}
ALIGN = {"coordinate_transformation_mode": 1, "mode": 1, "output_height": 3, "output_width": 4, "sampling_ratio": 2}
ALIGN |= {"spatial_scale": 0.5}
CROP = {"crop_width": 5, "crop_height": 4}
SCATTER = {"dense_shape": [6, 9]}

OLDER, NEWER = trt.IPluginCreator, trt.IPluginCreatorV3One
PLUGINS = [
    ("EfficientNMS_TRT", "1", OLDER, EFFICIENT),
    ("BatchedNMSDynamic_TRT", "1", OLDER, BATCHED),
    ("ROIAlign_TRT", "1", OLDER, ALIGN),
    ("ROIAlign_TRT", "2", NEWER, ALIGN),
    ("CropAndResizeDynamic", "1", OLDER, CROP),
    ("CropAndResizeDynamic", "2", NEWER, CROP),
    ("PillarScatterPlugin", "1", OLDER, SCATTER),
]


def made(name: str, version: str, values: dict[str, object]) -> object:
    creator = trt.get_plugin_registry().get_creator(name, version, "")
    collection = trt.PluginFieldCollection(fields_of(values))
    phase = [trt.TensorRTPhase.BUILD] if isinstance(creator, NEWER) else []
    return creator.create_plugin("made", collection, *phase)


@pytest.mark.parametrize(("name", "version", "kind", "values"), PLUGINS)
def test_creators_have_the_generation_and_the_fields_of_upstream(
    name: str, version: str, kind: type, values: dict[str, object]
) -> None:
    creator = trt.get_plugin_registry().get_creator(name, version, "")
    assert isinstance(creator, kind)
    types = {trt.PluginFieldType.FLOAT32: float, trt.PluginFieldType.INT32: int}
    advertised = {each.name: types[each.type] for each in creator.field_names}
    assert advertised == {name: float if isinstance(v, float) else int for name, v in values.items()}
    assert made(name, version, values) is not None


WHOLE, REAL, TEXT = trt.PluginFieldType.INT32, trt.PluginFieldType.FLOAT32, trt.PluginFieldType.CHAR
NORM = {"epsilon": REAL, "scales": REAL, "bias": REAL, "relu": WHOLE, "alpha": REAL}
DEFORMED = {"stride": WHOLE, "padding": WHOLE, "dilation": WHOLE, "group": WHOLE, "deformable_group": WHOLE}
SKIPPED = {"type_id": WHOLE, "beta": REAL, "gamma": REAL, "bias": REAL}
FIELDS = {
    "InstanceNormalization_TRT": ("123", NORM),
    "GroupNormalizationPlugin": ("1", {"eps": REAL, "num_groups": WHOLE}),
    "DisentangledAttention_TRT": ("12", {"span": WHOLE, "factor": REAL}),
    "ModulatedDeformConv2d": ("12", DEFORMED),
    "MultiscaleDeformableAttnPlugin_TRT": ("12", {}),
    "ScatterElements": ("12", {"reduction": TEXT, "axis": WHOLE}),
    "CustomSkipLayerNormPluginDynamic": ("15", SKIPPED | {"ld": WHOLE}),
}
ROWS = [(name, version, fields) for name, (versions, fields) in FIELDS.items() for version in versions]
ROWS += [("CustomSkipLayerNormPluginDynamic", version, SKIPPED) for version in "26"]  # Those know the extent.
ROWS += [("CustomSkipLayerNormPluginDynamic", version, {"beta": REAL, "gamma": REAL}) for version in "3478"]


@pytest.mark.parametrize(("name", "version", "fields"), ROWS)
def test_the_other_stock_plugins_advertise_the_fields_of_upstream(name: str, version: str, fields: dict) -> None:
    creator = trt.get_plugin_registry().get_creator(name, version, "")
    assert {each.name: each.type for each in creator.field_names} == fields
    assert len(creator.field_names) == len(fields), "each once"


NONE = object()
WRONG = [
    (EFFICIENT, "EfficientNMS_TRT", "score_threshold", [-0.1, float("nan"), NONE]),
    (EFFICIENT, "EfficientNMS_TRT", "iou_threshold", [0.0, -1.0, float("nan"), NONE]),
    (EFFICIENT, "EfficientNMS_TRT", "max_output_boxes", [0, -5, -(2**31), NONE]),
    (EFFICIENT, "EfficientNMS_TRT", "background_class", [NONE]),
    (EFFICIENT, "EfficientNMS_TRT", "score_activation", [2, -1, NONE]),
    (EFFICIENT, "EfficientNMS_TRT", "class_agnostic", [2, -1]),
    (EFFICIENT, "EfficientNMS_TRT", "box_coding", [2, -1, NONE]),
    (BATCHED, "BatchedNMSDynamic_TRT", "numClasses", [0, -1, NONE]),
    (BATCHED, "BatchedNMSDynamic_TRT", "topK", [0, -1, 14, 4097, 2**31 - 1, NONE]),
    (BATCHED, "BatchedNMSDynamic_TRT", "keepTopK", [0, -1, 21, NONE]),
    (BATCHED, "BatchedNMSDynamic_TRT", "scoreThreshold", [float("nan"), NONE]),
    (BATCHED, "BatchedNMSDynamic_TRT", "iouThreshold", [float("nan"), NONE]),
    (BATCHED, "BatchedNMSDynamic_TRT", "shareLocation", [NONE]),
    (BATCHED, "BatchedNMSDynamic_TRT", "backgroundLabelId", [NONE]),
    (ALIGN, "ROIAlign_TRT", "coordinate_transformation_mode", [2, -1]),
    (ALIGN, "ROIAlign_TRT", "mode", [2, -1]),
    (ALIGN, "ROIAlign_TRT", "output_height", [0, -1]),
    (ALIGN, "ROIAlign_TRT", "output_width", [0, -1]),
    (ALIGN, "ROIAlign_TRT", "sampling_ratio", [-1, 2**31 - 1]),
    (ALIGN, "ROIAlign_TRT", "spatial_scale", [0.0, -1.0, float("nan")]),
    (CROP, "CropAndResizeDynamic", "crop_width", [0, -1, NONE]),
    (CROP, "CropAndResizeDynamic", "crop_height", [0, -1, NONE]),
    (SCATTER, "PillarScatterPlugin", "dense_shape", [[3], [3, 4, 5], [0, 4], [4, -1], NONE]),
]


@pytest.mark.parametrize(("good", "name", "wrong", "values"), WRONG)
def test_fields_that_make_no_sense_make_nothing_and_are_named(
    good: dict[str, object], name: str, wrong: str, values: list[object], capfd: pytest.CaptureFixture[str]
) -> None:
    for value in values:
        changed = {key: v for key, v in good.items() if key != wrong}
        if value is not NONE:
            changed[wrong] = value
        assert made(name, "1", changed) is None, (wrong, value)
        message = capfd.readouterr().err
        named = f"of plugin '{name}' version '1' "
        if value is NONE:
            assert f"field '{wrong}' {named}is missing: it must be " in message
        elif (wrong, value) == ("topK", 14):
            assert f"field 'keepTopK' {named}is 15: it must be at most topK, which is 14" in message
        elif wrong == "dense_shape" and len(value) != 2:
            assert f"field '{wrong}' {named}has {len(value)} numbers: it must have 2" in message
        else:
            assert f"field '{wrong}' {named}is {value}: it must be ".replace(".0:", ":") in message


# ---- EfficientNMS_TRT


def random_boxes(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Corners of boxes that often overlap; one in four with its corners swapped."""
    centre, size = random.uniform(0, 1, (*shape, 2)), random.uniform(0.05, 0.5, (*shape, 2))
    low, high = centre - size / 2, centre + size / 2
    swapped = random.uniform(size=(*shape, 1)) < 0.25
    return np.concatenate([np.where(swapped, high, low), np.where(swapped, low, high)], -1).astype(FLOAT)


def sorted_corners(box: np.ndarray) -> np.ndarray:
    return np.concatenate([np.minimum(box[..., :2], box[..., 2:]), np.maximum(box[..., :2], box[..., 2:])], -1)


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    a, b = sorted_corners(a).astype(np.float64), sorted_corners(b).astype(np.float64)
    common = np.prod(np.clip(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0, None))
    union = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common
    return common / union if common > 0 and union > 0 else 0.0


def corners(box: np.ndarray) -> np.ndarray:
    return np.concatenate([box[..., :2] - box[..., 2:] / 2, box[..., :2] + box[..., 2:] / 2], -1)


def decoded(boxes: np.ndarray, anchors: np.ndarray | None, coding: int) -> np.ndarray:
    """Corners of boxes [N, B, 1 or C, 4]."""
    if anchors is None:
        return boxes if coding == 0 else corners(boxes)
    anchors = anchors[:, :, None]
    if coding == 0:
        return sorted_corners(boxes) + sorted_corners(anchors)
    centre = boxes[..., :2] * anchors[..., 2:] + anchors[..., :2]
    return corners(np.concatenate([centre, anchors[..., 2:] * np.exp(boxes[..., 2:])], -1))


def efficient_nms(values: dict, boxes: np.ndarray, scores: np.ndarray, anchors: np.ndarray | None = None) -> list:
    boxes = boxes.astype(FLOAT) if boxes.ndim == 4 else boxes.astype(FLOAT)[:, :, None]
    boxes = decoded(boxes, None if anchors is None else anchors.astype(FLOAT), values["box_coding"])
    scores = scores.astype(FLOAT).reshape(*scores.shape[:3])
    if values["score_activation"]:
        scores = 1 / (1 + np.exp(-scores))
    images, most = len(scores), values["max_output_boxes"]
    number, labels = np.zeros((images, 1), np.int32), np.zeros((images, most), np.int32)
    found, marks = np.zeros((images, most, 4)), np.zeros((images, most))
    for n, image in enumerate(scores):
        order = np.argsort(-image.reshape(-1), kind="stable")
        kept: list[tuple[np.ndarray, int]] = []
        for at in order[:5000]:
            b, label = divmod(int(at), image.shape[1])
            if not image[b, label] >= values["score_threshold"] or label == values["background_class"]:
                continue
            box = boxes[n, b, label if boxes.shape[2] > 1 else 0]
            rivals = [other for other, c in kept if values["class_agnostic"] or c == label]
            if len(kept) < most and all(overlap(box, other) < values["iou_threshold"] for other in rivals):
                found[n, len(kept)], marks[n, len(kept)], labels[n, len(kept)] = box, image[b, label], label
                kept.append((box, label))
        number[n] = len(kept)
    return [number, found, marks, labels]


def check(got: list[np.ndarray], want: list[np.ndarray], tolerance: float = 1e-5) -> None:
    for y, reference in zip(got, want, strict=True):
        assert y.shape == reference.shape
        np.testing.assert_allclose(y.astype(np.float64), reference, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("activation", "agnostic", "coding"), list(itertools.product([0, 1], repeat=3)))
@pytest.mark.parametrize("anchored", ["no", "shared", "each"])
def test_efficient_nms(activation: int, agnostic: int, coding: int, anchored: str) -> None:
    random = np.random.default_rng([activation, agnostic, coding, len(anchored)])
    scores = random.uniform(0, 1, (2, 40, 3)).astype(FLOAT)
    scores = np.log(scores / (1 - scores)) if activation else scores
    boxes = random_boxes(random, 2, 40)
    inputs = [boxes, scores]
    if coding == 1:
        boxes[..., 2:] = random.uniform(0.05, 0.5, (2, 40, 2))
    if anchored != "no":
        anchors = random_boxes(random, 1 if anchored == "shared" else 2, 40)
        anchors[..., 2:] = np.abs(anchors[..., 2:]) + 0.05 if coding == 1 else anchors[..., 2:]
        boxes[...] = random.uniform(-0.3, 0.3, boxes.shape)
        inputs.append(anchors)
    values = EFFICIENT | {"score_activation": activation, "class_agnostic": agnostic, "box_coding": coding}
    want = efficient_nms(values, *inputs)
    assert 0 < want[0].min()
    check(outputs_of("EfficientNMS_TRT", "1", values, *inputs), want)


@pytest.mark.parametrize("changes", [{"background_class": 1}, {"score_threshold": 0.0}, {"score_threshold": 0.85}])
@pytest.mark.parametrize("per_class", [0, 1, 5])
def test_efficient_nms_background_threshold_and_boxes_per_class(changes: dict[str, object], per_class: int) -> None:
    random = np.random.default_rng(per_class)
    scores = random.uniform(0, 1, (3, 30, 5)).astype(FLOAT)
    boxes = random_boxes(random, 3, 30, per_class) if per_class else random_boxes(random, 3, 30)
    values = EFFICIENT | {"iou_threshold": 0.2, "max_output_boxes": 25} | changes
    want = efficient_nms(values, boxes, scores)
    check(outputs_of("EfficientNMS_TRT", "1", values, boxes, scores), want)
    check(outputs_of("EfficientNMS_TRT", "1", values, boxes, scores[..., None]), want)


def test_efficient_nms_of_many_candidates_takes_the_best_5000_and_of_equal_ones_the_first() -> None:
    random = np.random.default_rng(3)
    corner = np.stack(np.meshgrid(np.arange(90), np.arange(90)), -1).reshape(1, -1, 2).astype(FLOAT)
    boxes = np.concatenate([corner, corner + 0.5], -1)
    scores = random.integers(1, 20, (1, 8100, 1)).astype(FLOAT) / 20
    values = EFFICIENT | {"score_threshold": 0.0, "max_output_boxes": 5100}
    number, found, marks, _ = outputs_of("EfficientNMS_TRT", "1", values, boxes, scores)
    order = np.argsort(-scores[0, :, 0], kind="stable")[:5000]
    assert number.item() == 5000
    np.testing.assert_array_equal(found[0, :5000], boxes[0, order])
    np.testing.assert_array_equal(marks[0, :5000], scores[0, order, 0])
    assert not found[0, 5000:].any()


def test_efficient_nms_in_half_precision() -> None:
    random = np.random.default_rng(4)
    boxes, scores = random_boxes(random, 2, 40).astype(np.float16), random.uniform(0, 1, (2, 40, 3)).astype(np.float16)
    got = outputs_of("EfficientNMS_TRT", "1", EFFICIENT, boxes, scores)
    assert [y.dtype for y in got] == [np.int32, np.float16, np.float16, np.int32]
    check(got, efficient_nms(EFFICIENT, boxes, scores), 1e-3)


def test_efficient_nms_with_extents_known_at_run_time() -> None:
    creator = trt.get_plugin_registry().get_creator("EfficientNMS_TRT", "1", "")
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    tensors = [network.add_input("x0", trt.float32, (-1, -1, 4)), network.add_input("x1", trt.float32, (-1, -1, 3))]
    collection = trt.PluginFieldCollection(fields_of(EFFICIENT))
    layer = network.add_plugin_v2(tensors, creator.create_plugin("nms", collection))
    for i in range(4):
        layer.get_output(i).name = f"y{i}"
        network.mark_output(layer.get_output(i))
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    profile.set_shape("x0", (0, 0, 4), (2, 20, 4), (4, 60, 4))
    profile.set_shape("x1", (0, 0, 3), (2, 20, 3), (4, 60, 3))
    config.add_optimization_profile(profile)
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()
    random = np.random.default_rng(5)
    for images, count in [(1, 7), (4, 60), (2, 0), (0, 5), (3, 33)]:
        boxes = random_boxes(random, images, count)
        scores = random.uniform(0, 1, (images, count, 3)).astype(FLOAT)
        got = [np.full((images, 1), 7, np.int32), np.full((images, 12, 4), 7, FLOAT), np.full((images, 12), 7, FLOAT)]
        got.append(np.full((images, 12), 7, np.int32))
        for name, array in zip(["x0", "x1", "y0", "y1", "y2", "y3"], [boxes, scores, *got], strict=True):
            if name[0] == "x":
                assert context.set_input_shape(name, array.shape)
            context.set_tensor_address(name, array.ctypes.data)
        assert context.execute_async_v3(0)
        check(got, efficient_nms(EFFICIENT, boxes, scores))


def test_efficient_nms_of_numbers_that_are_none() -> None:
    random = np.random.default_rng(6)
    strange = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 0.0], FLOAT)
    for _ in range(20):
        boxes, scores = random_boxes(random, 1, 50), random.uniform(0, 1, (1, 50, 2)).astype(FLOAT)
        for array in (boxes, scores):
            array[...] = np.where(random.uniform(size=array.shape) < 0.3, random.choice(strange, array.shape), array)
        values = EFFICIENT | dict(zip(SWITCHES, random.integers(0, 2, 3).tolist(), strict=True))
        number, _, marks, labels = outputs_of("EfficientNMS_TRT", "1", values, boxes, scores)
        assert not np.isnan(marks).any()
        assert (marks[0, 1 : number.item()] <= marks[0, : max(number.item() - 1, 0)]).all()
        assert ((labels == 0) | (labels == 1)).all()


def test_boxes_of_another_number_fail_the_build() -> None:
    random = np.random.default_rng(7)
    boxes, scores = random_boxes(random, 1, 9), random.uniform(size=(1, 8, 3)).astype(FLOAT)
    assert engine_of("EfficientNMS_TRT", "1", fields_of(EFFICIENT), boxes, scores) is None


@pytest.mark.parametrize("changes", [{}, {"box_coding": 1}, {"class_agnostic": 1, "max_output_boxes": 3}])
def test_onnx_nodes_become_efficient_nms(changes: dict[str, object]) -> None:
    random = np.random.default_rng(8)
    boxes, scores = np.abs(random_boxes(random, 2, 25)), random.uniform(0, 1, (2, 25, 3)).astype(FLOAT)
    values = EFFICIENT | changes
    names = ["num_detections", "detection_boxes", "detection_scores", "detection_classes"]
    node = oh.make_node("EfficientNMS_TRT", ["x0", "x1"], names, domain="TRT", plugin_version="1", **values)
    info, kinds = oh.make_tensor_value_info, onnx.TensorProto
    given = [info("x0", kinds.FLOAT, boxes.shape), info("x1", kinds.FLOAT, scores.shape)]
    kind = [kinds.INT32, kinds.FLOAT, kinds.FLOAT, kinds.INT32]
    graph = oh.make_graph([node], "g", given, [info(n, k, None) for n, k in zip(names, kind, strict=True)])
    opsets = [oh.make_opsetid("", 17), oh.make_opsetid("TRT", 1)]
    blob = oh.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.parse(blob), [parser.get_error(i).desc() for i in range(parser.num_errors)]
    for i in range(4):
        network.get_output(i).name = f"y{i}"
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    check(run(engine, boxes, scores), efficient_nms(values, boxes, scores))


# ---- BatchedNMSDynamic_TRT


def pixels_overlap(a: np.ndarray, b: np.ndarray, values: dict[str, object]) -> float:
    a, b = sorted_corners(a).astype(np.float64), sorted_corners(b).astype(np.float64)
    one = 0 if values["isNormalized"] else 1
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    if (low > high).any():
        low = high = np.zeros(2)
    sides = high - low + (one if values["caffeSemantics"] else 0)
    if (sides <= 0).any():
        return 0.0
    area = [np.prod(box[2:] - box[:2] + one) for box in (a, b)]
    return np.prod(sides) / (sum(area) - np.prod(sides))


def batched_nms(values: dict[str, object], boxes: np.ndarray, scores: np.ndarray) -> list[np.ndarray]:
    boxes, scores = boxes.astype(FLOAT), scores.astype(FLOAT)
    images, keep = len(boxes), values["keepTopK"]
    number, labels = np.zeros((images, 1), np.int32), np.full((images, keep), -1.0)
    found, marks = np.zeros((images, keep, 4)), np.zeros((images, keep))
    for n in range(images):
        left = []
        for label in set(range(values["numClasses"])) - {values["backgroundLabelId"]}:
            column = scores[n, :, label]
            order = [b for b in np.argsort(-column, kind="stable") if column[b] > values["scoreThreshold"]]
            kept: list[np.ndarray] = []
            for b in order[: values["topK"]]:
                box = boxes[n, b, 0 if values["shareLocation"] else label]
                if all(pixels_overlap(box, other, values) <= values["iouThreshold"] for other in kept):
                    kept.append(box)
                    left.append((-column[b], label, b, box))
        left.sort(key=lambda each: each[:3])
        number[n] = min(len(left), keep)
        for i, (score, label, _, box) in enumerate(left[:keep]):
            found[n, i] = np.clip(box, 0, 1) if values["clipBoxes"] else box
            marks[n, i], labels[n, i] = -score, label
    return [number, found, marks, labels]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"shareLocation": 0},
        {"backgroundLabelId": 0},
        {"backgroundLabelId": 3, "shareLocation": 0},
        {"clipBoxes": 1},
        {"topK": 6, "keepTopK": 5},
        {"topK": 4096, "keepTopK": 200, "scoreThreshold": 0.0},
        {"scoreThreshold": 0.9},
        {"isNormalized": 0},
        {"isNormalized": 0, "caffeSemantics": 0},
        {"scoreBits": 4},
    ],
)
def test_batched_nms(changes: dict[str, object]) -> None:
    values = BATCHED | changes
    random = np.random.default_rng(9)
    boxes = random_boxes(random, 3, 35, 1 if values["shareLocation"] else 4)
    if not values["isNormalized"]:
        boxes = np.round(boxes * 12)  # Small ones, for which a pixel more or less counts.
    scores = random.uniform(0, 1, (3, 35, 4)).astype(FLOAT)
    scores[0] = np.round(scores[0], 1)  # Equal ones.
    want = batched_nms(values, boxes, scores)
    assert 0 < want[0].min()
    check(outputs_of("BatchedNMSDynamic_TRT", "1", values, boxes, scores), want)
    check(outputs_of("BatchedNMSDynamic_TRT", "1", values, boxes, scores[..., None]), want)


def test_batched_nms_of_many_classes_keeps_few() -> None:
    random = np.random.default_rng(20)
    for keep in [1, 2, 5, 30]:
        values = BATCHED | {"numClasses": 9, "topK": 30, "keepTopK": keep, "scoreThreshold": 0.0}
        boxes = random_boxes(random, 2, 60, 1)
        scores = np.round(random.uniform(0, 1, (2, 60, 9)), 2).astype(FLOAT)
        check(outputs_of("BatchedNMSDynamic_TRT", "1", values, boxes, scores), batched_nms(values, boxes, scores))


def test_batched_nms_by_default_clips_and_takes_coordinates_as_normalized() -> None:
    random = np.random.default_rng(10)
    boxes, scores = random_boxes(random, 1, 30, 1), random.uniform(0, 1, (1, 30, 4)).astype(FLOAT)
    optional = ["isNormalized", "clipBoxes", "scoreBits", "caffeSemantics"]
    given = {name: v for name, v in BATCHED.items() if name not in optional}
    want = batched_nms(BATCHED | {"clipBoxes": 1}, boxes, scores)
    assert (want[1] == 0).any()
    check(outputs_of("BatchedNMSDynamic_TRT", "1", given, boxes, scores), want)


def test_batched_nms_in_half_precision() -> None:
    random = np.random.default_rng(11)
    boxes = random_boxes(random, 2, 35, 1).astype(np.float16)
    scores = random.uniform(0, 1, (2, 35, 4)).astype(np.float16)
    got = outputs_of("BatchedNMSDynamic_TRT", "1", BATCHED, boxes, scores)
    assert [y.dtype for y in got] == [np.int32, np.float16, np.float16, np.float16]
    check(got, batched_nms(BATCHED, boxes, scores), 1e-3)


def test_batched_nms_of_nothing() -> None:
    boxes, scores = np.zeros((2, 0, 1, 4), FLOAT), np.zeros((2, 0, 4), FLOAT)
    check(outputs_of("BatchedNMSDynamic_TRT", "1", BATCHED, boxes, scores), batched_nms(BATCHED, boxes, scores))


# ---- ROIAlign_TRT


def sample(plane: np.ndarray, y: float, x: float, mode: int) -> float:
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1)
    top, left = int(y), int(x)
    down, right = min(top + 1, height - 1), min(left + 1, width - 1)
    dy, dx = y - top, x - left
    parts = [(1 - dy) * (1 - dx) * plane[top, left], (1 - dy) * dx * plane[top, right]]
    parts += [dy * (1 - dx) * plane[down, left], dy * dx * plane[down, right]]
    return sum(parts) if mode == 1 else max(parts)


def roi_align(values: dict[str, object], x: np.ndarray, rois: np.ndarray, images: np.ndarray) -> np.ndarray:
    height, width = values["output_height"], values["output_width"]
    shift = 0.5 if values["coordinate_transformation_mode"] else 0.0
    y = np.zeros((len(rois), x.shape[1], height, width))
    for r, roi in enumerate(rois.astype(np.float64) * values["spatial_scale"] - shift):
        (left, top), size = roi[:2], roi[2:] - roi[:2]
        size = size if shift else np.maximum(size, 1.0)
        bins = size / [width, height]
        grid = [values["sampling_ratio"]] * 2 if values["sampling_ratio"] else np.ceil(bins).astype(int)
        if min(grid) <= 0:
            continue
        for c, i, j in np.ndindex(*y.shape[1:]):
            taken = [
                sample(
                    x[images[r], c].astype(np.float64),
                    top + (i + (k + 0.5) / grid[1]) * bins[1],
                    left + (j + (m + 0.5) / grid[0]) * bins[0],
                    values["mode"],
                )
                for k in range(grid[1])
                for m in range(grid[0])
            ]
            y[r, c, i, j] = np.mean(taken) if values["mode"] == 1 else max(taken)
    return y


def regions(random: np.random.Generator, count: int, size: float) -> np.ndarray:
    """Some reach beyond the map, which is of this size."""
    low = random.uniform(-0.3, 0.8, (count, 2)) * size
    return np.concatenate([low, low + random.uniform(0.02, 0.8, (count, 2)) * size], 1).astype(FLOAT)


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize(("shift", "mode", "ratio"), list(itertools.product([0, 1], [0, 1], [0, 1, 3])))
def test_roi_align(version: str, shift: int, mode: int, ratio: int) -> None:
    random = np.random.default_rng([shift, mode, ratio])
    x = random.standard_normal((2, 3, 11, 14)).astype(FLOAT)
    rois, images = regions(random, 9, 24.0), random.integers(0, 2, 9).astype(np.int32)
    values = ALIGN | {"coordinate_transformation_mode": shift, "mode": mode, "sampling_ratio": ratio}
    (y,) = outputs_of("ROIAlign_TRT", version, values, x, rois, images)
    np.testing.assert_allclose(y, roi_align(values, x, rois, images), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shift", [0, 1])
def test_roi_align_is_that_of_onnx(shift: int) -> None:
    random = np.random.default_rng(12)
    x = random.standard_normal((3, 4, 20, 17)).astype(FLOAT)
    rois, images = regions(random, 15, 30.0), random.integers(0, 3, 15).astype(np.int32)
    values = ALIGN | {"coordinate_transformation_mode": shift, "output_height": 7, "output_width": 5}
    info, kinds = oh.make_tensor_value_info, onnx.TensorProto
    given = [info("x", kinds.FLOAT, x.shape), info("r", kinds.FLOAT, rois.shape), info("i", kinds.INT64, images.shape)]
    attributes = {name: values[name] for name in ["output_height", "output_width", "sampling_ratio", "spatial_scale"]}
    attributes["coordinate_transformation_mode"] = ["output_half_pixel", "half_pixel"][shift]
    node = oh.make_node("RoiAlign", ["x", "r", "i"], ["y"], mode="avg", **attributes)
    graph = oh.make_graph([node], "g", given, [info("y", kinds.FLOAT, None)])
    blob = oh.make_model(graph, opset_imports=[oh.make_opsetid("", 16)], ir_version=9).SerializeToString()
    session = onnxruntime.InferenceSession(blob, providers=["CPUExecutionProvider"])
    (want,) = session.run(None, {"x": x, "r": rois, "i": images.astype(np.int64)})
    (y,) = outputs_of("ROIAlign_TRT", "2", values, x, rois, images)
    np.testing.assert_allclose(y, want, rtol=1e-4, atol=1e-5)


def test_roi_align_has_defaults() -> None:
    random = np.random.default_rng(13)
    x = random.standard_normal((1, 2, 9, 8)).astype(FLOAT)
    rois, images = regions(random, 6, 9.0), np.zeros(6, np.int32)
    (y,) = outputs_of("ROIAlign_TRT", "1", {}, x, rois, images)
    defaults = {"coordinate_transformation_mode": 1, "mode": 1, "output_height": 1, "output_width": 1}
    defaults |= {"sampling_ratio": 0, "spatial_scale": 1.0}
    np.testing.assert_allclose(y, roi_align(defaults, x, rois, images), rtol=1e-4, atol=1e-4)


def test_roi_align_in_half_precision() -> None:
    random = np.random.default_rng(14)
    x = random.standard_normal((2, 3, 11, 14)).astype(np.float16)
    rois, images = regions(random, 9, 24.0).astype(np.float16), random.integers(0, 2, 9).astype(np.int32)
    (y,) = outputs_of("ROIAlign_TRT", "2", ALIGN, x, rois, images)
    assert y.dtype == np.float16
    np.testing.assert_allclose(y, roi_align(ALIGN, x, rois, images), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("mode", [0, 1])
def test_roi_align_of_regions_of_any_size(mode: int) -> None:
    random = np.random.default_rng(15)
    x = random.standard_normal((1, 2, 6, 5)).astype(FLOAT)
    limits = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e9, -1e9, 0.0, 2.0]
    rois = np.array(list(itertools.product(limits, repeat=4)), FLOAT)
    images = np.zeros(len(rois), np.int32)
    values = ALIGN | {"sampling_ratio": 0, "mode": mode, "output_height": 2, "output_width": 2}
    (y,) = outputs_of("ROIAlign_TRT", "1", values, x, rois, images)
    assert np.isfinite(y).all()
    assert not y[~np.isfinite(rois).all(1)].any()
    small = (np.abs(rois) < 10).all(1)
    np.testing.assert_allclose(y[small], roi_align(values, x, rois[small], images[small]), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("wrong", [-1, 2, 2**31 - 1])
def test_regions_of_images_that_do_not_exist_fail_the_run(wrong: int) -> None:
    x, rois = np.random.default_rng(16).standard_normal((2, 1, 5, 5)).astype(FLOAT), np.ones((3, 4), FLOAT)
    images = np.array([0, wrong, 1], np.int32)
    context = engine_of("ROIAlign_TRT", "2", fields_of(ALIGN), x, rois, images).create_execution_context()
    y = np.empty((3, 1, 3, 4), FLOAT)
    for name, array in zip(["x0", "x1", "x2", "y0"], [x, rois, images, y], strict=True):
        context.set_tensor_address(name, array.ctypes.data)
    assert not context.execute_async_v3(0)


# ---- CropAndResizeDynamic


def crop_and_resize(values: dict[str, object], x: np.ndarray, rois: np.ndarray) -> np.ndarray:
    count, last = (values["crop_height"], values["crop_width"]), np.array(x.shape[2:]) - 1
    y = np.zeros((len(x), rois.shape[1], x.shape[1], *count))
    for n, b in np.ndindex(y.shape[:2]):
        box = rois[n, b].reshape(2, 2).astype(np.float64)
        axes = [
            (np.linspace(low, high, k) if k > 1 else np.array([(low + high) / 2])) * end
            for low, high, k, end in zip(*box, count, last, strict=True)
        ]
        for i, j in np.ndindex(*count):
            at = np.array([axes[0][i], axes[1][j]])
            if (at < 0).any() or (at > last).any():
                continue
            (top, left), (dy, dx) = at.astype(int), at - at.astype(int)
            down, right = np.minimum([top + 1, left + 1], last)
            upper = x[n, :, top, left] * (1 - dx) + x[n, :, top, right] * dx
            lower = x[n, :, down, left] * (1 - dx) + x[n, :, down, right] * dx
            y[n, b, :, i, j] = upper * (1 - dy) + lower * dy
    return y


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize(("height", "width"), [(4, 5), (1, 6), (7, 1), (1, 1), (14, 14)])
def test_crop_and_resize(version: str, height: int, width: int) -> None:
    random = np.random.default_rng([height, width])
    x = random.standard_normal((2, 3, 10, 13)).astype(FLOAT)
    rois = random.uniform(-0.15, 1.15, (2, 6, 4, 1)).astype(FLOAT)
    rois[0, 0, :, 0] = [0, 0, 1, 1]  # All of it.
    values = {"crop_width": width, "crop_height": height}
    (y,) = outputs_of("CropAndResizeDynamic", version, values, x, rois)
    np.testing.assert_allclose(y, crop_and_resize(values, x, rois), rtol=1e-4, atol=1e-4)


def test_crop_and_resize_of_regions_of_any_size() -> None:
    x = np.random.default_rng(17).standard_normal((1, 2, 6, 5)).astype(FLOAT)
    limits = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e9, 0.1, 0.7]
    rois = np.array(list(itertools.product(limits, repeat=4)), FLOAT).reshape(1, -1, 4, 1)
    (y,) = outputs_of("CropAndResizeDynamic", "2", CROP, x, rois)
    assert np.isfinite(y).all()
    small = (np.abs(rois[0, :, :, 0]) < 10).all(1)
    want = crop_and_resize(CROP, x, rois[:, small])
    np.testing.assert_allclose(y[:, small], want, rtol=1e-4, atol=1e-4)


# ---- PillarScatterPlugin


@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize("channels", [64, 5])
def test_pillar_scatter(kind: type, channels: int) -> None:
    random = np.random.default_rng(18)
    height, width = SCATTER["dense_shape"]
    features = random.standard_normal((4, 20, channels)).astype(kind)
    places = np.zeros((4, 20, 4), np.int32)
    for n in range(4):
        places[n, :, 0] = n
        places[n, :, 2], places[n, :, 3] = np.divmod(random.permutation(height * width)[:20], width)
    valid = np.array([20, 7, 0, 13], np.int32)
    (y,) = outputs_of("PillarScatterPlugin", "1", SCATTER, features, places, valid)
    want = np.zeros((4, channels, height, width), kind)
    for n in range(4):
        for p in range(valid[n]):
            want[n, :, places[n, p, 2], places[n, p, 3]] = features[n, p]
    assert y.dtype == kind
    np.testing.assert_array_equal(y, want)


def test_pillars_outside_and_numbers_of_pillars_that_do_not_exist_are_left_out() -> None:
    random = np.random.default_rng(19)
    features = random.standard_normal((3, 9, 2)).astype(FLOAT)
    places = np.zeros((3, 9, 4), np.int32)
    outside = [-(2**31), -1, 6, 9, 2**31 - 1]
    places[0, :, 2], places[0, :, 3] = [*outside, 3, 3, 3, 3], [1, 1, 1, 1, 1, -1, 9, 2**31 - 1, 5]
    places[1:, :, 3] = np.arange(9)
    valid = np.array([1000, -3, -(2**31)], np.int32)
    (y,) = outputs_of("PillarScatterPlugin", "1", SCATTER, features, places, valid)
    want = np.zeros((3, 2, 6, 9), FLOAT)
    want[0, :, 3, 5] = features[0, 8]
    np.testing.assert_array_equal(y, want)
