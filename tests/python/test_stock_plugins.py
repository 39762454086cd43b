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


def engine_of(name: str, version: str, fields: list[trt.PluginField], *inputs: np.ndarray) -> trt.ICudaEngine | None:
    """An engine of one plugin, strongly typed where an input is float16; None when the plugin refuses the inputs."""
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
    return None if plan is None else trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


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


@pytest.mark.parametrize("version", ["1", "3"])
def test_weights_for_another_number_of_channels_fail_the_build(version: str, capfd: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(2).standard_normal((1, 4, 5, 5)).astype(np.float32)
    fields = [field("scales", [1.0, 2.0], np.float32), field("bias", [0.0, 0.0], np.float32)]
    assert engine_of("InstanceNormalization_TRT", version, fields, x) is None
    message = capfd.readouterr().err
    assert "[layer" in message and "the inputs are [1, 4, 5, 5], which do not fit" in message


@pytest.mark.parametrize("version", ["1", "3"])
def test_channels_of_a_run_that_do_not_fit_are_named(version: str, capfd: pytest.CaptureFixture[str]) -> None:
    fields = [field("scales", [1.0, 2.0, 3.0], np.float32), field("bias", [0.0, 0.0, 1.0], np.float32)]
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x0", trt.float32, (1, -1, 5))
    creator = trt.get_plugin_registry().get_creator("InstanceNormalization_TRT", version, "")
    collection = trt.PluginFieldCollection(fields)
    if version == "3":
        layer = network.add_plugin_v3([x], [], creator.create_plugin("n", collection, trt.TensorRTPhase.BUILD))
    else:
        layer = network.add_plugin_v2([x], creator.create_plugin("n", collection))
    layer.name = "norm"
    layer.get_output(0).name = "y0"
    network.mark_output(layer.get_output(0))
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    profile.set_shape("x0", (1, 1, 5), (1, 3, 5), (1, 9, 5))
    config.add_optimization_profile(profile)
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()
    for channels in (4, 3):
        data = np.random.default_rng(3).standard_normal((1, channels, 5)).astype(np.float32)
        out = np.empty_like(data)
        context.set_input_shape("x0", data.shape)
        context.set_tensor_address("x0", data.ctypes.data)
        context.set_tensor_address("y0", out.ctypes.data)
        assert context.execute_async_v3(0) == (channels == 3)
    message = capfd.readouterr().err
    assert "[layer 'norm']" in message and "[1, 4, 5], which do not fit; it takes x [N, C, ...]" in message
