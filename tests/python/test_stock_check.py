"""Every stock plugin, in every version, under the checking host."""

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
        {
            "output_fp16": 0,
            "bert_embeddings_layernorm_beta": np.linspace(-1, 1, 8),
            "bert_embeddings_layernorm_gamma": np.linspace(0.5, 2, 8),
            "bert_embeddings_word_embeddings": np.linspace(-2, 2, 40),
            "bert_embeddings_token_type_embeddings": np.linspace(-1, 2, 16),
            "bert_embeddings_position_embeddings": np.linspace(-3, 2, 32),
        },
        [((3, 1), (3, 2), (3, 4))] * 3,
        fill_ids,
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
