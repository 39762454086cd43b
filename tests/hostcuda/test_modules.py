"""cuda and pycuda on the host: their calls, and that the real ones win."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import zipfile

import pytest
from installed import PROJECT, ROOT, install, run_code

HEADER = ROOT / "hostrt" / "include" / "driver_types.h"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return install(tmp_path_factory.mktemp("hostcuda"))


def test_memory_and_copies_of_the_runtime(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import numpy as np
from cuda.bindings import runtime as rt
ok = rt.cudaError_t.cudaSuccess
x = np.random.default_rng(3).standard_normal(1000).astype(np.float32)
error, device = rt.cudaMalloc(x.nbytes)
assert error == ok and isinstance(device, int) and device % 256 == 0
assert rt.cudaMemcpy(device, x, x.nbytes, rt.cudaMemcpyKind.cudaMemcpyHostToDevice) == (ok,)
y = np.empty_like(x)
assert rt.cudaMemcpy(y.ctypes.data, device, x.nbytes, rt.cudaMemcpyKind.cudaMemcpyDeviceToHost) == (ok,)
assert np.array_equal(x, y)
error, attributes = rt.cudaPointerGetAttributes(device)
assert attributes.type == rt.cudaMemoryType.cudaMemoryTypeDevice and attributes.devicePointer == device
assert rt.cudaMemset(device, 7, 16) == (ok,)
assert rt.cudaMemcpy(y, device, 16, rt.cudaMemcpyKind.cudaMemcpyDefault) == (ok,)
assert (y.view(np.uint8)[:16] == 7).all() and np.array_equal(x[4:], y[4:])
assert rt.cudaFree(device) == (ok,)
assert rt.cudaFree(device) == (rt.cudaError_t.cudaErrorInvalidValue,)
assert rt.cudaGetLastError() == (rt.cudaError_t.cudaErrorInvalidValue,)
assert rt.cudaGetErrorName(rt.cudaError_t.cudaErrorInvalidValue) == (ok, b"cudaErrorInvalidValue")
error, nothing = rt.cudaMalloc(1 << 60)
assert error == rt.cudaError_t.cudaErrorMemoryAllocation and nothing is None
free, total = rt.cudaMemGetInfo()[1:]
assert 0 < free <= total
""",
    )


@pytest.mark.parametrize("module", ["cuda.bindings.nvrtc", "cuda.nvrtc"])
def test_programs_are_taken_and_compiling_says_what_is_missing(site: pathlib.Path, module: str) -> None:
    run_code(
        site,
        f"import {module} as nvrtc\n"
        """
from cuda.bindings import driver
ok = nvrtc.nvrtcResult.NVRTC_SUCCESS
assert nvrtc.nvrtcVersion()[0] == ok and nvrtc.nvrtcGetSupportedArchs() == (ok, [])
error, program = nvrtc.nvrtcCreateProgram(b"__global__ void f() {}", b"f.cu", 0, [], [])
assert error == ok
assert nvrtc.nvrtcCreateProgram("text", b"f.cu", 0, [], [])[0] == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_INPUT
assert nvrtc.nvrtcCompileProgram(program, 2, [b"-one"])[0] == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_INPUT
failed = nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=sm_90"])[0]
assert failed == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION
for room in (bytes, bytearray):
    log = room(nvrtc.nvrtcGetProgramLogSize(program)[1])
    assert nvrtc.nvrtcGetProgramLog(program, log) == (ok,)
    assert log.startswith(b"f.cu: a kernel of CUDA cannot be compiled"), log
assert b"its CPU" in nvrtc.nvrtcGetErrorString(failed)[1]
assert nvrtc.nvrtcGetPTXSize(program)[0] == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_PROGRAM
assert nvrtc.nvrtcDestroyProgram(program) == (ok,)
assert nvrtc.nvrtcDestroyProgram(program)[0] == nvrtc.nvrtcResult.NVRTC_ERROR_INVALID_PROGRAM
error, module = driver.cuModuleLoadData(b"")
assert module is None and error == driver.CUresult.CUDA_ERROR_NOT_SUPPORTED
assert b"cannot be compiled" in driver.cuGetErrorString(error)[1]
""",
    )


@pytest.mark.parametrize("module", ["cuda.core", "cuda.core.experimental"])
def test_devices_streams_and_buffers_of_the_core(site: pathlib.Path, module: str) -> None:
    run_code(
        site,
        f"import {module} as core\n"
        """
import io
import numpy as np
from cuda.bindings import runtime as rt
device = core.Device()
device.set_current()
assert core.system.num_devices == 1 and core.system.devices[0].name == device.name and device.name
stream = device.create_stream(options=core.StreamOptions(nonblocking=True))
assert int(stream) > 2 and device.create_stream(stream).handle == stream.handle == stream.__cuda_stream__()[1]
x, y = np.random.default_rng(4).standard_normal(100).astype(np.float32), np.zeros(100, np.float32)
buffer = device.allocate(x.nbytes, stream)
start = stream.record(options=core.EventOptions(enable_timing=True))
rt.cudaMemcpyAsync(buffer.handle, x, x.nbytes, rt.cudaMemcpyKind.cudaMemcpyHostToDevice, int(stream))
other = buffer.copy_to(stream=stream)
end = stream.record(options=core.EventOptions(enable_timing=True))
end.sync()
assert end.is_done and end - start >= 0
rt.cudaMemcpy(y, other.handle, x.nbytes, rt.cudaMemcpyKind.cudaMemcpyDeviceToHost)
assert np.array_equal(x, y) and other.size == x.nbytes
try:
    device.allocate(8).copy_to(other, stream=stream)
    raise SystemExit("copied")
except ValueError as error:
    assert "8 bytes" in str(error)
waiting = device.create_stream()
waiting.wait(stream)
waiting.sync()
program, log = core.Program("__global__ void f() {}", "c++", core.ProgramOptions(arch="sm_90")), io.StringIO()
for call in (lambda: program.compile("cubin", logs=log), lambda: core.launch(stream, core.LaunchConfig(), None)):
    try:
        call()
        raise SystemExit("compiled")
    except RuntimeError as error:
        assert "cannot be compiled" in str(error)
assert "cannot be compiled" in log.getvalue()
other.close()
buffer.close(stream)
stream.close()
try:
    stream.sync()
    raise SystemExit("the stream is gone")
except RuntimeError as error:
    assert "cudaErrorInvalidResourceHandle" in str(error)
try:
    core.Device(7)
    raise SystemExit("there is a device 7")
except ValueError:
    pass
""",
    )


def test_streams_events_and_graphs_of_the_runtime(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import threading
from cuda import cudart as rt
ok = rt.cudaError_t.cudaSuccess
error, stream = rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking)
assert error == ok and int(stream) > 2
start, end = rt.cudaEventCreate()[1], rt.cudaEventCreate()[1]
gate, calls = threading.Event(), []
assert rt.cudaEventRecord(start, stream) == (ok,)
assert rt.cudaLaunchHostFunc(stream, lambda user: (gate.wait(), calls.append(user)), "one") == (ok,)
assert rt.cudaEventRecord(end, stream) == (ok,)
assert rt.cudaStreamQuery(stream) == (rt.cudaError_t.cudaErrorNotReady,)
assert rt.cudaEventQuery(end) == (rt.cudaError_t.cudaErrorNotReady,) and not calls
gate.set()
assert rt.cudaStreamSynchronize(stream) == (ok,) and calls == ["one"]
error, time = rt.cudaEventElapsedTime(start, end)
assert error == ok and time > 0
mode = rt.cudaStreamCaptureMode.cudaStreamCaptureModeGlobal
assert rt.cudaStreamBeginCapture(stream, mode) == (ok,)
assert rt.cudaStreamIsCapturing(stream) == (ok, rt.cudaStreamCaptureStatus.cudaStreamCaptureStatusActive)
assert rt.cudaLaunchHostFunc(stream, calls.append, "two") == (ok,)
error, graph = rt.cudaStreamEndCapture(stream)
error, executable = rt.cudaGraphInstantiate(graph, 0)
assert error == ok and calls == ["one"]
assert rt.cudaGraphLaunch(executable, stream) == rt.cudaGraphLaunch(executable, stream) == (ok,)
assert rt.cudaDeviceSynchronize() == (ok,) and calls == ["one", "two", "two"]
for call, handle in ((rt.cudaGraphExecDestroy, executable), (rt.cudaGraphDestroy, graph), (rt.cudaEventDestroy, start),
                     (rt.cudaEventDestroy, end), (rt.cudaStreamDestroy, stream)):
    assert call(handle) == (ok,)
assert rt.cudaStreamDestroy(stream) == (rt.cudaError_t.cudaErrorInvalidResourceHandle,)
assert rt.cudaLaunchHostFunc(stream, calls.append, "three") != (ok,)
from tenon_hostcuda import runtime
assert len(runtime._waiting) == len(runtime._in_graphs) == 1  # What graphs may repeat, and nothing else, is kept.
""",
    )


def test_a_run_that_fails_later_is_told_once_and_the_device_stays_usable(site: pathlib.Path) -> None:
    run_code(
        site,
        f"import sys; sys.path.insert(0, {str(ROOT / 'tests' / 'python')!r})"
        """
import time
import numpy as np, scaled_plugin, small, tensorrt as trt
from cuda.bindings import runtime as rt
ok, failed = rt.cudaError_t.cudaSuccess, rt.cudaError_t.cudaErrorLaunchFailure
class Failing(scaled_plugin.ScaledV3):
    fails = False
    def enqueue(self, *arguments):
        if Failing.fails:
            raise ValueError("not this time")
        super().enqueue(*arguments)
class Creator(scaled_plugin.ScaledV3Creator):
    make = Failing
assert trt.get_plugin_registry().register_creator(Creator(), "")
logger = small.Recorder()
builder = trt.Builder(logger)
network = builder.create_network()
layer = network.add_plugin_v3([network.add_input("x", trt.float32, (5,))], [], Failing())
layer.get_output(0).name = "y"
network.mark_output(layer.get_output(0))
plan = builder.build_serialized_network(network, builder.create_builder_config())
context = trt.Runtime(logger).deserialize_cuda_engine(plan).create_execution_context()
x, y = np.random.default_rng(3).standard_normal(5).astype(np.float32), np.zeros(5, np.float32)
(_, on_device), (_, result) = rt.cudaMalloc(x.nbytes), rt.cudaMalloc(y.nbytes)
assert rt.cudaMemcpy(on_device, x, x.nbytes, rt.cudaMemcpyKind.cudaMemcpyHostToDevice) == (ok,)
assert context.set_tensor_address("x", on_device) and context.set_tensor_address("y", result)
stream = rt.cudaStreamCreate()[1]
def query(stream):
    ends = time.monotonic() + small.PATIENCE
    while (answer := rt.cudaStreamQuery(stream)) == (rt.cudaError_t.cudaErrorNotReady,) and time.monotonic() < ends:
        time.sleep(0.001)
    return answer
for ask in (rt.cudaStreamSynchronize, query):
    Failing.fails = True
    assert context.execute_async_v3(int(stream))
    assert ask(stream) == (failed,)
    assert ask(stream) == rt.cudaStreamSynchronize(stream) == rt.cudaStreamQuery(stream) == (ok,)
    Failing.fails = False
    assert rt.cudaMemset(result, 1, y.nbytes) == (ok,)
    assert context.execute_async_v3(int(stream)) and ask(stream) == (ok,)
    assert rt.cudaMemcpy(y, result, y.nbytes, rt.cudaMemcpyKind.cudaMemcpyDeviceToHost) == (ok,)
    assert np.array_equal(y, 2 * x)
assert rt.cudaDeviceSynchronize() == rt.cudaStreamDestroy(stream) == (ok,)
assert rt.cudaFree(on_device) == rt.cudaFree(result) == (ok,)
""",
    )


def test_sizes_and_arrays_that_no_copy_can_have(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import numpy as np
from cuda.bindings import runtime as rt
ok, kind = rt.cudaError_t.cudaSuccess, rt.cudaMemcpyKind.cudaMemcpyDefault
x = np.random.default_rng(4).standard_normal((6, 8)).astype(np.float32)
device = rt.cudaMalloc(x.nbytes)[1]
def refused(error, call, *arguments):
    try:
        call(*arguments)
    except error as problem:
        return str(problem)
    raise SystemExit(f"{call.__name__}{arguments[-2:]} was not refused")
assert "-4" in refused(OverflowError, rt.cudaMemcpy, device, x, -4, kind)
refused(OverflowError, rt.cudaMemcpyAsync, device, x, -1, kind, 0)
refused(OverflowError, rt.cudaMemset, device, 0, -1)
refused(OverflowError, rt.cudaMalloc, -1)
refused(OverflowError, rt.cudaMemcpy, device, x, 1 << 64, kind)
refused(OverflowError, rt.cudaStreamCreateWithFlags, -1)
refused(TypeError, rt.cudaMemcpy, device, x, 4.5, kind)
for strided in (x[:, ::2], x[::-1], x[:, 1:], x.T[::2]):
    assert "one piece" in refused(ValueError, rt.cudaMemcpy, device, strided, strided.nbytes, kind)
    refused(ValueError, rt.cudaMemcpyAsync, strided, device, strided.nbytes, kind, 0)
y = np.full_like(x, 7)
for whole, back in ((x, y), (x.T, y.T), (np.asfortranarray(x), np.asfortranarray(y)), (x[2:4], y[2:4])):
    assert rt.cudaMemcpy(device, whole, np.int64(whole.nbytes), kind) == (ok,)
    assert rt.cudaMemcpy(back, device, whole.nbytes, kind) == (ok,) and np.array_equal(whole, back)
""",
    )


def test_only_addresses_and_memory_are_pointers(site: pathlib.Path) -> None:
    """What has no memory of its own, or none that stays, would be an address that nobody gave."""
    run_code(
        site,
        """
import array
import numpy as np
from cuda.bindings import runtime as rt
ok, kind = rt.cudaError_t.cudaSuccess, rt.cudaMemcpyKind.cudaMemcpyDefault
device = rt.cudaMalloc(64)[1]
class Picture:
    __array_interface__ = {"data": bytes(64), "shape": (64,), "typestr": "|u1", "version": 3}
class Number:
    def __int__(self): return device
class Tensor:
    def __index__(self): return device
    def data_ptr(self): return device
class Foreign:
    def __index__(self): return device
    def __dlpack__(self): return device
class Index:
    def __index__(self): return device
for wrong, hint in ((np.uint64(device), "int()"), (np.float32(1), "int()"), (1.5, ""), (Picture(), "np.asarray()"),
                    (Number(), ""), (Tensor(), "data_ptr()"), (Foreign(), "data_ptr()"), ("text", "")):
    for call in (lambda: rt.cudaMemcpy(device, wrong, 8, kind), lambda: rt.cudaMemcpyAsync(wrong, device, 8, kind, 0),
                 lambda: rt.cudaFree(wrong), lambda: rt.cudaStreamSynchronize(wrong), lambda: rt.cudaStream_t(wrong),
                 lambda: rt.cudaPointerGetAttributes(wrong), lambda: rt.cudaLaunchHostFunc(wrong, print, 0)):
        try:
            call()
        except TypeError as problem:
            assert hint in str(problem), problem
        else:
            raise SystemExit(f"{wrong!r} was taken for an address")
data = np.arange(16, dtype=np.int32)
for source in (data, array.array("i", data), bytes(data), memoryview(data)):
    assert rt.cudaMemset(device, 0, 64) == (ok,)
    assert rt.cudaMemcpy(Index(), source, 64, kind) == (ok,)
    back = bytearray(64)
    assert rt.cudaMemcpy(back, np.int64(device).item(), 64, kind) == (ok,) and back == data.tobytes()
assert rt.cudaFree(rt.cudaStream_t(device)) == (ok,) and rt.cudaFree(None) == (ok,)
""",
    )


def test_arguments_by_the_names_of_the_c_functions(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import inspect
import numpy as np
from cuda import cuda, cudart
ok = cudart.cudaError_t.cudaSuccess
stream = cudart.cudaStream_t(init_value=int(cudart.cudaStreamCreateWithFlags(flags=cudart.cudaStreamNonBlocking)[1]))
x = np.random.default_rng(8).standard_normal(64).astype(np.float32)
y = np.empty_like(x)
device = cudart.cudaMalloc(size=x.nbytes)[1]
toDevice, toHost = cudart.cudaMemcpyKind.cudaMemcpyHostToDevice, cudart.cudaMemcpyKind.cudaMemcpyDeviceToHost
assert cudart.cudaMemcpyAsync(dst=device, src=x, count=x.nbytes, kind=toDevice, stream=stream) == (ok,)
assert cudart.cudaMemcpyAsync(y, device, x.nbytes, stream=stream, kind=toHost) == (ok,)
assert cudart.cudaStreamSynchronize(stream=stream) == (ok,) and np.array_equal(x, y)
assert cudart.cudaMemset(devPtr=device, value=1, count=4) == (ok,)
for wrong in (lambda: cudart.cudaMemcpy(device, x), lambda: cudart.cudaMemcpy(device, x, 4, toDevice, to=3),
              lambda: cudart.cudaFree(device, device), lambda: cudart.cudaMalloc(16, size=16)):
    try:
        wrong()
    except TypeError as problem:
        assert "(dst, src, count, kind)" in str(problem) or "(devPtr)" in str(problem) or "(size)" in str(problem)
    else:
        raise SystemExit("arguments that do not fit were taken")
assert str(inspect.signature(cudart.cudaEventElapsedTime)) == "(start, end)"
calls = []
assert cudart.cudaLaunchHostFunc(stream=stream, fn=calls.append, userData=5) == (ok,)
assert cudart.cudaStreamSynchronize(stream) == (ok,) and calls == [5]

yes = cuda.CUresult.CUDA_SUCCESS
flags = cuda.CUstream_flags.CU_STREAM_NON_BLOCKING
own = cuda.CUstream(init_value=int(cuda.cuStreamCreate(flags)[1]))
assert cudart.cudaStreamGetFlags(own) == (ok, flags)
event = cuda.cuEventCreate(Flags=cuda.CUevent_flags.CU_EVENT_DISABLE_TIMING)[1]
memory = cuda.CUdeviceptr(init_value=cuda.cuMemAllocAsync(x.nbytes, own)[1])
host = cuda.cuMemHostAlloc(x.nbytes, 0)[1]
y[:] = 0
assert cuda.cuMemcpyHtoDAsync(dstDevice=memory, srcHost=x, ByteCount=x.nbytes, hStream=own) == (yes,)
assert cuda.cuMemcpyDtoHAsync(y, memory, x.nbytes, own) == (yes,) and np.array_equal(x, y)
assert cuda.cuEventRecord(hEvent=event, hStream=own) == (yes,) and cuda.cuEventSynchronize(event) == (yes,)
assert cuda.cuMemFreeAsync(memory, own) == (yes,) and cuda.cuMemFreeHost(host) == (yes,)
assert cuda.CUctx_flags.CU_CTX_MAP_HOST == 8 and cuda.cuCtxCreate(cuda.CUctx_flags.CU_CTX_SCHED_AUTO, 0)[0] == yes
""",
    )


def test_functions_in_streams_are_kept_until_they_were_called(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import ctypes, gc, threading, weakref
import numpy as np
from cuda.bindings import runtime as rt
ok, seen, gate = rt.cudaError_t.cudaSuccess, [], threading.Event()
Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
stream = rt.cudaStreamCreate()[1]
def launch(number, asHandle):
    class Noting:
        def __call__(self, address):
            seen.append(ctypes.c_double.from_address(address).value)
    noting, argument = Noting(), np.array([number])
    function = Function(noting)
    if asHandle:
        address = ctypes.cast(function, ctypes.c_void_p).value
        kept.append(function)
        assert rt.cudaLaunchHostFunc(stream, rt.cudaHostFn_t(init_value=address), argument) == (ok,)
    else:
        assert rt.cudaLaunchHostFunc(stream, function, argument) == (ok,)
    return weakref.ref(argument), weakref.ref(noting)
kept = []
assert rt.cudaLaunchHostFunc(stream, lambda user: gate.wait(600), None) == (ok,)
watched = [*launch(7.0, False), launch(8.0, True)[0]]
gc.collect()
assert all(each() is not None for each in watched)
gate.set()
assert rt.cudaStreamSynchronize(stream) == (ok,) and seen == [7.0, 8.0]
gc.collect()
assert all(each() is None for each in watched)
free = ctypes.CDLL(None).free  # A library's, which does nothing with null.
address = ctypes.cast(free, ctypes.c_void_p).value
for function in (free, address, rt.cudaHostFn_t(address)):
    assert rt.cudaLaunchHostFunc(stream, function, 0) == rt.cudaLaunchHostFunc(stream, function, None) == (ok,)
assert rt.cudaStreamSynchronize(stream) == (ok,)
""",
    )


def test_an_interruption_of_a_function_on_stream_0_is_the_callers(site: pathlib.Path) -> None:
    said = run_code(
        site,
        """
import signal
from cuda.bindings import runtime as rt
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    rt.cudaLaunchHostFunc(0, lambda user: signal.raise_signal(signal.SIGINT), 0)
    print("lost")
except KeyboardInterrupt:
    print("interrupted")
calls = []
print(rt.cudaLaunchHostFunc(0, calls.append, 4)[0] == 0, calls)
""",
    )
    assert said == "interrupted\nTrue [4]\n"


def test_an_interruption_ends_the_wait_for_an_earlier_launch_of_a_graph(site: pathlib.Path) -> None:
    said = run_code(
        site,
        """
import _thread, signal, threading
from cuda.bindings import runtime as rt
signal.signal(signal.SIGINT, signal.default_int_handler)
capturing, other = [rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking)[1] for _ in range(2)]
gate, calls = threading.Event(), []
assert rt.cudaStreamBeginCapture(capturing, rt.cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed)[0] == 0
assert rt.cudaLaunchHostFunc(capturing, lambda _: (gate.wait(600), calls.append(1)), 0)[0] == 0
graph = rt.cudaStreamEndCapture(capturing)[1]
executable = rt.cudaGraphInstantiate(graph, 0)[1]
assert rt.cudaGraphLaunch(executable, other)[0] == 0
end = threading.Timer(300, gate.set)
end.daemon = True
end.start()
try:
    threading.Timer(0.2, _thread.interrupt_main).start()
    rt.cudaGraphLaunch(executable, 0)
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", gate.is_set())
gate.set()
assert rt.cudaDeviceSynchronize()[0] == 0
assert rt.cudaGraphLaunch(executable, 0)[0] == 0
print(len(calls))
""",
    )
    assert said == "interrupted False\n2\n"


def test_a_graph_may_launch_itself_within_its_work(site: pathlib.Path) -> None:
    said = run_code(
        site,
        """
from cuda.bindings import runtime as rt
stream, calls = rt.cudaStreamCreateWithFlags(rt.cudaStreamNonBlocking)[1], []
def work(_):
    calls.append(len(calls))
    if len(calls) == 1:
        assert rt.cudaGraphLaunch(executable, 0)[0] == 0
assert rt.cudaStreamBeginCapture(stream, rt.cudaStreamCaptureMode.cudaStreamCaptureModeRelaxed)[0] == 0
assert rt.cudaLaunchHostFunc(stream, work, 0)[0] == 0
executable = rt.cudaGraphInstantiate(rt.cudaStreamEndCapture(stream)[1], 0)[1]
assert rt.cudaGraphLaunch(executable, 0)[0] == 0
print(calls)
""",
    )
    assert said == "[0, 1]\n"


def test_handles_say_where_they_lie(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import ctypes
from cuda.bindings import driver, runtime as rt
own = (lambda: driver.cuStreamCreate(0), lambda: driver.cuEventCreate(0))
for made in (rt.cudaStreamCreate, rt.cudaEventCreate, *own):
    handle = made()[1]
    assert int(handle) > 2 and ctypes.c_void_p.from_address(handle.getPtr()).value == int(handle)
    assert handle.getPtr() == handle.getPtr() != int(handle)
""",
    )


WAITS = {
    "cudaStreamSynchronize": "rt.cudaStreamSynchronize(stream.handle)",
    "cudaDeviceSynchronize": "rt.cudaDeviceSynchronize()",
    "cudaEventSynchronize": "rt.cudaEventSynchronize(event.handle)",
    "cuStreamSynchronize": "driver.cuStreamSynchronize(stream.handle)",
    "stream 0": "rt.cudaStreamSynchronize(0)",
    "pycuda's stream": "stream.synchronize()",
    "pycuda's event": "event.synchronize()",
    "pycuda's context": "cuda.Context.synchronize()",
    "cudaFree": "assert rt.cudaFree(memory) == (0,)",
    "cudaHostUnregister": "assert rt.cudaHostUnregister(own) == (0,)",
    "cudaMemset": "assert rt.cudaMemset(memory, 0, 64) == (0,)",
    "a copy to the program's own memory": "assert rt.cudaMemcpyAsync(own, memory, 64, 2, stream.handle) == (0,)",
    "a copy of a guessed kind": "assert rt.cudaMemcpyAsync(memory, bytes(64), 64, 4, stream.handle) == (0,)",
    "stream 0 for an event": "assert rt.cudaStreamWaitEvent(0, event.handle, 0) == (0,)",
    "pycuda's copy": "cuda.memcpy_dtoh(own, device)",
    "pycuda's memory": "device.free()",
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_control_c_ends_the_waiting_and_not_the_work(site: pathlib.Path, wait: str) -> None:
    said = run_code(
        site,
        f"""
import os, signal, threading
import pycuda.autoinit, pycuda.driver as cuda
from cuda.bindings import driver, runtime as rt
import numpy as np
gate, calls = threading.Event(), []
stream, event = cuda.Stream(), cuda.Event()
memory, device, own = rt.cudaMalloc(64)[1], cuda.mem_alloc(64), np.zeros(64, np.uint8)
if "Unregister" in {wait!r}:
    assert rt.cudaHostRegister(own, 64, 0) == (0,)
assert rt.cudaLaunchHostFunc(stream.handle, lambda user: (gate.wait(600), calls.append(user)), "work")[0] == 0
event.record(stream)
try:
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    {wait}
    print("not interrupted")
except KeyboardInterrupt:
    print("interrupted", calls, stream.is_done())  # The work waits for the gate, still.
threading.Timer(0.1, gate.set).start()
{wait}
print(calls, stream.is_done())
""",
    )
    assert said == "interrupted [] False\n['work'] True\n"


def wait_until_it_sleeps(process: int) -> None:
    """Until its main thread has slept for 0.3 s: it waits for somebody, and not for a processor or a disk."""
    end, last, since = time.monotonic() + 600, ["R"], time.monotonic()
    while time.monotonic() < end and time.monotonic() - since < 0.3:
        time.sleep(0.01)
        fields = pathlib.Path(f"/proc/{process}/task/{process}/stat").read_text().rpartition(")")[2].split()
        now = [fields[0], *fields[11:13]]  # Its state, and the ticks that it has computed.
        if now != last or now[0] != "S":
            last, since = now, time.monotonic()


def interrupted_at_its_end(site: pathlib.Path, code: str) -> str:
    """What a script says that is interrupted while it waits at its end for the work of streams."""
    head = f"import site; site.addsitedir({str(site)!r})\n"
    tail = "\nimport atexit\natexit.register(lambda: print('ending', flush=True))\n"
    child = subprocess.Popen(
        [sys.executable, "-c", head + code + tail],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ,
    )
    try:
        assert child.stdout is not None
        first = child.stdout.readline()
        assert "ending" in first, first + child.stdout.read()
        wait_until_it_sleeps(child.pid)
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=600)
        assert child.returncode == 0, f"exit status {child.returncode}\n{said}"
        return said
    finally:
        child.kill()
        child.wait()


def test_control_c_ends_a_script_that_has_memory_of_pycudas(site: pathlib.Path) -> None:
    """Nothing at the interpreter's end waits for work but the one wait that hears of it."""
    said = interrupted_at_its_end(
        site,
        """
import signal, threading
import numpy as np
import pycuda.autoinit, pycuda.driver as cuda
from cuda.bindings import runtime as rt
signal.signal(signal.SIGINT, signal.default_int_handler)
gate, stream, event = threading.Event(), cuda.Stream(), cuda.Event()
alive = [cuda.mem_alloc(16), cuda.pagelocked_empty(4, np.int8), cuda.register_host_memory(np.zeros(4))]
assert rt.cudaLaunchHostFunc(stream.handle, lambda user: gate.wait(600)) == (0,)
event.record(stream)
""",
    )
    assert "KeyboardInterrupt" in said, said


def test_a_function_that_outlives_the_interpreter_does_not_end_the_process(site: pathlib.Path) -> None:
    """It asks for the lock of an interpreter that is on its way out."""
    said = interrupted_at_its_end(
        site,
        """
import signal, sys, threading, time, types
from cuda.bindings import runtime as rt
gate = threading.Event()
def interrupt(number, frame):
    gate.set()
    raise KeyboardInterrupt
signal.signal(signal.SIGINT, interrupt)
stream = rt.cudaStreamCreate()[1]
assert rt.cudaLaunchHostFunc(stream, lambda user: (gate.wait(600), time.sleep(1.5)), 0) == (0,)
class Last:
    def __del__(self, sleep=time.sleep, say=print):
        sleep(3)
        say("the end", flush=True)
sys.modules["last"] = types.ModuleType("last")  # What other modules hold may stay.
sys.modules["last"].last = Last()
""",
    )
    assert said.endswith("the end\n"), said


def test_device_of_the_runtime_and_of_the_driver(site: pathlib.Path) -> None:
    run_code(
        site,
        """
from cuda import cuda, cudart
assert cudart.cudaGetDeviceCount() == (cudart.cudaError_t.cudaSuccess, 1)
error, properties = cudart.cudaGetDeviceProperties(0)
model = next(l for l in open("/proc/cpuinfo") if l.startswith("model name")).split(": ")[1].strip()
assert properties.name.decode() == model and properties.multiProcessorCount >= 1
attribute = cudart.cudaDeviceAttr.cudaDevAttrMultiProcessorCount
assert cudart.cudaDeviceGetAttribute(attribute, 0)[1] == properties.multiProcessorCount
assert cudart.cudaGetDeviceProperties(4)[0] == cudart.cudaError_t.cudaErrorInvalidDevice
ok = cuda.CUresult.CUDA_SUCCESS
assert cuda.cuInit(0) == (ok,)
error, device = cuda.cuDeviceGet(0)
assert cuda.cuDeviceGetName(128, device) == (ok, model.encode())
assert cuda.cuDeviceGet(3)[0] == cuda.CUresult.CUDA_ERROR_INVALID_DEVICE
error, context = cuda.cuCtxCreate(0, device)
assert error == ok and cuda.cuCtxGetCurrent() == (ok, context)
error, memory = cuda.cuMemAlloc(64)
assert cuda.cuMemsetD8(memory, 9, 64) == (ok,)
back = bytearray(64)
assert cuda.cuMemcpyDtoH(back, memory, 64) == (ok,) and back == b"\\t" * 64
assert cuda.cuMemFree(memory) == (ok,) and cuda.cuCtxDestroy(context) == (ok,)
assert cuda.cuGetErrorName(cuda.CUresult.CUDA_ERROR_NOT_READY)[1] == b"CUDA_ERROR_NOT_READY"
""",
    )


def test_what_the_driver_knows_of_an_address(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import numpy as np
from cuda.bindings import driver as cuda
from cuda.bindings import runtime as cudart
ok, wrong = cuda.CUresult.CUDA_SUCCESS, cuda.CUresult.CUDA_ERROR_INVALID_VALUE
kinds, what = cuda.CUmemorytype, cuda.CUpointer_attribute
device = cuda.cuMemAlloc(64)[1]
host = cuda.cuMemAllocHost(64)[1]
managed = cudart.cudaMallocManaged(64, cudart.cudaMemAttachGlobal)[1]
of = cuda.cuPointerGetAttribute
assert of(what.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device) == (ok, kinds.CU_MEMORYTYPE_DEVICE)
assert of(what.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, int(device) + 8) == (ok, kinds.CU_MEMORYTYPE_DEVICE)
assert of(what.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host) == (ok, kinds.CU_MEMORYTYPE_HOST)
assert of(what.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, managed) == (ok, kinds.CU_MEMORYTYPE_DEVICE)
assert of(what.CU_POINTER_ATTRIBUTE_IS_MANAGED, managed) == (ok, True)
assert of(what.CU_POINTER_ATTRIBUTE_IS_MANAGED, device) == (ok, False)
assert of(what.CU_POINTER_ATTRIBUTE_DEVICE_POINTER, device) == (ok, int(device))
assert of(what.CU_POINTER_ATTRIBUTE_HOST_POINTER, host) == (ok, int(host))
assert of(what.CU_POINTER_ATTRIBUTE_HOST_POINTER, device) == (wrong, None)
assert of(what.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device) == (ok, 0)
assert of(what.CU_POINTER_ATTRIBUTE_MEMORY_TYPE, np.zeros(9)) == (wrong, None)
assert of(77, device) == (cuda.CUresult.CUDA_ERROR_NOT_SUPPORTED, None)
error, stream = cuda.cuStreamCreate(cuda.CUstream_flags.CU_STREAM_NON_BLOCKING)
other, back = cuda.cuMemAlloc(64)[1], np.zeros(64, np.uint8)
assert cuda.cuMemsetD8Async(device, 7, 64, stream) == (ok,)
assert cuda.cuMemcpyDtoDAsync(other, device, 64, stream) == (ok,)
assert cuda.cuMemcpyAsync(host, other, 64, stream) == (ok,) and cuda.cuStreamSynchronize(stream) == (ok,)
assert cuda.cuMemcpy(back, host, 64) == (ok,) and (back == 7).all()
""",
    )


def test_driver_and_pycuda_have_the_same_attributes_and_flags(site: pathlib.Path) -> None:
    run_code(
        site,
        """
from cuda import cuda, cudart
import pycuda.autoinit, pycuda.driver as pycuda
prefix = "CU_DEVICE_ATTRIBUTE_"
names = {each.name.removeprefix(prefix): each.value for each in cuda.CUdevice_attribute}
assert names == {each.name: each.value for each in pycuda.device_attribute} and len(names) > 20
for name, value in names.items():
    error, answer = cuda.cuDeviceGetAttribute(cuda.CUdevice_attribute[prefix + name], 0)
    assert error == cuda.CUresult.CUDA_SUCCESS and answer == getattr(pycuda.Device(0), name.lower())
    assert answer == cudart.cudaDeviceGetAttribute(cudart.cudaDeviceAttr(value), 0)[1]
assert pycuda.event_flags.DISABLE_TIMING == cudart.cudaEventDisableTiming == 2
assert pycuda.host_alloc_flags.DEVICEMAP == cudart.cudaHostAllocMapped == 2
assert pycuda.ctx_flags.MAP_HOST == cudart.cudaDeviceMapHost == 8
""",
    )


def test_pycuda(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import gc
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
assert cuda.Device.count() == 1 and pycuda.autoinit.device.name() and cuda.Context.get_device() == cuda.Device(0)
assert cuda.Device(0).multiprocessor_count == cuda.Device(0).get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
free, total = cuda.mem_get_info()
assert 0 < free <= total == cuda.Device(0).total_memory()
x = np.random.default_rng(5).standard_normal((20, 30))
stream = cuda.Stream()
host = cuda.pagelocked_empty(x.shape, x.dtype)
host[:] = x
device = cuda.mem_alloc(host.nbytes)
back = cuda.pagelocked_zeros(x.shape, np.float64)
start = cuda.Event().record(stream)
cuda.memcpy_htod_async(device, host, stream)
cuda.memcpy_dtoh_async(back, device, stream)
end = cuda.Event().record(stream)
stream.synchronize()
assert stream.is_done() and end.query() and np.array_equal(back, x)
assert end.time_since(start) == start.time_till(end) > 0
view = back[3]
del back
gc.collect()
assert np.array_equal(view, x[3])  # An array keeps its memory.
cuda.memset_d8(device, 0x11, 8)
cuda.memset_d32(int(device) + 8, 0x22334455, 2)
head = cuda.from_device(device, 4, np.uint32)
assert head.tolist() == [0x11111111, 0x11111111, 0x22334455, 0x22334455]
cuda.memset_d8(dest=device, data=0x33, size=4)
cuda.memset_d16_async(int(device) + 4, 0x4567, 2, stream)
cuda.memset_d32_async(int(device) + 8, 0x12345678, size=2, stream=stream)
stream.synchronize()
assert cuda.from_device(device, 4, np.uint32).tolist() == [0x33333333, 0x45674567, 0x12345678, 0x12345678]
other = cuda.to_device(x)
cuda.memcpy_dtod(device, other, x.nbytes)
assert np.array_equal(cuda.from_device_like(device, x), x)
device.free()
for mistake, error in ((device.free, cuda.LogicError), (lambda: cuda.mem_alloc(1 << 60), cuda.MemoryError),
                       (lambda: cuda.memcpy_htod(other, x[:, ::2]), ValueError),
                       (lambda: cuda.Device(7), cuda.LogicError)):
    try:
        mistake()
    except error as problem:
        print(problem)
    else:
        raise SystemExit(f"{mistake} was not refused")
shared = cuda.managed_zeros(10, np.int32)
assert shared.sum() == 0
own = np.empty(100, np.float32)
assert cuda.register_host_memory(own).ctypes.data == own.ctypes.data
assert cuda.aligned_empty((3, 5), np.float32).ctypes.data % 4096 == 0
context = cuda.Device(0).make_context()
context.pop()
cuda.Context.synchronize()
from pycuda.compiler import SourceModule
try:
    SourceModule("__global__ void f() {}")
except cuda.CompileError as problem:
    assert "need a GPU" in str(problem)
""",
    )


def test_the_memory_behind_arrays_of_pycuda(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import gc
import numpy as np, pycuda.autoinit, pycuda.driver as cuda
x = np.random.default_rng(6).standard_normal((3, 5)).astype(np.float32)
for order in "CF":
    mapped = cuda.pagelocked_empty(x.shape, np.float32, order, mem_flags=cuda.host_alloc_flags.DEVICEMAP)
    assert mapped.flags.c_contiguous == (order == "C") and mapped.flags.f_contiguous == (order == "F")
    mapped[:] = x
    address = mapped.base.get_device_pointer()
    assert isinstance(mapped.base, cuda.PagelockedHostAllocation) and mapped.base.get_flags() & 2
    seen = cuda.from_device(address, x.shape, np.float32, order)
    assert np.array_equal(seen, x)
    cuda.memset_d8(address, 0, mapped.nbytes)
    assert not mapped.any()
shared = cuda.managed_empty((4, 2), np.int32)
assert shared.base.get_device_pointer() == shared.ctypes.data and isinstance(shared.base, cuda.ManagedAllocation)
own = np.asfortranarray(x)
registered = cuda.register_host_memory(own, cuda.mem_host_register_flags.DEVICEMAP)
assert np.array_equal(registered, x) and registered.flags.f_contiguous
assert registered.base.get_device_pointer() == own.ctypes.data and registered.base.original is own
again = cuda.runtime.cudaHostRegister
assert again(own.ctypes.data, own.nbytes, 0)[0] != 0
registered[0, 0] = 9
assert own[0, 0] == 9
del registered
gc.collect()
assert again(own.ctypes.data, own.nbytes, 0)[0] == 0  # What was registered ends with the array.
pairs = cuda.pagelocked_zeros(4, np.dtype([("a", np.int8), ("b", np.float64)], align=True))
assert pairs.dtype.itemsize == 16 and pairs["b"].sum() == 0 and pairs.shape == (4,)
assert cuda.pagelocked_empty((), np.float32).shape == () and cuda.pagelocked_empty((0, 3), np.float16).size == 0
memory = mapped.base
del mapped
memory.free()
for call in (memory.free, memory.get_device_pointer):
    try:
        call()
    except cuda.LogicError as problem:
        assert "was freed" in str(problem)
    else:
        raise SystemExit("memory that is gone was used")
try:
    cuda.pagelocked_empty((2, -3), np.float32)
except ValueError as problem:
    assert "negative" in str(problem)
else:
    raise SystemExit("a negative extent was taken")
""",
    )


def test_streams_of_pycuda_are_tenons(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import numpy as np, pycuda.autoinit, pycuda.driver as cuda, tenon
stream = cuda.Stream()
assert tenon._native._stream_is_idle(stream.handle)
own = tenon.Stream()
x = np.arange(8, dtype=np.float32)
device = cuda.mem_alloc(x.nbytes)
from cuda.bindings import runtime
assert runtime.cudaMemcpyAsync(device, x, x.nbytes, runtime.cudaMemcpyKind.cudaMemcpyHostToDevice, own)[0] == 0
own.synchronize()
assert np.array_equal(cuda.from_device(device, 8, np.float32), x)
""",
    )


@pytest.mark.parametrize("kind", ["regular", "namespace"])
def test_a_real_package_wins(site: pathlib.Path, tmp_path: pathlib.Path, kind: str) -> None:
    real = tmp_path / "real"
    (real / "cuda" / "bindings").mkdir(parents=True)
    (real / "cuda" / "bindings" / "__init__.py").write_text("")
    (real / "cuda" / "bindings" / "runtime.py").write_text("whose = 'real'\n")
    if kind == "regular":
        (real / "cuda" / "__init__.py").write_text("")
    (real / "pycuda").mkdir()
    (real / "pycuda" / "__init__.py").write_text("whose = 'real'\n")
    said = run_code(
        site,
        f"""
import sys
sys.path.insert(0, {str(real)!r})  # Anything on the path comes before what a path entry adds.
import pycuda
from cuda.bindings import runtime
print(pycuda.whose, runtime.whose, sys.path[-1])
""",
    )
    assert said.split() == ["real", "real", str(site / "tenon_hostcuda" / "modules")]


def test_older_names_lead_to_whatever_bindings_there_are(site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """A real cuda.bindings without cuda.cudart is not mixed with ours."""
    bindings = tmp_path / "cuda" / "bindings"
    bindings.mkdir(parents=True)
    (bindings / "__init__.py").write_text("")
    (bindings / "runtime.py").write_text("whose = 'real'\n")
    assert (
        run_code(
            site,
            f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from cuda import cudart
print(cudart.whose)
""",
        )
        == "real\n"
    )


def test_values_are_those_of_the_header() -> None:
    header = dict(re.findall(r"^\s+(cuda\w+) = (\w+),?$", HEADER.read_text(), re.M))
    ours = re.findall(r"^    (cuda\w+) = (\w+)$", (PROJECT / "tenon_hostcuda" / "values.py").read_text(), re.M)
    assert len(ours) > 250
    assert [(name, value) for name, value in ours if header[name] != value] == []
    macros = dict(re.findall(r"^#define (cuda\w+) (?:0x)?(\w+)$", HEADER.read_text(), re.M))
    flags = re.findall(r"^(cuda\w+) = (\d+)$", (PROJECT / "tenon_hostcuda" / "runtime.py").read_text(), re.M)
    assert [(n, v) for n, v in flags if n in macros and int(macros[n], 16) != int(v)] == []


def test_the_wheel_has_the_path_entry(tmp_path: pathlib.Path) -> None:
    offline = ["--no-index", "--no-build-isolation", "--no-deps", "--wheel-dir", str(tmp_path)]
    command = [sys.executable, "-m", "pip", "wheel", "-q", *offline, str(PROJECT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("tenon_hostcuda-0.1.0-py3-none-any.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "tenon_hostcuda.pth",
        "tenon_hostcuda/library.py",
        "tenon_hostcuda/modules/pycuda/driver.py",
        "tenon_hostcuda/modules/cuda/cudart.py",
    } <= names
    assert not [name for name in names if name.startswith(("cuda/", "pycuda/", "tenon/"))]
    assert "tenon_hostcuda/modules/cuda/__init__.py" not in names, "it would hide a real namespace package"


def test_a_fill_that_is_captured_repeats_its_value(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import gc
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from cuda.bindings import runtime as rt
ok = rt.cudaError_t.cudaSuccess
own = cuda.Stream()
memory = cuda.mem_alloc(4 * 1000)
mode = rt.cudaStreamCaptureMode.cudaStreamCaptureModeThreadLocal
assert rt.cudaStreamBeginCapture(own.handle, mode) == (ok,)
cuda.memset_d32_async(memory, 7, 1000, own)
error, graph = rt.cudaStreamEndCapture(own.handle)
assert error == ok
gc.collect()
others = [np.full(1000, 1 + i, np.uint32) for i in range(50)]
error, executable = rt.cudaGraphInstantiate(graph, 0)
for _ in range(2):
    cuda.memset_d8(memory, 0, 4 * 1000)
    assert rt.cudaGraphLaunch(executable, own.handle) == (ok,)
    own.synchronize()
    found = np.empty(1000, np.uint32)
    cuda.memcpy_dtoh(found, memory)
    assert (found == 7).all(), found
assert len(others) == 50
""",
    )


def test_a_function_of_ctypes_in_its_own_class_is_called_and_kept(site: pathlib.Path) -> None:
    run_code(
        site,
        """
import ctypes
import gc
import threading
import pycuda.autoinit
import pycuda.driver as cuda
from cuda.bindings import runtime as rt
ok = rt.cudaError_t.cudaSuccess
called, gate = [], threading.Event()
own = cuda.Stream()
kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
assert rt.cudaLaunchHostFunc(own.handle, lambda _: gate.wait(), None) == (ok,)
assert rt.cudaLaunchHostFunc(own.handle, rt.cudaHostFn_t(kind(called.append)), 5) == (ok,)
gc.collect()
assert rt.cudaFree(0) == rt.cudaFreeHost(0) == (ok,)  # To free nothing waits for nobody.
gate.set()
own.synchronize()
assert called == [5]
try:
    rt.cudaHostFn_t(1.5)
    raise SystemExit("taken")
except TypeError:
    pass
""",
    )
