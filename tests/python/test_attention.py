"""IAttention by the public calls of 10.16 and 11.1, against NumPy (E27)."""

import numpy as np
import pytest
import tensorrt as trt
from test_detection_layers import Net

SOFTMAX = trt.AttentionNormalizationOp.SOFTMAX


def uniform(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.uniform(-1, 1, shape).astype(np.float32)


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray | float = 0.0) -> np.ndarray:
    """softmax(q k^T + bias) v: the layer has no scale of its own."""
    scores = np.einsum("...qd,...kd->...qk", q.astype(np.float64), k) + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


def lower_right(rows: int, keys: int) -> np.ndarray:
    return np.where(np.arange(keys) <= np.arange(rows)[:, None] + keys - rows, 0.0, -np.inf)


def upper_left(rows: int, keys: int) -> np.ndarray:
    return np.where(np.arange(keys) <= np.arange(rows)[:, None], 0.0, -np.inf)


def operands(net: Net, *arrays: np.ndarray) -> list[trt.ITensor]:
    return [net.input(array) for array in arrays]


class AttentionNet(Net):
    """The object's output stands for the layer's."""

    def run(self, attention: trt.IAttention) -> list[np.ndarray]:
        return super().run(self.network[self.network.num_layers - 1])


def test_what_it_starts_with_and_the_layers_at_its_borders() -> None:
    rng, net = np.random.default_rng(1), AttentionNet()
    q, k, v = uniform(rng, 2, 3, 4, 8), uniform(rng, 2, 3, 5, 8), uniform(rng, 2, 3, 5, 6)
    attention = net.network.add_attention(*operands(net, q, k, v), SOFTMAX, False)
    assert type(attention) is trt.IAttention
    assert (attention.num_inputs, attention.num_outputs, attention.num_ranks) == (3, 1, 1)
    assert attention.norm_op == SOFTMAX and not attention.causal and not attention.decomposable
    assert attention.mask is None and attention.normalization_quantize_scale is None
    assert attention.causal_kind == trt.CausalMaskKind.NONE
    assert attention.query_form == attention.key_value_form == trt.AttentionIOForm.PADDED_BHND
    assert attention.query_lengths is None and attention.key_value_lengths is None
    assert [attention.get_input(i).name for i in range(3)] == ["in0", "in1", "in2"]
    assert attention.get_input(3) is None and attention.get_output(1) is None
    assert tuple(attention.get_output(0).shape) == (2, 3, 4, 6)
    first, last = net.network[0], net.network[1]
    assert (first.type, last.type) == (trt.LayerType.ATTENTION_INPUT, trt.LayerType.ATTENTION_OUTPUT)
    first.__class__, last.__class__ = trt.IAttentionInputLayer, trt.IAttentionOutputLayer
    assert first.attention is attention and last.attention is attention
    attention.name, attention.metadata = "heads", "of the decoder"
    assert (attention.name, attention.metadata) == ("heads", "of the decoder")
    (found,) = net.run(attention)
    np.testing.assert_allclose(found, attended(q, k, v), atol=1e-5)


@pytest.mark.parametrize("flags", [True, False])
def test_a_mask_of_flags_or_of_what_is_added(flags: bool) -> None:
    rng, net = np.random.default_rng(2), AttentionNet()
    q, k, v = uniform(rng, 1, 2, 4, 8), uniform(rng, 1, 2, 5, 8), uniform(rng, 1, 2, 5, 6)
    attention = net.network.add_attention(*operands(net, q, k, v), SOFTMAX, False)
    seen = rng.random((1, 1, 4, 5)) < 0.6
    seen[..., 0] = True
    bias = uniform(rng, 1, 2, 4, 5)
    attention.mask = net.constant(seen if flags else bias)
    attention.decomposable = True
    assert attention.mask is not None and attention.decomposable
    with pytest.raises(RuntimeError, match="IAttention.causal refused"):
        attention.causal = True  # A mask and causal exclude each other.
    layers = [layer for layer in net.network if layer.type == trt.LayerType.ATTENTION_OUTPUT]
    (found,) = Net.run(net, layers[0])
    np.testing.assert_allclose(found, attended(q, k, v, np.where(seen, 0.0, -np.inf) if flags else bias), atol=1e-5)


@pytest.mark.parametrize(("kind", "hidden"), [("LOWER_RIGHT", lower_right), ("UPPER_LEFT", upper_left)])
def test_attention_v2_lays_the_causal_mask_at_either_corner(kind: str, hidden) -> None:
    rng, net = np.random.default_rng(3), AttentionNet()
    q, k, v = uniform(rng, 2, 2, 3, 8), uniform(rng, 2, 2, 6, 8), uniform(rng, 2, 2, 6, 4)
    attention = net.network.add_attention_v2(*operands(net, q, k, v), SOFTMAX, trt.CausalMaskKind[kind])
    assert attention.causal_kind == trt.CausalMaskKind[kind] and attention.causal
    (found,) = net.run(attention)
    np.testing.assert_allclose(found, attended(q, k, v, hidden(3, 6)), atol=1e-5)


def test_packed_sequences_of_unlike_lengths() -> None:
    rng, net = np.random.default_rng(4), AttentionNet()
    rows, keys = [3, 1, 4], [5, 2, 4]
    q, k, v = uniform(rng, sum(rows), 4, 8), uniform(rng, sum(keys), 2, 8), uniform(rng, sum(keys), 2, 6)
    attention = net.network.add_attention_v2(*operands(net, q, k, v), SOFTMAX, trt.CausalMaskKind.LOWER_RIGHT)
    starts = [np.cumsum([0, *lengths]).astype(np.int32) for lengths in (rows, keys)]
    attention.query_form = attention.key_value_form = trt.AttentionIOForm.PACKED_NHD
    attention.query_lengths, attention.key_value_lengths = (net.input(each) for each in starts)
    assert attention.query_form == trt.AttentionIOForm.PACKED_NHD
    assert attention.query_lengths.name == "in3" and attention.key_value_lengths.name == "in4"
    (found,) = net.run(attention)
    for i in range(3):
        own, other = slice(*starts[0][i : i + 2]), slice(*starts[1][i : i + 2])
        repeated = [x[other].repeat(2, 1).swapaxes(0, 1) for x in (k, v)]  # Two heads of queries for one of keys.
        expected = attended(q[own].swapaxes(0, 1), *repeated, lower_right(rows[i], keys[i]))
        np.testing.assert_allclose(found[own].swapaxes(0, 1), expected, atol=1e-5)


def test_padded_keys_of_which_some_count() -> None:
    rng, net = np.random.default_rng(5), AttentionNet()
    q, k, v = uniform(rng, 3, 2, 2, 8), uniform(rng, 3, 2, 7, 8), uniform(rng, 3, 2, 7, 4)
    lengths = np.array([7, 1, 4], np.int32)
    attention = net.network.add_attention_v2(*operands(net, q, k, v), SOFTMAX, trt.CausalMaskKind.NONE)
    attention.key_value_lengths = net.input(lengths)
    (found,) = net.run(attention)
    bias = np.where(np.arange(7) < lengths[:, None, None, None], 0.0, -np.inf)
    np.testing.assert_allclose(found, attended(q, k, v, bias), atol=1e-5)


@pytest.mark.parametrize("kind", ["NONE", "UPPER_LEFT", "LOWER_RIGHT"])
def test_lengths_that_no_keys_have_count_as_the_nearest(kind: str) -> None:
    rng = np.random.default_rng(8)
    q, k, v = uniform(rng, 4, 2, 3, 8), uniform(rng, 4, 2, 7, 8), uniform(rng, 4, 2, 7, 4)
    found = []
    for lengths in ([7, 7, 0, 5], [9, 2**31 - 1, -3, 5]):
        net = AttentionNet()
        attention = net.network.add_attention_v2(*operands(net, q, k, v), SOFTMAX, getattr(trt.CausalMaskKind, kind))
        attention.key_value_lengths = net.input(np.array(lengths, np.int32))
        found += net.run(attention)
    np.testing.assert_array_equal(*found)
    assert np.isfinite(found[0]).all() and not found[0][2].any()


def test_products_that_are_quantized_after_the_softmax() -> None:
    rng, net = np.random.default_rng(6), AttentionNet()
    q, k, v = uniform(rng, 1, 2, 3, 8), uniform(rng, 1, 2, 5, 8), uniform(rng, 1, 2, 5, 4)
    attention = net.network.add_attention(*operands(net, q, k, v), SOFTMAX, False)
    attention.normalization_quantize_scale = net.constant(np.float32(1 / 127))
    attention.normalization_quantize_to_type = trt.int8
    assert attention.normalization_quantize_to_type == trt.int8
    assert attention.normalization_quantize_scale is not None
    layer = next(layer for layer in net.network if layer.type == trt.LayerType.ATTENTION_OUTPUT)
    (found,) = Net.run(net, layer)
    scores = np.exp(np.einsum("bhqd,bhkd->bhqk", q.astype(np.float64), k))
    weights = np.round(scores / scores.sum(-1, keepdims=True) * 127) / 127
    np.testing.assert_allclose(found, weights @ v, atol=2e-3)
    assert np.abs(found - attended(q, k, v)).max() > 1e-4


def test_what_is_no_attention_is_refused() -> None:
    rng, net = np.random.default_rng(7), AttentionNet()
    q = net.input(uniform(rng, 1, 2, 3, 8))
    attention = net.network.add_attention(q, q, q, SOFTMAX, False)
    with pytest.raises(RuntimeError, match="IAttention.num_ranks refused"):
        attention.num_ranks = 0
    assert not attention.set_input(3, q) and attention.set_input(1, q)
    with pytest.raises(TypeError):
        net.network.add_attention(q, q, None, SOFTMAX, False)


def test_there_is_one_route_of_a_build() -> None:
    """11.1 lets a configuration choose among several."""
    config = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR)).create_builder_config()
    assert config.build_route == config.all_build_routes == "standard"
    config.build_route = "standard"
    with pytest.raises(RuntimeError, match="build_route"):
        config.build_route = "scenic"
