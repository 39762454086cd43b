"""Tensors by binding index, as scripts of TensorRT 8 name them (rules P11, Q25; seed 004)."""

import numpy as np
import pytest
import small
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)


@pytest.fixture
def logger() -> small.Recorder:
    return small.Recorder()


@pytest.fixture
def two(logger: small.Recorder) -> trt.ICudaEngine:
    """y = relu(x · weights) with two profiles."""
    return small.engine(logger, profiles=2)


def sized(logger: small.Recorder, dtype: trt.DataType = trt.int64) -> trt.ICudaEngine:
    """y = 2x [1…24] reshaped to the values of `size`; `shape` is the shape of y; two profiles, values 1…24 and 2…4."""
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (-1,))
    size = network.add_input("size", dtype, (2,))
    doubled = network.add_elementwise(x, x, trt.ElementWiseOperation.SUM).get_output(0)
    shuffle = network.add_shuffle(doubled)
    shuffle.set_input(1, size)
    y = shuffle.get_output(0)
    y.name = "y"
    network.mark_output(y)
    shape = network.add_shape(y).get_output(0)
    shape.name = "shape"
    network.mark_output_for_shapes(shape)
    config = builder.create_builder_config()
    for low, high, counts in ((1, 24, (1, 6, 24)), (2, 4, (4, 4, 16))):
        profile = builder.create_optimization_profile()
        profile.set_shape("x", *((count,) for count in counts))
        profile.set_shape_input("size", (low, low), (2, 3), (high, high))
        config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None, logger.errors()
    return trt.Runtime(logger).deserialize_cuda_engine(plan)


@pytest.mark.parametrize("profiles", [1, 2, 3])
def test_P11_P12_indices_count_bindings_from_both_ends(logger: small.Recorder, profiles: int) -> None:
    engine = small.engine(logger, profiles)
    names = [engine.get_binding_name(i) for i in range(engine.num_bindings)]
    assert len(engine) == len(names) == 2 * profiles
    for i in range(-len(names), len(names)):
        assert engine[i] == names[i]
    assert list(reversed(engine)) == names[::-1]
    for beyond in (len(names), -len(names) - 1, 2**31 - 1, -(2**31)):
        with pytest.raises(IndexError, match=f"binding {beyond}: the engine has {len(names)} bindings"):
            engine[beyond]
    tensors = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
    assert list(engine) == tensors == [engine[i] for i in range(len(tensors))]


def test_P11_bindings_are_tensors_times_profiles(two: trt.ICudaEngine) -> None:
    assert two.num_bindings == len(two) == 4 and two.num_io_tensors == 2
    names = ["x", "y", "x [profile 1]", "y [profile 1]"]
    assert [two.get_binding_name(i) for i in range(5)] == [*names, None]
    assert [two.get_binding_index(name) for name in [*names, "z"]] == [0, 1, 2, 3, -1]
    assert [two[i] for i in range(4)] == names and [two[name] for name in names] == [0, 1, 2, 3]
    assert list(two) == ["x", "y"]  # Rule P12: iteration yields what the calls by name take.
    for index, name in enumerate(names):
        for key in (index, name):
            assert two.binding_is_input(key) == (index % 2 == 0)
            assert two.get_binding_shape(key) == ((-1, 8) if index % 2 == 0 else (-1, 4))
            assert two.get_binding_dtype(key) == trt.float32
            assert two.get_location(key) == trt.TensorLocation.DEVICE
        assert two.get_binding_format(index) == trt.TensorFormat.LINEAR and two.get_binding_format_desc(index)
        assert two.get_binding_bytes_per_component(index) == two.get_binding_components_per_element(index) == -1
        assert two.get_binding_vectorized_dim(index) == -1
        assert two.is_execution_binding(index) and not two.is_shape_binding(index)


def test_Q25_bindings_out_of_range_have_standard_answers(two: trt.ICudaEngine) -> None:
    context = two.create_execution_context()
    for index in (-1, 4):
        assert not two.binding_is_input(index) and not two.is_shape_binding(index)
        assert two.get_binding_shape(index).nbDims == -1
        assert context.get_binding_shape(index).nbDims == context.get_strides(index).nbDims == -1
        assert context.set_binding_shape(index, (2, 8)) is False
        assert context.set_shape_input(index, [1]) is False
        with pytest.raises(RuntimeError, match=str(index)):
            context.get_shape(index)
    assert not two.binding_is_input("z") and two.get_binding_shape("z").nbDims == -1


def test_P11_bounds_of_profiles_by_binding(two: trt.ICudaEngine) -> None:
    assert two.get_profile_shape(0, 0) == [(1, 8), (2, 8), (16, 8)]
    assert two.get_profile_shape(1, 2) == two.get_profile_shape(1, 0) == two.get_profile_shape(1, "x [profile 1]")
    assert two.get_profile_shape(1, "x")[1] == (3, 8)
    assert [shape.nbDims for shape in two.get_profile_shape(0, 2)] == [-1] * 3  # A binding of another profile.


def test_F9_values_of_profiles_by_binding(logger: small.Recorder) -> None:
    engine = sized(logger)
    want = [[1, 1], [2, 3], [24, 24]]
    assert engine.get_profile_shape_input(0, 1) == engine.get_profile_shape_input(0, "size") == want
    assert engine.get_profile_shape_input(1, 5) == engine.get_profile_shape_input(1, 1) == [[2, 2], [2, 3], [4, 4]]
    assert engine.get_tensor_profile_values("size", 0) == want
    for binding in (0, 2, 3, "x", 8):  # No shape tensors, or none that are inputs.
        with pytest.raises(RuntimeError, match="shape tensor"):
            engine.get_profile_shape_input(0, binding)
    with pytest.raises(RuntimeError):
        engine.get_profile_shape_input(0, 5)  # Of profile 1.
    for name in ("x", "y", "shape"):
        with pytest.raises(RuntimeError, match=name):
            engine.get_tensor_profile_values(name, 0)


def test_set_binding_shape_sets_dynamic_inputs_of_the_profile(two: trt.ICudaEngine) -> None:
    context = two.create_execution_context()
    assert context.get_binding_shape(0) == (-1, 8) and not context.all_binding_shapes_specified
    for binding, shape in ((2, (3, 8)), (1, (3, 4)), (0, (3, 9)), (0, (3,)), (0, (17, 8)), (0, (0, 8)), (0, (-1, 8))):
        assert context.set_binding_shape(binding, shape) is False
        assert context.get_binding_shape(0) == (-1, 8)
    for shape in ((3, 8), [4, 8], trt.Dims((5, 8))):
        assert context.set_binding_shape(0, shape) is True
        assert context.get_binding_shape(0) == shape
        assert context.get_binding_shape(1) == (shape[0], 4)  # Where valid shapes of outputs can be seen.
        assert context.get_strides(0) == (8, 1) and context.get_strides(1) == (4, 1)
    assert context.all_binding_shapes_specified


def test_outputs_have_shapes_once_inputs_have(logger: small.Recorder) -> None:
    context = sized(logger).create_execution_context()
    context.set_binding_shape(0, (12,))
    assert context.all_binding_shapes_specified and not context.all_shape_inputs_specified
    assert context.get_binding_shape(2) == (-1, -1)
    with pytest.raises(RuntimeError, match="3"):
        context.get_shape(3)
    context.set_shape_input(1, (4, 3))
    assert context.all_shape_inputs_specified and context.get_binding_shape(2) == (4, 3)
    assert context.get_shape(3) == [4, 3]


def test_true_does_not_promise_valid_outputs(logger: small.Recorder) -> None:
    context = sized(logger).create_execution_context()
    x, y, shape = np.ones(12, np.float32), np.empty(12, np.float32), np.empty(2, np.int64)
    assert context.set_binding_shape(0, (12,)) and context.set_shape_input(1, [5, 2])  # Ten elements are not twelve.
    with pytest.raises(RuntimeError):
        context.infer_shapes()
    assert not context.execute_v2([x, None, y, shape])
    assert context.set_shape_input(1, [6, 2]) and context.execute_v2([x, None, y, shape])
    assert shape.tolist() == [6, 2]


def test_what_is_set_by_name_counts_too(two: trt.ICudaEngine, logger: small.Recorder) -> None:
    context = two.create_execution_context()
    context.set_input_shape("x", (3, 8))
    assert context.all_binding_shapes_specified and context.infer_shapes() == []
    context = sized(logger).create_execution_context()
    context.set_tensor_address("size", np.array([4, 3], np.int64))
    assert context.all_shape_inputs_specified and context.get_shape(1) == [4, 3]
    assert context.infer_shapes() == ["x"]


def test_specified_trivially_where_nothing_is_dynamic(two: trt.ICudaEngine) -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (2, 3))
    network.mark_output(network.add_activation(x, trt.ActivationType.RELU).get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    context = trt.Runtime(LOGGER).deserialize_cuda_engine(plan).create_execution_context()
    assert context.all_binding_shapes_specified and context.all_shape_inputs_specified
    assert context.get_binding_shape(0) == context.get_binding_shape(1) == (2, 3)
    assert two.create_execution_context().all_shape_inputs_specified


@pytest.mark.parametrize("dtype", [trt.int64, trt.int32])
def test_shape_inputs_by_index(logger: small.Recorder, dtype: trt.DataType) -> None:
    engine = sized(logger, dtype)
    assert [engine.is_shape_binding(i) for i in range(8)] == [False, True, False, True] * 2
    assert [engine.get_location(i) == trt.TensorLocation.HOST for i in range(4)] == [False, True, False, True]
    assert engine.is_shape_inference_io("size") and not engine.is_shape_inference_io("x")
    context = engine.create_execution_context()
    x, y, shape = np.random.default_rng(3).random(12, np.float32), np.empty(12, np.float32), np.empty(2, np.int64)
    context.set_binding_shape(0, (12,))
    with pytest.raises(RuntimeError, match="binding 1"):
        context.get_shape(1)
    assert not context.execute_v2([x, None, y.ctypes.data, shape]) and "'size' is not set" in logger.errors()
    values = [3, 4]
    assert context.set_shape_input(1, values)
    values[:] = [99, 99]
    assert context.get_shape(1) == [3, 4] and context.get_shape(3) == [3, 4]
    assert context.execute_v2([x, 0, y, shape])
    np.testing.assert_array_equal(y, 2 * x)
    assert shape.tolist() == [3, 4]
    for binding, refused in ((0, [3, 4]), (2, [3, 4]), (3, [3, 4]), (5, [3, 4]), (1, [3, 25]), (1, [0, 3]), (1, [3])):
        assert context.set_shape_input(binding, refused) is False
    assert context.get_shape(1) == [3, 4]
    for wrong in (0, 2):
        with pytest.raises(RuntimeError):
            context.get_shape(wrong)
    assert "outside [1, 24] of profile 0" in logger.errors() and "2 values; 1 were given" in logger.errors()


def test_another_profile_forgets_shapes_and_values(logger: small.Recorder) -> None:
    context = sized(logger).create_execution_context()
    assert context.active_optimization_profile == 0
    context.set_binding_shape(0, (12,))
    context.set_shape_input(1, [3, 4])
    context.active_optimization_profile = 1
    assert context.active_optimization_profile == 1
    assert not context.all_binding_shapes_specified and not context.all_shape_inputs_specified
    assert context.infer_shapes() == ["x", "size"]
    assert context.get_binding_shape(0).nbDims == -1  # Of profile 0.
    assert not context.set_shape_input(5, [3, 5]) and context.set_shape_input(5, [3, 4])
    assert context.set_binding_shape(4, (12,)) and context.get_binding_shape(6) == (3, 4)
    x, y, shape = np.random.default_rng(4).random(12, np.float32), np.empty(12, np.float32), np.empty(2, np.int64)
    assert context.execute_v2([0, 0, 0, 0, x, 0, y, shape])
    np.testing.assert_array_equal(y, 2 * x)
    with pytest.raises(RuntimeError, match="profile 2"):
        context.active_optimization_profile = 2
    assert context.active_optimization_profile == 1


def test_execute_async_v2_runs_the_bindings(two: trt.ICudaEngine) -> None:
    context = two.create_execution_context()
    assert context.execute_async_v2([1, 2], 0) is False  # The shape of x is missing.
    x, y = small.inputs(3, 5), np.empty((3, 4), np.float32)
    context.set_binding_shape(0, x.shape)
    order = [0, 0]
    order[two.get_binding_index("x")], order[two.get_binding_index("y")] = x.ctypes.data, y.ctypes.data
    assert context.execute_async_v2(bindings=order, stream_handle=0) is True
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    context.active_optimization_profile = 1
    context.set_binding_shape(2, x.shape)
    y[:] = np.nan
    assert context.execute_async_v2([0, 0, *order], 0, None)
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    with pytest.raises(ValueError, match="execute_async_v2 was given 3 bindings; the engine has 2 tensors, 4 with"):
        context.execute_async_v2([0, 0, 0], 0)
    assert context.execute_async_v2(order, 0, 0xABC0) is False  # No event of the library's.
    with pytest.raises(TypeError):
        context.execute_async_v2(order, "0")


@pytest.mark.parametrize("call", ["v2", "v3"])
def test_an_output_that_is_too_small_as_values_are_missing_is_not_to_blame(logger: small.Recorder, call: str) -> None:
    context = sized(logger).create_execution_context()
    x, size, y, shape = np.ones(12, np.float32), np.array([3, 4]), np.empty(12, np.float32), np.empty(2, np.int64)
    assert context.set_input_shape("x", (12,))

    def run() -> bool:
        if call == "v2":
            return context.execute_v2([x, None, y, shape])
        for name, array in (("x", x), ("y", y), ("shape", shape)):
            assert context.set_tensor_address(name, array)
        return context.execute_async_v3(0)

    with pytest.raises(ValueError, match="'y' holds 48 bytes; .* up to .*: the values of input 'size' are not set"):
        run()
    assert context.set_shape_input(1, [3, 4]) if call == "v2" else context.set_tensor_address("size", size)
    assert run()
    np.testing.assert_array_equal(y, 2 * x)


def test_values_of_shape_tensors_lie_where_bindings_say(logger: small.Recorder) -> None:
    """The room that an output needs is what these make of it, not the most that the profile allows."""
    context = sized(logger).create_execution_context()
    x, y, shape = np.random.default_rng(5).random(12, np.float32), np.empty(12, np.float32), np.empty(2, np.int64)
    assert context.set_input_shape("x", (12,))
    for size in ([3, 4], [4, 3], [2, 6]):
        assert context.execute_v2([x, np.array(size), y, shape]), logger.errors()
        np.testing.assert_array_equal(y, 2 * x)
        assert shape.tolist() == size
    y = np.empty(11, np.float32)
    with pytest.raises(ValueError, match=r"'y' holds 44 bytes; the tensor needs 48 \("):
        context.execute_v2([x, np.array([3, 4]), y, shape])
