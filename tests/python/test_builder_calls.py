"""Calls of builders, configurations and networks that few programs make: each answers as its documentation says."""

import numpy as np
import pytest
import small
import tensorrt as trt


@pytest.fixture
def logger() -> small.Recorder:
    return small.Recorder()


def test_G7_what_builds_is_supported(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    network, config = small.network(builder), small.config(builder)
    assert builder.is_network_supported(network, config) and logger.errors() == ""
    assert not builder.is_network_supported(network, builder.create_builder_config()), "no profile for its input"
    assert not builder.is_network_supported(builder.create_network(), config), "without an output"
    assert logger.errors() != ""


def test_what_the_platform_is_fast_at_is_the_devices_word(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    for name in ("platform_has_fast_fp16", "platform_has_fast_int8", "platform_has_tf32"):
        assert isinstance(getattr(builder, name), bool)
        with pytest.raises(AttributeError):
            setattr(builder, name, True)
    if trt.devices()["chosen"] == "cpu":
        assert not builder.platform_has_tf32


def test_device_types_of_layers(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    network, config = small.network(builder), small.config(builder)
    first, second = network.get_layer(1), network.get_layer(2)
    assert config.default_device_type == trt.DeviceType.GPU == config.get_device_type(first)
    config.set_device_type(first, trt.DeviceType.DLA)
    assert config.is_device_type_set(first) and not config.is_device_type_set(second)
    assert config.get_device_type(first) == trt.DeviceType.DLA != config.get_device_type(second)
    assert builder.build_serialized_network(network, config) is None, "there is no DLA"
    assert "DLA" in logger.errors()
    config.reset_device_type(first)
    assert not config.is_device_type_set(first) and config.get_device_type(first) == trt.DeviceType.GPU
    assert builder.build_serialized_network(network, config) is not None
    config.set_device_type(first, trt.DeviceType.GPU)
    config.default_device_type = trt.DeviceType.DLA
    assert config.get_device_type(first) == trt.DeviceType.GPU
    assert config.get_device_type(second) == trt.DeviceType.DLA


def test_flags_of_quantization_and_profiles_of_calibration(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    config, flag = small.config(builder), trt.QuantizationFlag.CALIBRATE_BEFORE_FUSION
    assert config.quantization_flags == 0 and not config.get_quantization_flag(flag)
    config.set_quantization_flag(flag)
    assert config.get_quantization_flag(flag) and config.quantization_flags == 1
    config.clear_quantization_flag(flag)
    assert not config.get_quantization_flag(flag)
    assert config.get_calibration_profile() is None
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (4, 8), (4, 8), (4, 8))
    assert config.set_calibration_profile(profile)
    assert config.get_calibration_profile().get_shape("x") == [(4, 8)] * 3
    config.reset()
    assert config.get_calibration_profile() is None


def test_a_build_waits_for_the_stream_that_it_is_given(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    config = small.config(builder)
    assert config.profile_stream == 0
    with trt.Stream() as stream:
        config.profile_stream = stream.handle
        assert config.profile_stream == stream.handle
        assert builder.build_serialized_network(small.network(builder), config) is not None
        config.profile_stream = 0
    assert logger.errors() == ""


def test_there_is_nobody_to_tune_elsewhere(logger: small.Recorder) -> None:
    config = small.config(trt.Builder(logger))
    assert config.remote_auto_tuning_config == ""
    with pytest.raises(RuntimeError, match="remote_auto_tuning_config"):
        config.remote_auto_tuning_config = "ssh://host"
    assert config.remote_auto_tuning_config == "" and logger.errors() != ""


def test_types_of_layers_are_set_and_reset(logger: small.Recorder) -> None:
    network = small.network(trt.Builder(logger))
    layer = network.get_layer(1)
    assert not layer.precision_is_set and not layer.output_type_is_set(0)
    layer.precision = trt.float16
    layer.set_output_type(0, trt.float16)
    assert layer.precision_is_set and layer.precision == trt.float16
    assert layer.output_type_is_set(0) and layer.get_output_type(0) == trt.float16
    layer.reset_precision()
    layer.reset_output_type(0)
    assert not layer.precision_is_set and not layer.output_type_is_set(0)
    assert layer.get_output_type(0) == trt.float32 == layer.get_output(0).dtype


def test_tensors_say_what_they_are_for(logger: small.Recorder) -> None:
    network = small.network(trt.Builder(logger))
    x, y = network.get_input(0), network.get_output(0)
    assert x.is_network_input and not x.is_network_output and x.is_execution_tensor and not x.is_shape_tensor
    assert y.is_network_output and not y.is_network_input and y.is_execution_tensor
    explicit = trt.Builder(logger).create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    for tensor, is_taken in ((x, True), (y, False), (explicit.add_input("x", trt.float32, (2, 3)), False)):
        tensor.broadcast_across_batch = True  # Of inputs where the batch may become implicit yet.
        assert tensor.broadcast_across_batch == is_taken
    assert x.dynamic_range is None
    assert x.set_dynamic_range(-3, 3) and x.dynamic_range == (-3, 3)
    x.reset_dynamic_range()
    assert x.dynamic_range is None
    assert not x.set_dynamic_range(3, -3) and x.dynamic_range is None


def test_weights_are_marked_by_name(logger: small.Recorder) -> None:
    network = small.network(trt.Builder(logger))
    assert network.set_weights_name(trt.Weights(small.WEIGHTS), "matrix")
    assert not network.are_weights_marked_refittable("matrix")
    assert network.mark_weights_refittable("matrix") and network.are_weights_marked_refittable("matrix")
    assert network.unmark_weights_refittable("matrix") and not network.are_weights_marked_refittable("matrix")
    assert not network.mark_weights_refittable("nobody") and not network.are_weights_marked_refittable("nobody")


def test_U5_what_a_refitter_was_given(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    network, config = small.network(builder), small.config(builder)
    network.set_weights_name(trt.Weights(small.WEIGHTS), "matrix")
    config.set_flag(trt.BuilderFlag.REFIT)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    refitter = trt.Refitter(engine, logger)
    given = np.full((8, 4), 0.5, np.float32)
    assert refitter.set_named_weights("matrix", given)
    back = refitter.get_named_weights("matrix")
    np.testing.assert_array_equal(np.reshape(back.numpy() if hasattr(back, "numpy") else back, (8, 4)), given)
    assert refitter.get_weights_location("matrix") == trt.TensorLocation.HOST
    assert refitter.get_tensors_with_dynamic_range() == []
    assert refitter.get_dynamic_range("x") == (0, 0) and not refitter.set_dynamic_range("x", (-1, 1))


def test_layers_that_few_networks_have(logger: small.Recorder) -> None:
    """Their results, beside NumPy."""
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (2, 3, 4))
    values = np.random.default_rng(4).standard_normal((2, 3, 4), np.float32)

    def constant(numbers: object, kind: type = np.int32) -> trt.ITensor:
        array = np.array(numbers, kind)
        return network.add_constant(array.shape, array).get_output(0)

    slopes = constant(np.full((1, 1, 4), 0.25), np.float32)
    indices, updates = constant([[0], [0]]), constant(np.arange(24).reshape(2, 3, 4), np.float32)
    scatter = network.add_scatter(x, constant(np.zeros((2, 3, 4))), updates, trt.ScatterMode.ELEMENT)
    scatter.axis = 2
    wanted = values.copy()
    wanted[:, :, 0] = np.arange(24, dtype=np.float32).reshape(2, 3, 4)[:, :, 3]
    of_time = network.add_reverse_sequence(x, constant([2, 1, 2]))
    turned = values.copy()
    for at, length in enumerate((2, 1, 2)):
        turned[:length, at] = values[:length, at][::-1]
    cases = {
        "parametric relu": (network.add_parametric_relu(x, slopes), np.where(values < 0, values * 0.25, values)),
        "squeeze": (
            network.add_squeeze(network.add_unsqueeze(x, constant([0, 2])).get_output(0), constant([2])),
            values[None],
        ),
        "scatter": (scatter, wanted),
        "reverse sequence": (of_time, turned),
        "one hot": (
            network.add_one_hot(constant([1, 0]), constant([0.5, 2], np.float32), constant(3), -1),
            np.float32([[0.5, 2, 0.5], [2, 0.5, 0.5]]),
        ),
        "gather": (network.add_gather_v2(x, indices, trt.GatherMode.ND), values[[0, 0]]),
    }
    for name, (layer, _) in cases.items():
        layer.get_output(0).name = name
        network.mark_output(layer.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    given = small.memory(engine, values)
    found = {name: small.memory(engine, np.zeros_like(want)) for name, (_, want) in cases.items()}
    assert context.set_tensor_address("x", given)
    assert all(context.set_tensor_address(name, array) for name, array in found.items())
    assert context.execute_async_v3(0), logger.errors()
    for name, (_, want) in cases.items():
        np.testing.assert_allclose(small.contents(found[name]), want, rtol=1e-6, err_msg=name)
