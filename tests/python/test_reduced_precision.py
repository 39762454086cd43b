"""BuilderFlag.FP16 and BF16 of weakly typed networks: rounded where that is faster, named where it is not."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tensorrt as trt
from fake_gpu import needs_fake_gpu, on_fake_gpu


class Listener(trt.ILogger):
    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.lines: list[tuple[trt.ILogger.Severity, str]] = []

    def log(self, severity: trt.ILogger.Severity, text: str) -> None:
        self.lines.append((severity, text))

    def has(self, severity: trt.ILogger.Severity, text: str) -> bool:
        return any(each == severity and text in line for each, line in self.lines)


def build(logger: Listener, flag: trt.BuilderFlag | None, kept: trt.DataType | None = None) -> bytes:
    """softmax(relu(x · a) · b + mask); the first product may have a precision of its own."""
    draw = np.random.default_rng(5)
    weights = [draw.standard_normal((64, 64)).astype(np.float32) / 8 for _ in range(2)]
    builder = trt.Builder(logger)
    network = builder.create_network()
    x, mask = (network.add_input(name, trt.float32, (8, 64)) for name in ("x", "mask"))
    constants = [network.add_constant((64, 64), each).get_output(0) for each in weights]
    none = trt.MatrixOperation.NONE
    first = network.add_matrix_multiply(x, none, constants[0], none)
    first.name = "first"
    if kept is not None:
        first.precision = kept
    rectified = network.add_activation(first.get_output(0), trt.ActivationType.RELU).get_output(0)
    scores = network.add_matrix_multiply(rectified, none, constants[1], none).get_output(0)
    masked = network.add_elementwise(scores, mask, trt.ElementWiseOperation.SUM).get_output(0)
    softmax = network.add_softmax(masked)
    softmax.axes = 2
    network.mark_output(softmax.get_output(0))
    network.get_output(0).name = "y"
    config = builder.create_builder_config()
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    if flag is not None:
        config.set_flag(flag)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return bytes(plan)


def run(logger: Listener, plan: bytes, x: np.ndarray, mask: np.ndarray) -> np.ndarray:
    engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
    assert engine.get_tensor_dtype("x") == engine.get_tensor_dtype("y") == trt.float32
    context, y = engine.create_execution_context(), np.full((8, 64), np.nan, np.float32)
    for name, array in (("x", x), ("mask", mask), ("y", y)):
        context.set_tensor_address(name, array)
    assert context.execute_async_v3(0)
    return y


@pytest.mark.parametrize("flag", [trt.BuilderFlag.FP16, trt.BuilderFlag.BF16])
def test_the_build_rounds_where_that_is_faster_and_says_so(flag: trt.BuilderFlag) -> None:
    draw = np.random.default_rng(7)
    x = draw.standard_normal((8, 64)).astype(np.float32)
    mask = np.where(draw.random((8, 64)) < 0.3, np.finfo(np.float32).min, 0).astype(np.float32)
    mask[0] = np.finfo(np.float32).min  # A row that is masked as a whole is even, and no NaN.
    logger = Listener()
    exact, rounded = (run(logger, build(logger, each), x, mask) for each in (None, flag))
    is_rounded = any("layers compute in" in line for _, line in logger.lines)
    assert is_rounded != logger.has(trt.ILogger.Severity.WARNING, f"BuilderFlag::k{flag.name}: on this device")
    assert np.array_equal(exact, rounded) != is_rounded
    assert np.abs(exact - rounded).max() < 0.03 and np.allclose(rounded.sum(axis=1), 1, atol=0.02)
    assert np.allclose(rounded[0], 1 / 64, atol=1e-3)


@needs_fake_gpu
def test_gpus_take_float16_but_for_layers_with_a_precision_of_their_own() -> None:
    script = """
from test_reduced_precision import *
for kept in (None, trt.float32):
    logger = Listener()
    build(logger, trt.BuilderFlag.FP16, kept)
    print([line.split(": ")[-1] for _, line in logger.lines if "layers compute in" in line])
"""
    assert on_fake_gpu(script).splitlines() == ["['5 layers compute in float16']", "['3 layers compute in float16']"]


@pytest.mark.parametrize("isa", ["avx2", ""])
def test_int8_is_fast_where_four_products_are_added_up_at_once(isa: str) -> None:
    script = "import tensorrt as trt; print(trt.Builder(trt.Logger(trt.Logger.ERROR)).platform_has_fast_int8)"
    environment = os.environ | {"TENON_ISA": isa}  # Empty: whatever the tests run with, all that the machine has.
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True)
    has_dots = "avx512_vnni" in pathlib.Path("/proc/cpuinfo").read_text().split()
    assert done.stdout.strip() == str(has_dots and isa == "")
