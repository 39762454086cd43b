"""The runtimes without a builder: tensorrt_lean, tensorrt_dispatch, their libraries, and IRuntime.load_runtime."""

import ctypes
import importlib
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import small
import tenon
import tensorrt as trt

MODULES = ["tensorrt_lean", "tensorrt_dispatch"]

RUN = """
import sys
import numpy as np
import {module} as trt
logger = trt.Logger(trt.Logger.ERROR)
runtime = trt.Runtime(logger)
engine = runtime.deserialize_cuda_engine(open(sys.argv[1], "rb").read())
context = engine.create_execution_context()
x, y = np.ones((2, 8), np.float32), np.empty((2, 4), np.float32)
assert context.set_input_shape("x", x.shape)
context.set_tensor_address("x", x.ctypes.data)
context.set_tensor_address("y", y.ctypes.data)
assert context.execute_async_v3(0)
assert "tensorrt" not in sys.modules
np.save(sys.argv[2], y)
"""


@pytest.fixture
def plan() -> trt.IHostMemory:
    return small.plan(small.Recorder())


def libraries() -> pathlib.Path:
    """Where the process has libnvinfer.so.10 from."""
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return pathlib.Path(next(line for line in lines if "/libnvinfer.so.10" in line).split()[-1]).parent


@pytest.mark.parametrize("name", MODULES)
def test_a_plan_runs_in_a_program_that_builds_nothing(name: str, plan: trt.IHostMemory, tmp_path: pathlib.Path) -> None:
    (tmp_path / "small.plan").write_bytes(plan)
    program = [sys.executable, "-c", RUN.format(module=name), str(tmp_path / "small.plan"), str(tmp_path / "y.npy")]
    subprocess.run(program, check=True, timeout=small.PATIENCE)
    want = np.maximum(np.ones((2, 8), np.float32) @ small.WEIGHTS, 0)
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", MODULES)
def test_it_has_what_runs_and_nothing_that_builds(name: str) -> None:
    lean = importlib.import_module(name)
    for each in ("Runtime", "ICudaEngine", "IExecutionContext", "Logger", "IProfiler", "EngineInspector", "DataType"):
        assert getattr(lean, each) is getattr(trt, each) and each in lean.__all__
    assert lean.__version__ == trt.__version__ and lean.float32 is trt.float32
    for each in ("Builder", "INetworkDefinition", "OnnxParser", "IBuilderConfig", "IConvolutionLayer", "Refitter"):
        with pytest.raises(AttributeError, match=f"{each} is in `tensorrt`"):
            getattr(lean, each)
    assert not set(tenon._OWN) & set(lean.__all__)
    with pytest.raises(AttributeError):
        _ = lean.NothingOfThisName


@pytest.mark.parametrize("name", ["libnvinfer_lean.so.10", "libnvinfer_dispatch.so.10"])
def test_a_runtime_is_loaded_from_its_library(name: str, plan: trt.IHostMemory) -> None:
    logger = small.Recorder()
    runtime = trt.Runtime(logger)
    other = runtime.load_runtime(str(libraries() / name))
    assert other is not None, logger.errors()
    del runtime
    engine = other.deserialize_cuda_engine(plan)
    assert engine is not None and engine.num_io_tensors == 2, logger.errors()
    library = ctypes.CDLL(str(libraries() / name))
    assert library.getInferLibVersion() == 101600 and not hasattr(library, "createInferBuilder_INTERNAL")


def test_what_is_no_runtime_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    logger = small.Recorder()
    runtime = trt.Runtime(logger)
    assert runtime.load_runtime("/no/such/library.so") is None
    assert "/no/such/library.so" in logger.errors()
    assert runtime.load_runtime(str(libraries() / "libnvinfer_plugin.so.10")) is None
    assert "is no runtime library: it has no function createInferRuntime_INTERNAL" in logger.errors()
    (tmp_path / "text.so").write_text("no library")
    assert runtime.load_runtime(str(tmp_path / "text.so")) is None
    assert "text.so" in logger.errors().splitlines()[-1]
