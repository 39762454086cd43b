"""One ONNX model through parser, builder, plan and context, beside ONNX Runtime or stored results.

Tensors lie in memory of the device that TENON_DEVICE names, those of shapes in the host's.
"""

import sys

import ml_dtypes
import numpy as np
import onnx
import tensorrt as trt
from tenon import DeviceArray


class Listener(trt.ILogger):
    """Prints errors, and has their number and the last one at hand for whoever must say why something was refused."""

    def __init__(self):
        trt.ILogger.__init__(self)
        self.last = ""
        self.count = 0

    def log(self, severity, msg):
        if severity <= trt.ILogger.Severity.ERROR:
            self.last = msg
            self.count += 1
            print(msg, file=sys.stderr)


LOGGER = Listener()
trt.init_libnvinfer_plugins(LOGGER, "")  # Scatters that reduce are one of them.

# |a - b| <= absolute + relative * |b|, by the type of the result.
TOLERANCES = {
    np.dtype(np.float64): (1e-12, 1e-9),
    np.dtype(np.float32): (1e-5, 1e-4),
    np.dtype(np.float16): (2.5e-3, 1e-3),
}


def saturated_fp8(array: np.ndarray) -> np.ndarray:
    """The bits of the nearest numbers of float8 e4m3; what is too large becomes the largest."""
    most = np.float32(ml_dtypes.finfo(ml_dtypes.float8_e4m3fn).max)
    return np.clip(np.asarray(array, np.float32), -most, most).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)


class Elements:
    """How elements of an engine's type stand in NumPy arrays: those that NumPy lacks as their bits, float32 outside."""

    def __init__(self, dtype: trt.DataType):
        self.dtype = dtype
        bits = {trt.DataType.BF16: np.uint16, trt.DataType.FP8: np.uint8}
        self.stored = np.dtype(bits[dtype] if dtype in bits else trt.nptype(dtype))

    def encoded(self, array: np.ndarray) -> np.ndarray:
        if self.dtype == trt.DataType.BF16:
            wide = np.asarray(array, np.float32, order="C").view(np.uint32)
            rounded = (wide + np.uint32(0x7FFF) + (wide >> 16 & 1)) >> 16
            return np.where(np.isnan(array), np.uint32(0x7FC0), rounded).astype(np.uint16)
        if self.dtype == trt.DataType.FP8:
            return saturated_fp8(array)
        return np.array(array, self.stored, order="C")

    def decoded(self, array: np.ndarray) -> np.ndarray:
        if self.dtype == trt.DataType.BF16:
            return (array.astype(np.uint32) << 16).view(np.float32)
        if self.dtype == trt.DataType.FP8:
            return array.view(ml_dtypes.float8_e4m3fn).astype(np.float32)
        return array


class Refused(RuntimeError):
    """What the parser, the builder or the runtime said no to."""


class Memory:
    """Memory for tensors of an engine, where it wants them; nobody else holds what stands behind an address."""

    def __init__(self, engine: trt.ICudaEngine):
        self.engine = engine
        self.arrays: dict[str, np.ndarray | DeviceArray] = {}

    def holding(self, name: str, values: np.ndarray) -> int:
        """The address of a copy."""
        return self._kept(name, values if self._is_of_host(name) else DeviceArray.of(self.engine, values))

    def of_size(self, name: str, size: int) -> int:
        """The address of so many bytes, whose contents are unknown."""
        count = max(size, 1)
        of_host = self._is_of_host(name)
        return self._kept(name, np.empty(count, np.uint8) if of_host else DeviceArray(self.engine, (count,), np.uint8))

    def bytes_of(self, name: str) -> np.ndarray:
        """For a look, once the work in stream 0 is over."""
        array = self.arrays[name]
        return (array.numpy() if isinstance(array, DeviceArray) else array).view(np.uint8)

    def _kept(self, name: str, array: np.ndarray | DeviceArray) -> int:
        self.arrays[name] = array
        return array.address if isinstance(array, DeviceArray) else array.ctypes.data

    def _is_of_host(self, name: str) -> bool:
        return self.engine.get_tensor_location(name) == trt.TensorLocation.HOST


class Allocator(trt.IOutputAllocator):
    """Memory for outputs whose extents are known only after the run."""

    def __init__(self, memory: Memory):
        trt.IOutputAllocator.__init__(self)
        self.memory = memory
        self.shapes = {}

    def reallocate_output(self, tensor_name, memory, size, alignment):
        return self.memory.of_size(tensor_name, size)

    def notify_shape(self, tensor_name, shape):
        self.shapes[tensor_name] = tuple(shape)


Bounds = dict[str, tuple[np.ndarray, np.ndarray]]


def plan_of(model: onnx.ModelProto, runs: list[dict[str, np.ndarray]], bounds_of: Bounds | None = None) -> bytes:
    """The model's plan; its profile spans the shapes of all runs, and wider bounds of shape tensors if told."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    if not parser.parse(model.SerializeToString()):
        raise Refused("; ".join(parser.get_error(i).desc() for i in range(parser.num_errors)))
    config = builder.create_builder_config()
    config.clear_flag(trt.BuilderFlag.TF32)  # What float32 says is compared with float32.
    profile = builder.create_optimization_profile()
    for i in range(network.num_inputs):
        tensor = network.get_input(i)
        seen = [run[tensor.name] for run in runs]
        if -1 in tuple(tensor.shape):
            shapes = np.array([array.shape for array in seen])
            profile.set_shape(tensor.name, tuple(shapes.min(0)), tuple(shapes[0]), tuple(shapes.max(0)))
        if tensor.is_shape_tensor:
            values = np.array([array.reshape(-1) for array in seen])
            least, most = (bounds_of or {}).get(tensor.name, (values.min(0), values.max(0)))
            bounds = (np.floor(least), np.floor(values[0]), np.ceil(most))
            profile.set_shape_input(tensor.name, *([int(value) for value in each] for each in bounds))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise Refused(f"the builder returned no plan: {LOGGER.last}")
    return bytes(plan)


def engine_of(plan: bytes) -> trt.ICudaEngine:
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    if engine is None:
        raise Refused(f"the runtime refused the plan: {LOGGER.last}")
    return engine


def run(plan: bytes, runs: list[dict[str, np.ndarray]]) -> list[dict[str, np.ndarray]]:
    engine = engine_of(plan)
    context = engine.create_execution_context()
    if context is None:
        raise Refused(f"the engine gave no context: {LOGGER.last}")
    return [run_once(engine, context, feed) for feed in runs]


def run_once(engine, context, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    errors = LOGGER.count
    memory = Memory(engine)
    allocator = Allocator(memory)
    names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
    for name in names:
        if engine.get_tensor_mode(name) == trt.TensorIOMode.OUTPUT:
            context.set_output_allocator(name, allocator)
            continue
        data = Elements(engine.get_tensor_dtype(name)).encoded(feed[name])
        address = memory.holding(name, data)
        if not context.set_input_shape(name, data.shape) or not context.set_tensor_address(name, address):
            raise Refused(f"input '{name}' of shape {data.shape}: {LOGGER.last}")
    if not context.execute_async_v3(0):
        raise Refused(f"execute_async_v3 failed: {LOGGER.last}")
    results = {}
    for name in names:
        if engine.get_tensor_mode(name) == trt.TensorIOMode.OUTPUT:
            elements = Elements(engine.get_tensor_dtype(name))
            shape = allocator.shapes[name]
            count = int(np.prod(shape, dtype=np.int64))
            stored = memory.bytes_of(name)  # The run is over behind that.
            if LOGGER.count > errors:  # A step of the host, in the stream of a GPU, can say so nowhere else.
                raise Refused(f"the run failed: {LOGGER.last}")
            stored = stored[: count * elements.stored.itemsize]
            results[name] = elements.decoded(stored.view(elements.stored).reshape(shape))
    return results


def check_equal(
    found: np.ndarray, expected: np.ndarray, what: str, tolerance: tuple[float, float] | None = None
) -> None:
    assert found.shape == expected.shape, f"{what}: shape {found.shape}, not {expected.shape}"
    if found.dtype in TOLERANCES:
        absolute, relative = tolerance or TOLERANCES[found.dtype]
        np.testing.assert_allclose(
            found, expected.astype(found.dtype), rtol=relative, atol=absolute, equal_nan=True, err_msg=what
        )
    else:
        np.testing.assert_array_equal(found, expected.astype(found.dtype), err_msg=what)
