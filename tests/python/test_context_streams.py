"""Runs that go on when the call has returned: streams, events, auxiliary streams (rules S2, S3, S6; seed 004)."""

import collections.abc
import os
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
import small
import tensorrt as trt
from host_streams import Event, Stream


@pytest.fixture
def logger() -> small.Recorder:
    return small.Recorder()


@pytest.fixture
def stream() -> collections.abc.Iterator[Stream]:
    made = Stream()
    yield made
    made.synchronize()
    made.close()


def ready(context: trt.IExecutionContext, x: np.ndarray) -> np.ndarray:
    """Sets shapes and addresses; the memory of y."""
    y = np.full((len(x), 4), np.nan, np.float32)
    assert context.set_input_shape("x", x.shape)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    return y


def test_S2_outputs_are_there_when_the_stream_is_synchronized(logger: small.Recorder, stream: Stream) -> None:
    context = small.engine(logger).create_execution_context()
    x = small.inputs()
    y = ready(context, x)
    gate = stream.hold()
    assert context.execute_async_v3(stream.handle)
    assert not stream.is_idle() and np.isnan(y).all()  # The call has returned; nothing has run.
    gate.set()
    assert stream.synchronize() == 0
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)


def test_S3_inputs_may_be_changed_once_their_event_is_over(logger: small.Recorder, stream: Stream) -> None:
    context = small.engine(logger).create_execution_context()
    x = small.inputs()
    want, y, event = small.want(x), ready(context, x), Event()
    assert context.set_input_consumed_event(event.handle) and context.get_input_consumed_event() == event.handle
    gate = stream.hold()
    assert context.execute_async_v3(stream.handle) and not event.is_over()
    gate.set()
    event.wait()
    x[:] = 1e9
    assert stream.synchronize() == 0
    np.testing.assert_allclose(y, want, atol=1e-5)
    assert context.set_input_consumed_event(0) and context.get_input_consumed_event() == 0


@pytest.mark.parametrize("profiles", [1, 2])
def test_execute_async_v2_goes_on_and_records_its_event(logger: small.Recorder, stream: Stream, profiles: int) -> None:
    context = small.engine(logger, profiles=profiles).create_execution_context()
    x, event = small.inputs(), Event()
    want, y = small.want(x), np.full((3, 4), np.nan, np.float32)
    context.active_optimization_profile = profiles - 1
    context.set_binding_shape(2 * (profiles - 1), x.shape)
    bindings = [0, 0] * (profiles - 1) + [x.ctypes.data, y.ctypes.data]
    gate = stream.hold()
    assert context.execute_async_v2(bindings, stream.handle, event.handle) is True
    assert not stream.is_idle() and not event.is_over() and np.isnan(y).all()
    gate.set()
    event.wait()
    x[:] = 1e9  # Refilled.
    assert stream.synchronize() == 0
    np.testing.assert_allclose(y, want, atol=1e-5)


def test_values_of_shape_inputs_are_those_of_the_call(logger: small.Recorder, stream: Stream) -> None:
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (12,))
    size = network.add_input("size", trt.int64, (2,))
    shuffle = network.add_shuffle(network.add_unary(x, trt.UnaryOperation.NEG).get_output(0))
    shuffle.set_input(1, size)
    network.mark_output(shuffle.get_output(0))
    copy = network.add_elementwise(size, size, trt.ElementWiseOperation.SUM).get_output(0)
    copy.name = "twice"
    network.mark_output(copy)
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    profile.set_shape_input("size", (1, 1), (3, 4), (12, 12))
    config.add_optimization_profile(profile)
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()
    values = np.random.default_rng(2).random(12, np.float32)
    first, second = [(np.empty(12, np.float32), np.empty(2, np.int64)) for _ in range(2)]
    gate = stream.hold()
    for (y, twice), shape in ((first, [3, 4]), (second, [2, 6])):
        assert context.set_shape_input(1, shape)
        assert context.execute_async_v2([values, 0, y, twice], stream.handle), logger.errors()
    gate.set()
    assert stream.synchronize() == 0
    assert first[1].tolist() == [6, 8] and second[1].tolist() == [4, 12]
    np.testing.assert_array_equal(first[0], -values)


def test_S6_auxiliary_streams_are_distinct_and_join_the_run(logger: small.Recorder, stream: Stream) -> None:
    context = small.engine(logger).create_execution_context()
    assert context.engine.num_aux_streams == 0
    others = [Stream() for _ in range(3)]
    x = small.inputs()
    gate = stream.hold()
    runs = []
    for streams in ([], others[:1], others):  # None, and more than the engine uses: the rest is ignored.
        context.set_aux_streams([each.handle for each in streams])
        runs.append(ready(context, x))
        assert context.execute_async_v3(stream.handle)
    assert not logger.errors()
    assert all(each.is_idle() for each in others) and all(np.isnan(y).all() for y in runs)  # Nothing runs ahead.
    gate.set()
    assert stream.synchronize() == 0  # Which waits for what the others did, too.
    for y in runs:
        np.testing.assert_allclose(y, small.want(x), atol=1e-5)
    for number, bad in enumerate(([others[0].handle] * 2, [others[0].handle, 0], [1]), 1):
        context.set_aux_streams(bad)
        assert logger.errors().count("setAuxStreams") == number, logger.errors()
    for each in others:
        each.close()


def test_profiles_are_switched_on_a_stream(logger: small.Recorder, stream: Stream) -> None:
    context = small.engine(logger, profiles=2).create_execution_context(
        trt.ExecutionContextAllocationStrategy.ON_PROFILE_CHANGE
    )
    x = small.inputs()
    first = ready(context, x)
    gate = stream.hold()
    assert context.execute_async_v3(stream.handle)  # Goes on with what profile 0 had.
    assert context.set_optimization_profile_async(1, stream.handle) and context.active_optimization_profile == 1
    assert not context.execute_async_v3(stream.handle)  # Its shapes are to be set again.
    second = ready(context, x)
    assert context.execute_async_v3(stream.handle)
    gate.set()
    assert stream.synchronize() == 0
    for y in (first, second):
        np.testing.assert_allclose(y, small.want(x), atol=1e-5)


def test_X3_a_context_that_goes_waits_without_the_interpreter(logger: small.Recorder, stream: Stream) -> None:
    """Only a thread that gets the interpreter meanwhile lets the work in front of the run go on."""
    context = small.engine(logger).create_execution_context()
    x = small.inputs()
    y = ready(context, x)
    gate = stream.hold()
    assert context.execute_async_v3(stream.handle)
    opens = threading.Timer(0.2, gate.set)
    opens.start()
    del context
    assert gate.is_set()  # It has waited, with the interpreter left to others.
    opens.join()
    np.testing.assert_allclose(y, small.want(x), atol=1e-5)


UNDER_WAY = """
import threading, time
import numpy as np, tenon, tensorrt as trt, test_plugins as pads


class Slow(pads.CircPadV3):
    def enqueue(self, *arguments):
        time.sleep(0.05)
        super().enqueue(*arguments)
        print("ran", flush=True)


class Creator(pads.CircPadV3Creator):
    def create_plugin(self, name, fields, phase):
        return Slow()


logger = trt.Logger(trt.Logger.ERROR)
trt.get_plugin_registry().register_creator(Creator(), "")
builder = trt.Builder(logger)
network = builder.create_network(0)
layer = network.add_plugin_v3([network.add_input("x", trt.float32, (1, 1, 4, 5))], [], Slow())
layer.get_output(0).name = "y"
network.mark_output(layer.get_output(0))
plan = builder.build_serialized_network(network, builder.create_builder_config())
engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
context = engine.create_execution_context()
x, y = np.ones((1, 1, 4, 5), np.float32), np.empty(tuple(engine.get_tensor_shape("y")), np.float32)
context.set_tensor_address("x", x)
context.set_tensor_address("y", y)
print("starts", flush=True)
"""


def test_scripts_may_end_with_work_in_a_stream() -> None:
    """The work, which calls Python, is done before the interpreter is gone."""
    done = small.script(
        UNDER_WAY + "stream = tenon.Stream()\nfor _ in range(3): assert context.execute_async_v3(int(stream))"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("starts\n" + "ran\n" * 3)


FOREVER = """
def work():
    while True:
        {work}


threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""
HOLDER = """
import sys, threading, time, types
holder = sys.modules["holder"] = types.ModuleType("holder")
exec({text!r}, holder.__dict__)
"""
SUBMIT = """
stream = tenon.Stream()
def submit():
    context.execute_async_v3(int(stream))
"""


@pytest.mark.parametrize(
    "text",
    [
        UNDER_WAY + FOREVER.format(work="context.execute_async_v3(0)"),
        UNDER_WAY.replace("time.sleep(0.05)", "pass") + FOREVER.format(work="context.execute_async_v3(0)"),
        UNDER_WAY.replace("time.sleep(0.05)", "raise ValueError") + FOREVER.format(work="context.execute_async_v3(0)"),
        HOLDER.format(text=UNDER_WAY + SUBMIT)
        + FOREVER.format(work="holder.submit(); holder.submit(); time.sleep(0.1)"),
    ],
    ids=["slow", "fast", "raising", "submitting"],
)
def test_scripts_may_end_while_other_threads_run(text: str) -> None:
    """Python ends such threads when they ask for it, in the middle of a run and of its callbacks."""
    for _ in range(3):
        done = small.script(text)
        assert done.returncode == 0, done.stderr[-2000:]


LAST = """
import atexit


def last():
    y.fill(0)
    {work}
    print("done", bool((y == 1).all()), flush=True)


atexit.register(last)
"""
WATCHING = """
class Watching(trt.IProfiler):
    def __init__(self):
        trt.IProfiler.__init__(self)

    def report_layer_time(self, name, milliseconds):
        pass


profiler = Watching()
stream = tenon.Stream()
"""


@pytest.mark.parametrize(
    "work",
    [
        "context.execute_async_v3(int(stream)); stream.synchronize()",
        "context.execute_async_v3(int(stream)); stream.close()",
        "context.profiler = profiler; context.execute_async_v3(int(stream))",
    ],
    ids=["synchronized", "closed", "watched"],
)
def test_handlers_that_were_registered_before_ours_may_run(work: str) -> None:
    """They are called behind it, when the work of all streams has been waited for."""
    done = small.script(LAST.format(work=work) + UNDER_WAY + WATCHING)
    assert done.returncode == 0 and done.stdout.endswith("done True\n"), done.stdout[-500:] + done.stderr[-2000:]


def test_handlers_that_were_registered_before_ours_may_join_threads() -> None:
    """The main thread waits where nobody but Python knows of it; the other one calls a Python logger."""
    text = """
import atexit, threading
goes_on = True


def stop():
    global goes_on
    goes_on = False
    thread.join()
    print("stopped", flush=True)


atexit.register(stop)
import tensorrt as trt


class Logger(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)

    def log(self, severity, message):
        pass


logger = Logger()


def work():
    while goes_on:
        builder = trt.Builder(logger)
        network = builder.create_network(0)
        network.mark_output(network.add_identity(network.add_input("x", trt.float32, (4,))).get_output(0))
        assert builder.build_serialized_network(network, builder.create_builder_config()) is not None


thread = threading.Thread(target=work, daemon=True)
thread.start()
"""
    done = small.script(text)
    assert done.returncode == 0 and done.stdout == "stopped\n", done.stdout[-500:] + done.stderr[-2000:]


def interrupted_at_the_end(text: str, patience: float = small.PATIENCE) -> tuple[str, int]:
    """What a script says that hears Ctrl-C while it waits at its end for the work of its streams, and its status."""
    head = "import atexit, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    tail = "\natexit.register(lambda: print('ending', flush=True))"
    here = str(pathlib.Path(small.__file__).resolve().parent)
    search = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
    child = subprocess.Popen(
        [sys.executable, "-c", head + text + tail],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": search},
    )
    try:
        said = child.stdout.readline()
        while "ending" not in said:
            line = child.stdout.readline()
            assert line, said
            said += line
        small.wait_until_it_sleeps(child.pid)
        child.send_signal(signal.SIGINT)
        rest, _ = child.communicate(timeout=patience)
        return rest, child.returncode
    finally:
        child.kill()
        child.wait()


def test_the_wait_at_the_end_can_be_interrupted() -> None:
    said, _ = interrupted_at_the_end(
        UNDER_WAY.replace("time.sleep(0.05)", "time.sleep(2)")
        + "stream = tenon.Stream()\nfor _ in range(30): assert context.execute_async_v3(int(stream))\n"
    )
    assert "KeyboardInterrupt" in said, said


def test_after_an_interrupted_wait_at_the_end_nothing_that_is_left_waits_again() -> None:
    """Work that does not need Python goes on for longer than the test has patience."""
    said, _ = interrupted_at_the_end(
        """
import ctypes, small, tenon, tensorrt as trt
from host_streams import _HOST
sleep = ctypes.cast(ctypes.CDLL(None).sleep, ctypes.c_void_p)
stream = tenon.Stream()
engine = small.engine(small.Recorder())
context = engine.create_execution_context()
for _ in range(2 * small.PATIENCE):
    assert _HOST.tenonHostSubmit(ctypes.c_void_p(int(stream)), sleep, ctypes.c_void_p(1), None) == 0
""",
        patience=small.PATIENCE / 2,
    )
    assert "KeyboardInterrupt" in said, said


def test_an_interruption_in_the_last_step_is_not_lost() -> None:
    """The waiting call hears of it, and the step ends well."""
    text = (
        "import os, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        + UNDER_WAY.replace("time.sleep(0.05)", "os.kill(os.getpid(), signal.SIGINT); time.sleep(0.5)")
        + WATCHING
        + "context.profiler = profiler\n"
        + "try:\n    context.execute_async_v3(int(stream))\nexcept KeyboardInterrupt:\n    print('interrupted')"
    )
    done = small.script(text)
    assert done.returncode == 0 and done.stdout.endswith("ran\ninterrupted\n"), done.stdout + done.stderr[-2000:]


FAILS_LATER = """
import ctypes, numpy as np, small, tenon, tensorrt as trt
from host_streams import _HOST

LIBC = ctypes.CDLL(None)
LIBC.calloc.restype = ctypes.c_void_p
word = ctypes.c_void_p(LIBC.calloc(1, 64))
assert LIBC.sem_init(word, 0, 0) == 0
sleep, post, wait = (ctypes.cast(getattr(LIBC, name), ctypes.c_void_p) for name in ("sleep", "sem_post", "sem_wait"))
# The process goes on without an interpreter, and the work of the stream only then: the last one comes first.
assert LIBC.__cxa_atexit(sleep, ctypes.c_void_p(3), None) == 0
assert LIBC.__cxa_atexit(post, word, None) == 0


class Logger(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)

    def log(self, severity, message):
        pass


def context():
    logger = {logger}
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (100, 100))
    most = network.add_reduce(x, trt.ReduceOperation.MAX, 3, False).get_output(0)
    zero = network.add_constant((), np.zeros((), np.float32)).get_output(0)
    above = network.add_elementwise(most, zero, trt.ElementWiseOperation.GREATER).get_output(0)
    network.add_assertion(above, "as told")
    y = network.add_identity(x).get_output(0)
    y.name = "y"
    network.mark_output(y)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    return trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()


context = context()
for name in ("x", "y"):
    context.set_tensor_address(name, np.zeros((100, 100), np.float32))
stream = tenon.Stream()
assert _HOST.tenonHostSubmit(ctypes.c_void_p(int(stream)), wait, word, None) == 0
assert context.execute_async_v3(int(stream))
"""


@pytest.mark.parametrize("logger", ["trt.Logger()", "Logger()"])
def test_a_failure_after_an_interrupted_end_finds_its_logger(logger: str) -> None:
    said, status = interrupted_at_the_end(FAILS_LATER.format(logger=logger))
    assert "KeyboardInterrupt" in said and status == 0, (said, status)
    assert ("as told" in said) is (logger == "trt.Logger()"), said  # Python's cannot be called any more.
