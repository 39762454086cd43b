"""Stock plugins against NumPy."""

import numpy as np
import pytest
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    assert trt.init_libnvinfer_plugins(LOGGER, "")


def field(name: str, data: object, kind: type) -> trt.PluginField:
    types = {np.float32: trt.PluginFieldType.FLOAT32, np.int32: trt.PluginFieldType.INT32}
    return trt.PluginField(name, np.atleast_1d(np.asarray(data, kind)), types[kind])


def engine_of(name: str, version: str, fields: list[trt.PluginField], *inputs: np.ndarray) -> trt.ICudaEngine:
    """An engine of one plugin whose inputs have these shapes and types; strongly typed where one is float16."""
    creator = trt.get_plugin_registry().get_creator(name, version, "")
    assert creator is not None
    builder = trt.Builder(LOGGER)
    is_half = any(x.dtype == np.float16 for x in inputs)
    network = builder.create_network(int(is_half) << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    kinds = {np.dtype(np.float32): trt.float32, np.dtype(np.float16): trt.float16, np.dtype(np.int32): trt.int32}
    tensors = [network.add_input(f"x{i}", kinds[x.dtype], x.shape) for i, x in enumerate(inputs)]
    collection = trt.PluginFieldCollection(fields)
    if isinstance(creator, trt.IPluginCreatorV3One):
        layer = network.add_plugin_v3(tensors, [], creator.create_plugin(name, collection, trt.TensorRTPhase.BUILD))
    else:
        layer = network.add_plugin_v2(tensors, creator.create_plugin(name, collection))
    for i in range(layer.num_outputs):
        layer.get_output(i).name = f"y{i}"
        network.mark_output(layer.get_output(i))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def run(engine: trt.ICudaEngine, *inputs: np.ndarray) -> list[np.ndarray]:
    context = engine.create_execution_context()
    outputs = []
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        if engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT:
            context.set_tensor_address(name, inputs[int(name[1:])].ctypes.data)
        else:
            shape = tuple(context.get_tensor_shape(name))
            outputs.append(np.empty(shape, trt.nptype(engine.get_tensor_dtype(name))))
            context.set_tensor_address(name, outputs[-1].ctypes.data)
    assert context.execute_async_v3(0)
    return outputs


@pytest.mark.parametrize("version", ["1", "2", "3"])
@pytest.mark.parametrize("relu", [0, 1])
def test_instance_normalization(version: str, relu: int) -> None:
    random = np.random.default_rng(1)
    x = (random.standard_normal((2, 3, 5, 7)) * 3 + 100).astype(np.float32)
    scale, bias = random.standard_normal(3), random.standard_normal(3)
    fields = [field("epsilon", 1e-3, np.float32), field("scales", scale, np.float32), field("bias", bias, np.float32)]
    fields += [field("relu", relu, np.int32), field("alpha", 0.25, np.float32)]
    (y,) = run(engine_of("InstanceNormalization_TRT", version, fields, x), x)
    wide = x.astype(np.float64)
    mean, variance = wide.mean((2, 3), keepdims=True), wide.var((2, 3), keepdims=True)
    want = (wide - mean) / np.sqrt(variance + 1e-3) * scale[:, None, None] + bias[:, None, None]
    want = np.where((want < 0) & (relu == 1), want * 0.25, want)
    np.testing.assert_allclose(y, want, rtol=1e-5, atol=1e-5)


def test_weights_for_another_number_of_channels_fail_the_run() -> None:
    x = np.random.default_rng(2).standard_normal((1, 4, 5, 5)).astype(np.float32)
    fields = [field("scales", [1.0, 2.0], np.float32), field("bias", [0.0, 0.0], np.float32)]
    engine = engine_of("InstanceNormalization_TRT", "3", fields, x)
    context = engine.create_execution_context()
    y = np.empty_like(x)
    context.set_tensor_address("x0", x.ctypes.data)
    context.set_tensor_address("y0", y.ctypes.data)
    assert not context.execute_async_v3(0)
