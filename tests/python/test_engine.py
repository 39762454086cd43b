"""Profiles, shapes, addresses and runs from Python."""

import gc
import mmap
import pathlib
import signal
import sys
import threading
import time
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


def test_T5_threads_share_an_inspector(engine: trt.ICudaEngine) -> None:
    inspector, form = engine.create_engine_inspector(), trt.LayerInformationFormat
    questions = [
        lambda: inspector.get_engine_information(form.JSON),
        lambda: inspector.get_engine_information(form.ONELINE),
        lambda: inspector.get_layer_information(0, form.JSON),
        lambda: inspector.get_layer_information(0, form.ONELINE),
    ]
    expected = [ask() for ask in questions]
    assert len(set(expected)) > 1 and all(expected)
    wrong: list[str] = []

    def loop(index: int) -> None:
        for _ in range(300):
            if (said := questions[index]()) != expected[index]:
                wrong.append(said)

    threads = [threading.Thread(target=loop, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_F8_set_shape_sets_three_or_raises() -> None:
    builder = trt.Builder(LOGGER)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 8), (2, 8), (4, 8))
    assert profile.get_shape("x") == [(1, 8), (2, 8), (4, 8)]
    with pytest.raises(RuntimeError, match="'x'"):
        profile.set_shape("x", (4, 8), (2, 8), (1, 8))
    with pytest.raises(RuntimeError, match="'x'"):
        profile.set_shape("x", (1, 8), (2, 8, 3), (4, 8))
    profile.set_shape_input("s", (1, 2), (3, 4), (5, 6))
    assert profile.get_shape_input("s") == [[1, 2], [3, 4], [5, 6]]
    with pytest.raises(RuntimeError, match="'s'"):
        profile.set_shape_input("s", (9, 2), (3, 4), (5, 6))


def test_F8_all_three_are_replaced_or_none() -> None:
    profile = trt.Builder(LOGGER).create_optimization_profile()
    bounds = [[(1, 8), (2, 8), (4, 8)], [(16, 8), (32, 8), (64, 8)], [(1, 1), (2, 2), (3, 3)], [(5,), (6,), (7,)]]
    for low, best, high in bounds:  # Larger, smaller, of another rank: what was set before does not matter.
        profile.set_shape("x", low, best, high)
        assert profile.get_shape("x") == [low, best, high]
    for low, best, high in ([(9,), (8,), (10,)], [(9,), (10,), (9,)], [(9,), (10, 1), (11,)], [(-1,), (6,), (7,)]):
        with pytest.raises(RuntimeError, match="'x'"):
            profile.set_shape("x", low, best, high)
        assert profile.get_shape("x") == bounds[-1]
    values = [[[1, 2], [3, 4], [5, 6]], [[10, 20], [30, 40], [50, 60]], [[-1], [0], [1]], [[], [], []]]
    for low, best, high in values:
        profile.set_shape_input("s", low, best, high)
        assert profile.get_shape_input("s") == [low, best, high]
    for low, best, high in ([[9], [8], [10]], [[9], [10, 1], [11]], [[1] * 65] * 3):
        with pytest.raises(RuntimeError, match="'s'"):
            profile.set_shape_input("s", low, best, high)
        assert profile.get_shape_input("s") == values[-1]


def test_F5_profiles_of_another_builder_are_refused() -> None:
    logger = small.Recorder()
    config = trt.Builder(logger).create_builder_config()
    assert config.add_optimization_profile(trt.Builder(logger).create_optimization_profile()) == -1
    assert "another builder" in logger.errors()


def test_P12_indexing_and_iteration_give_names(engine: trt.ICudaEngine) -> None:
    assert engine[0] == "x" and engine[1] == "y" and engine[-1] == "y" and engine[-2] == "x"
    for index in (2, -3):
        with pytest.raises(IndexError):
            engine[index]
    assert list(engine) == ["x", "y"]
    assert engine["y"] == 1 and len(engine) == 2  # As in TensorRT 8.
    with pytest.raises(KeyError):
        engine["z"]


def test_Q2_profile_out_of_range_raises() -> None:
    context = small.engine(small.Recorder(), profiles=2).create_execution_context()
    assert context.set_optimization_profile_async(1, 0) and context.active_optimization_profile == 1
    for index in (2, -1):
        with pytest.raises(RuntimeError, match=str(index)):
            context.set_optimization_profile_async(index, 0)


def test_Q12_infer_shapes_returns_what_is_missing(engine: trt.ICudaEngine) -> None:
    context = engine.create_execution_context()
    assert context.infer_shapes() == ["x"]
    context.set_input_shape("x", (5, 8))
    assert context.infer_shapes() == []
    assert context.get_tensor_shape("y") == (5, 4)


def test_Q12_infer_shapes_raises_where_shapes_do_not_fit() -> None:
    """Each shape fits the profile, and they do not fit each other."""
    log = small.Recorder()
    builder = trt.Builder(log)
    network = builder.create_network()
    a, b = (network.add_input(name, trt.float32, (-1, 4)) for name in "ab")
    same = network.add_elementwise(a, b, trt.ElementWiseOperation.SUM).get_output(0)
    network.mark_output(same)
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    for name in "ab":
        profile.set_shape(name, (1, 4), (2, 4), (8, 4))
    config.add_optimization_profile(profile)
    engine = trt.Runtime(log).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()
    context.set_input_shape("a", (2, 4))
    context.set_input_shape("b", (3, 4))
    with pytest.raises(RuntimeError, match="could not be inferred"):
        context.infer_shapes()
    context.set_input_shape("b", (2, 4))
    assert context.infer_shapes() == []


def test_A4_extents_beyond_32_bits_raise(engine: trt.ICudaEngine) -> None:
    context = engine.create_execution_context()
    for shape in ((1 << 31, 8), [1 << 31, 8]):
        with pytest.raises((ValueError, OverflowError, RuntimeError), match="32 bits"):
            context.set_input_shape("x", shape)
    assert not context.set_input_shape("x", ((1 << 31) - 1, 8))  # Passed on, and refused by the profile.


def test_X4_handles_are_ints(engine: trt.ICudaEngine) -> None:
    x = small.inputs()
    y, z = np.empty((3, 4), np.float32), np.empty((3, 4), np.float32)
    context = engine.create_execution_context()
    context.set_input_shape("x", x.shape)
    assert context.execute_v2([x.ctypes.data, y.ctypes.data])
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    context.set_tensor_address("x", x.ctypes.data)
    context.set_tensor_address("y", z.ctypes.data)
    assert context.execute_async_v3(stream_handle=0)
    np.testing.assert_array_equal(z, y)
    with pytest.raises(ValueError, match="3 bindings"):
        context.execute_v2([1, 2, 3])
    with pytest.raises(TypeError):
        context.execute_async_v3("0")


def test_execute_v2_takes_the_bindings_of_all_profiles() -> None:
    context = small.engine(small.Recorder(), profiles=2).create_execution_context()
    context.set_optimization_profile_async(1, 0)
    x, y = small.inputs(2), np.empty((2, 4), np.float32)
    context.set_input_shape("x", x.shape)
    assert context.execute_v2([0, 0, x.ctypes.data, y.ctypes.data])
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    with pytest.raises(ValueError, match="2 tensors, 4 with"):
        context.execute_v2([0, 0, 0])


@pytest.mark.parametrize("kind", ["host memory", "bytes", "bytearray", "memoryview", "mmap", "array"])
def test_X5_any_buffer_is_a_plan(kind: str, tmp_path: pathlib.Path) -> None:
    plan = small.plan(LOGGER)
    path = tmp_path / "a.plan"
    path.write_bytes(plan)
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    blob = {
        "host memory": plan,
        "bytes": bytes(plan),
        "bytearray": bytearray(plan),
        "memoryview": memoryview(plan),
        "mmap": mapping,
        "array": np.frombuffer(plan, np.uint8).copy(),
    }[kind]
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(blob)
    if kind == "bytearray":
        blob[:] = bytes(len(blob))  # What can change has been copied.
    if kind == "array":
        blob[:] = 0
    del plan, blob, mapping
    gc.collect()
    x = small.inputs()
    np.testing.assert_allclose(small.run(engine, x), small.want(x), atol=1e-5)


def test_immutable_plans_are_kept_not_copied() -> None:
    blob = bytes(small.plan(LOGGER))
    before = sys.getrefcount(blob)
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(blob)
    context = engine.create_execution_context()
    assert sys.getrefcount(blob) > before
    del engine
    assert sys.getrefcount(blob) > before  # The context needs it.
    del context
    gc.collect()
    assert sys.getrefcount(blob) == before
    assert trt.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR)).deserialize_cuda_engine(blob[:99]) is None
    assert sys.getrefcount(blob) == before


def test_host_memory_is_a_read_only_view() -> None:
    plan = small.plan(LOGGER)
    size, view = plan.nbytes, memoryview(plan)
    assert view.readonly and len(view) == size == len(plan)
    with pytest.raises(TypeError):
        view[0] = 1
    first = bytes(view[:64])
    del plan  # The view keeps it.
    gc.collect()
    assert bytes(view[:64]) == first
    assert np.shares_memory(np.frombuffer(view, np.uint8), np.frombuffer(view, np.uint8))


def test_arrays_are_kept_until_they_are_replaced(engine: trt.ICudaEngine) -> None:
    class Traced(np.ndarray):
        """An array that weak references can follow."""

    context = engine.create_execution_context()
    array = np.empty((3, 4), np.float32).view(Traced)
    alive = weakref.ref(array)
    context.set_input_shape("x", (3, 8))
    assert context.set_tensor_address("y", array)
    address = array.ctypes.data
    del array
    gc.collect()
    assert alive() is not None and context.get_tensor_address("y") == address
    assert context.set_tensor_address("y", address)  # A plain address takes its place.
    gc.collect()
    assert alive() is None


def test_unfit_arrays_are_refused(engine: trt.ICudaEngine) -> None:
    context = engine.create_execution_context()
    with pytest.raises(TypeError, match="contiguous"):
        context.set_tensor_address("x", np.ones((8, 3), np.float32).T)
    with pytest.raises(TypeError, match="float64, not float32"):
        context.set_tensor_address("x", np.ones((3, 8)))
    fixed = np.ones((3, 4), np.float32)
    fixed.setflags(write=False)
    with pytest.raises(TypeError, match="read-only"):
        context.set_tensor_address("y", fixed)
    with pytest.raises(TypeError, match="'x'"):
        context.set_tensor_address("x", "memory")


def test_user_managed_memory_may_be_an_array(engine: trt.ICudaEngine) -> None:
    context = engine.create_execution_context(trt.ExecutionContextAllocationStrategy.USER_MANAGED)
    x, y = small.inputs(7), np.empty((7, 4), np.float32)
    context.set_input_shape("x", x.shape)
    memory = np.empty(max(context.update_device_memory_size_for_shapes(), 1), np.uint8)
    context.set_device_memory(memory, memory.nbytes)
    assert context.device_memory is memory
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)


class Counter:
    """A thread that counts as long as it gets the interpreter."""

    def __enter__(self) -> "Counter":
        self.count, self._running = 0, True
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        while self.count == 0:
            time.sleep(0.001)
        return self

    def _run(self) -> None:
        while self._running:
            self.count += 1
            time.sleep(0.0005)

    def __exit__(self, *_: object) -> None:
        self._running = False
        self._thread.join()


def deep_network(builder: trt.Builder, layers: int, width: int) -> trt.INetworkDefinition:
    """Enough work that a build, a load and a run take many milliseconds each."""
    network = builder.create_network()
    value = network.add_input("x", trt.float32, (width, width))
    random = np.random.default_rng(5)
    for _ in range(layers):
        weights = network.add_constant((width, width), random.standard_normal((width, width), np.float32) / width)
        plain = trt.MatrixOperation.NONE
        value = network.add_matrix_multiply(value, plain, weights.get_output(0), plain).get_output(0)
        value = network.add_activation(value, trt.ActivationType.TANH).get_output(0)
    value.name = "y"
    network.mark_output(value)
    return network


def progress(call) -> object:
    """The call's result; a background thread goes on during one of several at least: others hold it up in some."""
    seen, longest = [], 0.0
    with Counter() as counter:
        for _ in range(20):
            before, start = counter.count, time.perf_counter()
            result = call()
            spent, steps = time.perf_counter() - start, counter.count - before
            assert result
            seen.append(f"{steps} steps in {spent:.3f} s")
            longest = max(longest, spent)
            if steps > 2 + spent / 0.1:
                return result
    assert longest < 0.02, ", ".join(seen)  # Else there is too little work to tell.
    return result


def test_X3_background_threads_progress() -> None:
    builder = trt.Builder(LOGGER)
    network = deep_network(builder, 24, 1024)
    config = builder.create_builder_config()
    runtime = trt.Runtime(LOGGER)
    builder.max_threads = runtime.max_threads = 1  # With many, there would be too little work to tell.
    plan = progress(lambda: builder.build_serialized_network(network, config))
    engine = progress(lambda: runtime.deserialize_cuda_engine(plan))
    context = engine.create_execution_context()
    x, y = np.ones((1024, 1024), np.float32), np.empty((1024, 1024), np.float32)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    progress(lambda: context.execute_async_v3(0))
    progress(lambda: context.execute_v2([x.ctypes.data, y.ctypes.data]))


def test_X3_background_threads_progress_during_a_refit() -> None:
    builder = trt.Builder(LOGGER)
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.REFIT)
    plan = builder.build_serialized_network(deep_network(builder, 24, 1024), config)
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    refitter = trt.Refitter(engine, LOGGER)
    refitter.max_threads = 1
    weights = np.random.default_rng(6).standard_normal((1024, 1024), np.float32)
    layers, roles = refitter.get_all()
    assert len(layers) == 24
    for layer, role in zip(layers, roles, strict=True):
        assert refitter.set_weights(layer, role, weights)
    progress(refitter.refit_cuda_engine)


def test_X2_overrides_that_raise_do_not_stop_a_build(
    capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Raises(trt.ILogger):
        def log(self, severity: trt.ILogger.Severity, msg: str) -> None:
            raise ValueError("the logger is broken")

    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: raised.append(str(unraisable.exc_value)))
    assert small.plan(Raises()).nbytes > 0
    assert raised and set(raised) == {"the logger is broken"}  # By default it is printed.

    class Missing(trt.IProgressMonitor):
        """Overrides nothing: what it would have to answer is neutral, a failure."""

    builder = trt.Builder(LOGGER)
    config = small.config(builder)
    config.progress_monitor = Missing()
    assert builder.build_serialized_network(small.network(builder), config) is None
    assert "does not implement phase_start" in capfd.readouterr().err


def test_X2_progress_monitor_sees_phases_and_cancels() -> None:
    class Monitor(trt.IProgressMonitor):
        def __init__(self, answer: bool) -> None:
            trt.IProgressMonitor.__init__(self)
            self.answer, self.open, self.seen = answer, [], []

        def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
            assert parent_phase is None or parent_phase in self.open
            self.open.append(phase_name)
            self.seen.append(phase_name)

        def step_complete(self, phase_name: str, step: int) -> bool:
            assert phase_name in self.open
            return self.answer

        def phase_finish(self, phase_name: str) -> None:
            self.open.remove(phase_name)

    for answer in (True, False):
        builder = trt.Builder(trt.Logger(trt.Logger.INTERNAL_ERROR))
        config = small.config(builder)
        monitor = config.progress_monitor = Monitor(answer)
        plan = builder.build_serialized_network(small.network(builder), config)
        assert (plan is not None) == answer
        assert monitor.seen and not monitor.open
        assert config.progress_monitor is monitor  # What stood in for it during the build is gone.


def test_X2_reader_and_recorder_overrides_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    class Reader(trt.IStreamReader):
        def __init__(self, blob: bytes) -> None:
            trt.IStreamReader.__init__(self)
            self.blob, self.at, self.raises = blob, 0, False

        def read(self, size: int) -> bytes:
            if self.raises:
                raise OSError("the disk is gone")
            piece = self.blob[self.at : self.at + size]
            self.at += len(piece)
            return piece

    class Errors(trt.IErrorRecorder):
        def __init__(self) -> None:
            trt.IErrorRecorder.__init__(self)
            self.reported = []

        def report_error(self, val: trt.ErrorCodeTRT, desc: str) -> bool:
            self.reported.append((val, desc))
            return False

        def num_errors(self) -> int:
            return len(self.reported)

        def clear(self) -> None:
            self.reported.clear()

    runtime = trt.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR))
    reader = Reader(bytes(small.plan(LOGGER)))
    if (engine := runtime.deserialize_cuda_engine(reader)) is not None:
        x = small.inputs()
        np.testing.assert_allclose(small.run(engine, x), small.want(x), atol=1e-5)
    recorder = runtime.error_recorder = Errors()
    assert runtime.deserialize_cuda_engine(b"not a plan") is None
    assert recorder.reported and "plan" in recorder.reported[-1][1]
    reader.raises = True
    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: raised.append(str(unraisable.exc_value)))
    assert runtime.deserialize_cuda_engine(reader) is None
    assert raised == ["the disk is gone"]
    assert "-1" in recorder.reported[-1][1] and "the disk is gone" in recorder.reported[-1][1]


class Allocator(trt.IGpuAllocator):
    """Gives and takes what NumPy holds; counts its calls."""

    def __init__(self) -> None:
        trt.IGpuAllocator.__init__(self)
        self.held, self.given, self.taken = {}, 0, 0

    def allocate(self, size: int, alignment: int, flags: int) -> int:
        memory = np.empty(size + alignment, np.uint8)
        address = -(-memory.ctypes.data // alignment) * alignment
        self.held[address] = memory
        self.given += 1
        return address

    def deallocate(self, memory: int) -> bool:
        self.taken += 1
        return self.held.pop(memory, None) is not None


def context_with(
    allocator: trt.IGpuAllocator, recorder: trt.IErrorRecorder | None = None
) -> trt.IExecutionContext | None:
    """A context that needs memory for activations; None when it got none."""
    builder = trt.Builder(LOGGER)
    plan = builder.build_serialized_network(deep_network(builder, 3, 64), builder.create_builder_config())
    runtime = trt.Runtime(trt.Logger(trt.Logger.INTERNAL_ERROR))
    runtime.gpu_allocator = allocator
    if recorder is not None:
        runtime.error_recorder = recorder
    engine = runtime.deserialize_cuda_engine(plan)
    return None if engine is None else engine.create_execution_context()


def test_X2_allocator_overrides_are_called() -> None:
    allocator = Allocator()
    context = context_with(allocator)
    x, y = np.random.default_rng(8).standard_normal((64, 64), np.float32), np.empty((64, 64), np.float32)
    assert context.execute_v2([x, y]) and allocator.given > 0 and allocator.held
    del context
    gc.collect()
    assert allocator.taken == allocator.given and not allocator.held


def test_X2_allocators_that_raise_or_lack_overrides_give_nothing(
    capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Raises(Allocator):
        def allocate(self, size: int, alignment: int, flags: int) -> int:
            raise MemoryError("no memory today")

    class Missing(trt.IGpuAllocator):
        """Overrides nothing."""

    class Forgets(Allocator):
        def deallocate(self, memory: int) -> bool:
            raise ValueError("whose memory is this?")

    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: raised.append(str(unraisable.exc_value)))
    x, y = np.random.default_rng(8).standard_normal((64, 64), np.float32), np.empty((64, 64), np.float32)
    for kind in (Raises, Missing):
        context = context_with(kind())  # Null is what an allocator answers that has no memory.
        assert context is None or not context.execute_v2([x, y])
    assert raised and set(raised) == {"no memory today"}
    assert "does not implement allocate" in capfd.readouterr().err
    raised.clear()
    context = context_with(Forgets())
    assert context.execute_v2([x, y])
    del context
    gc.collect()
    assert raised and set(raised) == {"whose memory is this?"}


def test_X2_recorders_that_raise_or_lack_overrides_change_nothing(
    capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Raises(trt.IErrorRecorder):
        def report_error(self, val: trt.ErrorCodeTRT, desc: str) -> bool:
            raise ValueError("the recorder is broken")

    class Missing(trt.IErrorRecorder):
        """Overrides nothing."""

    raised = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: raised.append(str(unraisable.exc_value)))
    plan = small.plan(LOGGER)
    for kind in (Raises, Missing):
        runtime = trt.Runtime(small.Recorder())
        recorder = runtime.error_recorder = kind()
        assert runtime.deserialize_cuda_engine(b"not a plan") is None  # The call fails as it does without a recorder,
        assert runtime.error_recorder is recorder
        engine = runtime.deserialize_cuda_engine(plan)  # and others still succeed.
        np.testing.assert_allclose(small.run(engine, small.inputs()), small.want(small.inputs()), atol=1e-5)
        assert not engine.create_execution_context().set_input_shape("x", (99, 8))
    assert raised and set(raised) == {"the recorder is broken"}
    assert "does not implement report_error" in capfd.readouterr().err


INTERRUPTED = """
import os, signal, sys, threading
import small
import tensorrt as trt
sys.path.insert(0, {folder!r})
from test_engine import deep_network

builder = trt.Builder(trt.Logger(trt.Logger.ERROR))
network, config = deep_network(builder, 64, 512), builder.create_builder_config()

class Monitor(trt.IProgressMonitor):
    def phase_start(self, phase_name, parent_phase, num_steps):
        pass
    def step_complete(self, phase_name, step):
        if not getattr(self, "sent", False):
            self.sent = True
            os.kill(os.getpid(), signal.SIGINT)
        return True
    def phase_finish(self, phase_name):
        pass

if {monitor}:
    config.progress_monitor = Monitor()
try:
    if not {monitor}:
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    for _ in range(200):
        builder.build_serialized_network(network, config)
except KeyboardInterrupt:
    print("interrupted")
config.progress_monitor = None
print(builder.build_serialized_network(network, config) is not None)
"""


@pytest.mark.parametrize("monitor", [True, False])
def test_X3_control_c_during_a_build_is_a_keyboard_interrupt(monitor: bool) -> None:
    folder = str(pathlib.Path(__file__).resolve().parent)
    done = small.script(INTERRUPTED.format(folder=folder, monitor=monitor))
    assert done.stdout == "interrupted\nTrue\n", done.stderr
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_extras_inspect_load_verify(engine: trt.ICudaEngine, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "small.plan"
    path.write_bytes(small.plan(LOGGER))
    plan = tenon.inspect(path)
    assert [io["name"] for io in plan["io"]] == ["x", "y"] and plan["plugins"] == []
    assert plan["programs"][0]["steps"]
    assert tenon.inspect(engine)["programs"] == plan["programs"]
    network = tenon.inspect(small.network(trt.Builder(LOGGER)))
    assert [layer["kind"] for layer in network["layers"]] == ["Constant", "MatrixMultiply", "Activation"]
    loaded = tenon.load(trt.Runtime(LOGGER), path)
    x = small.inputs()
    np.testing.assert_array_equal(small.run(loaded, x), small.run(engine, x))
    report = tenon.verify(loaded, {"x": small.inputs(4)})
    assert report["ok"] and report["first_divergence"] is None
    assert sum(step["compared"] for step in report["steps"]) >= 1
    with pytest.raises(RuntimeError, match="plan"):
        tenon.inspect(b"no plan at all")
    assert tenon.devices()["chosen"] == "cpu"
    assert {"TENON_THREADS", "TENON_ISA"} <= {knob["variable"] for knob in tenon.knobs()}
    assert "INetworkDefinition::addDistCollective" not in tenon.not_implemented()


def test_knobs_can_be_set_behind_the_import() -> None:
    """As programs do that choose their threads when they know how many they have, workers of Ray among them."""
    done = small.script(
        "import os\n"
        "import tensorrt, tenon\n"
        "os.environ['TENON_THREADS'] = '3'\n"
        "print(next(each['threads'] for each in tenon.devices()['devices'] if each['name'] == 'cpu'))\n"
    )
    assert done.stdout.strip() == "3"


def test_verify_judges_sums_by_what_they_add_up(engine: trt.ICudaEngine) -> None:
    nothing = np.linalg.svd(small.WEIGHTS.astype(np.float64).T)[2][4:]  # Orthogonal to all columns.
    x = (np.random.default_rng(5).standard_normal((8, 4)) @ nothing * 1e5).astype(np.float32)
    report = tenon.verify(engine, {"x": x})
    assert report["ok"], report["first_divergence"]
    strict = tenon.verify(engine, {"x": x}, atol=1e-5, rtol=1e-4)
    assert not strict["ok"]  # What the terms' rounding leaves is no small part of what cancels to nearly nothing.
