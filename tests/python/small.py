"""A small network with a dynamic batch, for tests of the Python API: y = relu(x · weights)."""

import collections.abc
import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import tensorrt as trt

Network = collections.abc.Callable[[trt.Builder], trt.INetworkDefinition]
PATIENCE = 600  # Seconds, far beyond what anything here takes: what takes longer hangs.
WEIGHTS = np.random.default_rng(7).standard_normal((8, 4), np.float32)


class Recorder(trt.ILogger):
    """Keeps what is logged."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.lines: list[tuple[trt.ILogger.Severity, str]] = []

    def log(self, severity: trt.ILogger.Severity, msg: str) -> None:
        self.lines.append((severity, msg))

    def errors(self) -> str:
        return "\n".join(text for severity, text in self.lines if severity <= trt.ILogger.ERROR)


def network(builder: trt.Builder) -> trt.INetworkDefinition:
    definition = builder.create_network()
    x = definition.add_input("x", trt.float32, (-1, 8))
    weights = definition.add_constant((8, 4), WEIGHTS)
    product = definition.add_matrix_multiply(
        x, trt.MatrixOperation.NONE, weights.get_output(0), trt.MatrixOperation.NONE
    )
    relu = definition.add_activation(product.get_output(0), trt.ActivationType.RELU)
    relu.get_output(0).name = "y"
    definition.mark_output(relu.get_output(0))
    return definition


def chain(builder: trt.Builder) -> trt.INetworkDefinition:
    """The same in three steps, which have memory between them."""
    definition = builder.create_network()
    at = definition.add_input("x", trt.float32, (-1, 8))
    for values in (np.eye(8, dtype=np.float32), np.eye(8, dtype=np.float32), WEIGHTS):
        weights = definition.add_constant(values.shape, values).get_output(0)
        none = trt.MatrixOperation.NONE
        at = definition.add_matrix_multiply(at, none, weights, none).get_output(0)
    at = definition.add_activation(at, trt.ActivationType.RELU).get_output(0)
    at.name = "y"
    definition.mark_output(at)
    return definition


def layer(definition: trt.INetworkDefinition, index: int, cls: type) -> trt.ILayer:
    """A layer that the network is asked for, as an object of its own class."""
    found = definition.get_layer(index)
    found.__class__ = cls
    return found


def config(builder: trt.Builder, profiles: int = 1) -> trt.IBuilderConfig:
    made = builder.create_builder_config()
    made.clear_flag(trt.BuilderFlag.TF32)  # GPUs would round products, and results are compared as float32.
    for number in range(profiles):
        profile = builder.create_optimization_profile()
        profile.set_shape("x", (1, 8), (2 + number, 8), (16, 8))
        assert made.add_optimization_profile(profile) == number
    return made


def plan(logger: trt.ILogger, profiles: int = 1, network: Network = network) -> trt.IHostMemory:
    builder = trt.Builder(logger)
    built = builder.build_serialized_network(network(builder), config(builder, profiles))
    assert built is not None
    return built


def engine(logger: trt.ILogger, profiles: int = 1) -> trt.ICudaEngine:
    loaded = trt.Runtime(logger).deserialize_cuda_engine(plan(logger, profiles))
    assert loaded is not None
    return loaded


def load(logger: trt.ILogger, network: Network) -> trt.ICudaEngine:
    loaded = trt.Runtime(logger).deserialize_cuda_engine(plan(logger, network=network))
    assert loaded is not None
    return loaded


def inputs(batch: int = 3, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((batch, 8), np.float32)


def want(x: np.ndarray) -> np.ndarray:
    return np.maximum(x @ WEIGHTS, 0)


def run(made: trt.ICudaEngine, x: np.ndarray) -> np.ndarray:
    context = made.create_execution_context()
    assert context.set_input_shape("x", x.shape)
    given, y = memory(made, x), memory(made, np.full((len(x), 4), np.nan, np.float32))
    assert context.set_tensor_address("x", given) and context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    return contents(y)


def memory(made: trt.ICudaEngine, values: np.ndarray) -> np.ndarray | trt.DeviceArray:
    """The values in memory of the engine's device: on the CPU a copy for NumPy."""
    return values.copy() if trt.devices()["chosen"] in ("cpu", "ref") else trt.DeviceArray.of(made, values)


def contents(array: np.ndarray | trt.DeviceArray) -> np.ndarray:
    return array if isinstance(array, np.ndarray) else array.numpy()


def wait_until_it_sleeps(process: int, seconds: float = 0.3) -> None:
    """Until its main thread has slept for so long: it waits for somebody, and not for a processor or a disk."""
    end, last, since = time.monotonic() + PATIENCE, ["R"], time.monotonic()
    while time.monotonic() < end and time.monotonic() - since < seconds:
        time.sleep(0.01)
        fields = pathlib.Path(f"/proc/{process}/task/{process}/stat").read_text().rpartition(")")[2].split()
        now = [fields[0], *fields[11:13]]  # Its state, and the ticks that it has computed.
        if now != last or now[0] != "S":
            last, since = now, time.monotonic()


def script(text: str, *, timeout: float = PATIENCE, **environment: str) -> subprocess.CompletedProcess:
    """Runs Python text in a process of its own, where this module can be imported as `small`."""
    here = str(pathlib.Path(__file__).resolve().parent)
    search = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-c", text],
        capture_output=True,
        text=True,
        timeout=timeout,
        env=os.environ | {"PYTHONPATH": search} | environment,
    )
