"""Execution contexts by tensor name: output allocators, memory, settings (rules O, Q, R, S, X6; seed 004)."""

import ctypes
import gc
import pathlib
import sys
import threading
import weakref

import numpy as np
import pytest
import small
import tenon
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)
#: What nobody made: a plain error, not a crash.
NO_HANDLE = 0xABC0


@pytest.fixture
def logger() -> small.Recorder:
    return small.Recorder()


def finder(logger: small.Recorder) -> trt.IExecutionContext:
    """found = where x of shape (2, 3) is not 0, twice = 2x."""
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (2, 3))
    twice = network.add_elementwise(x, x, trt.ElementWiseOperation.SUM).get_output(0)
    for name, tensor in (("found", network.add_non_zero(x).get_output(0)), ("twice", twice)):
        tensor.name = name
        network.mark_output(tensor)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    return trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()


class Allocator(trt.IOutputAllocator):
    """Gives memory of its own in the form that `form` makes of its address, and keeps what it was asked and told."""

    def __init__(self, form=int) -> None:
        trt.IOutputAllocator.__init__(self)
        self.form, self.asked, self.told = form, [], []
        self.memory = np.full(64, -1, np.int32)

    def reallocate_output(self, tensor_name: str, memory: int, size: int, alignment: int) -> object:
        self.asked.append((tensor_name, memory, size, alignment))
        return self.form(self.memory.ctypes.data)

    def notify_shape(self, tensor_name: str, shape: trt.Dims) -> None:
        self.told.append((tensor_name, tuple(shape)))


def capsule(address: int, name: bytes = b"of any name") -> object:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    capsule.names.append(name)  # The capsule does not own its name.
    return new(address, name, None)


capsule.names = []


def run_finder(context: trt.IExecutionContext, x: np.ndarray) -> bool:
    context.set_tensor_address("x", x)
    return context.execute_async_v3(0)


X = np.array([[0, 2, 0], [3, 0, 4]], np.float32)
FOUND = np.array(np.nonzero(X), np.int32)


@pytest.mark.parametrize("form", [int, capsule])
def test_R9_addresses_are_ints_or_capsules(logger: small.Recorder, form) -> None:
    context, allocator, twice = finder(logger), Allocator(form), np.empty((2, 3), np.float32)
    context.set_tensor_address("twice", twice)
    assert context.set_output_allocator("found", allocator) is True
    assert context.get_output_allocator("found") is allocator
    assert run_finder(context, X), logger.errors()
    ((name, offered, size, alignment),) = allocator.asked
    assert (name, offered) == ("found", 0) and size >= FOUND.nbytes and alignment & (alignment - 1) == 0
    assert allocator.told == [("found", (2, 3))]
    np.testing.assert_array_equal(allocator.memory[:6].reshape(2, 3), FOUND)
    np.testing.assert_array_equal(twice, 2 * X)


@pytest.mark.parametrize("form", [lambda _: None, str, float, lambda _: [1], lambda _: object()])
def test_R9_anything_else_is_no_memory(logger: small.Recorder, form) -> None:
    context, allocator = finder(logger), Allocator(form)
    context.set_tensor_address("twice", np.empty((2, 3), np.float32))
    context.set_output_allocator("found", allocator)
    assert not run_finder(context, X) and "'found'" in logger.errors()
    assert not allocator.told and (allocator.memory == -1).all()
    allocator.form = int
    assert run_finder(context, X)  # The context stays usable.


def test_R9_exceptions_are_no_memory(logger: small.Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> int:
        raise MemoryError("none today")

    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: raised.append(str(unraisable.exc_value)))
    context = finder(logger)
    context.set_tensor_address("twice", np.empty((2, 3), np.float32))
    context.set_output_allocator("found", Allocator(fails))
    assert not run_finder(context, X) and raised == ["none today"]


def test_R7_the_asynchronous_form_is_preferred_and_falls_back(logger: small.Recorder) -> None:
    class Async(Allocator):
        def reallocate_output_async(
            self, tensor_name: str, memory: int, size: int, alignment: int, stream: int
        ) -> int | None:
            self.streams = [*getattr(self, "streams", []), stream]
            return trt.IOutputAllocator.reallocate_output(self, tensor_name, memory, size, alignment)

    context, allocator = finder(logger), Async()
    context.set_tensor_address("twice", np.empty((2, 3), np.float32))
    context.set_output_allocator("found", allocator)
    run_finder(context, X)
    assert allocator.streams == [0]

    class Both(Allocator):
        def reallocate_output_async(
            self, tensor_name: str, memory: int, size: int, alignment: int, stream: int
        ) -> int | None:
            return self.reallocate_output(tensor_name, memory, size, alignment)

    context.set_output_allocator("found", both := Both())
    assert run_finder(context, X) and len(both.asked) == 1


def test_R7_the_calls_of_the_base_answer_nothing() -> None:
    class Bare(trt.IOutputAllocator):
        """Overrides nothing."""

    allocator = Bare()
    assert allocator.reallocate_output("y", 0, 16, 16) == 0
    assert allocator.reallocate_output_async("y", 0, 16, 16, 0) == 0


def test_R6_R10_a_preset_address_is_offered_for_outputs_of_known_shape_too(logger: small.Recorder) -> None:
    class Takes(Allocator):
        def reallocate_output(self, tensor_name: str, memory: int, size: int, alignment: int) -> int:
            super().reallocate_output(tensor_name, memory, size, alignment)
            return memory

    context, twice = finder(logger), np.empty((2, 3), np.float32)
    context.set_tensor_address("found", np.empty((2, 6), np.int32))
    context.set_tensor_address("twice", twice)
    context.set_output_allocator("twice", allocator := Takes())
    assert run_finder(context, X)
    assert allocator.asked[0][:2] == ("twice", twice.ctypes.data) and allocator.told == [("twice", (2, 3))]
    np.testing.assert_array_equal(twice, 2 * X)


def test_R2_X6_allocators_belong_to_outputs_and_live_with_the_context(logger: small.Recorder) -> None:
    context, allocator = finder(logger), Allocator()
    for name in ("x", "nobody"):
        assert context.set_output_allocator(name, allocator) is False
        assert context.get_output_allocator(name) is None
    assert context.get_output_allocator("found") is None
    context.set_output_allocator("found", allocator)
    alive = weakref.ref(allocator)
    del allocator
    gc.collect()
    assert context.get_output_allocator("found") is alive()
    assert context.set_output_allocator("found", None) is True and context.get_output_allocator("found") is None
    gc.collect()
    assert alive() is None
    context.set_output_allocator("found", allocator := Allocator())
    alive = weakref.ref(allocator)
    del allocator
    assert alive() is not None
    del context
    gc.collect()
    assert alive() is None


def test_get_max_output_size_bounds_outputs(logger: small.Recorder) -> None:
    context = finder(logger)
    assert context.get_max_output_size("found") >= 2 * 6 * 4 and context.get_max_output_size("twice") == 24
    assert context.get_max_output_size("x") == context.get_max_output_size("nobody") == -1
    dynamic = small.engine(logger).create_execution_context()
    assert dynamic.get_max_output_size("y") == -1
    dynamic.set_input_shape("x", (3, 8))
    assert dynamic.get_max_output_size("y") == 3 * 4 * 4


def test_R8_an_address_alone_must_hold_the_bound(logger: small.Recorder) -> None:
    context = finder(logger)
    context.set_tensor_address("twice", np.empty((2, 3), np.float32))
    assert not run_finder(context, X) and "'found' has neither address nor allocator" in logger.errors()
    context.set_tensor_address("found", np.empty((2, 2), np.int32))
    with pytest.raises(ValueError, match="'found'"):
        run_finder(context, X)
    memory = np.empty(context.get_max_output_size("found") // 4, np.int32)
    context.set_tensor_address("found", memory)
    assert run_finder(context, X)
    np.testing.assert_array_equal(memory[:6].reshape(2, 3), FOUND)


def test_Q8_strides_are_dense(logger: small.Recorder) -> None:
    context = small.engine(logger).create_execution_context()
    assert context.get_tensor_strides("x").nbDims == -1 and context.get_tensor_strides("nobody").nbDims == -1
    context.set_input_shape("x", (3, 8))
    assert context.get_tensor_strides("x") == (8, 1) and context.get_tensor_strides("y") == (4, 1)


def wide(logger: small.Recorder, runtime: trt.Runtime | None = None) -> trt.ICudaEngine:
    """y = softmax(softmax(x · m) · m) with two profiles: runs keep activations, more of them in profile 1."""
    builder = trt.Builder(logger)
    network = builder.create_network()
    value = network.add_input("x", trt.float32, (-1, 16))
    matrix = np.random.default_rng(3).standard_normal((16, 16), np.float32)
    plain = trt.MatrixOperation.NONE
    for _ in range(3):
        weights = network.add_constant((16, 16), matrix).get_output(0)
        product = network.add_matrix_multiply(value, plain, weights, plain).get_output(0)
        soft = network.add_softmax(product)
        soft.axes = 2
        value = soft.get_output(0)
    value.name = "y"
    network.mark_output(value)
    config = builder.create_builder_config()
    for most in (8, 64):
        profile = builder.create_optimization_profile()
        profile.set_shape("x", (1, 16), (4, 16), (most, 16))
        config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    return (runtime or trt.Runtime(logger)).deserialize_cuda_engine(plan)


def run_wide(context: trt.IExecutionContext, rows: int = 8) -> np.ndarray:
    x, y = np.random.default_rng(rows).standard_normal((rows, 16), np.float32), np.empty((rows, 16), np.float32)
    assert context.set_input_shape("x", x.shape)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    return y


def test_V5_sizes_of_memory_per_profile(logger: small.Recorder) -> None:
    engine = wide(logger)
    small_size, large = (engine.get_device_memory_size_for_profile_v2(i) for i in (0, 1))
    assert 0 < small_size < large == engine.device_memory_size_v2 == engine.device_memory_size
    assert engine.get_device_memory_size_for_profile(0) == small_size


def test_Q19_Q20_memory_that_the_user_manages(logger: small.Recorder) -> None:
    engine = wide(logger)
    want = run_wide(engine.create_execution_context())
    for context in (
        engine.create_execution_context(trt.ExecutionContextAllocationStrategy.USER_MANAGED),
        engine.create_execution_context_without_device_memory(),
    ):
        assert context.update_device_memory_size_for_shapes() == 0  # The shape of x is missing.
        context.set_input_shape("x", (8, 16))
        needed = context.update_device_memory_size_for_shapes()
        assert 0 < needed <= engine.get_device_memory_size_for_profile_v2(0)
        context.set_tensor_address("x", np.zeros((8, 16), np.float32))
        context.set_tensor_address("y", np.zeros((8, 16), np.float32))
        assert not context.execute_async_v3(0) and "set them with setDeviceMemoryV2" in logger.errors()
        memory = np.empty(engine.device_memory_size + 256, np.uint8)
        aligned = -(-memory.ctypes.data // 256) * 256
        for given in (aligned, capsule(aligned)):
            context.device_memory = given
            assert context.device_memory == aligned
            np.testing.assert_array_equal(run_wide(context), want)
        context.device_memory = None
        assert not context.execute_async_v3(0)
        context.set_device_memory(aligned, needed)
        np.testing.assert_array_equal(run_wide(context), want)


def test_device_memory_is_in_use_until_the_run_is_over(logger: small.Recorder) -> None:
    context = wide(logger).create_execution_context(trt.ExecutionContextAllocationStrategy.USER_MANAGED)
    context.set_input_shape("x", (8, 16))
    memory = np.full(context.update_device_memory_size_for_shapes(), 0xA5, np.uint8)
    context.set_device_memory(memory, memory.nbytes)
    run_wide(context)
    assert (memory != 0xA5).any()
    memory[:] = 0x5A  # Between runs it is anybody's.
    np.testing.assert_array_equal(run_wide(context), run_wide(wide(logger).create_execution_context()))


class Memory(trt.IGpuAllocator):
    """Gives what NumPy holds; counts."""

    def __init__(self) -> None:
        trt.IGpuAllocator.__init__(self)
        self.held, self.given, self.asked = {}, 0, []

    def allocate(self, size: int, alignment: int, flags: int) -> int:
        assert size > 0 and alignment & (alignment - 1) == 0
        memory = np.empty(size + alignment, np.uint8)
        address = -(-memory.ctypes.data // alignment) * alignment
        self.held[address], self.given = memory, self.given + 1
        self.asked.append(size)
        return address

    def deallocate(self, memory: int) -> bool:
        return self.held.pop(memory, None) is not None


class AsyncMemory(trt.IGpuAsyncAllocator):
    """The same by the asynchronous calls."""

    def __init__(self) -> None:
        trt.IGpuAsyncAllocator.__init__(self)
        self.plain = Memory()

    def allocate_async(self, size: int, alignment: int, flags: int, stream: int) -> int:
        return self.plain.allocate(size, alignment, flags)

    def deallocate_async(self, memory: int, stream: int) -> bool:
        return self.plain.deallocate(memory)


def test_Q21_contexts_take_what_their_strategy_says(logger: small.Recorder) -> None:
    runtime, memory = trt.Runtime(logger), Memory()
    runtime.gpu_allocator = memory
    engine = wide(logger, runtime)
    sizes = [engine.get_device_memory_size_for_profile_v2(i) for i in (0, 1)]
    memory.asked.clear()
    fixed = engine.create_execution_context()
    assert memory.asked == [sizes[1]]
    changing = engine.create_execution_context(trt.ExecutionContextAllocationStrategy.ON_PROFILE_CHANGE)
    assert memory.asked == [sizes[1], sizes[0]]
    changing.set_optimization_profile_async(1, 0)
    assert memory.asked == [sizes[1], sizes[0], sizes[1]]
    fixed.set_optimization_profile_async(1, 0)
    np.testing.assert_array_equal(run_wide(changing, 64), run_wide(fixed, 64))
    del fixed, changing, engine
    gc.collect()
    assert not memory.held


@pytest.mark.parametrize("kind", [Memory, AsyncMemory])
@pytest.mark.parametrize("of", ["runtime", "builder"])
def test_O10_O11_allocators_reach_engines_and_contexts(logger: small.Recorder, kind: type, of: str) -> None:
    allocator = kind()
    plain = getattr(allocator, "plain", allocator)
    if of == "runtime":
        runtime = trt.Runtime(logger)
        runtime.gpu_allocator = allocator
        engine = wide(logger, runtime)
    else:
        builder = trt.Builder(logger)
        builder.gpu_allocator = allocator
        engine = builder.build_engine_with_config(small.network(builder), small.config(builder))
    context = engine.create_execution_context()
    if of == "runtime":
        assert plain.given > 0
        run_wide(context)
    else:
        x, y = small.inputs(), np.empty((3, 4), np.float32)
        context.set_input_shape("x", x.shape)
        assert context.execute_v2([x, y])
        np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    del context, engine
    gc.collect()
    assert not plain.held


def products(logger: small.Recorder) -> trt.ICudaEngine:
    """y = x · xᵀ: one of the sides is packed in memory of the run's own."""
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (8, 16))
    y = network.add_matrix_multiply(x, trt.MatrixOperation.NONE, x, trt.MatrixOperation.TRANSPOSE).get_output(0)
    y.name = "y"
    network.mark_output(y)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    return trt.Runtime(logger).deserialize_cuda_engine(plan)


def run_products(context: trt.IExecutionContext, seed: int) -> None:
    x, y = np.random.default_rng(seed).standard_normal((8, 16), np.float32), np.empty((8, 8), np.float32)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    np.testing.assert_allclose(y, x @ x.T, rtol=1e-4, atol=1e-5)


def test_S9_X6_the_temporary_allocator_serves_within_runs(logger: small.Recorder) -> None:
    context = products(logger).create_execution_context()
    assert context.temporary_allocator is None
    run_products(context, 1)
    memory = Memory()
    context.temporary_allocator = memory
    assert context.temporary_allocator is memory
    alive = weakref.ref(memory)
    held, calls = memory.held, memory.asked
    del memory
    gc.collect()
    assert alive() is not None  # Kept by the context.
    for seed in (2, 3):
        before = len(calls)
        run_products(context, seed)
        assert len(calls) > before and not held  # Asked anew by each run.
    context.temporary_allocator = None
    assert context.temporary_allocator is None
    before = len(calls)
    run_products(context, 4)
    assert len(calls) == before


def test_settings_and_their_defaults(logger: small.Recorder) -> None:
    context = small.engine(logger).create_execution_context()
    assert context.persistent_cache_limit == 0 and context.enqueue_emits_profile is True
    context.persistent_cache_limit = 1 << 20  # Rule S10: there is no such cache on CPUs; it changes nothing.
    context.enqueue_emits_profile = False
    assert context.persistent_cache_limit == 1 << 20 and context.enqueue_emits_profile is False
    x, y = small.inputs(), np.empty((3, 4), np.float32)
    context.set_input_shape("x", x.shape)
    assert context.execute_v2([x, y])
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)


class Errors(trt.IErrorRecorder):
    """Keeps what it is told."""

    def __init__(self) -> None:
        trt.IErrorRecorder.__init__(self)
        self.codes = []

    def report_error(self, val: trt.ErrorCodeTRT, desc: str) -> bool:
        self.codes.append((val, desc))
        return False

    def num_errors(self) -> int:
        return len(self.codes)

    def clear(self) -> None:
        self.codes.clear()


def test_O10_B8_recorders_reach_engines_and_contexts_and_hear_codes(logger: small.Recorder) -> None:
    runtime, recorder = trt.Runtime(logger), Errors()
    runtime.error_recorder = recorder
    engine = wide(logger, runtime)
    context = engine.create_execution_context()
    assert engine.error_recorder is recorder and context.error_recorder is recorder
    context.set_input_shape("x", (99, 16))
    context.execute_async_v3(0)
    assert [code for code, _ in recorder.codes] == [
        trt.ErrorCodeTRT.INVALID_ARGUMENT,
        trt.ErrorCodeTRT.INVALID_STATE,
    ]
    context.error_recorder = own = Errors()
    assert not context.set_input_shape("x", (0, 16)) and len(own.codes) == 1 and len(recorder.codes) == 2
    context.error_recorder = None
    assert context.error_recorder is None


def test_inferring_shapes_writes_outputs_of_shape_inference(logger: small.Recorder) -> None:
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (-1, 3))
    shape = network.add_shape(x).get_output(0)
    shape.name = "shape"
    assert network.mark_output_for_shapes(shape) and shape.is_shape_tensor
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 3), (2, 3), (4, 3))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    assert engine.is_shape_inference_io("shape") and not engine.is_shape_inference_io("x")
    context, values = engine.create_execution_context(), np.full(2, -1, np.int64)
    context.set_tensor_address("shape", values)
    assert context.infer_shapes() == ["x"] and values.tolist() == [-1, -1]
    context.set_input_shape("x", (4, 3))
    assert context.infer_shapes() == [] and values.tolist() == [4, 3]


def test_events_and_streams_of_nobody_are_refused(logger: small.Recorder) -> None:
    context = small.engine(logger).create_execution_context()
    assert context.get_input_consumed_event() == 0
    assert context.set_input_consumed_event(NO_HANDLE) is False and context.get_input_consumed_event() == 0
    assert context.set_input_consumed_event(0) is True
    context.set_aux_streams([])
    assert not logger.errors().count("setAuxStreams")
    for number, streams in enumerate(([0], [NO_HANDLE], [1]), 1):
        context.set_aux_streams(streams)
        assert logger.errors().count("setAuxStreams") == number, logger.errors()
    assert context.engine.num_aux_streams == 0
    with pytest.raises(RuntimeError):
        context.set_optimization_profile_async(0, NO_HANDLE)
    assert context.execute_async_v3(NO_HANDLE) is False
    assert f"stream {NO_HANDLE:#x} is not" in logger.errors()


def test_set_input_shape_refuses_what_does_not_fit(logger: small.Recorder) -> None:
    context = small.engine(logger).create_execution_context()
    assert context.set_input_shape("x", (3, 8)) is True
    for name, shape in (("nobody", (3, 8)), ("y", (3, 4)), ("x", (3,)), ("x", (3, 9)), ("x", (-1, 8)), ("x", (17, 8))):
        assert context.set_input_shape(name, shape) is False
        assert context.get_tensor_shape("x") == (3, 8) and context.get_tensor_shape("y") == (3, 4)


def test_contexts_of_one_engine_run_at_the_same_time(logger: small.Recorder) -> None:
    engine = small.engine(logger)
    wrong: list[int] = []

    def work(seed: int) -> None:
        x = small.inputs(1 + seed % 16, seed)
        want = small.run(engine, x)
        context, y = engine.create_execution_context(), np.empty_like(want)
        context.set_input_shape("x", x.shape)
        for _ in range(50):
            y[:] = np.nan
            if not context.execute_v2([x, y]) or not np.array_equal(y, want):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_messages_name_the_calls_that_users_know(logger: small.Recorder, tmp_path: pathlib.Path) -> None:
    context = finder(logger)
    assert not context.execute_async_v3(0)
    assert logger.errors().startswith("IExecutionContext::enqueueV3: ")
    logger.lines.clear()
    assert not context.execute_v2([0, 0, 0])
    assert logger.errors().startswith("IExecutionContext::executeV2: ")
    logger.lines.clear()
    assert tenon.load(trt.Runtime(logger), tmp_path / "none.plan") is None
    assert logger.errors().startswith("IRuntime::deserializeCudaEngine: ")
