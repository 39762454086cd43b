"""Which settings make a run on a stream be over when its call returns (R3, S2, T1, T2, T8)."""

import _thread
import collections.abc
import ctypes
import os
import pathlib
import signal
import threading
import time

import numpy as np
import pytest
import scaled_plugin
import small
import tensorrt as trt
from host_streams import Stream

UNTOUCHED = -7.0  # No result of the networks here, nor what failed runs leave.
LIBC = ctypes.CDLL(None)
LIBC.aligned_alloc.restype = ctypes.c_void_p
LIBC.free.argtypes = [ctypes.c_void_p]


class Profiler(trt.IProfiler):
    def __init__(self) -> None:
        trt.IProfiler.__init__(self)

    def report_layer_time(self, layer_name: str, ms: float) -> None:
        pass


class Listener(trt.IDebugListener):
    def __init__(self) -> None:
        trt.IDebugListener.__init__(self)

    def process_debug_tensor(self, *_: object) -> bool:
        return True


class Allocator(trt.IGpuAllocator):
    def __init__(self) -> None:
        trt.IGpuAllocator.__init__(self)

    def allocate(self, size: int, alignment: int, flags: int) -> int:
        return LIBC.aligned_alloc(alignment, -(-size // alignment) * alignment)

    def deallocate(self, memory: int) -> bool:
        LIBC.free(memory)
        return True


class Output(trt.IOutputAllocator):
    def __init__(self) -> None:
        trt.IOutputAllocator.__init__(self)
        self.memory = np.empty(4096, np.uint8)

    def reallocate_output(self, *_: object) -> int:
        return self.memory.ctypes.data

    def notify_shape(self, *_: object) -> None:
        pass


def profiler(context: trt.IExecutionContext, emits: bool = True) -> None:
    context.profiler, context.enqueue_emits_profile = Profiler(), emits


def listener(context: trt.IExecutionContext, one: bool = False, unfused: bool = False) -> None:
    assert context.set_debug_listener(Listener())
    assert context.set_tensor_debug_state("product_out", one)
    context.unfused_tensors_debug_state = unfused


def state_alone(context: trt.IExecutionContext) -> None:
    assert context.set_all_tensors_debug_state(True)


def debug_sync(context: trt.IExecutionContext) -> None:
    context.debug_sync = True


def temporary(context: trt.IExecutionContext) -> None:
    context.temporary_allocator = Allocator()


def output(context: trt.IExecutionContext) -> None:
    assert context.set_output_allocator("y", Output())


CASES = {
    "nobody": (lambda _: None, False),
    "profiler": (profiler, True),
    "profiler that is told later": (lambda context: profiler(context, False), False),
    "listener of nothing": (listener, False),
    "debug state without a listener": (state_alone, False),
    "listener of one tensor": (lambda context: listener(context, one=True), True),
    "listener of unfused tensors": (lambda context: listener(context, unfused=True), True),
    "debug_sync": (debug_sync, False),
    "temporary allocator": (temporary, True),
    "output of a known size": (output, False),
}


def engine(logger: trt.ILogger) -> trt.ICudaEngine:
    builder = trt.Builder(logger)
    network, config = small.network(builder), small.config(builder)
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    product = network.get_layer(1).get_output(0)
    product.name = "product_out"
    assert network.mark_debug(product) and network.mark_unfused_tensors_as_debug_tensors()
    return trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))


def by_name(context: trt.IExecutionContext, x: np.ndarray, y: np.ndarray, stream: int) -> bool:
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    return context.execute_async_v3(stream)


def by_index(context: trt.IExecutionContext, x: np.ndarray, y: np.ndarray, stream: int) -> bool:
    return context.execute_async_v2([x, y], stream)


def is_over(context: trt.IExecutionContext, run: collections.abc.Callable = by_name, waits: bool = False) -> bool:
    """Whether the work of a run is over when its call returns, though its stream is held up: for a while where the call
    is expected to wait, else for as long as it takes.
    """
    x, y, stream = small.inputs(), np.empty((3, 4), np.float32), Stream()
    assert context.set_input_shape("x", x.shape)
    gate = stream.hold()
    opens = threading.Timer(0.2 if waits else small.PATIENCE / 2, gate.set)
    opens.start()
    assert run(context, x, y, stream.handle)
    over = gate.is_set()
    opens.cancel()
    gate.set()
    assert stream.synchronize() == 0
    stream.close()
    if run is by_index or context.get_output_allocator("y") is None:
        np.testing.assert_allclose(y, small.want(x), 1e-4, 1e-5)
    return over


@pytest.mark.parametrize("run", [by_name, by_index])
@pytest.mark.parametrize("case", CASES)
def test_S2_T1_T8_calls_wait_for_their_work_while_it_is_watched(run: collections.abc.Callable, case: str) -> None:
    configure, waits = CASES[case]
    logger = small.Recorder()
    context = engine(logger).create_execution_context()
    assert not is_over(context, run)
    configure(context)
    assert is_over(context, run, waits) is waits, logger.errors()
    context.profiler = context.temporary_allocator = None
    assert context.set_debug_listener(None)
    assert not is_over(context, run)


class Found(Output):
    """Keeps the streams that it is asked on, and the shapes that it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.streams, self.told = [], []

    def reallocate_output_async(self, *arguments: object) -> int:
        self.streams.append(arguments[-1])
        return self.memory.ctypes.data

    def notify_shape(self, tensor_name: str, shape: trt.Dims) -> None:
        self.told.append((tensor_name, tuple(shape)))


def data_dependent(logger: trt.ILogger) -> trt.ICudaEngine:
    builder = trt.Builder(logger)
    network, config = small.network(builder), small.config(builder)
    found = network.add_non_zero(network.get_output(0)).get_output(0)
    found.name = "found"
    network.mark_output(found)
    return trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))


def test_R3_R7_calls_wait_until_sizes_that_depend_on_data_are_known() -> None:
    logger, streams = small.Recorder(), []
    context = data_dependent(logger).create_execution_context()
    allocator = Found()
    assert context.set_output_allocator("found", allocator)

    def run(context: trt.IExecutionContext, x: np.ndarray, y: np.ndarray, stream: int) -> bool:
        streams.append(stream)
        return by_name(context, x, y, stream)

    assert is_over(context, run, waits=True), logger.errors()
    assert allocator.streams == streams and streams[0] > 2
    want = np.array(np.nonzero(small.want(small.inputs())), np.int32)
    assert allocator.told == [("found", want.shape)]
    np.testing.assert_array_equal(allocator.memory.view(np.int32)[: want.size].reshape(want.shape), want)


@pytest.fixture
def interrupts() -> collections.abc.Iterator[None]:
    """Ctrl-C is what a terminal's user knows, however the tests were started."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(
    stream: Stream, call: collections.abc.Callable[[], object], before: collections.abc.Callable | None = None
) -> None:
    """The call, which waits for the stream's work, ends by Ctrl-C; the work goes on after that."""
    gate = stream.hold()
    end = threading.Timer(small.PATIENCE / 2, gate.set)
    end.start()
    assert before is None or before()
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.2, _thread.interrupt_main).start()
        call()
        time.sleep(small.PATIENCE)  # The call went by before the interruption.
    assert not gate.is_set()
    end.cancel()
    gate.set()
    assert stream.synchronize() == 0


@pytest.mark.parametrize("case", ["v3", "v2", "v2 async", "profiled", "data"])
def test_X3_control_c_ends_the_wait_for_a_busy_stream(case: str, interrupts: None) -> None:
    """The run has then not begun."""
    logger = small.Recorder()
    made = data_dependent(logger) if case == "data" else engine(logger)
    context = made.create_execution_context()
    stream = Stream(blocking=case not in {"profiled", "data"})
    x, y = small.inputs(), np.full((3, 4), UNTOUCHED, np.float32)
    assert context.set_input_shape("x", x.shape)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    allocator = Found()
    if case == "profiled":
        profiler(context)
    if case == "data":
        assert context.set_output_allocator("found", allocator)
    run = {
        "v2": lambda: context.execute_v2([x, y]),
        "v2 async": lambda: context.execute_async_v2([x, y], 0),
        "profiled": lambda: context.execute_async_v3(stream.handle),
        "data": lambda: context.execute_async_v3(stream.handle),
    }.get(case, lambda: context.execute_async_v3(0))
    interrupted(stream, run)
    assert (y == UNTOUCHED).all() and not allocator.told
    assert run()
    assert stream.synchronize() == 0
    stream.close()
    np.testing.assert_allclose(y, small.want(x), 1e-4, 1e-5)


def test_X3_L13_control_c_ends_the_wait_of_custom_layers_for_earlier_runs(interrupts: None) -> None:
    """They hear of other shapes when nothing runs them."""
    registry, creator = trt.get_plugin_registry(), scaled_plugin.ScaledV3Creator()
    assert registry.register_creator(creator, "")
    builder = trt.Builder(small.Recorder())
    network, config = builder.create_network(), small.config(builder)
    layer = network.add_plugin_v3([network.add_input("x", trt.float32, (-1, 8))], [], scaled_plugin.ScaledV3())
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    runtime = trt.Runtime(small.Recorder())
    context = runtime.deserialize_cuda_engine(
        builder.build_serialized_network(network, config)
    ).create_execution_context()
    stream, xs = Stream(), [small.inputs(rows) for rows in (2, 3)]
    ys = [np.full_like(x, UNTOUCHED) for x in xs]

    def run(at: int) -> bool:
        return context.set_input_shape("x", xs[at].shape) and by_name(context, xs[at], ys[at], stream.handle)

    interrupted(stream, lambda: run(1), before=lambda: run(0))
    np.testing.assert_array_equal(ys[0], 2 * xs[0])
    assert (ys[1] == UNTOUCHED).all()
    assert run(1) and stream.synchronize() == 0
    np.testing.assert_array_equal(ys[1], 2 * xs[1])
    stream.close()
    assert registry.deregister_creator(creator)


def test_T2_captured_runs_wait_for_no_profiler() -> None:
    context = engine(small.Recorder()).create_execution_context()
    x, y, stream = small.inputs(), np.full((3, 4), np.nan, np.float32), Stream()
    assert context.set_input_shape("x", x.shape)
    profiler(context)
    assert by_name(context, x, y, stream.handle)
    y[:] = np.nan
    stream.capture()
    assert by_name(context, x, y, stream.handle)
    graph = stream.end_capture()
    assert np.isnan(y).all()
    graph.launch(stream)
    assert stream.synchronize() == 0
    np.testing.assert_allclose(y, small.want(x), 1e-4, 1e-5)
    graph.close()
    stream.close()


def test_T4_a_trace_waits_for_the_runs_that_it_tells_of(tmp_path: pathlib.Path) -> None:
    text = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
import small, tensorrt as trt, test_who_waits as this
context = this.engine(small.Recorder()).create_execution_context()
for verbosity, waits in ((trt.ProfilingVerbosity.DETAILED, True), (trt.ProfilingVerbosity.NONE, False)):
    context.nvtx_verbosity = verbosity
    print(*[this.is_over(context, run, waits) for run in (this.by_name, this.by_index)])
"""
    done = small.script(text, TENON_TRACE=str(tmp_path / "trace.json"))
    assert done.stdout.split() == ["True", "True", "False", "False"], done.stderr
