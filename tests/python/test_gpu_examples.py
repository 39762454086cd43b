"""The examples with custom layers on a GPU, where there is one and what they need; skipped elsewhere."""

import ctypes
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/gpu"


def missing(*packages: str) -> str:
    """Why the examples cannot run here; empty when they can."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "there is no NVIDIA driver"
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0 or count.value == 0:
        return "there is no GPU"
    if hasattr(driver, "tenonFakeCalls"):
        return "the driver is the fake one"
    lacking = [each for each in packages if importlib.util.find_spec(each) is None]
    return f"{', '.join(lacking)} is not installed" if lacking else ""


def run(command: list[str]) -> str:
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | {"TENON_DEVICE": "cuda"}, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "packages"),
    [
        ("cupy_layer", ("cupy", "torch")),
        ("numba_layer", ("numba", "torch")),
        ("torch_layer", ("cupy", "torch")),
        ("triton_layer", ("triton", "torch")),
    ],
)
def test_S3_041_the_integers_of_enqueue_work_with_what_runs_on_gpus(name, packages):
    if why := missing(*packages):
        pytest.skip(why)
    text = run([sys.executable, str(EXAMPLES / f"{name}.py")])
    assert text.count("largest error") >= 6


def compiler() -> str:
    """The toolkit's, where there is one."""
    found = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    if not pathlib.Path(found).exists():
        pytest.skip("there is no nvcc")
    return found


FLAGS = ["-std=c++17", "-Wno-deprecated-declarations", "-I", str(EXAMPLES.parents[1] / "include")]


def test_the_program_with_a_kernel_of_its_own_compiles(tmp_path):
    run([compiler(), *FLAGS, "-c", str(EXAMPLES / "square.cu"), "-o", str(tmp_path / "square.o")])


def test_the_program_with_a_kernel_of_its_own_runs(tmp_path):
    if why := missing():
        pytest.skip(why)
    libraries = pathlib.Path(os.environ.get("TENON_BUILD", EXAMPLES.parents[1] / "build")).resolve() / "lib"
    program = tmp_path / "square"
    link = ["-L", str(libraries), "-lnvinfer", f"-Xlinker=-rpath,{libraries}"]
    run([compiler(), *FLAGS, str(EXAMPLES / "square.cu"), *link, "-o", str(program)])
    assert run([str(program)]).count("largest error") == 5
