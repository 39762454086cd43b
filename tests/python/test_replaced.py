"""Objects that a context, an engine or a runtime is given live until others take their place, and no longer."""

import collections.abc
import ctypes
import gc
import threading
import weakref

import numpy as np
import pytest
import small
import tensorrt as trt
from host_streams import Stream

LIBC = ctypes.CDLL(None)
LIBC.aligned_alloc.restype = ctypes.c_void_p
LIBC.free.argtypes = [ctypes.c_void_p]


class Profiler(trt.IProfiler):
    def __init__(self) -> None:
        trt.IProfiler.__init__(self)
        self.layers: list[str] = []

    def report_layer_time(self, layer_name: str, ms: float) -> None:
        self.layers.append(layer_name)


class Listener(trt.IDebugListener):
    def __init__(self) -> None:
        trt.IDebugListener.__init__(self)

    def process_debug_tensor(self, *_: object) -> bool:
        return True


class Errors(trt.IErrorRecorder):
    def __init__(self) -> None:
        trt.IErrorRecorder.__init__(self)
        self.texts: list[str] = []

    def num_errors(self) -> int:
        return len(self.texts)

    def get_error_code(self, index: int) -> trt.ErrorCodeTRT:
        return trt.ErrorCodeTRT.UNSPECIFIED_ERROR

    def get_error_desc(self, index: int) -> str:
        return self.texts[index]

    def has_overflowed(self) -> bool:
        return False

    def clear(self) -> None:
        self.texts.clear()

    def report_error(self, code: trt.ErrorCodeTRT, desc: str) -> bool:
        self.texts.append(desc)
        return True


class Allocator(trt.IGpuAllocator):
    """Counts what it has given and not got back."""

    def __init__(self, lent: collections.Counter) -> None:
        trt.IGpuAllocator.__init__(self)
        self.lent = lent

    def allocate(self, size: int, alignment: int, flags: int) -> int:
        memory = LIBC.aligned_alloc(alignment, -(-size // alignment) * alignment)
        self.lent[memory] += 1
        return memory

    def deallocate(self, memory: int) -> bool:
        if memory:
            self.lent[memory] -= 1
            LIBC.free(memory)
        return True


def gone(watched: weakref.ref) -> bool:
    gc.collect()
    return watched() is None


@pytest.fixture
def logger() -> small.Recorder:
    return small.Recorder()


@pytest.fixture
def stream() -> collections.abc.Iterator[Stream]:
    made = Stream()
    yield made
    made.synchronize()
    made.close()


def attribute(name: str) -> collections.abc.Callable[[object, object], None]:
    return lambda owner, value: setattr(owner, name, value)


def run(context: trt.IExecutionContext, batch: int = 3) -> bool:
    x, y = small.inputs(batch), np.empty((batch, 4), np.float32)
    assert context.set_input_shape("x", x.shape)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    return context.execute_async_v3(0) and np.allclose(y, small.want(x), 1e-4, 1e-5)


SETTERS = {
    "profiler": (Profiler, attribute("profiler")),
    "listener": (Listener, lambda context, value: context.set_debug_listener(value)),
    "temporary_allocator": (lambda: Allocator(collections.Counter()), attribute("temporary_allocator")),
    "error_recorder": (Errors, attribute("error_recorder")),
}


@pytest.mark.parametrize("kind", SETTERS)
def test_a_context_keeps_what_is_set_alone(logger: small.Recorder, kind: str) -> None:
    make, give = SETTERS[kind]
    context = small.engine(logger).create_execution_context()
    watched = []
    for _ in range(5):
        given = make()
        watched.append(weakref.ref(given))
        give(context, given)
        del given
        assert run(context) and not gone(watched[-1])
        assert all(gone(each) for each in watched[:-1])
    give(context, None)
    assert gone(watched[-1])
    given = make()
    watched = weakref.ref(given)
    give(context, given)
    del given, context
    assert gone(watched)


@pytest.mark.parametrize("make_owner", [trt.Runtime, trt.Builder, small.engine])
def test_owners_keep_the_recorder_that_is_set_alone(logger: small.Recorder, make_owner: type) -> None:
    owner, watched = make_owner(logger), []
    for _ in range(3):
        recorder = Errors()
        watched.append(weakref.ref(recorder))
        owner.error_recorder = recorder
        del recorder
    assert [gone(each) for each in watched] == [True, True, False]
    assert owner.error_recorder is watched[-1]()
    owner.error_recorder = None
    assert gone(watched[-1])


def test_B1_a_recorder_lives_as_long_as_those_who_inherit_it(logger: small.Recorder) -> None:
    runtime = trt.Runtime(logger)
    recorder = Errors()
    watched = weakref.ref(recorder)
    runtime.error_recorder = recorder
    engine = runtime.deserialize_cuda_engine(small.plan(logger))
    context = engine.create_execution_context()
    runtime.error_recorder = Errors()
    engine.error_recorder = None
    del recorder
    assert not gone(watched)
    assert not context.set_input_shape("nobody", (1, 2))
    assert "nobody" in watched().texts[0]
    context.error_recorder = None
    assert gone(watched)


def test_a_run_under_way_keeps_recorder_and_profiler(logger: small.Recorder, stream: Stream) -> None:
    context = small.engine(logger).create_execution_context()
    x, y = small.inputs(), np.empty((3, 4), np.float32)
    recorder, profiler = Errors(), Profiler()
    watched = weakref.ref(recorder), weakref.ref(profiler)
    context.error_recorder, context.profiler, context.enqueue_emits_profile = recorder, profiler, False
    gate = stream.hold()
    assert context.set_input_shape("x", x.shape)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    assert context.execute_async_v3(stream.handle), logger.errors()
    context.error_recorder = context.profiler = None
    del recorder, profiler
    gc.collect()
    assert all(each() is not None for each in watched)
    gate.set()
    assert stream.synchronize() == 0
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    context.error_recorder = None  # Whoever asks next finds that the run is over, and what it used goes.
    assert all(gone(each) for each in watched)


@pytest.mark.parametrize("emits", [True, False])
def test_a_profiler_may_be_replaced_by_itself(logger: small.Recorder, emits: bool) -> None:
    reports = []

    class Once(trt.IProfiler):
        def __init__(self, context: trt.IExecutionContext) -> None:
            trt.IProfiler.__init__(self)
            self.context = context

        def report_layer_time(self, layer_name: str, ms: float) -> None:
            self.context.profiler = None
            reports.append(layer_name)

    context = small.load(logger, small.chain).create_execution_context()
    context.profiler, context.enqueue_emits_profile = Once(context), emits
    watched = weakref.ref(context.profiler)
    assert run(context, 4)
    if not emits:
        assert context.report_to_profiler() is True
    assert len(reports) == context.engine.num_layers >= 3  # All of that run.
    assert context.profiler is None and gone(watched)


def test_cycles_through_a_context_are_collected(logger: small.Recorder) -> None:
    context = small.engine(logger).create_execution_context()
    for kind in ("profiler", "listener", "temporary_allocator"):
        make, give = SETTERS[kind]
        given = make()
        given.context = context
        give(context, given)
    assert run(context)
    watched = weakref.ref(context)
    del context, given
    assert gone(watched)


@pytest.mark.parametrize("how", ["runtime", "build_engine_with_config", "build_engine"])
def test_engines_keep_the_allocator_that_they_were_made_with(logger: small.Recorder, how: str) -> None:
    lent = collections.Counter()
    allocators = [Allocator(lent) for _ in range(3)]
    watched = [weakref.ref(each) for each in allocators]
    builder, runtime = trt.Builder(logger), trt.Runtime(logger)
    owner = runtime if how == "runtime" else builder
    for each in allocators[:2]:
        owner.gpu_allocator = each
    if how == "runtime":
        engine = runtime.deserialize_cuda_engine(small.plan(logger, network=small.chain))
    else:
        engine = getattr(builder, how)(small.chain(builder), small.config(builder))
    owner.gpu_allocator = allocators[2]
    del allocators, each
    assert [gone(one) for one in watched] == [True, False, False]
    context = engine.create_execution_context()
    assert run(context) and sum(lent.values()) > 0
    del owner, runtime, builder, engine
    assert not gone(watched[1]) and run(context, 5)
    del context
    assert gone(watched[1]) and gone(watched[2]) and sum(lent.values()) == 0


def test_an_inspector_keeps_the_context_that_is_set_alone(logger: small.Recorder) -> None:
    engine = small.engine(logger)
    inspector = engine.create_engine_inspector()
    watched = []
    for _ in range(3):
        context = engine.create_execution_context()
        watched.append(weakref.ref(context))
        inspector.execution_context = context
        del context
    assert [gone(each) for each in watched] == [True, True, False]
    assert inspector.get_engine_information(trt.LayerInformationFormat.JSON)
    inspector.execution_context = None
    assert gone(watched[-1])


def test_recorders_are_dropped_from_any_thread(logger: small.Recorder) -> None:
    context = small.engine(logger).create_execution_context()
    watched = []

    def replace() -> None:
        for _ in range(50):
            recorder = Errors()
            watched.append(weakref.ref(recorder))
            context.error_recorder = recorder

    thread = threading.Thread(target=replace)
    thread.start()
    thread.join()
    context.error_recorder = None
    assert all(gone(each) for each in watched)
