"""What Python threads may do to objects that another one uses without the interpreter's lock. Run as a program of its
own, since a mistake ends the process: thread_stress.py watchers|makers SECONDS."""

import sys
import threading
import time
from collections.abc import Callable

import numpy as np
import tensorrt as trt

PATIENCE = 100  # Seconds.


class Quiet(trt.ILogger):
    def __init__(self) -> None:
        trt.ILogger.__init__(self)

    def log(self, severity: trt.ILogger.Severity, msg: str) -> None:
        pass


class Errors(trt.IErrorRecorder):
    told = 0

    def __init__(self) -> None:
        trt.IErrorRecorder.__init__(self)

    def num_errors(self) -> int:
        return 0

    def get_error_code(self, index: int) -> trt.ErrorCodeTRT:
        return trt.ErrorCodeTRT.SUCCESS

    def get_error_desc(self, index: int) -> str:
        return ""

    def has_overflowed(self) -> bool:
        return False

    def clear(self) -> None:
        pass

    def report_error(self, code: trt.ErrorCodeTRT, text: str) -> bool:
        Errors.told += 1
        return True


class Times(trt.IProfiler):
    told = 0

    def __init__(self) -> None:
        trt.IProfiler.__init__(self)

    def report_layer_time(self, layer: str, milliseconds: float) -> None:
        Times.told += 1


class Tensors(trt.IDebugListener):
    told = 0

    def __init__(self) -> None:
        trt.IDebugListener.__init__(self)

    def process_debug_tensor(self, *tensor: object) -> bool:
        Tensors.told += 1
        return True


class Memory(trt.IGpuAllocator):
    asked = 0

    def __init__(self) -> None:
        trt.IGpuAllocator.__init__(self)
        self.lent: dict[int, np.ndarray] = {}

    def allocate(self, size: int, alignment: int, flags: int) -> int:
        Memory.asked += 1
        room = np.zeros(size + alignment, np.uint8)
        at = -(-room.ctypes.data // alignment) * alignment
        self.lent[at] = room
        return at

    def reallocate(self, address: int, alignment: int, size: int) -> int:
        return 0

    def deallocate(self, memory: int) -> bool:
        del self.lent[memory]
        return True


class Progress(trt.IProgressMonitor):
    steps = 0

    def __init__(self) -> None:
        trt.IProgressMonitor.__init__(self)

    def phase_start(self, name: str, parent: str | None, steps: int) -> None:
        pass

    def step_complete(self, name: str, step: int) -> bool:
        Progress.steps += 1
        return True

    def phase_finish(self, name: str) -> None:
        pass


def network_of(builder: trt.Builder) -> trt.INetworkDefinition:
    network = builder.create_network()
    at = network.add_input("x", trt.float32, (64, 8))
    weights = np.eye(8, dtype=np.float32)
    for _ in range(4):
        factor = network.add_constant((8, 8), weights).get_output(0)
        at = network.add_matrix_multiply(at, trt.MatrixOperation.NONE, factor, trt.MatrixOperation.NONE).get_output(0)
        softmax = network.add_softmax(at)
        softmax.axes = 1 << 1
        at = softmax.get_output(0)
    network.mark_debug(at)
    at = network.add_activation(at, trt.ActivationType.TANH).get_output(0)
    at.name = "y"
    network.mark_output(at)
    return network


def side_by_side(seconds: float, is_enough: Callable[[], object], *works: Callable[[int], None]) -> None:
    """At least for so long, and until it is enough: a machine that stands still may leave some work without a turn."""
    begun, failures = time.monotonic(), []

    def goes_on() -> bool:
        spent = time.monotonic() - begun
        return not failures and (spent < seconds or (not is_enough() and spent < PATIENCE))

    def again(work: Callable[[int], None]) -> None:
        k = 0
        try:
            while goes_on():
                work(k)
                k += 1
        except BaseException as failure:  # Of any thread.
            failures.append(failure)

    threads = [threading.Thread(target=again, args=[work]) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def watchers(seconds: float) -> None:
    """Everything that hears of a context's runs is replaced while they go on."""
    builder = trt.Builder(logger)
    plan = builder.build_serialized_network(network_of(builder), builder.create_builder_config())
    context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
    y = np.zeros((64, 8), np.float32)
    context.set_tensor_address("x", np.ones((64, 8), np.float32))
    context.set_tensor_address("y", y)

    def run(_: int) -> None:
        assert context.execute_async_v3(0)

    def replace(k: int) -> None:
        context.profiler = Times() if k % 3 else None
        context.error_recorder = Errors() if k % 2 else None
        context.set_debug_listener(Tensors() if k % 3 else None)
        context.set_all_tensors_debug_state(k % 4 != 0)
        context.name = f"name {k}" * 9
        context.debug_sync, context.enqueue_emits_profile = k % 2 == 0, k % 5 != 0
        context.report_to_profiler()
        time.sleep(0)

    def ask(_: int) -> None:
        context.get_tensor_shape("no such tensor")
        time.sleep(0)

    side_by_side(seconds, lambda: Times.told and Tensors.told and Errors.told, run, replace, ask)
    assert Times.told and Tensors.told and Errors.told, (Times.told, Tensors.told, Errors.told)
    assert np.allclose(y, np.tanh(1 / 8))


def makers(seconds: float) -> None:
    """Everything that builders, runtimes, engines and the registry hold is replaced while others build and load."""
    builder, runtime = trt.Builder(logger), trt.Runtime(logger)
    config = builder.create_builder_config()
    plan = builder.build_serialized_network(network_of(builder), config)
    engine = runtime.deserialize_cuda_engine(plan)

    def build(_: int) -> None:
        assert builder.build_serialized_network(network_of(builder), config)

    def load(_: int) -> None:
        assert runtime.deserialize_cuda_engine(plan).create_execution_context()

    def ask(_: int) -> None:
        assert runtime.deserialize_cuda_engine(b"no plan") is None
        engine.get_tensor_shape("no such tensor")
        assert engine.create_execution_context()
        trt.get_plugin_registry().get_creator("none", "1", "")

    def replace(k: int) -> None:
        recorder = Errors() if k % 2 else None
        for each in engine, runtime, builder, trt.get_plugin_registry():
            each.error_recorder = recorder
        runtime.gpu_allocator, builder.gpu_allocator = Memory() if k % 3 else None, Memory() if k % 4 else None
        runtime.max_threads = builder.max_threads = 1 + k % 2
        runtime.temporary_directory = "/tmp" if k % 2 else "/var/tmp"
        runtime.engine_host_code_allowed = k % 2 == 0
        config.progress_monitor = Progress() if k % 2 else None
        time.sleep(0)

    side_by_side(seconds, lambda: Errors.told and Memory.asked and Progress.steps, build, build, load, ask, replace)
    assert Errors.told and Memory.asked and Progress.steps, (Errors.told, Memory.asked, Progress.steps)


if __name__ == "__main__":
    logger = Quiet()
    {"watchers": watchers, "makers": makers}[sys.argv[1]](float(sys.argv[2]))
