"""tenon.Stream: a queue with a thread of its own, usable wherever a stream's handle is."""

import ctypes

import host_streams
import numpy as np
import pytest
import small
import tenon as trt

LOGGER = trt.Logger(trt.Logger.ERROR)
COUNT = 4096


def context_of_a_small_network() -> trt.IExecutionContext:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    tensor = network.add_input("x", trt.float32, (COUNT,))
    output = network.add_unary(tensor, trt.UnaryOperation.EXP).get_output(0)
    output.name = "y"
    network.mark_output(output)
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan).create_execution_context()


def test_a_run_in_a_stream() -> None:
    context = context_of_a_small_network()
    x = np.random.default_rng(1).standard_normal(COUNT, dtype=np.float32)
    y = np.full_like(x, np.nan)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    with trt.Stream() as stream:
        assert context.execute_async_v3(stream.handle)
        assert context.execute_async_v3(stream)  # Its number is the handle.
        stream.synchronize()
        assert stream.is_idle
        np.testing.assert_allclose(y, np.exp(x), rtol=1e-5)
    with pytest.raises(RuntimeError, match="closed"):
        stream.handle  # noqa: B018


def test_a_stream_that_was_closed_is_refused_by_name() -> None:
    context = context_of_a_small_network()
    x = np.zeros(COUNT, np.float32)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", np.empty_like(x))
    stream = trt.Stream(blocking=False)
    handle = stream.handle
    assert int(stream) == handle and stream.__index__() == handle and stream.__cuda_stream__() == (0, handle)
    assert f"{handle:#x}" in repr(stream)
    stream.close()
    stream.close()
    assert "closed" in repr(stream)
    assert not context.execute_async_v3(handle)


def test_streams_are_different() -> None:
    streams = [trt.Stream() for _ in range(8)]
    assert len({stream.handle for stream in streams}) == 8
    assert all(stream.is_idle for stream in streams)


def test_work_is_waited_for_at_the_end_of_the_block() -> None:
    context = context_of_a_small_network()
    x = np.random.default_rng(2).standard_normal(COUNT, dtype=np.float32)
    y = np.full_like(x, np.nan)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    with trt.Stream() as stream:
        for _ in range(100):
            assert context.execute_async_v3(stream)
    np.testing.assert_allclose(y, np.exp(x), rtol=1e-5)


def test_a_wait_needs_somebody_to_ask_and_a_stream() -> None:
    bad_argument, bad_handle = 2, 3
    ask = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(lambda _: 1)
    with trt.Stream() as stream:
        handle = ctypes.c_void_p(stream.handle)
        assert host_streams._call("tenonHostAwaitStream", handle, None, None) == bad_argument
        assert host_streams._call("tenonHostAwaitStream", handle, ask, None) == 0
    assert host_streams._call("tenonHostAwaitAll", None, None) == bad_argument
    assert host_streams._call("tenonHostAwaitAll", ask, None) == 0
    assert host_streams._call("tenonHostAwaitStream", handle, ask, None) == bad_handle
    assert host_streams._call("tenonHostAwaitEvent", handle, ask, None) == bad_handle


INTERRUPTED = """
import ctypes, os, signal, threading
import host_streams, small, tenon

gate, seen = threading.Event(), []
work = host_streams._WORK(lambda _: 0 if gate.wait(small.PATIENCE) else 1)
stream = tenon.Stream(blocking={blocking})
assert host_streams._call("tenonHostSubmit", ctypes.c_void_p(stream.handle), work, None, None) == 0

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

def look_away(number, frame):
    seen.append("seen")
    threading.Timer(0.2, gate.set).start()

signal.signal(signal.SIGINT, look_away)
threading.Timer(0.2, interrupt).start()
stream.synchronize()
print(seen, gate.is_set())  # A handler that does not raise ends nothing.

gate.clear()
signal.signal(signal.SIGINT, signal.default_int_handler)
assert host_streams._call("tenonHostSubmit", ctypes.c_void_p(stream.handle), work, None, None) == 0
try:
    threading.Timer(0.2, interrupt).start()
    stream.synchronize()
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", stream.is_idle)  # The work waits for the gate, still.
thread = threading.Thread(target=stream.synchronize)
thread.start()
gate.set()
thread.join()
print(stream.is_idle)
stream.synchronize()
"""


@pytest.mark.parametrize("blocking", [True, False])
def test_X3_control_c_ends_the_waiting_for_a_stream_and_not_its_work(blocking: bool) -> None:
    done = small.script(INTERRUPTED.format(blocking=blocking))
    assert done.stdout == "['seen'] True\ninterrupted False\nTrue\n", done.stderr
