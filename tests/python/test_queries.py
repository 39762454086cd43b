"""Rules P1, P3, P4, F4, C18, C19 and G3 in Python: what engines, networks and configurations answer by name."""

import numpy as np
import pytest
import small
import tensorrt as trt

LINEAR, ON_DEVICE = trt.TensorFormat.LINEAR, trt.TensorLocation.DEVICE
#: Calls that take a profile or leave it out: the answers for "x" and for a tensor that nobody has.
OF_A_PROFILE = {
    "get_tensor_format": (LINEAR, LINEAR),
    "get_tensor_format_desc": (str, ""),
    "get_tensor_bytes_per_component": (-1, -1),
    "get_tensor_components_per_element": (-1, -1),
    "get_tensor_vectorized_dim": (-1, -1),
}
#: Calls without a profile.
OF_THE_ENGINE = {
    "get_tensor_location": (ON_DEVICE, ON_DEVICE),
    "get_aliased_input_tensor": (None, None),
    "get_tensor_mode": (trt.TensorIOMode.INPUT, trt.TensorIOMode.NONE),
    "get_tensor_dtype": (trt.float32, trt.float32),
    "get_tensor_shape": ((-1, 8), None),
    "is_debug_tensor": (False, False),
}
IN_CPP = {name: name.replace("_", "") for name in OF_A_PROFILE | OF_THE_ENGINE}
IN_CPP |= {"get_tensor_mode": "gettensoriomode", "get_tensor_dtype": "gettensordatatype"}


@pytest.fixture
def logger() -> small.Recorder:
    return small.Recorder()


def warnings(logger: small.Recorder) -> list[str]:
    return [text for severity, text in logger.lines if severity == trt.ILogger.WARNING]


def fits(answer: object, want: object) -> bool:
    """The answer itself, or any text that says something; the extents of shapes, where None is those that are not."""
    if isinstance(answer, trt.Dims):
        return answer.nbDims == -1 if want is None else tuple(answer) == want
    return isinstance(answer, str) and len(answer) > 0 if want is str else answer == want


def assert_reported(logger: small.Recorder, call: str, cause: str) -> None:
    said = logger.errors().lower()
    assert len(logger.lines) == 1 and f"icudaengine::{IN_CPP[call]}:" in said and cause in said, said
    logger.lines.clear()


@pytest.mark.parametrize("call", OF_A_PROFILE)
def test_P1_P3_P4_queries_of_a_profile(logger: small.Recorder, call: str) -> None:
    one, two = small.engine(logger), small.engine(logger, profiles=2)
    logger.lines.clear()
    known, unknown = OF_A_PROFILE[call]
    for engine, profiles in ((one, 1), (two, 2)):
        query = getattr(engine, call)
        for profile in range(profiles):
            assert fits(query("x", profile), known) and fits(query("y", profile), known)
            assert not logger.lines
            assert fits(query("nobody", profile), unknown)
            assert_reported(logger, call, "'nobody'")
        assert fits(query("x", profiles), unknown if call == "get_tensor_format_desc" else known)
        assert_reported(logger, call, f"profile {profiles} ")
    assert fits(getattr(one, call)("x"), known) and not logger.lines
    assert fits(getattr(two, call)("x"), known)  # Profile 0's, which is said, as there are others.
    (said,) = warnings(logger)
    assert f"icudaengine::{IN_CPP[call]}:" in said.lower() and "profile 0" in said
    logger.lines.clear()
    assert fits(getattr(two, call)("nobody"), unknown)
    assert_reported(logger, call, "'nobody'")


@pytest.mark.parametrize("call", OF_THE_ENGINE)
def test_P1_queries_without_a_profile(logger: small.Recorder, call: str) -> None:
    engine = small.engine(logger, profiles=2)
    logger.lines.clear()
    known, unknown = OF_THE_ENGINE[call]
    query = getattr(engine, call)
    assert fits(query("x"), known), query("x")
    assert not logger.lines
    assert fits(query("nobody"), unknown)
    if call != "is_debug_tensor":  # Debug tensors are no inputs or outputs: any name may be asked for.
        assert_reported(logger, call, "'nobody'")
    assert not logger.errors()
    with pytest.raises(TypeError):
        query("x", 1)


def test_D3_shape_inputs_are_on_the_host(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    network = builder.create_network()
    shuffle = network.add_shuffle(network.add_input("x", trt.float32, (12,)))
    shuffle.set_input(1, network.add_input("size", trt.int64, (2,)))
    shuffle.get_output(0).name = "y"
    network.mark_output(shuffle.get_output(0))
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    profile.set_shape_input("size", (1, 1), (3, 4), (12, 12))
    config.add_optimization_profile(profile)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    places = {name: engine.get_tensor_location(name) for name in engine}
    assert places == {"x": ON_DEVICE, "size": trt.TensorLocation.HOST, "y": ON_DEVICE}


@pytest.mark.parametrize("profiles", [1, 2])
def test_queries_of_the_whole_engine(logger: small.Recorder, profiles: int) -> None:
    engine = small.engine(logger, profiles)
    logger.lines.clear()
    assert engine.num_optimization_profiles == profiles
    assert engine.refittable is False
    assert engine.tactic_sources == 0
    assert engine.engine_capability == trt.EngineCapability.STANDARD
    assert engine.hardware_compatibility_level == trt.HardwareCompatibilityLevel.NONE
    assert not logger.lines


def test_F4_extra_memory_is_a_part_of_the_whole(logger: small.Recorder) -> None:
    profile = trt.Builder(logger).create_optimization_profile()
    assert profile.extra_memory_target == 1
    for share in (0, 0.25, 1):
        profile.extra_memory_target = share
        assert profile.extra_memory_target == share
    assert not logger.errors()
    for number, share in enumerate((-0.5, 1.5, float("nan")), 1):
        with pytest.raises(RuntimeError, match="extra_memory_target"):
            profile.extra_memory_target = share
        assert profile.extra_memory_target == 1
        assert logger.errors().count("is not in [0, 1]") == number


def test_C18_networks_answer_the_flags_that_they_were_made_with(logger: small.Recorder) -> None:
    typed, explicit = trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED, trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH
    builder = trt.Builder(logger)
    for chosen in ([], [typed], [explicit], [typed, explicit]):
        network = builder.create_network(sum(1 << int(flag) for flag in chosen))
        assert network.flags == sum(1 << int(flag) for flag in chosen)
        assert [flag for flag in (typed, explicit) if network.get_flag(flag)] == chosen
    assert builder.create_network().flags == 0


def test_C19_marks_are_set_and_taken_back(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    network, config = small.network(builder), small.config(builder)
    product = network.get_layer(1).get_output(0)
    product.name = "product"
    assert not network.is_debug_tensor(product)
    for _ in range(2):  # Once more changes nothing.
        assert network.mark_debug(product) is True and network.is_debug_tensor(product)
    for _ in range(2):
        assert network.unmark_debug(product) is True and not network.is_debug_tensor(product)
    assert builder.create_network().mark_debug(product) is False and "markDebug" in logger.errors()
    assert network.mark_unfused_tensors_as_debug_tensors() is True and not network.is_debug_tensor(product)
    assert network.unmark_unfused_tensors_as_debug_tensors() is True
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    assert not engine.is_debug_tensor("product")
    context = engine.create_execution_context()
    assert context.set_tensor_debug_state("product", True) is False
    with pytest.raises(RuntimeError, match="unfused_tensors_debug_state"):
        context.unfused_tensors_debug_state = True


def test_outputs_are_marked_and_taken_back(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    network, config = small.network(builder), small.config(builder)
    product = network.get_layer(1).get_output(0)
    shape = network.add_shape(product).get_output(0)
    product.name, shape.name = "product", "shape"
    assert network.unmark_output_for_shapes(shape) is False and "'shape' is not marked" in logger.errors()
    network.mark_output(product)
    assert network.mark_output_for_shapes(shape) is True
    assert network.num_outputs == 3 and product.is_network_output and shape.is_shape_tensor
    network.unmark_output(product)
    assert network.num_outputs == 2 and not product.is_network_output
    assert network.unmark_output_for_shapes(shape) is True
    assert network.num_outputs == 1 and not shape.is_network_output
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    assert list(engine) == ["x", "y"]


def test_G3_auxiliary_streams_are_limited_from_above(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    network, config = small.network(builder), small.config(builder)
    assert config.max_aux_streams == -1
    config.max_aux_streams = -2
    assert config.max_aux_streams == -1
    assert logger.errors().count("setMaxAuxStreams: -2 is negative") == 1
    # The sum of three chains of convolutions: two of them can run beside the first.
    network, config = builder.create_network(0), builder.create_builder_config()
    x = network.add_input("x", trt.float32, (1, 8, 24, 24))
    ends, random = [], np.random.default_rng(1)  # Chains with the same weights would be one.
    for _ in range(3):
        last = x
        for _ in range(8):
            last = network.add_convolution_nd(last, 8, (3, 3), random.random((8, 8, 3, 3), np.float32)).get_output(0)
        ends.append(last)
    total = network.add_elementwise(ends[0], ends[1], trt.ElementWiseOperation.SUM).get_output(0)
    network.mark_output(network.add_elementwise(total, ends[2], trt.ElementWiseOperation.SUM).get_output(0))
    for most, given in ((0, 0), (1, 1), (5, 2), (-1, 2)):
        config.max_aux_streams = most
        assert config.max_aux_streams == most
        plan = builder.build_serialized_network(network, config)
        assert trt.Runtime(logger).deserialize_cuda_engine(plan).num_aux_streams == given, most


def test_kernels_are_measured_on_this_machine(logger: small.Recorder) -> None:
    config = trt.Builder(logger).create_builder_config()
    assert config.remote_auto_tuning_config == ""
    config.remote_auto_tuning_config = ""
    assert not logger.errors()
    with pytest.raises(RuntimeError, match="refused the value"):
        config.remote_auto_tuning_config = "host=elsewhere"
    assert logger.errors().count("on this machine alone") == 1
    assert config.remote_auto_tuning_config == ""


@pytest.mark.parametrize("stream", [0, 1])
def test_S4_the_default_stream_gives_no_warning_on_a_cpu(logger: small.Recorder, stream: int) -> None:
    context = small.engine(logger).create_execution_context()
    logger.lines.clear()
    x, y = small.inputs(), np.empty((3, 4), np.float32)
    assert context.set_input_shape("x", x.shape)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    assert context.execute_async_v3(stream)
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    assert not warnings(logger) and not logger.errors()


@pytest.mark.parametrize("name", ["binding_is_input", "get_binding_shape", "get_binding_dtype", "get_location"])
def test_P1_queries_by_the_name_of_a_binding(logger: small.Recorder, name: str) -> None:
    known = {"binding_is_input": True, "get_binding_shape": (-1, 8)}
    unknown = {"binding_is_input": False, "get_binding_shape": None}
    other = {"get_binding_dtype": trt.float32, "get_location": ON_DEVICE}
    query = getattr(small.engine(logger), name)
    logger.lines.clear()
    assert fits(query("x"), (known | other)[name]) and not logger.lines
    assert fits(query("nobody"), (unknown | other)[name])
    assert logger.errors() == "ICudaEngine::getBindingIndex: 'nobody' is not a binding of the engine"


@pytest.mark.parametrize("call", ["get_tensor_profile_shape", "get_profile_shape"])
def test_P5_shapes_of_a_profile_that_nobody_has_are_reported_once(logger: small.Recorder, call: str) -> None:
    engine = small.engine(logger)
    for profile, name, cause in ((0, "nobody", "'nobody'"), (0, "y", "'y' is an output"), (7, "x", "profile 7")):
        logger.lines.clear()
        order = (name, profile) if call == "get_tensor_profile_shape" else (profile, name)
        shapes = getattr(engine, call)(*order)
        assert len(shapes) == 3 and all(shape.nbDims == -1 for shape in shapes)
        assert len(logger.lines) == 1 and cause in logger.errors(), logger.errors()


def test_P5_values_of_a_profile_that_nobody_has_are_reported_once(logger: small.Recorder) -> None:
    engine = small.engine(logger)
    for profile, name, cause in ((0, "nobody", "'nobody'"), (0, "x", "'x'"), (7, "x", "profile 7")):
        for call, order in (
            ("get_tensor_profile_values", (name, profile)),
            ("get_profile_shape_input", (profile, name)),
        ):
            logger.lines.clear()
            with pytest.raises(RuntimeError, match=cause if call == "get_tensor_profile_values" else "binding"):
                getattr(engine, call)(*order)
            assert len(logger.lines) <= 1, logger.errors()
