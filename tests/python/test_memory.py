"""Memory that callers hand over: arrays, buffers, addresses, capsules; its size, and the registry of plugins."""

import array
import ctypes
import gc
import weakref

import numpy as np
import pytest
import small
import tenon
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)


@pytest.fixture(scope="module")
def engine() -> trt.ICudaEngine:
    return small.engine(small.Recorder())


def capsule(address: int, name: bytes | None = b"any name") -> object:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(address, name, None)


def test_arrays_too_small_are_refused_when_run(engine: trt.ICudaEngine) -> None:
    context = engine.create_execution_context()
    x, y = small.inputs(3), np.empty((3, 4), np.float32)
    context.set_input_shape("x", (2, 8))
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y[:2])
    assert context.execute_async_v3(0)
    np.testing.assert_allclose(y[:2], small.want(x[:2]), atol=1e-5)

    y[:] = 7.25
    context.set_input_shape("x", (3, 8))  # The shape grows beyond what was given.
    with pytest.raises(ValueError, match=r"tensor 'y' holds 32 bytes; the tensor needs 48 \(\(3, 4\) of FLOAT\)"):
        context.execute_async_v3(0)
    with pytest.raises(ValueError, match="tensor 'y' holds 32 bytes; the tensor needs 48"):
        context.execute_v2([x, y[:2]])
    with pytest.raises(ValueError, match="tensor 'x' holds 64 bytes; the tensor needs 96"):
        context.execute_v2([x[:2], y])
    assert (y == 7.25).all()  # Nothing ran.

    assert context.set_tensor_address("y", y) and context.execute_async_v3(0)
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    context.set_tensor_address("y", y[:2])
    context.set_tensor_address("y", y.ctypes.data)  # Nobody knows the size behind an address.
    assert context.execute_async_v3(0)


def test_random_shapes_pass_when_there_is_room_and_only_then(engine: trt.ICudaEngine) -> None:
    context, random = engine.create_execution_context(), np.random.default_rng(12)
    memory = np.empty(16 * 8 + 16 * 4, np.float32)
    for _ in range(200):
        batch, rows_in, rows_out = (int(value) for value in random.integers(1, 17, 3))
        context.set_input_shape("x", (batch, 8))
        context.set_tensor_address("x", memory[: rows_in * 8])
        context.set_tensor_address("y", memory[128 : 128 + rows_out * 4])
        if min(rows_in, rows_out) >= batch:
            assert context.execute_async_v3(0)
        else:
            with pytest.raises(ValueError, match="needs"):
                context.execute_async_v3(0)


@pytest.mark.parametrize("kind", ["bytearray", "memoryview", "array", "ctypes"])
def test_any_buffer_is_memory(engine: trt.ICudaEngine, kind: str) -> None:
    def made(floats: int) -> object:
        raw = bytearray(floats * 4)
        return {
            "bytearray": raw,
            "memoryview": memoryview(raw),
            "array": array.array("f", [0.0] * floats),
            "ctypes": (ctypes.c_float * floats)(),
        }[kind]

    context, x, y = engine.create_execution_context(), small.inputs(3), made(12)
    context.set_input_shape("x", x.shape)
    assert context.set_tensor_address("x", x.tobytes())  # Bytes can be read.
    assert context.set_tensor_address("y", y) and context.execute_async_v3(0)
    np.testing.assert_allclose(np.frombuffer(y, np.float32).reshape(3, 4), small.want(x), atol=1e-5)
    context.set_tensor_address("y", made(11))
    with pytest.raises(ValueError, match="tensor 'y' holds 44 bytes; the tensor needs 48"):
        context.execute_async_v3(0)
    with pytest.raises(TypeError, match="'y' is read-only"):
        context.set_tensor_address("y", bytes(48))
    with pytest.raises(TypeError, match="float64, not float32"):
        context.set_tensor_address("y", array.array("d", [0.0] * 12))
    with pytest.raises(TypeError, match="'y' is not contiguous"):
        context.set_tensor_address("y", memoryview(bytearray(96))[::2])


def test_a_bytearray_in_use_cannot_move(engine: trt.ICudaEngine) -> None:
    context, memory = engine.create_execution_context(), bytearray(48)
    context.set_tensor_address("y", memory)
    with pytest.raises(BufferError):
        memory.extend(bytes(1 << 20))
    context.set_tensor_address("y", None)
    gc.collect()
    memory.extend(bytes(1 << 20))


def shape_input_engine() -> trt.ICudaEngine:
    """y = x, reshaped to what the two numbers of s say."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (-1, 8))
    s = network.add_input("s", trt.int64, (2,))
    shuffle = network.add_shuffle(x)
    shuffle.set_input(1, s)
    shuffle.get_output(0).name = "y"
    network.mark_output(shuffle.get_output(0))
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 8), (2, 8), (4, 8))
    profile.set_shape_input("s", (1, 1), (4, 4), (32, 32))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def test_values_of_shape_inputs_must_all_be_there() -> None:
    engine = shape_input_engine()
    context = engine.create_execution_context()
    context.set_input_shape("x", (2, 8))
    with pytest.raises(ValueError, match="tensor 's' holds 8 bytes; the tensor needs 16"):
        context.set_tensor_address("s", np.array([4], np.int64))
    x, y = small.inputs(2), np.empty((4, 4), np.float32)
    assert context.set_tensor_address("s", np.array([4, 4], np.int64))
    assert context.infer_shapes() == [] and context.get_tensor_shape("y") == (4, 4)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y[:3])
    with pytest.raises(ValueError, match="tensor 'y' holds 48 bytes; the tensor needs 64"):
        context.execute_async_v3(0)
    context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(y, x.reshape(4, 4))


def non_zero_engine() -> trt.ICudaEngine:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    layer = network.add_non_zero(network.add_input("x", trt.float32, (4, 5)))
    layer.get_output(0).name = "where"
    network.mark_output(layer.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


class Allocator(trt.IOutputAllocator):
    def __init__(self) -> None:
        trt.IOutputAllocator.__init__(self)
        self.memory, self.shape = None, None

    def reallocate_output(self, tensor_name: str, memory: int, size: int, alignment: int) -> int:
        self.memory = np.empty(max(size, 1), np.uint8)
        return self.memory.ctypes.data

    def notify_shape(self, tensor_name: str, shape: trt.Dims) -> None:
        self.shape = tuple(shape)


def test_outputs_that_depend_on_data_need_room_for_the_most() -> None:
    context = non_zero_engine().create_execution_context()
    x = np.zeros((4, 5), np.float32)
    x[1, 2] = x[3, 0] = 1.5
    most = context.get_max_output_size("where")
    assert most >= 2 * 20 * 4
    context.set_tensor_address("x", x)
    context.set_tensor_address("where", np.empty(most // 8, np.int32))
    with pytest.raises(ValueError, match=f"tensor 'where' holds {most // 2} bytes; the tensor needs {most}"):
        context.execute_async_v3(0)
    allocator = Allocator()
    context.set_output_allocator("where", allocator)  # Now the array counts for nothing.
    assert context.execute_async_v3(0)
    found = allocator.memory.view(np.int32)[:4].reshape(allocator.shape)
    assert sorted(map(tuple, found.T.tolist())) == [(1, 2), (3, 0)]


def test_memory_of_activations_must_be_as_large_as_said(engine: trt.ICudaEngine) -> None:
    managed = trt.ExecutionContextAllocationStrategy.USER_MANAGED
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    value = network.add_input("x", trt.float32, (64, 64))
    for _ in range(3):
        value = network.add_softmax(network.add_matrix_multiply(value, trt.MatrixOperation.NONE, value,
            trt.MatrixOperation.TRANSPOSE).get_output(0)).get_output(0)  # fmt: skip
    value.name = "y"
    network.mark_output(value)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    context = trt.Runtime(LOGGER).deserialize_cuda_engine(plan).create_execution_context(managed)
    needed = context.update_device_memory_size_for_shapes()
    assert needed > 64
    small_one, whole = np.empty(64, np.uint8), np.empty(needed + 64, np.uint8)
    with pytest.raises(ValueError, match=f"holds 64 bytes, not {needed}"):
        context.set_device_memory(small_one, needed)
    x, y = np.random.default_rng(4).standard_normal((64, 64), np.float32), np.empty((64, 64), np.float32)
    context.device_memory = small_one[-small_one.ctypes.data % 16 :]
    assert not context.execute_v2([x, y])  # The size is known: refused, not overrun.
    context.device_memory = whole[-whole.ctypes.data % 16 :]
    assert context.execute_v2([x, y]) and np.allclose(y.sum(-1), 1, atol=1e-4)


@pytest.mark.parametrize("inputs", [{"x": np.ones((3, 8), np.float64)}, {"x": np.ones((3, 8), np.int8)}])
def test_verify_refuses_other_element_types(engine: trt.ICudaEngine, inputs: dict[str, np.ndarray]) -> None:
    with pytest.raises(TypeError, match="'x' has elements of (float64|int8), not float32"):
        tenon.verify(engine, inputs)


@pytest.mark.parametrize("stream", [0, None, np.int64(0), 1], ids=["0", "None", "NumPy's 0", "1"])
def test_X4_the_default_stream_is_0_or_none(engine: trt.ICudaEngine, stream: object) -> None:
    context, x, y = engine.create_execution_context(), small.inputs(3), np.empty((3, 4), np.float32)
    context.set_input_shape("x", x.shape)
    context.set_tensor_address("x", capsule(x.ctypes.data))
    context.set_tensor_address("y", capsule(y.ctypes.data, None))
    assert context.set_optimization_profile_async(0, stream)
    context.set_input_shape("x", x.shape)
    assert context.execute_async_v3(stream_handle=stream)
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    y[:] = 0
    assert context.execute_v2([capsule(x.ctypes.data), capsule(y.ctypes.data)])
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)


def test_X4_a_capsule_is_the_handle_that_it_holds() -> None:
    logger = small.Recorder()
    context, x, y = small.engine(logger).create_execution_context(), small.inputs(3), np.empty((3, 4), np.float32)
    context.set_input_shape("x", x.shape)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    for stream in (capsule(0xABCD0), 0xABCD0):  # No stream that anybody made: the message names it.
        logger.lines.clear()
        assert not context.execute_async_v3(stream)
        assert "0xabcd0" in logger.errors()


@pytest.mark.parametrize("stream", ["0", 0.0, np.zeros(1, np.int64), object(), -1, 1 << 64])
def test_X4_other_streams_are_type_errors(engine: trt.ICudaEngine, stream: object) -> None:
    context = engine.create_execution_context()
    for call in (context.execute_async_v3, lambda s: context.set_optimization_profile_async(0, s)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call(stream)


def test_stock_plugins_and_registry() -> None:
    logger = small.Recorder()
    assert trt.init_libnvinfer_plugins(logger, "") is True
    assert trt.init_libnvinfer_plugins(logger, namespace="") is True  # A second call changes nothing (I12).
    assert trt.init_libnvinfer_plugins(None, "") is True
    assert logger.errors() == ""
    with pytest.raises(TypeError, match="logger"):
        trt.init_libnvinfer_plugins("logger", "")
    registry = trt.get_plugin_registry()
    assert isinstance(registry, trt.IPluginRegistry)
    assert registry is trt.get_plugin_registry()  # One for the process.
    assert registry.all_creators == registry.all_creators_recursive
    assert registry.get_plugin_creator("InstanceNormalization_TRT", "1", "") in registry.plugin_creator_list
    assert registry.get_creator(type="a", version="1", plugin_namespace="") is None
    assert registry.get_creator(name="a", version="1", namespace="") is None
    own = trt.Builder(LOGGER).get_plugin_registry()  # It keeps its builder.
    assert own is not registry and own.parent_search_enabled and own.all_creators == []
    assert own.all_creators_recursive == registry.all_creators
    assert trt.Runtime(LOGGER).get_plugin_registry() is not registry
    assert registry.parent_search_enabled in (True, False)


def test_the_loggers_of_the_process_may_go() -> None:
    done = small.script(
        "import gc, small, tensorrt as trt\n"
        "for make in (trt.Logger, small.Recorder):\n"
        "    logger = make()\n"
        "    trt.init_libnvinfer_plugins(logger, '')\n"
        "    trt.Runtime(logger)\n"
        "    del logger\n"
        "    gc.collect()\n"
        "    [small.Recorder() for _ in range(99)]\n"
        "    print(trt.init_libnvinfer_plugins(None, ''))\n"
    )
    assert done.stdout == "True\nTrue\n", (done.returncode, done.stderr)


def test_memory_that_a_context_refuses_is_not_its_memory(engine: trt.ICudaEngine) -> None:
    owns = engine.create_execution_context()
    with pytest.raises(RuntimeError, match="did not take the memory"):
        owns.device_memory = np.empty(4096, np.uint8)
    managed = engine.create_execution_context(trt.ExecutionContextAllocationStrategy.USER_MANAGED)
    whole = np.empty(4096 + 16, np.uint8)
    start = -whole.ctypes.data % 16
    memory = whole[start : start + 4096]
    managed.device_memory = memory
    with pytest.raises(ValueError, match="cannot hold -5 bytes"):
        managed.set_device_memory(memory, -5)
    watched = weakref.ref(memory)
    del memory
    for refused in (whole[start + 8 :], whole.ctypes.data + start + 8):
        with pytest.raises(RuntimeError, match="did not take the memory"):
            managed.device_memory = refused
        with pytest.raises(RuntimeError, match="did not take the memory"):
            managed.set_device_memory(refused, 64)
    assert owns.device_memory == 0 and managed.device_memory is watched()
    managed.device_memory = 0
    assert watched() is None


@pytest.mark.parametrize("address", [-5, 1 << 64, np.int64(-1)])
def test_addresses_have_64_bits_and_no_sign(engine: trt.ICudaEngine, address: object) -> None:
    context = engine.create_execution_context()
    with pytest.raises(ValueError, match="tensor 'x' cannot be at"):
        context.set_tensor_address("x", address)
    with pytest.raises(TypeError, match="tensor 'x' must be"):
        context.set_tensor_address("x", True)


class Tensor:
    """As a framework's tensor of one integer, which passes for a number: its element."""

    def __init__(self, name: str) -> None:
        setattr(self, name, lambda: 64)

    def __index__(self) -> int:
        return 4096


@pytest.mark.parametrize("name", ["data_ptr", "__dlpack__"])
def test_a_tensor_of_one_integer_is_no_address(engine: trt.ICudaEngine, name: str) -> None:
    context = engine.create_execution_context()
    with pytest.raises(TypeError, match=r"tensor 'x' cannot be a Tensor: pass its data_ptr\(\), or a NumPy array"):
        context.set_tensor_address("x", Tensor(name))
    assert context.get_tensor_address("x") == 0
    assert context.set_tensor_address("x", np.int64(4096))


def test_shapes_are_sequences_of_integers(engine: trt.ICudaEngine) -> None:
    context = engine.create_execution_context()
    for shape in ((3, 8), [3, 8], np.array([3, 8]), range(3, 9, 5), trt.Dims([3, 8]), (np.int32(3), np.int64(8))):
        assert context.set_input_shape("x", shape) and tuple(context.get_tensor_shape("x")) == (3, 8)
        assert context.set_binding_shape(0, shape)
    for shape in ([3.0, 8.0], "38", ["3", 8], [None, 8]):
        with pytest.raises(TypeError):
            context.set_input_shape("x", shape)
    with pytest.raises(ValueError, match="does not fit 32 bits"):
        context.set_input_shape("x", [1 << 70, 8])


def test_a_misspelt_attribute_of_a_context_is_a_mistake(engine: trt.ICudaEngine) -> None:
    context = engine.create_execution_context()
    with pytest.raises(AttributeError, match="'IExecutionContext' object has no attribute 'enqueue_emit_profile'"):
        context.enqueue_emit_profile = False
    context.enqueue_emits_profile = False
    assert context.enqueue_emits_profile is False
