"""`python -m tenon_hostcuda PROGRAM`: a program that opens the CUDA runtime by its name finds the host calls."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest
from installed import install

# What Polygraphy does: the name alone, and memory, a copy and a stream of it around a run.
PROGRAM = """
import ctypes, sys
import numpy as np
import tensorrt as trt

cuda = ctypes.CDLL(sys.argv[1])
stream, memory = ctypes.c_void_p(), ctypes.c_void_p()
assert cuda.cudaStreamCreate(ctypes.byref(stream)) == 0
assert cuda.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(64)) == 0
logger = trt.Logger(trt.Logger.ERROR)
builder = trt.Builder(logger)
network = builder.create_network()
relu = network.add_activation(network.add_input("x", trt.float32, (4, 4)), trt.ActivationType.RELU)
relu.get_output(0).name = "y"
network.mark_output(relu.get_output(0))
plan = builder.build_serialized_network(network, builder.create_builder_config())
engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
context = engine.create_execution_context()
x, y = np.linspace(-1, 1, 16, dtype=np.float32), np.empty(16, np.float32)
assert cuda.cudaMemcpyAsync(memory, x.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(64), 1, stream) == 0
assert context.set_tensor_address("x", memory.value) and context.set_tensor_address("y", y)
assert context.execute_async_v3(stream.value)
assert cuda.cudaStreamSynchronize(stream) == 0
np.testing.assert_array_equal(y, np.maximum(x, 0))
"""


def started(site: pathlib.Path, *words: object) -> subprocess.Popen:
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    paths = [str(site), *filter(None, [environment.get("PYTHONPATH")])]
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    command = [sys.executable, "-m", "tenon_hostcuda", *map(str, words)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=hang_up
    )


def hang_up() -> None:
    """As a terminal starts programs; where the tests run under nohup, they would inherit that nothing hangs them up."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def run(site: pathlib.Path, *words: object) -> subprocess.CompletedProcess:
    with started(site, *words) as child:
        output, errors = child.communicate(timeout=600)
    return subprocess.CompletedProcess(words, child.returncode, output, errors)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return install(tmp_path_factory.mktemp("hostcuda"))


@pytest.mark.parametrize("name", ["libcudart.so", "libcudart.so.12", "libcudart.so.13"])
def test_the_runtime_is_found_by_its_name(name: str, site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run(site, sys.executable, tmp_path / "program.py", name)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_driver_is_not(site: pathlib.Path) -> None:
    done = run(site, sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')")
    assert done.returncode == 1 and "libcuda.so.1" in done.stderr


def test_status_output_and_links_are_the_programs(site: pathlib.Path) -> None:
    code = "import os, sys; print(os.environ['LD_LIBRARY_PATH'].split(os.pathsep)[0]); sys.exit(7)"
    done = run(site, "python", "-c", code)  # Found beside the interpreter.
    assert done.returncode == 7
    assert "tenon-hostcuda-" in done.stdout and not pathlib.Path(done.stdout.strip()).exists()
    assert run(site, sys.executable, "-c", "import os; os.kill(os.getpid(), 15)").returncode == 128 + 15
    assert run(site).returncode == 2 and run(site).stderr.startswith("usage: ")
    lost = run(site, "no-such-program")
    assert lost.returncode == 127 and "'no-such-program'" in lost.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_ends_it_ends_the_program(number: signal.Signals, site: pathlib.Path) -> None:
    code = "import os, time; print(os.environ['LD_LIBRARY_PATH'].split(os.pathsep)[0], flush=True); time.sleep(300)"
    with started(site, sys.executable, "-c", code) as child:
        links = pathlib.Path(child.stdout.readline().strip())
        assert links.exists()
        child.send_signal(number)
        assert child.wait(timeout=600) == 128 + number
        assert child.stdout.read() == ""  # Nobody has it open any more.
    assert not links.exists()


EARLY = """
import os, runpy, signal, subprocess, sys

class Early(subprocess.Popen):
    def __init__(self, *words, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        super().__init__(*words, **options)

subprocess.Popen = Early
sys.argv[1:] = [sys.executable, "-c", "import time; time.sleep(300)"]
runpy.run_module("tenon_hostcuda", run_name="__main__")
"""


def test_who_ends_it_while_the_program_is_started_ends_the_program(site: pathlib.Path) -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}
    assert subprocess.run([sys.executable, "-c", EARLY], env=environment, timeout=600).returncode == 128 + 15
