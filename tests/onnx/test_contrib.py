"""Operators of the domain com.microsoft, and quantized and chosen elements, beside ONNX Runtime."""

import dataclasses

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from running import Refused, check_equal, plan_of, run

RNG = np.random.default_rng(11)


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> np.ndarray:
    return RNG.uniform(low, high, shape).astype(np.float32)


def bytes_(*shape: int, dtype: type = np.uint8) -> np.ndarray:
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max + 1, shape).astype(dtype)


@dataclasses.dataclass
class One:
    """A node; None: an input that is left out. Inputs in `known` are initializers."""

    op: str
    inputs: list
    attributes: dict = dataclasses.field(default_factory=dict)
    known: tuple = ()
    outputs: tuple = ("y",)
    domain: str = "com.microsoft"
    note: str = ""

    def __str__(self) -> str:
        return f"{self.op}-{self.note or len(self.inputs)}"

    def model(self, dynamic: bool) -> onnx.ModelProto:
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(self.inputs)]
        node = helper.make_node(self.op, names, list(self.outputs), domain=self.domain, **self.attributes)
        infos, constants = [], []
        for i, (name, array) in enumerate(zip(names, self.inputs, strict=True)):
            if i in self.known:
                constants.append(onnx.numpy_helper.from_array(array, name))
            elif name:
                shape = [f"{name}_{k}" if dynamic and k == 0 else n for k, n in enumerate(array.shape)]
                infos.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), shape))
        results = [helper.make_empty_tensor_value_info(name) for name in self.outputs if name]
        graph = helper.make_graph([node], "g", infos, results, constants)
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def feed(self) -> dict[str, np.ndarray]:
        return {f"x{i}": x for i, x in enumerate(self.inputs) if x is not None and i not in self.known}


def scale(value: float) -> np.ndarray:
    return np.float32(value).reshape(())


def zero(value: int, dtype: type = np.uint8) -> np.ndarray:
    return np.array(value, dtype)


POSITIONS = np.array([[0, 3, 1, 4, 2], [5, 0, 2, 6, 1]])
ANGLES = RNG.uniform(-3, 3, (7, 4))
CACHES = [np.cos(ANGLES).astype(np.float32), np.sin(ANGLES).astype(np.float32)]
WIDE = RNG.uniform(-3, 3, (7, 8))
WIDE_CACHES = [np.cos(WIDE).astype(np.float32), np.sin(WIDE).astype(np.float32)]
A, B = bytes_(3, 4, 5), bytes_(3, 4, 5)
ONES = [
    One("Gelu", [floats(2, 3, 4)]),
    One("BiasGelu", [floats(2, 3, 4), floats(4)]),
    One("FastGelu", [floats(2, 3, 4)]),
    One("FastGelu", [floats(2, 3, 4), floats(4)]),
    One("QuickGelu", [floats(2, 3, 4)], {"alpha": 1.5}),
    One("SkipLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8), floats(8), floats(8)],
        {"epsilon": 1e-5}),
    One("SkipLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8)], note="with-sum", known=(2,),
        outputs=("y", "", "", "sum")),
    One("SkipSimplifiedLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8)], {"epsilon": 1e-5}),
    One("FusedMatMul", [floats(2, 4, 3), floats(2, 4, 5)], {"transA": 1, "alpha": 0.5}),
    One("FusedMatMul", [floats(2, 3, 4), floats(2, 5, 4)], {"transB": 1}, note="turned"),
    One("FusedMatMul", [floats(3, 2, 4), floats(2, 4, 5)], {"transBatchA": 1}, note="batch"),
    One("TransposeMatMul", [floats(2, 4, 3), floats(2, 4, 5)], {"transA": 1}),
    One("SimplifiedLayerNormalization", [floats(2, 3, 8), floats(8)], {"epsilon": 1e-3}, domain="",
        outputs=("y", "root")),
    One("SimplifiedLayerNormalization", [floats(2, 3, 4, 8), floats(4, 8)], {"axis": 2}, domain="", note="two-axes"),
    One("QLinearGlobalAveragePool", [bytes_(2, 3, 7, 6), scale(0.02), zero(120), scale(0.015), zero(100)],
        {"channels_last": 0}, known=(1, 2, 3, 4)),
    One("QLinearAdd", [A, scale(0.02), zero(120), B, scale(0.03), zero(100), scale(0.05), zero(110)],
        known=(1, 2, 4, 5, 6, 7)),
    One("QLinearMul", [A, scale(0.02), zero(120), B, scale(0.03), zero(100), scale(0.05), zero(110)],
        known=(1, 2, 4, 5, 6, 7)),
    One("QLinearSigmoid", [A, scale(0.05), zero(128), scale(1 / 256), zero(0)], known=(1, 2, 3, 4)),
    One("QLinearLeakyRelu", [A, scale(0.05), zero(128), scale(0.05), zero(20)], {"alpha": 0.25}, known=(1, 2, 3, 4)),
    One("QLinearConcat", [scale(0.04), zero(99), A, scale(0.02), zero(120), B, scale(0.03), zero(100)], {"axis": 1},
        known=(0, 1, 3, 4, 6, 7)),
    One("QLinearSoftmax", [A, scale(0.03), zero(120), scale(1 / 256), zero(0)], {"axis": 1, "opset": 13},
        known=(1, 2, 3, 4)),
    One("QLinearSoftmax", [A, scale(0.03), zero(120), scale(1 / 256), zero(0)], {"axis": 1, "opset": 12},
        known=(1, 2, 3, 4), note="all-axes-behind"),
    One("QLinearAveragePool", [bytes_(2, 3, 7, 6), scale(0.02), zero(120), scale(0.015), zero(100)],
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "count_include_pad": 1},
        known=(1, 2, 3, 4)),
    One("QLinearAveragePool", [bytes_(2, 7, 6, 3), scale(0.02), zero(120), scale(0.015), zero(100)],
        {"kernel_shape": [3, 2], "channels_last": 1}, known=(1, 2, 3, 4), note="channels-last"),
    One("QLinearWhere", [RNG.random((3, 4, 5)) < 0.5, A, scale(0.02), zero(120), B, scale(0.03), zero(100),
        scale(0.05), zero(110)], known=(2, 3, 5, 6, 7, 8)),
    One("QGemm", [bytes_(3, 40), scale(0.02), zero(120), bytes_(40, 5), scale(0.03), zero(100),
        np.arange(5, dtype=np.int32) * 99, scale(0.9), zero(110)], known=(1, 2, 3, 4, 5, 6, 7, 8)),
    One("QGemm", [bytes_(40, 3), scale(0.02), zero(120), bytes_(5, 40, dtype=np.int8), floats(5, low=0.01, high=0.05),
        np.zeros(5, np.int8)], {"transA": 1, "transB": 1, "alpha": 0.5}, known=(1, 2, 3, 4, 5), note="real"),
    One("DynamicQuantizeMatMul", [floats(2, 3, 40), bytes_(40, 5), scale(0.03), zero(100)], known=(1, 2, 3)),
    One("DynamicQuantizeMatMul", [floats(3, 40, high=5), bytes_(40, 5, dtype=np.int8), floats(5, low=0.01, high=0.05),
        bytes_(5, dtype=np.int8), floats(5)], known=(1, 2, 3, 4), note="columns"),
    One("MatMulIntegerToFloat", [bytes_(2, 3, 40), bytes_(40, 5), scale(0.02), floats(5, low=0.01, high=0.05),
        zero(120), bytes_(5), floats(5)], known=(1, 2, 3)),
    One("RotaryEmbedding", [floats(2, 3, 5, 8), POSITIONS, *CACHES], known=(2, 3)),
    One("RotaryEmbedding", [floats(2, 3, 5, 8), POSITIONS, *CACHES], {"interleaved": 1}, known=(2, 3),
        note="neighbours"),
    One("RotaryEmbedding", [floats(2, 5, 24), POSITIONS, *CACHES], known=(2, 3), note="flat"),
    One("RotaryEmbedding", [floats(2, 3, 5, 8), np.array([1]), *CACHES], known=(2, 3), note="offset"),
    One("MultiHeadAttention", [floats(2, 5, 24), floats(2, 7, 24), floats(2, 7, 24)], {"num_heads": 3}),
    One("MultiHeadAttention", [floats(2, 5, 24), floats(2, 7, 24), floats(2, 7, 24), floats(72),
        np.array([[1, 1, 1, 1, 1, 0, 0], [1] * 7], np.int32), floats(1, 3, 5, 7)], {"num_heads": 3, "scale": 0.4},
        note="bias-mask-addend"),
    One("MultiHeadAttention", [floats(2, 5, 24), floats(2, 5, 24), floats(2, 5, 24), None, None, None,
        floats(2, 3, 4, 8), floats(2, 3, 4, 8)], {"num_heads": 3, "unidirectional": 1}, note="past",
        outputs=("y", "keys", "values")),
    One("MultiHeadAttention", [floats(2, 3, 8), floats(2, 3, 8), floats(2, 3, 8), None,
        np.array([[1, 1, 0], [1, 0, 0]], np.int32)], {"num_heads": 2, "mask_filter_value": -1.0}, note="filter"),
    One("Attention", [floats(2, 5, 12), floats(12, 36), floats(36), np.array([3, 5], np.int32)],
        {"num_heads": 3, "mask_filter_value": -0.5}, known=(1, 2), note="filter-lengths"),
    One("Attention", [floats(2, 5, 12), floats(12, 36), floats(36), np.zeros((2, 1), np.int32)],
        {"num_heads": 3, "unidirectional": 1}, known=(1, 2), note="dummy-mask"),
    *(One("FusedMatMul", [floats(*a), floats(*b)], {"alpha": 0.5, "transB": t}, note=f"{len(a)}-{len(b)}-{t}")
      for a, b, t in (((4,), (4, 3), 0), ((4,), (2, 4, 3), 0), ((2, 4), (4,), 1), ((2, 3), (4, 3), 1))),
    One("Attention", [floats(2, 5, 12), floats(12, 36), floats(36), np.array([3, 5], np.int32)], {"num_heads": 3},
        known=(1, 2), note="joint"),
    One("Attention", [floats(2, 5, 12), floats(12, 36), floats(36), None, floats(2, 2, 3, 4, 4)],
        {"num_heads": 3, "unidirectional": 1}, known=(1, 2), note="joint-past", outputs=("y", "present")),
    One("QAttention", [bytes_(2, 5, 12), bytes_(12, 36), floats(36), scale(0.02), scale(0.01), None, zero(100),
        zero(130)], {"num_heads": 3}, known=(1, 2, 3, 4, 6, 7)),
    One("GroupQueryAttention", [floats(2, 1, 64), floats(2, 1, 32), floats(2, 1, 32), floats(2, 2, 6, 16),
        floats(2, 2, 6, 16), np.array([6, 6], np.int32), np.array(7, np.int32), *WIDE_CACHES],
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1}, known=(6, 7, 8), note="decode",
        outputs=("y", "keys", "values")),
    One("GroupQueryAttention", [floats(2, 5, 128), None, None, floats(2, 2, 0, 16), floats(2, 2, 0, 16),
        np.array([4, 4], np.int32), np.array(5, np.int32), *WIDE_CACHES],
        {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "rotary_interleaved": 1, "local_window_size": 3},
        known=(6, 7, 8), note="prompt", outputs=("y", "keys", "values")),
    One("MatMulNBits", [floats(3, 40), bytes_(6, 2, 16), floats(12, low=-0.1, high=0.1)],
        {"K": 40, "N": 6, "bits": 4, "block_size": 32}, known=(1, 2), note="symmetric"),
    One("MatMulNBits", [floats(2, 3, 64), bytes_(6, 4, 8), floats(24, low=0.01, high=0.1), bytes_(12)],
        {"K": 64, "N": 6, "bits": 4, "block_size": 16}, known=(1, 2, 3), note="zero-points"),
    One("NonMaxSuppression", [floats(2, 30, 4, low=0, high=4), floats(2, 5, 30, low=0, high=1), np.array([4]),
        np.array([0.3], np.float32), np.array([0.25], np.float32)], domain="", note="classes"),
    One("NonMaxSuppression", [floats(1, 30, 4, low=0, high=4), floats(1, 3, 30, low=0, high=1), np.array([40])],
        {"center_point_box": 1}, domain="", known=(2,), note="centres"),
    One("RoiAlign", [floats(2, 3, 12, 9), np.array([[0, 1, 7, 9], [2.5, 3, 4, 3.5], [-3, -2, 14, 20]], np.float32),
        np.array([0, 1, 1])], {"output_height": 3, "output_width": 2, "sampling_ratio": 2, "spatial_scale": 0.75},
        domain=""),
    One("RoiAlign", [floats(2, 3, 12, 9), np.array([[0, 1, 7, 9], [2.5, 3, 4, 3.5], [-3, -2, 14, 20]], np.float32),
        np.array([0, 1, 1])], {"output_height": 3, "output_width": 2}, domain="", note="as-many-as-fit"),
    One("RoiAlign", [floats(2, 3, 12, 9), np.array([[0, 1, 7, 9], [2.5, 3, 4, 3.5], [1, 2, 8, 10]], np.float32),
        np.array([0, 1, 1])], {"output_height": 3, "output_width": 2, "sampling_ratio": 2, "mode": "max",
        "coordinate_transformation_mode": "output_half_pixel"}, domain="", note="maxima"),
    One("QuantizeLinear", [floats(3, 4, 5, high=9), floats(4, low=0.02, high=0.1), bytes_(4)], {"axis": 1}, domain="",
        note="asymmetric-channels"),
    One("DequantizeLinear", [A, floats(4, low=0.02, high=0.1), bytes_(4)], {"axis": 1}, domain="",
        note="asymmetric-channels"),
    One("Unique", [RNG.integers(-40, 40, 3000)], domain="", note="many", outputs=("y", "i", "j", "c")),
    One("Unique", [RNG.integers(-40, 40, 3000)], {"sorted": 0}, domain="", note="many-in-order",
        outputs=("y", "i", "j", "c")),
    One("DequantizeLinear", [np.arange(-9, 9, dtype=np.int32).reshape(3, 6), floats(6, low=0.1, high=1)],
        {"axis": 1}, domain="", note="int32"),
    One("DynamicQuantizeLinear", [floats(3, 70, low=-1, high=5)], domain="", outputs=("y", "s", "z")),
    One("DynamicQuantizeLinear", [np.zeros((3, 7), np.float32)], domain="", outputs=("y", "s", "z"), note="of-zeros"),
    One("DynamicQuantizeLinear", [floats(90, 700, low=-9, high=-2)], domain="", outputs=("y", "s", "z"), note="many"),
    One("DynamicQuantizeLinear", [floats(5, 3, low=2, high=9)], domain="", outputs=("y", "s", "z"), note="above-zero"),
    One("MatMulInteger", [bytes_(2, 3, 700), bytes_(700, 5), zero(128), zero(131)], domain="", note="long-sums"),
    # Without VNNI ONNX Runtime lets such sums saturate, except with weights that it can change.
    One("MatMulInteger", [bytes_(2, 3, 700), bytes_(700, 5, dtype=np.int8), zero(128), zero(3, np.int8)], domain="",
        known=(1, 3), note="long-sums-signed"),
    One("ConvInteger", [bytes_(1, 60, 5, 6), bytes_(4, 60, 3, 3), zero(100), zero(7)], {"pads": [1, 1, 1, 1]},
        domain="", known=(1,), note="long-sums"),
    One("QLinearMatMul", [bytes_(3, 40), scale(0.02), zero(120), bytes_(40, 5), scale(0.03), zero(100), scale(0.9),
        zero(110)], domain="", known=(1, 2, 4, 5, 6, 7)),
    One("QLinearConv", [bytes_(1, 3, 6, 6), scale(0.02), zero(120), bytes_(4, 3, 3, 3, dtype=np.int8),
        floats(4, low=0.01, high=0.05), zero(0, np.int8), scale(0.5), zero(110), np.arange(4, dtype=np.int32) * 99],
        domain="", known=(1, 2, 3, 4, 5, 6, 7, 8)),
    One("BitShift", [bytes_(50, 60), bytes_(50, 60) % np.uint8(8)], {"direction": "LEFT"}, domain="", note="left"),
    One("BitShift", [bytes_(50, 60), bytes_(50, 60) % np.uint8(8)], {"direction": "RIGHT"}, domain="", note="right"),
    One("Compress", [floats(4, 5), np.array([True, False, True, True])], {"axis": 0}, domain=""),
    One("Unique", [np.array([5, 2, 5, 3, 2, 9, 0], np.int64)], domain="", outputs=("y", "i", "j", "c")),
    One("Unique", [np.array([5, 2, 5, 3, 2, 9, 0], np.int64)], {"sorted": 0}, domain="", note="in-order",
        outputs=("y", "i", "j", "c")),
    One("Einsum", [floats(2, 3, 4), floats(2, 4, 5)], {"equation": "Bij,Bjk->Bik"}, domain="", note="capitals"),
]  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("one", ONES, ids=str)
def test_operator(one: One, dynamic: bool) -> None:
    model, feed = one.model(dynamic), one.feed()
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.x64quantprecision", "1")  # No sums that saturate without VNNI.
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    (found,) = run(plan_of(model, [feed]), [feed])
    for info, expected in zip(session.get_outputs(), session.run(None, feed), strict=True):
        result = found[info.name]
        assert result.dtype == expected.dtype
        if (
            one.op.startswith(("QLinear", "QGemm")) and result.dtype.kind != "f"
        ):  # A half may fall to either side: one step.
            assert np.abs(result.astype(int) - expected.astype(int)).max() <= 1
        else:
            check_equal(result, expected, f"{one} {info.name}")


def test_what_is_not_told_is_refused_by_name() -> None:
    one = One("SkipLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8), floats(8)], outputs=("y", "mean"))
    with pytest.raises(Refused, match="whose mean or deviation is read"):
        plan_of(one.model(False), [one.feed()])
    unknown = One("NoSuchOperator", [floats(2)])
    with pytest.raises(Refused, match="operator 'NoSuchOperator' of domain 'com.microsoft' is not supported"):
        plan_of(unknown.model(False), [unknown.feed()])


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("scales", ["one", "per gate"])
@pytest.mark.parametrize("kind", [np.int8, np.uint8])
def test_lstm_of_quantized_weights(direction: str, scales: str, kind: type) -> None:
    """As an LSTM of what the weights stand for; ONNX Runtime quantizes states in each step, and is not as near. Where a
    machine has no VNNI, its sums of two products with int8 weights have 16 bits, in which those of 7 bits have room."""
    steps, batch, columns, hidden = 6, 2, 16, 8
    ways = 2 if direction == "bidirectional" else 1
    shape = (ways, 4 * hidden) if scales == "per gate" else (ways,)
    weights, states = bytes_(ways, columns, 4 * hidden, dtype=kind), bytes_(ways, hidden, 4 * hidden, dtype=kind)
    if kind == np.int8:
        weights, states = weights // 2, states // 2
    factors = [floats(*shape, low=0.002, high=0.005) for _ in range(2)]
    zeros = [np.full(shape, 128 if kind == np.uint8 else 0, kind)] * 2  # ONNX Runtime takes no others per gate.
    x, bias = floats(steps, batch, columns), floats(ways, 8 * hidden)
    attributes = {"hidden_size": hidden, "direction": direction}
    one = One(
        "DynamicQuantizeLSTM",
        [x, weights, states, bias, None, None, None, None, factors[0], zeros[0], factors[1], zeros[1]],
        attributes, known=(1, 2, 3, 8, 9, 10, 11), outputs=("y", "h", "c"),
    )  # fmt: skip
    (found,) = run(plan_of(one.model(False), [one.feed()]), [one.feed()])

    def real(numbers: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
        along = (ways, 1, -1)
        whole = numbers.astype(np.float32) - zero.reshape(along).astype(np.float32)
        return np.ascontiguousarray((whole * scale.reshape(along)).transpose(0, 2, 1))

    plain = One("LSTM", [x, real(weights, factors[0], zeros[0]), real(states, factors[1], zeros[1]), bias], attributes,
                known=(1, 2, 3), outputs=("y", "h", "c"), domain="")  # fmt: skip
    for each, tolerance in ((plain, 1e-5), (one, 0.05)):
        session = onnxruntime.InferenceSession(
            each.model(False).SerializeToString(), providers=["CPUExecutionProvider"]
        )
        for info, expected in zip(session.get_outputs(), session.run(None, each.feed()), strict=True):
            np.testing.assert_allclose(found[info.name], expected, atol=tolerance, err_msg=each.op)


def test_mean_of_quantized_numbers() -> None:
    """ONNX Runtime's package has no kernel for it."""
    operands, attributes = [A, scale(0.02), zero(120), scale(0.015), zero(100)], {"axes": [0, 2], "keepdims": 0}
    one = One("QLinearReduceMean", operands, attributes, known=(1, 2, 3, 4))
    (found,) = run(plan_of(one.model(False), [one.feed()]), [one.feed()])
    mean = ((A.astype(np.float64) - 120) * 0.02).mean((0, 2))
    np.testing.assert_array_less(np.abs(found["y"] - np.clip(np.rint(mean / 0.015) + 100, 0, 255)), 1.01)


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_the_least_number_as_filter_leaves_no_nan(kind: str) -> None:
    """In a row whose keys are all hidden; it is float32's also in models of 16 bits."""
    mask = np.array([[1, 1, 0], [0, 0, 0]], np.int32)
    given = [floats(2, 3, 8).astype(kind) for _ in range(3)]
    attributes = {"num_heads": 2, "mask_filter_value": float(np.finfo(np.float32).min)}
    one = One("MultiHeadAttention", [*given, None, mask], attributes)
    model, feed = one.model(False), one.feed()
    (found,) = run(plan_of(model, [feed]), [feed])
    assert np.isfinite(found["y"]).all()
    (want,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)
    check_equal(found["y"][0], want[0], "rows that see keys")
    if kind == "float32":  # In 16 bits its place is taken by a number beside which scores count.
        check_equal(found["y"], want, "all rows")


def test_caches_of_a_fixed_length_are_refused() -> None:
    keys = floats(2, 1, 32)
    one = One(
        "GroupQueryAttention",
        [floats(2, 1, 64), keys, keys, floats(2, 2, 6, 16), floats(2, 2, 6, 16), np.array([2, 2], np.int32),
         np.array(3, np.int32)],
        {"num_heads": 4, "kv_num_heads": 2},
        known=(6,),
    )  # fmt: skip
    with pytest.raises(Exception, match=r"3 keys in all \(total_sequence_length\), of 6 before and 1 new ones"):
        plan_of(one.model(False), [one.feed()])
