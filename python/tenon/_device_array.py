"""Arrays in the memory of the device that an engine runs on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import _native


class DeviceArray(_native._BufferOfArray):
    """Memory for a tensor of an engine, whatever device that runs on; contents are unknown at first.

    It goes where `set_tensor_address` takes an array. CuPy, PyTorch and numba view it on a GPU, NumPy on a CPU.
    """

    def __init__(self, engine: _native.ICudaEngine, shape: tuple[int, ...], dtype: Any) -> None:
        self._address = 0
        self._engine = engine  # Outlives its memory.
        self.shape = tuple(int(extent) for extent in shape)
        self.dtype = np.dtype(dtype)
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        self._address = _native._engine_allocate(engine, max(self.nbytes, 1))

    @classmethod
    def of(cls, engine: _native.ICudaEngine, values: Any) -> DeviceArray:
        """A copy of an array."""
        values = np.ascontiguousarray(values)
        made = cls(engine, values.shape, values.dtype)
        made.write(values)
        return made

    @property
    def address(self) -> int:
        """The address of the first element."""
        return self._address

    def write(self, values: Any, stream: int = 0) -> None:
        """Copies an array of the same size there, behind what stands in the stream, and waits for it."""
        values = np.ascontiguousarray(values, self.dtype)
        if values.nbytes != self.nbytes:
            raise ValueError(f"{values.nbytes} bytes do not fill the array's {self.nbytes}")
        _native._engine_copy(self._engine, self._address, values.ctypes.data, self.nbytes, int(stream), True)

    def numpy(self, stream: int = 0) -> np.ndarray:
        """A copy for the host, taken behind what stands in the stream."""
        values = np.empty(self.shape, self.dtype)
        _native._engine_copy(self._engine, values.ctypes.data, self._address, self.nbytes, int(stream), False)
        return values

    def _interface(self) -> dict[str, Any]:
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._address, False),
            "strides": None,
        }

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if not _native._is_on_gpu(self._engine):
            raise AttributeError("the engine runs on the CPU: the array is host memory, use numpy.asarray(array)")
        return self._interface()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if _native._is_on_gpu(self._engine):
            raise AttributeError("the array is memory of a GPU: numpy() copies it")
        return self._interface()

    def _buffer_array(self) -> np.ndarray:
        try:
            return np.asarray(_Memory(self.__array_interface__))
        except AttributeError as error:
            raise BufferError(str(error)) from None

    def __del__(self) -> None:
        if _native is not None and self._address != 0:  # The interpreter may be on its way out.
            _native._engine_free(self._engine, self._address)


class _Memory:
    """What NumPy makes an array of by __array_interface__ alone."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface
