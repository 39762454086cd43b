"""Every property that a program may set on layers, tensors and configurations in Python is what it was set to, and no
other layer's: a row for each of the table of names (python-10.16.json)."""

import collections.abc
import json
import pathlib

import numpy as np
import pytest
import tensorrt as trt

TABLE = pathlib.Path(__file__).resolve().parents[2] / "tools/api/python-10.16.json"
TYPES = {c["name"]: c for c in json.loads(TABLE.read_text())["modules"][0]["classes"]}
FLOATS = np.random.default_rng(5).standard_normal(64).astype(np.float32)


class Parts:
    """A network, and what layers are made of."""

    def __init__(self) -> None:
        self.builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
        self.network = self.builder.create_network()
        self.image = self.network.add_input("image", trt.float32, (1, 4, 6, 8))

    def numbers(self, values: object, kind: type = np.int32) -> trt.ITensor:
        array = np.array(values, kind)
        return self.network.add_constant(array.shape, array).get_output(0)

    def floats(self, *shape: int) -> trt.ITensor:
        return self.numbers(np.ones(shape), np.float32)

    def conv(self) -> trt.IConvolutionLayer:
        return self.network.add_convolution_nd(self.image, 4, (1, 1), FLOATS[:16].copy(), FLOATS[:4].copy())

    def deconv(self) -> trt.IDeconvolutionLayer:
        return self.network.add_deconvolution_nd(self.image, 4, (1, 1), FLOATS[:16].copy(), FLOATS[:4].copy())

    def loop(self) -> trt.ILoop:
        loop = self.network.add_loop()
        loop.add_trip_limit(self.numbers(4), trt.TripLimit.COUNT)
        return loop

    def moe(self) -> trt.IMoELayer:
        hidden, chosen, scores = self.floats(1, 3, 8), self.numbers(np.zeros((1, 3, 2))), self.floats(1, 3, 2)
        return self.network.add_moe(hidden, chosen, scores)

    def attention(self) -> trt.IAttention:
        query, key, value = (self.floats(1, 2, 3, 8) for _ in range(3))
        return self.network.add_attention(query, key, value, trt.AttentionNormalizationOp.SOFTMAX, False)


def layers() -> dict[str, collections.abc.Callable[[Parts], object]]:
    """How an object of each class is made."""
    relu, none = trt.ActivationType.RELU, trt.MatrixOperation.NONE
    four, two = (1, 4, 6, 8), (3, 3)
    return {
        "IActivationLayer": lambda p: p.network.add_activation(p.image, relu),
        "IAssertionLayer": lambda p: p.network.add_assertion(p.numbers(True, np.bool_), "always"),
        "IAttention": Parts.attention,
        "ICastLayer": lambda p: p.network.add_cast(p.image, trt.int32),
        "IConcatenationLayer": lambda p: p.network.add_concatenation([p.image, p.image]),
        "IConstantLayer": lambda p: p.network.add_constant((2, 3), FLOATS[:6].copy()),
        "IConvolutionLayer": Parts.conv,
        "ICumulativeLayer": lambda p: p.network.add_cumulative(
            p.image, p.numbers(1), trt.CumulativeOperation.SUM, False, False
        ),
        "IDeconvolutionLayer": Parts.deconv,
        "IDequantizeLayer": lambda p: p.network.add_dequantize(
            p.network.add_input("small", trt.int8, four), p.floats(4)
        ),
        "IDynamicQuantizeLayer": lambda p: p.network.add_dynamic_quantize(p.floats(2, 32), 1, 16, trt.fp4, trt.fp8),
        "IEinsumLayer": lambda p: p.network.add_einsum([p.floats(*two), p.floats(*two)], "ij,jk->ik"),
        "IElementWiseLayer": lambda p: p.network.add_elementwise(p.image, p.image, trt.ElementWiseOperation.SUM),
        "IFillLayer": lambda p: p.network.add_fill((4,), trt.FillOperation.LINSPACE, trt.float32),
        "IGatherLayer": lambda p: p.network.add_gather(p.image, p.numbers([[1], [2]]), 1),
        "IGridSampleLayer": lambda p: p.network.add_grid_sample(p.image, p.floats(1, 3, 3, 2)),
        "IIfConditional": lambda p: p.network.add_if_conditional(),
        "IIteratorLayer": lambda p: p.loop().add_iterator(p.image, 1, False),
        "IKVCacheUpdateLayer": lambda p: p.network.add_kv_cache_update(
            p.network.add_input("cache", trt.float32, (1, 2, 8, 4)),
            p.floats(1, 2, 1, 4),
            p.numbers([0]),
            trt.KVCacheMode.LINEAR,
        ),
        "ILRNLayer": lambda p: p.network.add_lrn(p.image, 3, 1.0, 0.75, 1.0),
        "ILayer": lambda p: p.network.add_identity(p.image),
        "ILoop": Parts.loop,
        "ILoopOutputLayer": lambda p: p.loop().add_loop_output(p.image, trt.LoopOutput.CONCATENATE, 0),
        "IMatrixMultiplyLayer": lambda p: p.network.add_matrix_multiply(p.floats(*two), none, p.floats(*two), none),
        "IMoELayer": Parts.moe,
        "INMSLayer": lambda p: p.network.add_nms(p.floats(1, 5, 4), p.floats(1, 5, 2), p.numbers(3)),
        "INonZeroLayer": lambda p: p.network.add_non_zero(p.image),
        "INormalizationLayer": lambda p: p.network.add_normalization(
            p.image, p.floats(1, 4, 1, 1), p.floats(1, 4, 1, 1), 4
        ),
        "IOneHotLayer": lambda p: p.network.add_one_hot(p.numbers([1, 2]), p.floats(2), p.numbers(4), -1),
        "IPaddingLayer": lambda p: p.network.add_padding_nd(p.image, (0, 0), (0, 0)),
        "IPoolingLayer": lambda p: p.network.add_pooling_nd(p.image, trt.PoolingType.MAX, (2, 2)),
        "IQuantizeLayer": lambda p: p.network.add_quantize(p.image, p.numbers(1.0, np.float32)),
        "IReduceLayer": lambda p: p.network.add_reduce(p.image, trt.ReduceOperation.SUM, 2, True),
        "IResizeLayer": lambda p: p.network.add_resize(p.image),
        "IReverseSequenceLayer": lambda p: p.network.add_reverse_sequence(p.floats(3, 2, 4), p.numbers([1, 2])),
        "IRotaryEmbeddingLayer": lambda p: p.network.add_rotary_embedding(
            p.floats(1, 2, 3, 8), p.floats(1, 3, 4), p.floats(1, 3, 4), False, 0
        ),
        "IScaleLayer": lambda p: p.network.add_scale(p.image, trt.ScaleMode.UNIFORM, *[FLOATS[:1]] * 3),
        "IScatterLayer": lambda p: p.network.add_scatter(
            p.floats(4, 3), p.numbers([[1], [2]]), p.floats(2, 3), trt.ScatterMode.ND
        ),
        "IShuffleLayer": lambda p: p.network.add_shuffle(p.image),
        "ISliceLayer": lambda p: p.network.add_slice(p.image, (0, 0, 0, 0), (1, 2, 3, 4), (1, 1, 1, 1)),
        "ISoftMaxLayer": lambda p: p.network.add_softmax(p.image),
        "ITensor": lambda p: p.image,
        "ITopKLayer": lambda p: p.network.add_topk(p.image, trt.TopKOperation.MAX, 2, 8),
        "IUnaryLayer": lambda p: p.network.add_unary(p.image, trt.UnaryOperation.ABS),
        "IBuilderConfig": lambda p: p.builder.create_builder_config(),
    }


MADE = layers()
#: What a property that is no enumeration is set to, one after the other: never what it was at first.
KERNEL, BIAS, ROW = FLOATS[16:32].copy(), FLOATS[32:36].copy(), FLOATS[40:46].copy()
GIVEN: dict[str, dict[str, tuple[object, ...]]] = {
    "IActivationLayer": {"alpha": (0.5,), "beta": (-2.0,)},
    "IAssertionLayer": {"message": ("", "lengths differ")},
    "IAttention": {
        "causal": (True, False),
        "decomposable": (True, False),
        "metadata": ("of a head",),
        "name": ("attention of layer 3",),
        "num_ranks": (2, 1),
    },
    "IConcatenationLayer": {"axis": (2, 3)},
    "IConstantLayer": {"shape": ((3, 2), (6,)), "weights": (ROW,)},
    "ICumulativeLayer": {"exclusive": (True, False), "reverse": (True, False)},
    "IDequantizeLayer": {"axis": (1,), "block_shape": ((1, 4, 1, 1),)},
    "IDynamicQuantizeLayer": {"axis": (0,), "block_size": (32,), "block_shape": ((1, 16),)},
    "IEinsumLayer": {"equation": ("ij,kj->ik",)},
    "IFillLayer": {"alpha": (0.5, 3), "beta": (0.25, 2), "shape": ((2, 3),)},
    "IGatherLayer": {"axis": (2,), "num_elementwise_dims": (1,)},
    "IGridSampleLayer": {"align_corners": (True, False)},
    "IIfConditional": {"name": ("whether",)},
    "IIteratorLayer": {"axis": (2,), "reverse": (True, False)},
    "ILRNLayer": {"alpha": (0.5,), "beta": (0.5,), "k": (2.0,), "window_size": (5,)},
    "ILayer": {"metadata": ("from a node",), "name": ("one", "another")},
    "ILoop": {"name": ("steps",)},
    "ILoopOutputLayer": {"axis": (1,)},
    "IMoELayer": {
        "quantization_block_shape": ((1, 1, 16),),
        "swiglu_param_alpha": (1.5,),
        "swiglu_param_beta": (0.5,),
        "swiglu_param_limit": (7.0,),
    },
    "INMSLayer": {"topk_box_limit": (100,)},
    "INormalizationLayer": {"axes": (12,), "epsilon": (0.125,), "num_groups": (2,)},
    "IOneHotLayer": {"axis": (0,)},
    "IPaddingLayer": {"pre_padding_nd": ((1, 2),), "post_padding_nd": ((3, 1),)},
    "IPoolingLayer": {
        "average_count_excludes_padding": (False, True),
        "blend_factor": (0.25,),
        "padding_nd": ((1, 0),),
        "post_padding": ((0, 1),),
        "pre_padding": ((1, 1),),
        "stride_nd": ((1, 2),),
        "window_size_nd": ((3, 2),),
    },
    "IQuantizeLayer": {"axis": (1,), "block_shape": ((1, 4, 1, 1),)},
    "IReduceLayer": {"axes": (8,), "keep_dims": (False, True)},
    "IResizeLayer": {
        "cubic_coeff": (-0.5,),
        "exclude_outside": (True, False),
        "scales": ([1.0, 1.0, 2.0, 0.5],),
        "shape": ((1, 4, 3, 4),),
    },
    "IReverseSequenceLayer": {"batch_axis": (0,), "sequence_axis": (1,)},
    "IRotaryEmbeddingLayer": {"interleaved": (True, False), "rotary_embedding_dim": (4,)},
    "IScaleLayer": {
        "channel_axis": (2,),
        "power": (FLOATS[50:51].copy(),),
        "scale": (FLOATS[51:52].copy(),),
        "shift": (FLOATS[52:53].copy(),),
    },
    "IScatterLayer": {"axis": (1,)},
    "IShuffleLayer": {
        "first_transpose": (trt.Permutation([0, 2, 1, 3]),),
        "reshape_dims": ((4, -1),),
        "second_transpose": (trt.Permutation([1, 0]),),
        "zero_is_placeholder": (False, True),
    },
    "ISliceLayer": {
        "axes": ((0, 1, 2, 3),),
        "shape": ((1, 3, 2, 1),),
        "start": ((0, 1, 0, 2),),
        "stride": ((1, 1, 2, 3),),
    },
    "ISoftMaxLayer": {"axes": (8,)},
    "ITensor": {
        "allowed_formats": (1 << int(trt.TensorFormat.HWC),),
        "dynamic_range": ((-2.0, 2.0),),
        "name": ("picture",),
        "shape": ((2, 4, 6, 8), (-1, 4, 6, 8)),
    },
    "ITopKLayer": {"axes": (4,), "k": (3,)},
    "IBuilderConfig": {
        "avg_timing_iterations": (4,),
        "builder_optimization_level": (5,),
        "flags": (1 << int(trt.BuilderFlag.REFIT),),
        "l2_limit_for_tiling": (1 << 20,),
        "max_aux_streams": (2,),
        "max_num_tactics": (7,),
        "plugins_to_serialize": (["libone.so", "libtwo.so"],),
        "quantization_flags": (1 << int(trt.QuantizationFlag.CALIBRATE_BEFORE_FUSION), 0),
    },
}
PRODUCT = {
    "bias": (BIAS,),
    "dilation_nd": ((2, 1),),
    "kernel": (KERNEL,),
    "kernel_size_nd": ((2, 2),),
    "num_groups": (2,),
    "num_output_maps": (8,),
    "padding_nd": ((1, 1),),
    "post_padding": ((1, 0),),
    "pre_padding": ((0, 1),),
    "stride_nd": ((2, 1),),
}
GIVEN |= {"IConvolutionLayer": PRODUCT, "IDeconvolutionLayer": PRODUCT}
#: The members of an enumeration that a property takes where those are not all.
TAKEN = {
    ("IAttention", "normalization_quantize_to_type"): {"INT8", "FP8"},
    ("IGridSampleLayer", "sample_mode"): {"CLAMP", "FILL", "REFLECT"},
    ("INMSLayer", "indices_type"): {"INT32", "INT64"},
    ("ITensor", "location"): {"DEVICE"},  # Where a tensor lies follows from what it is for.
}
#: Properties that tests of their own show: those whose values are other objects.
ELSEWHERE = {
    ("IAttention", "mask"): "test_attention.py",
    ("IAttention", "normalization_quantize_scale"): "test_attention.py",
    ("IBuilderConfig", "DLA_core"): "test_runtime_options.py",
    ("IBuilderConfig", "algorithm_selector"): "test_algorithm_selector.py",
    ("IBuilderConfig", "int8_calibrator"): "test_calibration.py",
    ("IBuilderConfig", "profile_stream"): "test_builder_calls.py",
    ("IBuilderConfig", "progress_monitor"): "test_threads.py",
    ("IBuilderConfig", "remote_auto_tuning_config"): "test_builder_calls.py",
    ("ILayer", "num_ranks"): "test_mixture_layers.py",
    ("ITensor", "broadcast_across_batch"): "test_builder_calls.py",
}


def settable() -> list[tuple[str, str]]:
    """All properties that can be written, of what MADE makes and of whatever else is a layer."""
    names = [name for name in TYPES if name in MADE or (name.startswith("I") and name.endswith("Layer"))]
    return [(n, a["name"]) for n in names for a in TYPES[n]["attributes"] if a["access"] == "rw"]


def values(kind: str, name: str, now: object) -> list[object]:
    if name in GIVEN.get(kind, {}):
        return list(GIVEN[kind][name])
    members = getattr(type(now), "__members__", {})
    assert members, f"nothing to set {kind}.{name} to, which is {now!r}"
    return [member for text, member in members.items() if text in TAKEN.get((kind, name), members)]


def plain(value: object) -> object:
    """To compare: arrays, extents and permutations as tuples; a permutation without the axes behind, which stay."""
    if isinstance(value, trt.Dims):
        return tuple(value) if value.nbDims >= 0 else None
    if isinstance(value, trt.Permutation):
        value = list(value)
        while value and value[-1] == len(value) - 1:
            value.pop()
    return tuple(value) if isinstance(value, (np.ndarray, list, tuple)) else value


@pytest.mark.parametrize(("kind", "name"), [each for each in settable() if each not in ELSEWHERE])
def test_a_property_is_what_it_was_set_to(kind: str, name: str) -> None:
    parts = Parts()
    one, other = MADE[kind](parts), MADE[kind](Parts())
    before = plain(getattr(other, name))
    tried = values(kind, name, getattr(one, name))
    for value in tried:
        setattr(one, name, value)
        assert plain(getattr(one, name)) == plain(value), value
    assert plain(getattr(other, name)) == before, "another network's"
    assert len(tried) == 1 or any(plain(value) != before for value in tried), f"{name} was {before} all along"


def test_what_is_shown_elsewhere_is_there() -> None:
    here = pathlib.Path(__file__).parent
    for (_, name), file in ELSEWHERE.items():
        assert name in (here / file).read_text(), f"{file} does not name {name}"
