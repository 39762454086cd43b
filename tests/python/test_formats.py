"""Types and formats of inputs and outputs from Python."""

import numpy as np
import pytest
import small
import tensorrt as trt


def build(definition: trt.INetworkDefinition, builder: trt.Builder, log: small.Recorder, flags=()) -> trt.ICudaEngine:
    config = builder.create_builder_config()
    for flag in flags:
        config.set_flag(flag)
    plan = builder.build_serialized_network(definition, config)
    assert plan is not None, log.errors()
    return trt.Runtime(log).deserialize_cuda_engine(plan)


def run(engine: trt.ICudaEngine, **arrays: np.ndarray) -> None:
    context = engine.create_execution_context()
    for name, array in arrays.items():
        context.set_tensor_address(name, array)
    assert context.execute_async_v3(0)


@pytest.fixture
def log() -> small.Recorder:
    return small.Recorder()


def test_c14_a_vectorized_input_is_described_and_read(log: small.Recorder) -> None:
    """C14"""
    builder = trt.Builder(log)
    definition = builder.create_network()
    x = definition.add_input("x", trt.float16, (1, 6, 2, 3))
    x.allowed_formats = 1 << int(trt.TensorFormat.CHW4)
    out = definition.add_cast(x, trt.float32).get_output(0)
    out.name = "y"
    definition.mark_output(out)
    engine = build(definition, builder, log)
    assert engine.get_tensor_format("x") == trt.TensorFormat.CHW4
    assert engine.get_tensor_vectorized_dim("x") == 1
    assert engine.get_tensor_components_per_element("x") == 4
    assert engine.get_tensor_bytes_per_component("x") == 2
    plain = np.arange(36, dtype=np.float16).reshape(1, 6, 2, 3)
    padded = np.concatenate([plain, np.zeros((1, 2, 2, 3), np.float16)], axis=1)
    vectors = np.ascontiguousarray(padded.reshape(1, 2, 4, 2, 3).transpose(0, 1, 3, 4, 2))
    context = engine.create_execution_context()
    assert tuple(context.get_tensor_strides("x")) == (12, 6, 3, 1)
    y = np.empty((1, 6, 2, 3), np.float32)
    context.set_tensor_address("x", vectors.ctypes.data)
    context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(y, plain.astype(np.float32))


def test_c17_a_half_input_meets_float_weights(log: small.Recorder) -> None:
    """C17"""
    builder = trt.Builder(log)
    definition = builder.create_network()
    x = definition.add_input("x", trt.float16, (2, 8))
    weights = definition.add_constant((8, 4), small.WEIGHTS).get_output(0)
    none = trt.MatrixOperation.NONE
    product = definition.add_matrix_multiply(x, none, weights, none)
    out = product.get_output(0)
    assert out.dtype == trt.float32
    product.set_output_type(0, trt.float16)
    assert out.dtype == trt.float16
    out.name = "y"
    definition.mark_output(out)
    engine = build(definition, builder, log)
    given = np.random.default_rng(1).standard_normal((2, 8)).astype(np.float16)
    y = np.empty((2, 4), np.float16)
    run(engine, x=given, y=y)
    np.testing.assert_allclose(y, given.astype(np.float32) @ small.WEIGHTS, rtol=2e-3, atol=2e-3)


def test_c17_precisions_are_given_under_obey(log: small.Recorder) -> None:
    """C17"""
    builder = trt.Builder(log)
    definition = builder.create_network()
    x = definition.add_input("x", trt.float32, (1,))
    ones = definition.add_constant((1,), np.array([1.0], np.float32)).get_output(0)
    total = definition.add_elementwise(x, ones, trt.ElementWiseOperation.SUM)
    total.precision = trt.bfloat16
    total.get_output(0).name = "y"
    definition.mark_output(total.get_output(0))
    rounded = np.uint32(0x3A830000).view(np.float32)  # 0.001 in bfloat16.
    for flags, expected in (((), 1.001), ((trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS,), 1.0 + rounded)):
        y = np.empty(1, np.float32)
        run(build(definition, builder, log, flags), x=np.array([0.001], np.float32), y=y)
        assert y[0] == np.float32(expected)
