"""Mixtures of experts, recurrent cells of 8.x, packed caches and collectives by the public calls, against NumPy."""

import numpy as np
import pytest
import tensorrt as trt
from test_detection_layers import LOGGER, Net


def uniform(rng, *shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def test_a_mixture_of_experts():
    """E30: the sum over a token's experts of score * down(up(x) * silu(gate(x)))."""
    rng = np.random.default_rng(1)
    x, which = uniform(rng, 2, 3, 4), rng.integers(0, 5, (2, 3, 2)).astype(np.int32)
    scores, gate, up, down = uniform(rng, 2, 3, 2), uniform(rng, 5, 4, 6), uniform(rng, 5, 4, 6), uniform(rng, 5, 6, 4)
    net = Net()
    layer = net.network.add_moe(net.input(x), net.input(which), net.input(scores))
    assert layer.activation_type == trt.MoEActType.SILU and layer.type == trt.LayerType.MOE
    layer.set_gated_weights(*(net.constant(w) for w in (gate, up, down)), trt.MoEActType.SILU)
    layer.set_swiglu_params(0.7, 1.5, 0.25)
    assert layer.swiglu_param_limit == pytest.approx(0.7) and layer.swiglu_param_beta == 0.25
    (found,) = net.run(layer)
    expected = np.zeros_like(x)
    for at in np.ndindex(2, 3):
        for e, score in zip(which[at], scores[at], strict=True):
            g, u = np.minimum(x[at] @ gate[e], 0.7), np.clip(x[at] @ up[e], -0.7, 0.7) + 0.25
            expected[at] += score * (u * g * sigmoid(1.5 * g)) @ down[e]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_mixture_of_experts_in_half_of_a_weakly_typed_network():
    rng = np.random.default_rng(2)
    x, which = uniform(rng, 1, 4, 8), rng.integers(0, 3, (1, 4, 2)).astype(np.int32)
    arrays = [uniform(rng, 1, 4, 2), uniform(rng, 3, 8, 8), uniform(rng, 3, 8, 8), uniform(rng, 3, 8, 8)]
    results = []
    for precision in (None, trt.float16):
        net = Net()
        layer = net.network.add_moe(net.input(x), net.input(which), net.input(arrays[0]))
        layer.set_gated_weights(*(net.constant(w) for w in arrays[1:]), trt.MoEActType.SILU)
        if precision is not None:
            half = [net.network.add_cast(layer.get_input(i), precision).get_output(0) for i in (0, 2, 3, 4, 5)]
            for i, tensor in zip((0, 2, 3, 4, 5), half, strict=True):
                layer.set_input(i, tensor)
        (found,) = net.run(layer)
        results.append(found.astype(np.float64))
    np.testing.assert_allclose(results[1], results[0], atol=2e-2)
    assert np.any(results[1] != results[0])


@pytest.mark.parametrize("dynamic", [False, True])
def test_the_recurrent_layer_of_8(dynamic):
    """Two layers of a GRU whose reset gate multiplies behind the product, with lengths and first states."""
    rng = np.random.default_rng(3)
    batch, steps, inputs, hidden, lengths = 3, 4, 5, 6, np.array([4, 1, 3], np.int32)
    x, first = uniform(rng, batch, steps, inputs), uniform(rng, batch, 2, hidden)
    gates = [trt.RNNGateType.UPDATE, trt.RNNGateType.RESET, trt.RNNGateType.HIDDEN]
    w = [uniform(rng, 3, hidden, inputs), uniform(rng, 3, hidden, hidden)]
    r, wb, rb = (uniform(rng, 2, 3, hidden, *more) for more in ((hidden,), (), ()))
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    arrays = {"x": x, "lengths": lengths, "first": first}
    names = {"x": trt.float32, "lengths": trt.int32, "first": trt.float32}
    tensors = {
        name: network.add_input(name, kind, (-1 if dynamic else batch, *arrays[name].shape[1:]))
        for name, kind in names.items()
    }
    layer = network.add_rnn_v2(tensors["x"], 2, hidden, steps, trt.RNNOperation.GRU)
    assert (layer.num_layers, layer.hidden_size, layer.max_seq_length, layer.data_length) == (2, hidden, steps, inputs)
    assert layer.direction == trt.RNNDirection.UNIDIRECTION and layer.input_mode == trt.RNNInputMode.LINEAR
    assert layer.hidden_state is None and layer.op == trt.RNNOperation.GRU
    layer.hidden_state, layer.seq_lengths = tensors["first"], tensors["lengths"]
    assert layer.hidden_state.name == "first" and layer.seq_lengths.name == "lengths"
    for i in range(2):
        for g, gate in enumerate(gates):
            layer.set_weights_for_gate(i, gate, True, w[i][g])
            layer.set_weights_for_gate(i, gate, False, r[i][g])
            layer.set_bias_for_gate(i, gate, True, wb[i][g])
            layer.set_bias_for_gate(i, gate, False, rb[i][g])
    np.testing.assert_array_equal(layer.get_weights_for_gate(1, gates[2], False), r[1][2].ravel())
    np.testing.assert_array_equal(layer.get_bias_for_gate(0, gates[1], True), wb[0][1])
    for i, name in enumerate(("y", "last")):
        layer.get_output(i).name = name
        network.mark_output(layer.get_output(i))
    config = builder.create_builder_config()
    if dynamic:
        profile = builder.create_optimization_profile()
        for name, array in arrays.items():
            profile.set_shape(name, *((n, *array.shape[1:]) for n in (1, batch, 8)))
        config.add_optimization_profile(profile)
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()
    y, last = np.empty((batch, steps, hidden), np.float32), np.empty((batch, 2, hidden), np.float32)
    for name, array in (arrays | {"y": y, "last": last}).items():
        if dynamic and name in arrays:
            assert context.set_input_shape(name, array.shape)
        assert context.set_tensor_address(name, array.ctypes.data)
    assert context.execute_async_v3(0)
    running, expected_last = x.astype(np.float64), np.zeros((batch, 2, hidden))
    for i in range(2):
        out = np.zeros((batch, steps, hidden))
        for b in range(batch):
            h = first[b, i].astype(np.float64)
            for t in range(lengths[b]):
                a = np.einsum("ghi,i->gh", w[i].astype(np.float64), running[b, t]) + wb[i]
                c = np.einsum("ghi,i->gh", r[i].astype(np.float64), h) + rb[i]
                z, reset = sigmoid(a[0] + c[0]), sigmoid(a[1] + c[1])
                h = (1 - z) * np.tanh(a[2] + reset * c[2]) + z * h
                out[b, t] = h
            expected_last[b, i] = h
        running = out
    np.testing.assert_allclose(y, running, atol=1e-5)
    np.testing.assert_allclose(last, expected_last, atol=1e-5)


def test_a_recurrent_layer_without_weights_is_named():
    logged = []

    class Keeping(trt.ILogger):
        def __init__(self):
            trt.ILogger.__init__(self)

        def log(self, severity, text):
            logged.append(text)

    builder = trt.Builder(Keeping())
    network = builder.create_network(0)
    layer = network.add_rnn_v2(network.add_input("x", trt.float32, (1, 2, 3)), 1, 4, 2, trt.RNNOperation.LSTM)
    layer.name = "memory"
    network.mark_output(layer.get_output(0))
    assert builder.build_serialized_network(network, builder.create_builder_config()) is None
    assert any("layer 'memory': layer 0 of the stack has no recurrent weights for gate 0" in line for line in logged)


def test_a_packed_update_of_a_cache():
    rng = np.random.default_rng(4)
    cache, update = uniform(rng, 2, 3, 6, 4), uniform(rng, 5, 3, 4)
    starts, begins = np.array([1, 4], np.int32), np.array([0, 3, 5], np.int32)
    net = Net()
    layer = net.network.add_kv_cache_update(
        net.input(cache), net.input(update), net.input(starts), trt.KVCacheMode.LINEAR
    )
    assert layer.update_form == trt.AttentionIOForm.PADDED_BHND and layer.update_lengths is None
    layer.update_form = trt.AttentionIOForm.PACKED_NHD
    layer.update_lengths = net.input(begins)
    (found,) = net.run(layer)
    expected = cache.copy()
    expected[0, :, 1:4], expected[1, :, 4:6] = update[:3].transpose(1, 0, 2), update[3:].transpose(1, 0, 2)
    np.testing.assert_array_equal(found, expected)


def test_collectives_of_one_device():
    """E31, C10: with one rank what comes in goes out; several are taken by the layer and refused by the build."""
    x = uniform(np.random.default_rng(5), 4, 3)
    net = Net()
    layer = net.network.add_dist_collective(
        net.input(x), trt.CollectiveOperation.ALL_REDUCE, trt.ReduceOperation.SUM, None, [0]
    )
    assert layer.type == trt.LayerType.DIST_COLLECTIVE and layer.num_ranks == 1
    (found,) = net.run(layer)
    np.testing.assert_array_equal(found, x)
    assert trt.CollectiveOperation.SCATTER.value == 7
    net = Net()
    layer = net.network.add_dist_collective(net.input(x), trt.CollectiveOperation.ALL_GATHER, None, None, None)
    layer.num_ranks = 2
    net.network.mark_output(layer.get_output(0))
    assert net.builder.build_serialized_network(net.network, net.builder.create_builder_config()) is None
