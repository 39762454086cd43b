"""Every stock plugin, in every version, under the checking host."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import tensorrt as trt
from tenon import testing

BATCHES = (1, 2, 3)
SIZES = np.array([[3, 4], [2, 2]], np.int32)


def batched(*rest: int) -> list[tuple[int, ...]]:
    return [(batch, *rest) for batch in BATCHES]


def boxes(array: np.ndarray) -> None:
    """Corners in order, within the image."""
    random = np.random.default_rng(4)
    first = random.uniform(0.0, 0.5, (*array.shape[:-1], 2))
    array[...] = np.concatenate([first, first + random.uniform(0.1, 0.5, first.shape)], -1)


def fill_boxes(*numbers: int) -> Callable[[int, np.ndarray], Any]:
    def fill(number: int, array: np.ndarray) -> None:
        if number in numbers and array.size:
            boxes(array)

    return fill


def fill_scores(number: int, array: np.ndarray) -> None:
    if number == 0 and array.size:
        boxes(array)
    elif number == 1:
        array[...] = np.abs(array) / 2.0


def fill_crops(number: int, array: np.ndarray) -> None:
    if number == 1 and array.size:
        corners = array.reshape(*array.shape[:2], 4)
        boxes(corners)


def fill_regions(number: int, array: np.ndarray) -> None:
    if number == 1 and array.size:
        boxes(array)
        array *= 7.0
    elif number == 2:
        array[...] = np.arange(array.size) % 2


def fill_maps(number: int, array: np.ndarray) -> None:
    if number == 1:
        array[...] = SIZES
    elif number == 2:
        array[...] = [0, 12]
    elif number in (3, 4):
        array[...] = np.abs(array) / 2.0


def fill_ids(number: int, array: np.ndarray) -> None:
    """Tokens, segments, and masks of which the first element counts."""
    array[...] = np.arange(array.size).reshape(array.shape) % (5, 2, 2)[number] if array.size else 0
    if number == 2 and array.size:
        array[...] = np.arange(array.shape[0])[:, None] < 2


def fill_places(number: int, array: np.ndarray) -> None:
    if number == 1:
        array[...] = np.arange(array.size).reshape(array.shape) % 3


def fill_packed(starts: int) -> Callable[[int, np.ndarray], Any]:
    """Tokens and segments that exist; the input of this number has where sequences begin."""

    def fill(number: int, array: np.ndarray) -> None:
        if number == starts:
            array[...] = np.minimum(np.arange(array.size) * 2, 3)
        elif array.dtype == np.int32:
            array[...] = 1

    return fill


def fill_priors(number: int, array: np.ndarray) -> None:
    """Default boxes and variances."""
    if number == 1 and array.size:
        corners = np.empty((len(array), array.shape[2] // 4, 4), np.float32)
        boxes(corners)
        array[:, 0, :, 0] = corners.reshape(len(array), -1)
        array[:, 1] = 0.1


def fill_points(number: int, array: np.ndarray) -> None:
    if number == 1:
        array[...] = 5


def fill_numbers(number: int, array: np.ndarray) -> None:
    if number == 3:
        array[...] = [48, 64, 1]


def fill_pillars(number: int, array: np.ndarray) -> None:
    """Places are (batch, z, y, x), each pillar at another one."""
    if number == 1 and array.size:
        each = np.arange(array.shape[1])
        array[..., 0] = 0
        array[..., 1] = 0
        array[..., 2] = each // 6
        array[..., 3] = each % 6
    elif number == 2:
        array[...] = 4


EMBEDDINGS = {
    "bert_embeddings_layernorm_beta": np.linspace(-1, 1, 8),
    "bert_embeddings_layernorm_gamma": np.linspace(0.5, 2, 8),
    "bert_embeddings_word_embeddings": np.linspace(-2, 2, 40),
    "bert_embeddings_token_type_embeddings": np.linspace(-1, 2, 16),
    "bert_embeddings_position_embeddings": np.linspace(-3, 2, 32),
}
DETECTION = {"shareLocation": 1, "backgroundLabelId": 0, "numClasses": 3, "topK": 6, "keepTopK": 4}
DETECTION |= {"confidenceThreshold": 0.1, "nmsThreshold": 0.5, "codeType": 1}
PROPOSAL = {"input_height": 48, "input_width": 64, "rpn_stride": 16, "roi_min_size": 1.0, "nms_iou_threshold": 0.6}
PROPOSAL |= {"pre_nms_top_n": 20, "post_nms_top_n": 5, "anchor_sizes": [16.0, 24.0], "anchor_ratios": [1.0]}
POOLING = {"poolingH": 2, "poolingW": 2, "featureStride": 16, "preNmsTop": 20, "nmsMaxOut": 3, "anchorsRatioCount": 2}
POOLING |= {"anchorsScaleCount": 1, "iouThreshold": 0.6, "minBoxSize": 1.0, "spatialScale": 0.0625}
POOLING |= {"anchorsRatios": [1.0, 2.0], "anchorsScales": [1.0]}
VARIANCES = [0.1, 0.1, 0.2, 0.2]
RECT = {"numLayers": 2, "aspectRatios": [1.0, 2.0, 0.5], "featureMapShapes": [3, 2, 1, 2], "variance": VARIANCES}
DETECTIONS = {"num_classes": 3, "keep_topk": 4, "score_threshold": 0.1, "iou_threshold": 0.5}
LEVELS = [rest for count in (300, 75, 12, 3, 3) for rest in ((count, 4, 1), (count, 1, 1))]
TENSORFLOW = {"max_output_size_per_class": 2, "max_total_size": 5, "iou_threshold": 0.5, "score_threshold": 0.1}

Case = tuple[str, Sequence[str], dict[str, Any], list[Any], Callable[[int, np.ndarray], Any] | None]
CASES: list[Case] = [
    (
        "BatchedNMS_TRT",
        "1",
        {
            "shareLocation": 1,
            "backgroundLabelId": -1,
            "numClasses": 3,
            "topK": 6,
            "keepTopK": 4,
            "scoreThreshold": 0.1,
            "iouThreshold": 0.5,
        },
        [batched(8, 1, 4), batched(8, 3)],
        fill_scores,
    ),
    ("Clip_TRT", "1", {"clipMin": -0.5, "clipMax": 0.25}, [batched(3, 5)], None),
    ("CoordConvAC", "1", {}, [batched(3, 4, 5)], None),
    ("CropAndResize", "1", {"crop_width": 3, "crop_height": 2}, [batched(2, 6, 7), batched(4, 4, 1)], fill_crops),
    (
        "CustomEmbLayerNormPluginDynamic",
        "1",
        {"output_fp16": 0} | EMBEDDINGS,
        [((3, 1), (3, 2), (3, 4))] * 3,
        fill_ids,
    ),
    (
        "CustomEmbLayerNormPluginDynamic",
        "6",
        {"output_fp16": 1} | EMBEDDINGS,
        [((3, 1), (3, 2), (3, 4))] * 3,
        fill_ids,
    ),
    (
        "CustomEmbLayerNormPluginDynamic",
        "2345",
        {"output_fp16": 0} | EMBEDDINGS,
        [((3,), (4,), (6,)), ((3,), (4,), (6,)), ((2,), (2,), (3,)), (3,)],
        fill_packed(2),
    ),
    (
        "CustomFCPluginDynamic",
        "1",
        {"out_dims": 3, "type_id": 0, "W": np.linspace(-1, 1, 12)},
        [((2, 1, 4, 1, 1), (2, 2, 4, 1, 1), (2, 3, 4, 1, 1))],
        None,
    ),
    ("CustomGeluPluginDynamic", "1", {"type_id": 0, "bias": np.linspace(-1, 1, 5)}, [batched(3, 5)], None),
    (
        "CustomQKVToContextPluginDynamic",
        "1",
        {"type_id": 0, "hidden_size": 4, "num_heads": 2, "has_mask": 0},
        [((3, 1, 12, 1, 1), (3, 2, 12, 1, 1), (3, 3, 12, 1, 1))],
        None,
    ),
    (
        "CustomQKVToContextPluginDynamic",
        "4",
        {"type_id": 0, "hidden_size": 4, "num_heads": 2, "has_mask": 0},
        [((3, 1, 12, 1, 1), (3, 2, 12, 1, 1), (3, 3, 12, 1, 1))],
        None,
    ),
    (
        "CustomQKVToContextPluginDynamic",
        "25",
        {"type_id": 0, "hidden_size": 4, "num_heads": 2, "has_mask": 1, "var_seqlen": 1},
        [((3, 12, 1, 1), (4, 12, 1, 1), (6, 12, 1, 1)), ((1, 2), (1, 2), (2, 2)), ((2,), (2,), (3,)), (3,)],
        fill_packed(2),
    ),
    (
        "CustomQKVToContextPluginDynamic",
        "36",
        {"hidden_size": 12, "num_heads": 3},
        [((1, 36, 3, 1), (1, 36, 4, 1), (1, 36, 6, 1)), ((2,), (2,), (3,)), (3,)],
        fill_packed(1),
    ),
    ("BatchTilePlugin_TRT", "1", {}, [batched(2, 3), batched(1, 2, 3, 2)], None),
    ("SpecialSlice_TRT", "1", {}, [batched(4, 6)], None),
    ("Split", "1", {"axis": 1, "output_lengths": [2, 1]}, [batched(3, 4)], None),
    ("Region_TRT", "1", {"num": 2, "classes": 3}, [batched(16, 2, 3)], None),
    ("PriorBox_TRT", "1", {"minSize": [9.0], "variance": VARIANCES}, [batched(2, 2, 3), batched(3, 20, 30)], None),
    ("GridAnchor_TRT", "1", RECT | {"featureMapShapes": [3, 1]}, [], None),
    ("GridAnchorRect_TRT", "1", RECT, [], None),
    ("NMS_TRT", "1", DETECTION, [batched(32, 1, 1), batched(2, 32, 1), batched(24, 1, 1)], fill_priors),
    ("NMSDynamic_TRT", "1", DETECTION, [batched(32, 1, 1), batched(2, 32, 1), batched(24, 1, 1)], fill_priors),
    ("Proposal", "1", PROPOSAL, [batched(2, 3, 4), batched(8, 3, 4)], None),
    ("ProposalDynamic", "1", PROPOSAL, [batched(2, 3, 4), batched(8, 3, 4)], None),
    (
        "RPROI_TRT",
        "1",
        POOLING,
        [batched(4, 3, 4), batched(8, 3, 4), batched(2, 3, 4), batched(1, 1, 3)],
        fill_numbers,
    ),
    (
        "ProposalLayer_TRT",
        "1",
        {"prenms_topk": 20, "keep_topk": 5, "iou_threshold": 0.5, "image_size": [3, 16, 16]},
        [batched(69, 2, 1), batched(69, 4, 1)],
        None,
    ),
    (
        "MultilevelProposeROI_TRT",
        "1",
        {"prenms_topk": 20, "keep_topk": 5, "iou_threshold": 0.5, "image_size": [3, 40, 40]},
        [batched(*rest) for rest in LEVELS],
        None,
    ),
    (
        "DetectionLayer_TRT",
        "1",
        DETECTIONS,
        [batched(6, 12, 1, 1), batched(6, 3, 1, 1), batched(6, 4)],
        fill_boxes(2),
    ),
    (
        "GenerateDetection_TRT",
        "1",
        DETECTIONS,
        [batched(6, 12, 1, 1), batched(6, 3, 1, 1), batched(6, 4)],
        fill_boxes(2),
    ),
    (
        "PyramidROIAlign_TRT",
        "1",
        {"pooled_size": 2, "roi_coords_absolute": 0},
        [batched(3, 4), *(batched(2, side, side) for side in (8, 4, 2, 1))],
        fill_boxes(0),
    ),
    (
        "MultilevelCropAndResize_TRT",
        "1",
        {"pooled_size": 2},
        [batched(3, 4), *(batched(2, side, side) for side in (8, 4, 2, 1, 1))],
        fill_boxes(0),
    ),
    (
        "EfficientNMS_ONNX_TRT",
        "1",
        {"score_threshold": 0.1, "iou_threshold": 0.5, "max_output_boxes_per_class": 3},
        [batched(8, 4), batched(8, 3)],
        fill_scores,
    ),
    ("EfficientNMS_Explicit_TF_TRT", "1", TENSORFLOW, [batched(8, 4), batched(8, 3)], fill_scores),
    ("EfficientNMS_Implicit_TF_TRT", "1", TENSORFLOW, [batched(8, 4), batched(8, 3)], fill_scores),
    (
        "VoxelGeneratorPlugin",
        "1",
        {
            "max_num_points_per_voxel": 3,
            "max_voxels": 4,
            "point_cloud_range": [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0],
            "voxel_feature_num": 10,
            "voxel_size": [0.5, 0.5, 2.0],
        },
        [batched(7, 4), ((1,), (2,), (3,))],
        fill_points,
    ),
    (
        "DecodeBbox3DPlugin",
        "1",
        {
            "point_cloud_range": [0.0, -4.0, -3.0, 8.0, 4.0, 1.0],
            "anchors": [4.0, 2.0, 1.5, 0.0, 4.0, 2.0, 1.5, 1.57],
            "anchor_bottom_height": [-1.75],
        },
        [batched(2, 3, 2), batched(2, 3, 14), batched(2, 3, 4)],
        None,
    ),
    ("FlattenConcat_TRT", "1", {"axis": 1, "ignoreBatch": 0}, [batched(3, 4, 5), batched(1, 2, 3)], None),
    ("LReLU_TRT", "1", {"negSlope": 0.25}, [batched(3, 5)], None),
    (
        "Normalize_TRT",
        "1",
        {"weights": [1.0, 2.0, 3.0], "acrossSpatial": 0, "channelShared": 0, "nbWeights": 1, "eps": 1e-3},
        [batched(3, 4, 5)],
        None,
    ),
    ("Reorg_TRT", "12", {"stride": 2}, [batched(4, 4, 6)], None),
    ("ResizeNearest_TRT", "1", {"scale": 1.5}, [batched(3, 4, 5)], None),
    ("ScatterND", "1", {}, [((4, 3, 2),) * 3, ((1, 2), (3, 2), (5, 2)), ((1, 2), (3, 2), (5, 2))], fill_places),
    (
        "BatchedNMSDynamic_TRT",
        "1",
        {
            "shareLocation": 1,
            "backgroundLabelId": -1,
            "numClasses": 3,
            "topK": 6,
            "keepTopK": 4,
            "scoreThreshold": 0.1,
            "iouThreshold": 0.5,
            "isNormalized": 1,
            "clipBoxes": 1,
        },
        [batched(8, 1, 4), batched(8, 3)],
        fill_scores,
    ),
    (
        "EfficientNMS_TRT",
        "1",
        {
            "score_threshold": 0.1,
            "iou_threshold": 0.5,
            "max_output_boxes": 5,
            "background_class": -1,
            "score_activation": 0,
            "box_coding": 0,
        },
        [batched(8, 4), batched(8, 3)],
        fill_scores,
    ),
    (
        "CropAndResizeDynamic",
        "12",
        {"crop_width": 3, "crop_height": 2},
        [batched(2, 6, 7), batched(4, 4, 1)],
        fill_crops,
    ),
    (
        "ROIAlign_TRT",
        "12",
        {
            "coordinate_transformation_mode": 1,
            "mode": 1,
            "output_height": 2,
            "output_width": 3,
            "sampling_ratio": 2,
            "spatial_scale": 1.0,
        },
        [(2, 3, 8, 8), ((1, 4), (3, 4), (5, 4)), ((1,), (3,), (5,))],
        fill_regions,
    ),
    (
        "DisentangledAttention_TRT",
        "12",
        {"span": 3, "factor": 0.5},
        [batched(5, 5), batched(5, 6), batched(5, 6)],
        None,
    ),
    ("GroupNormalizationPlugin", "1", {"eps": 1e-5, "num_groups": 2}, [batched(4, 3, 5), (4,), (4,)], None),
    (
        "InstanceNormalization_TRT",
        "123",
        {"epsilon": 1e-5, "scales": [1.0, 2.0, 0.5], "bias": [0.0, 1.0, -1.0], "relu": 0, "alpha": 0.0},
        [batched(3, 4, 5)],
        None,
    ),
    (
        "ModulatedDeformConv2d",
        "12",
        {"stride": [1, 1], "padding": [1, 1], "dilation": [1, 1], "group": 1, "deformable_group": 1},
        [batched(2, 5, 6), batched(18, 5, 6), batched(9, 5, 6), (3, 2, 3, 3), (3,)],
        None,
    ),
    (
        "MultiscaleDeformableAttnPlugin_TRT",
        "12",
        {},
        [batched(16, 2, 4), (2, 2), (2,), batched(3, 2, 2, 3, 2), batched(3, 2, 2, 3)],
        fill_maps,
    ),
    (
        "PillarScatterPlugin",
        "1",
        {"dense_shape": [5, 6]},
        [batched(8, 4), batched(8, 4), ((1,), (2,), (3,))],
        fill_pillars,
    ),
    ("ScatterElements", "12", {"reduction": "add", "axis": 1}, [batched(5, 4), batched(3, 4), batched(3, 4)], None),
    (
        "CustomSkipLayerNormPluginDynamic",
        "15",
        {"type_id": 0, "ld": 8, "beta": np.linspace(-1, 1, 8), "gamma": np.linspace(0.5, 2, 8)},
        [((3, 1, 8, 1, 1), (3, 2, 8, 1, 1), (3, 4, 8, 1, 1)), ((3, 1, 8, 1, 1), (3, 2, 8, 1, 1), (3, 4, 8, 1, 1))],
        None,
    ),
    (
        "CustomSkipLayerNormPluginDynamic",
        "15",
        {"type_id": 2, "ld": 8, "beta": np.linspace(-1, 1, 8), "gamma": np.linspace(0.5, 2, 8)},
        [((3, 1, 8, 1, 1), (3, 2, 8, 1, 1), (3, 4, 8, 1, 1)), ((3, 1, 8, 1, 1), (3, 2, 8, 1, 1), (3, 4, 8, 1, 1))],
        None,
    ),
    (
        "CustomSkipLayerNormPluginDynamic",
        "26",
        {"type_id": 2, "beta": np.linspace(-1, 1, 8), "gamma": np.linspace(0.5, 2, 8)},
        [batched(5, 8), batched(5, 8)],
        None,
    ),
    (
        "CustomSkipLayerNormPluginDynamic",
        "3478",
        {"beta": np.linspace(-1, 1, 40), "gamma": np.linspace(0.5, 2, 40)},
        [((1, 40, 1, 1), (1, 40, 4, 1), (1, 40, 9, 1)), ((1, 40, 1, 1), (1, 40, 4, 1), (1, 40, 9, 1))],
        None,
    ),
]


@pytest.mark.parametrize("name, versions, fields, shapes, fill", CASES, ids=[case[0] for case in CASES])
def test_stock_plugins_keep_their_promises(
    name: str,
    versions: Sequence[str],
    fields: dict[str, Any],
    shapes: list[Any],
    fill: Callable[[int, np.ndarray], Any] | None,
) -> None:
    assert trt.init_libnvinfer_plugins(trt.Logger(trt.Logger.ERROR), "")
    for version in versions:
        creator = trt.get_plugin_registry().get_creator(name, version, "")
        report = testing.check_plugin(creator, shapes=shapes, fields=fields, fill=fill)
        assert report, f"version {version}: {report}"
        assert report.combinations > 0 and report.runs > 0


def test_no_stock_plugin_is_left_out() -> None:
    """In a process of its own, as other tests register plugins."""
    program = """
import tensorrt as trt
trt.init_libnvinfer_plugins(trt.Logger(trt.Logger.ERROR), "")
for each in trt.get_plugin_registry().all_creators:
    print(each.name, each.plugin_version)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    listed = {tuple(line.split()) for line in done.stdout.splitlines()}
    assert listed == {(name, version) for name, versions, *_ in CASES for version in versions}
