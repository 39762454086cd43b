"""One plan, ready to run at any shape of its profile, in memory of the device that it runs on."""

import pathlib

import numpy as np
import tensorrt as trt
from tenon import DeviceArray


class Engine:
    """Engine and execution context of one plan with one input and one output, both float32."""

    def __init__(self, path: pathlib.Path, logger: trt.Logger) -> None:
        self._runtime = trt.Runtime(logger)
        self.engine = self._runtime.deserialize_cuda_engine(path.read_bytes())
        if self.engine is None:
            raise RuntimeError(f"{path}: not a usable plan (the log says why)")
        names = [self.engine.get_tensor_name(i) for i in range(self.engine.num_io_tensors)]
        inputs = [name for name in names if self.engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT]
        outputs = [name for name in names if name not in inputs]
        (self._input,), (self._output,) = inputs, outputs
        # A profile up to 6,016 x 6,016 would reserve gigabytes; the caller's memory fits the shape at hand instead.
        self._context = self.engine.create_execution_context(trt.ExecutionContextAllocationStrategy.USER_MANAGED)
        self._memory = DeviceArray(self.engine, (0,), np.uint8)

    def __call__(self, data: np.ndarray) -> np.ndarray:
        data = np.ascontiguousarray(data, np.float32)
        if not self._context.set_input_shape(self._input, data.shape):
            raise ValueError(f"input '{self._input}': shape {data.shape} is outside the plan's profile")
        self._provide_memory()
        given = DeviceArray.of(self.engine, data)
        result = DeviceArray(self.engine, tuple(self._context.get_tensor_shape(self._output)), np.float32)
        self._context.set_tensor_address(self._input, given)
        self._context.set_tensor_address(self._output, result)
        if not self._context.execute_async_v3(0):
            raise RuntimeError("the run failed (the log says why)")
        return result.numpy()

    def _provide_memory(self) -> None:
        size = self._context.update_device_memory_size_for_shapes()
        if size > self._memory.nbytes:
            self._memory = DeviceArray(self.engine, (size,), np.uint8)
        self._context.set_device_memory(self._memory.address, self._memory.nbytes)

    @property
    def memory(self) -> int:
        """Bytes of the activation memory that the largest shape so far needed."""
        return self._memory.nbytes

    def layers(self) -> str:
        """What the engine inspector says about the plan, as JSON."""
        return self.engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON)
