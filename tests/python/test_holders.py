"""Arrays live as long as the runs that read and write them, however soon the caller lets go of them."""

import collections.abc
import gc
import weakref

import numpy as np
import pytest
import small
import tensorrt as trt
from host_streams import Stream

Run = collections.abc.Callable[[trt.IExecutionContext, np.ndarray, np.ndarray, int], bool]


def by_name(context: trt.IExecutionContext, x: np.ndarray, y: np.ndarray, stream: int) -> bool:
    return (
        context.set_input_shape("x", x.shape)
        and context.set_tensor_address("x", x)
        and context.set_tensor_address("y", y)
        and context.execute_async_v3(stream)
    )


def by_index(context: trt.IExecutionContext, x: np.ndarray, y: np.ndarray, stream: int) -> bool:
    context.set_binding_shape(0, x.shape)
    return context.execute_async_v2([x, y], stream)


def by_batch(context: trt.IExecutionContext, x: np.ndarray, y: np.ndarray, stream: int) -> bool:
    context.set_binding_shape(0, x.shape)
    return context.execute_async(1, [x, y], stream)


@pytest.fixture
def logger() -> small.Recorder:
    return small.Recorder()


@pytest.fixture
def stream() -> collections.abc.Iterator[Stream]:
    made = Stream()
    yield made
    made.synchronize()
    made.close()


def arrays(seed: int) -> tuple[np.ndarray, np.ndarray]:
    return small.inputs(seed=seed), np.full((3, 4), np.nan, np.float32)


@pytest.mark.parametrize("then", [by_name, by_index, by_batch])
@pytest.mark.parametrize("run", [by_name, by_index, by_batch])
def test_arrays_live_until_their_run_is_over(logger: small.Recorder, stream: Stream, run: Run, then: Run) -> None:
    context = small.engine(logger).create_execution_context()
    x, y = arrays(1)
    watched = [weakref.ref(each) for each in (x, y)]
    want = small.want(x)
    gate = stream.hold()
    assert run(context, x, y, stream.handle), logger.errors()
    del x, y
    others = arrays(2)
    assert then(context, *others, stream.handle)
    assert by_index(context, *others, 0)  # In the caller's thread, in front of all that.
    for _ in range(3):
        context.set_tensor_address("x", others[0])
        context.set_tensor_address("y", 0)
    gc.collect()
    assert all(each() is not None for each in watched)
    y = watched[1]()
    gate.set()
    assert stream.synchronize() == 0
    np.testing.assert_allclose(y, want, atol=1e-5)
    np.testing.assert_allclose(others[1], small.want(others[0]), atol=1e-5)
    del y, others
    context.set_tensor_address("x", 0)
    assert all(each() is None for each in watched)  # And no longer.


@pytest.mark.parametrize("run", [by_name, by_index, by_batch])
def test_many_runs_under_way_keep_an_array_each(logger: small.Recorder, stream: Stream, run: Run) -> None:
    context = small.engine(logger).create_execution_context()
    runs, outputs = 40, []
    gate = stream.hold()
    for seed in range(runs):
        x, y = arrays(seed)
        assert run(context, x.copy(), y, stream.handle), logger.errors()
        outputs.append(y)
    gate.set()
    assert stream.synchronize() == 0
    for seed, y in enumerate(outputs):
        np.testing.assert_allclose(y, small.want(small.inputs(seed=seed)), atol=1e-5)


@pytest.mark.parametrize("run", [by_name, by_index])
def test_activations_live_until_their_run_is_over(logger: small.Recorder, stream: Stream, run: Run) -> None:
    context = small.engine(logger).create_execution_context(trt.ExecutionContextAllocationStrategy.USER_MANAGED)
    memory = np.empty(4096, np.uint8)
    watched = weakref.ref(memory)
    context.device_memory = memory
    del memory
    x, y = arrays(3)
    gate = stream.hold()
    assert run(context, x, y, stream.handle), logger.errors()
    context.device_memory = np.empty(4096, np.uint8)
    gc.collect()
    assert watched() is not None
    gate.set()
    assert stream.synchronize() == 0
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    assert watched() is None


def test_an_output_allocator_lives_until_its_runs_are_over(logger: small.Recorder, stream: Stream) -> None:
    class Allocator(trt.IOutputAllocator):
        def __init__(self) -> None:
            trt.IOutputAllocator.__init__(self)
            self.memory = np.full((3, 4), np.nan, np.float32)

        def reallocate_output(self, *_: object) -> int:
            return self.memory.ctypes.data

        def notify_shape(self, *_: object) -> None:
            pass

    context = small.engine(logger).create_execution_context()
    x, watched = small.inputs(seed=8), []
    assert context.set_input_shape("x", x.shape) and context.set_tensor_address("x", x)
    gate = stream.hold()
    for _ in range(3):
        allocator = Allocator()
        watched.append(weakref.ref(allocator))
        assert context.set_output_allocator("y", allocator)
        assert context.execute_async_v3(stream.handle), logger.errors()
        del allocator
    assert context.set_output_allocator("y", None)
    gc.collect()
    memories = [each().memory for each in watched]
    gate.set()
    assert stream.synchronize() == 0
    for memory in memories:
        np.testing.assert_allclose(memory, small.want(x), atol=1e-5)
    gc.collect()
    assert [each() for each in watched] == [None] * 3


@pytest.mark.parametrize("run", [by_name, by_index, by_batch])
def test_a_bytearray_cannot_move_while_a_run_uses_it(logger: small.Recorder, stream: Stream, run: Run) -> None:
    context = small.engine(logger).create_execution_context()
    x, y = arrays(4)
    want, bytes_of_x = small.want(x), bytearray(x.tobytes())
    shaped = memoryview(bytes_of_x).cast("f", x.shape)
    gate = stream.hold()
    assert run(context, shaped, y, stream.handle), logger.errors()
    del shaped
    context.set_tensor_address("x", 0)
    with pytest.raises(BufferError):
        bytes_of_x.extend(bytes(1 << 16))
    gate.set()
    assert stream.synchronize() == 0
    np.testing.assert_allclose(y, want, atol=1e-5)
    bytes_of_x.extend(bytes(1 << 16))


@pytest.mark.parametrize("run", [by_name, by_index, by_batch])
def test_arrays_live_as_long_as_a_graph_that_uses_them(logger: small.Recorder, stream: Stream, run: Run) -> None:
    context = small.engine(logger).create_execution_context()
    x, y = arrays(7)
    assert run(context, x, y, stream.handle) and stream.synchronize() == 0
    watched, want = weakref.ref(x), small.want(x)
    stream.capture()
    assert run(context, x, y, stream.handle), logger.errors()
    graph = stream.end_capture()
    context.set_tensor_address("x", 0)
    del x
    for _ in range(2):
        y[:] = np.nan
        graph.launch(stream)
        assert stream.synchronize() == 0
        np.testing.assert_allclose(y, want, atol=1e-5)
    assert watched() is not None
    graph.close()
    assert watched() is None


def test_a_run_that_fails_keeps_nothing(logger: small.Recorder, stream: Stream) -> None:
    context = small.engine(logger).create_execution_context()
    x, y = arrays(5)
    watched = weakref.ref(x)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    assert not context.execute_async_v3(stream.handle)  # Its shape is not set.
    assert not context.execute_async_v2([x, y], stream.handle)
    assert not context.execute_async_v2([x, y], y.ctypes.data)  # No stream.
    context.set_tensor_address("x", 0)
    assert stream.synchronize() == 0
    del x
    assert watched() is None


def test_a_context_that_goes_leaves_its_arrays_to_the_run(logger: small.Recorder, stream: Stream) -> None:
    context = small.engine(logger).create_execution_context()
    x, y = arrays(6)
    gate = stream.hold()
    assert by_name(context, x.copy(), y, stream.handle)
    gate.set()
    del context
    gc.collect()
    assert stream.synchronize() == 0
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)


@pytest.mark.parametrize("held", [True, False])
def test_a_process_may_end_while_runs_are_under_way(held: bool) -> None:
    """What runs hold then is nobody's any more: no crash, no wait for an interpreter that has gone."""
    done = small.script(f"""
import small
import threading, numpy as np, tensorrt as trt
from host_streams import Stream
context = small.engine(small.Recorder()).create_execution_context()
stream = Stream()
gate = stream.hold() if {held} else None
context.set_input_shape("x", (16, 8))
for seed in range(200):
    context.set_tensor_address("x", small.inputs(16, seed))
    context.set_tensor_address("y", np.empty((16, 4), np.float32))
    assert context.execute_async_v3(stream.handle)
    if seed == 20 and gate is not None:
        gate.set()
if gate is not None:
    stream.synchronize()
""")
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_a_fork_while_runs_are_under_way_keeps_the_parents_arrays(logger: small.Recorder, stream: Stream) -> None:
    """The child has none of the parent's work, and runs its own."""
    done = small.script("""
import os, small
import numpy as np
from host_streams import Stream
engine = small.engine(small.Recorder())
context, stream = engine.create_execution_context(), Stream()
context.set_input_shape("x", (3, 8))
y = np.empty((3, 4), np.float32)
def run(seed):
    context.set_tensor_address("x", small.inputs(3, seed))
    context.set_tensor_address("y", y)
    return context.execute_async_v3(stream.handle) and stream.synchronize() == 0
for seed in range(5):
    assert run(seed)
child = os.fork()
if child == 0:
    small.run(engine, small.inputs(3, 9))
    raise SystemExit(7)
assert run(6)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
np.testing.assert_allclose(y, small.want(small.inputs(3, 6)), atol=1e-5)
""")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("use", ["name", "move", "slice"])
def test_a_network_whose_weights_were_asked_for_goes_with_its_last_name(use: str) -> None:
    class Log(trt.ILogger):
        def __init__(self) -> None:
            trt.ILogger.__init__(self)

        def log(self, severity: trt.ILogger.Severity, msg: str) -> None:
            pass

    def make() -> weakref.ref:
        log = Log()
        builder = trt.Builder(log)
        network = builder.create_network()
        x = network.add_input("x", trt.float32, (1, 3, 8, 8))
        first, second = (
            network.add_convolution_nd(x, 4, (3, 3), np.random.default_rng(i).random((4, 3, 3, 3), np.float32))
            for i in range(2)
        )
        if use == "name":
            network.set_weights_name(first.kernel, "kernel")
        elif use == "move":
            second.kernel = first.kernel
        else:
            second.kernel = first.kernel[:108]
        np.testing.assert_array_equal(second.kernel if use != "name" else first.kernel, first.kernel)
        return weakref.ref(log)

    log = make()
    gc.collect()
    assert log() is None
