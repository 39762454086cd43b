"""Which device programs get that name none: the GPU where there is one, here that of the fake driver."""

import os
import subprocess
import sys

import pytest
from fake_gpu import BUILD, needs_fake_gpu

HOST_RUNTIME = BUILD / "lib" / "libtenon_hostrt.so.0"

ENGINE = """
import numpy as np
import tenon
import tensorrt as trt

class Logger(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.lines = []
    def log(self, severity, text):
        self.lines.append(text)

print("device:", tenon.devices()["chosen"])
logger = Logger()
builder = trt.Builder(logger)
network = builder.create_network()
x = network.add_input("x", trt.float32, (2, 3))
y = network.add_unary(x, trt.UnaryOperation.NEG).get_output(0)
y.name = "y"
network.mark_output(y)
plan = builder.build_serialized_network(network, builder.create_builder_config())
engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
context = engine.create_execution_context()
given = np.random.default_rng(1).standard_normal((2, 3), np.float32)
if not context.set_tensor_address("x", given):
    print("refused:", logger.lines[-1])
    try:
        import tenon.serving
        tenon.serving.Pool(engine)
    except ValueError as error:
        print("pool:", error)
x, y = tenon.DeviceArray.of(engine, given), tenon.DeviceArray(engine, (2, 3), np.float32)
assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
assert context.execute_async_v3(0)
assert np.array_equal(y.numpy(), -given)
"""


def where(script: str, **more: str) -> str:
    """What the script prints beside the fake driver, where TENON_DEVICE is what `more` says, or not set."""
    environment = os.environ | {
        "LD_LIBRARY_PATH": f"{BUILD / 'fake_cuda'}:{os.environ.get('LD_LIBRARY_PATH', '')}",
        "TENON_CACHE_DIR": str(BUILD / "test_cache"),
        "TENON_TACTICS": "estimate",
    }
    environment.pop("TENON_DEVICE", None)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment | more)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_fake_gpu
def test_a_gpu_is_taken_where_none_is_named_and_the_cpu_by_name() -> None:
    told = where(ENGINE)
    assert told.startswith("device: cuda\nrefused: ") and "TENON_DEVICE" in told
    assert "pool: the engine is on a GPU" in told
    assert where(ENGINE, TENON_DEVICE="").startswith("device: cuda\n")
    assert where(ENGINE, TENON_DEVICE="cpu") == "device: cpu\n"


@needs_fake_gpu
def test_of_several_it_is_the_one_that_the_thread_is_at() -> None:
    at_the_second = """
import ctypes
driver = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert driver.cuInit(0) == 0
assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1) == 0
assert driver.cuCtxPushCurrent_v2(context) == 0
"""
    assert where(at_the_second + ENGINE).startswith("device: cuda:1\nrefused: ")
    assert where(at_the_second + ENGINE, TENON_DEVICE="cuda").startswith("device: cuda\nrefused: ")


@needs_fake_gpu
def test_programs_of_the_host_runtime_stay_on_the_cpu() -> None:
    load = f"import ctypes; ctypes.CDLL({str(HOST_RUNTIME)!r})\n"
    assert where(load + ENGINE) == "device: cpu\n"
    assert where(load + ENGINE, TENON_DEVICE="cuda").startswith("device: cuda\nrefused: ")
    late = f"import tenon; tenon.devices()\n{load}"  # As a plugin's library brings it.
    assert where(late + ENGINE).startswith("device: cuda\nrefused: ")


@needs_fake_gpu
@pytest.mark.parametrize("device", [None, "cpu", "cuda:1"])
def test_the_command_line_says_which_and_why(device: str | None) -> None:
    command = f"import subprocess; subprocess.run([{str(BUILD / 'bin' / 'tenon')!r}, 'devices'])"
    told = where(command, **({} if device is None else {"TENON_DEVICE": device}))
    (line,) = [line for line in told.splitlines() if "<- chosen" in line]
    assert line.split()[0] == (device or "cuda")
    assert ("TENON_DEVICE is not set" if device is None else f"TENON_DEVICE={device}") in told


def test_without_a_gpu_it_is_the_cpu_and_the_reason_is_told() -> None:
    command = f"import subprocess; subprocess.run([{str(BUILD / 'bin' / 'tenon')!r}, 'devices'])"
    told = where(command, LD_LIBRARY_PATH=os.environ.get("LD_LIBRARY_PATH", ""), CUDA_VISIBLE_DEVICES="")
    (line,) = [line for line in told.splitlines() if "<- chosen" in line]
    assert line.split()[0] == "cpu"
    assert "not cuda: " in told
