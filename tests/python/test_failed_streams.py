"""Runs that fail when their call has returned: recorder and logger hear of it, and the stream's next question once."""

import collections.abc
import ctypes
import sys
import time

import host_streams
import numpy as np
import pytest
import scaled_plugin
import small
import tenon
import tensorrt as trt


class Failing(scaled_plugin.ScaledV3):
    """Raises while `fails` is set."""

    fails = False

    def __init__(self, factor: float = 2.0) -> None:
        super().__init__(factor)
        self.plugin_name = "FailingScaled"

    def enqueue(self, *arguments: object) -> None:
        if Failing.fails:
            raise ValueError("not this time")
        super().enqueue(*arguments)


class Creator(scaled_plugin.ScaledV3Creator):
    make = Failing

    def __init__(self) -> None:
        super().__init__()
        self.name = "FailingScaled"


class Errors(trt.IErrorRecorder):
    """Keeps what it is told."""

    def __init__(self) -> None:
        trt.IErrorRecorder.__init__(self)
        self.told: list[tuple[trt.ErrorCodeTRT, str]] = []

    def report_error(self, val: trt.ErrorCodeTRT, desc: str) -> bool:
        self.told.append((val, desc))
        return False

    def num_errors(self) -> int:
        return len(self.told)

    def clear(self) -> None:
        self.told.clear()


class Run:
    """y = 2x by the custom layer, in a context with a recorder of its own."""

    def __init__(self) -> None:
        self.logger, self.recorder = small.Recorder(), Errors()
        builder = trt.Builder(self.logger)
        network = builder.create_network()
        x = network.add_input("x", trt.float32, (5,))
        layer = network.add_plugin_v3([x], [], Failing())
        layer.name = "fails at times"
        layer.get_output(0).name = "y"
        network.mark_output(layer.get_output(0))
        plan = builder.build_serialized_network(network, builder.create_builder_config())
        assert plan is not None, self.logger.errors()
        self.context = trt.Runtime(self.logger).deserialize_cuda_engine(plan).create_execution_context()
        self.context.error_recorder = self.recorder
        self.x, self.y = np.random.default_rng(4).standard_normal(5, np.float32), np.zeros(5, np.float32)
        assert self.context.set_tensor_address("x", self.x) and self.context.set_tensor_address("y", self.y)

    def __call__(self, stream: int, fails: bool = False) -> None:
        """The call succeeds; what comes of it the stream tells."""
        Failing.fails = fails
        assert self.context.execute_async_v3(stream), self.logger.errors()

    def expect_failures(self, count: int) -> None:
        assert [code for code, _ in self.recorder.told] == [trt.ErrorCodeTRT.FAILED_EXECUTION] * count
        errors = [text for severity, text in self.logger.lines if severity <= trt.ILogger.ERROR]
        assert len(errors) == count and all("'fails at times'" in text for text in errors), errors
        for (_, told), logged in zip(self.recorder.told, errors, strict=True):
            assert "'fails at times'" in told and told in logged


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> collections.abc.Iterator[Run]:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # What a layer raises is printed (rule M3).
    registry, creator = trt.get_plugin_registry(), Creator()
    assert registry.register_creator(creator, "")
    yield Run()
    assert registry.deregister_creator(creator)


def synchronize(stream: tenon.Stream) -> None:
    stream.synchronize()


def query(stream: tenon.Stream) -> None:
    """Asks until the work is done."""
    ends = time.monotonic() + small.PATIENCE
    while not stream.is_idle:
        assert time.monotonic() < ends
        time.sleep(0.001)


@pytest.mark.parametrize("ask", [synchronize, query])
def test_M3_S2_a_run_that_fails_later_is_told_once(run: Run, ask: collections.abc.Callable) -> None:
    with tenon.Stream() as stream:
        run(stream.handle)
        ask(stream)
        np.testing.assert_array_equal(run.y, 2 * run.x)
        for failures in (1, 2):
            run(stream.handle, fails=True)
            with pytest.raises(RuntimeError):
                ask(stream)
            ask(stream)
            synchronize(stream)
            assert stream.is_idle
            run.expect_failures(failures)
        run.y[:] = 0
        run(stream.handle)  # Neither stream nor context is the worse for it.
        ask(stream)
        np.testing.assert_array_equal(run.y, 2 * run.x)
        run.expect_failures(2)


def test_failures_are_those_of_their_stream(run: Run) -> None:
    with tenon.Stream() as other:
        with pytest.raises(RuntimeError), tenon.Stream() as stream:  # Whose block synchronizes at its end.
            run(stream.handle, fails=True)
        other.synchronize()
        assert other.is_idle
        run(other.handle)
    np.testing.assert_array_equal(run.y, 2 * run.x)
    run.expect_failures(1)


def test_S3_a_run_that_fails_later_has_read_its_inputs(run: Run) -> None:
    event = host_streams.Event()
    assert run.context.set_input_consumed_event(event.handle)
    with tenon.Stream() as stream:
        run(stream.handle, fails=True)
        event.wait()  # Else whoever refills the inputs would wait for ever.
        with pytest.raises(RuntimeError):
            stream.synchronize()
    run.expect_failures(1)


def test_streams_tell_once_that_a_callback_failed() -> None:
    fails = host_streams._WORK(lambda _: 1)
    with tenon.Stream() as stream:
        handle = ctypes.c_void_p(stream.handle)
        for ask in (synchronize, query):
            assert host_streams._call("tenonHostSubmit", handle, fails, None, None) == 0
            with pytest.raises(RuntimeError, match="work of the program failed with 1"):
                ask(stream)
            ask(stream)
            assert stream.is_idle
