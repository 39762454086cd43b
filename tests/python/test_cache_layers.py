"""Caches of keys and values, rotations and quantization through the public calls, against NumPy."""

import numpy as np
import pytest
import tensorrt as trt
from test_detection_layers import LOGGER, Net


def test_a_cache_is_updated_where_it_stands():
    """E28: past the end nothing is written; output and input may have one address, and the engine names the input."""
    cache = np.zeros((2, 1, 4, 2), np.float32)
    update = np.arange(8, dtype=np.float32).reshape(2, 1, 2, 2) + 1
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    inputs = [network.add_input("cache", trt.float32, cache.shape), network.add_input("new", trt.float32, update.shape)]
    starts = network.add_input("starts", trt.int32, (2,))
    layer = network.add_kv_cache_update(*inputs, starts, trt.KVCacheMode.LINEAR)
    assert layer.cache_mode == trt.KVCacheMode.LINEAR and layer.type == trt.LayerType.KV_CACHE_UPDATE
    layer.get_output(0).name = "cache_out"
    network.mark_output(layer.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    assert engine.get_aliased_input_tensor("cache_out") == "cache"
    assert engine.get_aliased_input_tensor("new") is None
    context = engine.create_execution_context()
    at = np.array([1, 3], np.int32)
    for name, array in {"cache": cache, "cache_out": cache, "new": update, "starts": at}.items():
        assert context.set_tensor_address(name, array.ctypes.data)
    assert context.execute_async_v3(0)
    expected = np.zeros_like(cache)
    expected[0, :, 1:3] = update[0]
    expected[1, :, 3:] = update[1, :, :1]
    np.testing.assert_array_equal(cache, expected)


def test_rotation_by_positions():
    """E29: with positions the caches have a row per position; an odd number of columns is refused."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (1, 2, 3, 4)).astype(np.float32)
    angle = rng.uniform(-3, 3, (7, 2))
    at = np.array([[6, 0, 3]], np.int64)
    net = Net()
    caches = [net.constant(np.cos(angle).astype(np.float32)), net.constant(np.sin(angle).astype(np.float32))]
    layer = net.network.add_rotary_embedding(net.input(x), *caches, False, 0)
    layer.set_input(3, net.input(at))
    assert layer.rotary_embedding_dim == 0 and not layer.interleaved
    with pytest.raises(RuntimeError, match="rotary_embedding_dim refused the value"):
        layer.rotary_embedding_dim = 3
    assert layer.rotary_embedding_dim == 0
    (found,) = net.run(layer)
    cosine, sine = np.cos(angle[at])[:, None], np.sin(angle[at])[:, None]
    a, b = x[..., :2], x[..., 2:]
    np.testing.assert_allclose(found, np.concatenate([a * cosine - b * sine, a * sine + b * cosine], -1), atol=1e-5)


def test_quantization_and_back():
    """E12, E13: half to even, clamped; per tensor, per channel and per block."""
    x = np.array([[0.5, 1.5, -2.5, 300.0], [-300.0, 0.4, 0.6, 7.0]], np.float32)
    net = Net()
    quantize = net.network.add_quantize(net.input(x), net.constant(np.float32(1.0)), trt.int8)
    assert quantize.axis == -1 and quantize.to_type == trt.int8 and quantize.type == trt.LayerType.QUANTIZE
    (found,) = net.run(quantize)
    assert found.dtype == np.int8
    np.testing.assert_array_equal(found, np.clip(np.rint(x), -128, 127))
    net = Net()
    scale = np.array([2.0, 0.5], np.float32)
    quantize = net.network.add_quantize(net.input(x), net.constant(scale), trt.int8)
    quantize.axis = 0
    back = net.network.add_dequantize(quantize.get_output(0), net.constant(scale), trt.float32)
    back.axis = 0
    (found,) = net.run(back)
    np.testing.assert_array_equal(found, np.clip(np.rint(x / scale[:, None]), -128, 127) * scale[:, None])
    net = Net()
    blocks = np.array([[1.0, 2.0], [4.0, 0.25]], np.float32)
    quantize = net.network.add_quantize(net.input(x), net.constant(blocks), trt.int8)
    quantize.block_shape = (1, 2)
    (found,) = net.run(quantize)
    np.testing.assert_array_equal(found, np.clip(np.rint(x / np.repeat(blocks, 2, 1)), -128, 127))


def test_the_same_scale_before_and_behind_is_one_pass():
    """What is quantized and at once dequantized is arithmetic of real numbers, with the same result."""
    x = np.linspace(-2, 2, 1001, dtype=np.float32)
    scale = np.float32(0.0127)
    net = Net()
    q = net.network.add_quantize(net.input(x), net.constant(scale), trt.int8)
    relu = net.network.add_activation(q.get_input(0), trt.ActivationType.RELU)
    q.set_input(0, relu.get_output(0))
    (found,) = net.run(net.network.add_dequantize(q.get_output(0), net.constant(scale), trt.float32))
    expected = np.clip(np.rint(np.maximum(x, 0) / scale), -128, 127).astype(np.float32) * scale
    np.testing.assert_array_equal(found, expected)
