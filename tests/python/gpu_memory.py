"""Memory of the first GPU for tests, by calls of its driver's library, which may be the fake one."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

_driver = ctypes.CDLL("libcuda.so.1")


def call(name: str, *arguments: Any) -> None:
    code = getattr(_driver, name)(*arguments)
    if code != 0:
        raise RuntimeError(f"{name} answers {code}")


def is_fake() -> bool:
    return hasattr(_driver, "tenonFakeCalls")


def use() -> None:
    """The GPU's own context is the thread's from now on."""
    context = ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxPushCurrent_v2", context)


def stream() -> int:
    made = ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(made), 1)
    return made.value or 0


def copy(to: int, source: int, size: int, on: int) -> None:
    call("cuMemcpyAsync", ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_size_t(size), ctypes.c_void_p(on))


def synchronize(on: int) -> None:
    call("cuStreamSynchronize", ctypes.c_void_p(on))


class GpuArray:
    """An array of the GPU's, as CuPy and PyTorch have them: `__cuda_array_interface__`."""

    def __init__(self, values: np.ndarray, strides: tuple[int, ...] | None = None) -> None:
        self.values = np.ascontiguousarray(values)
        memory = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(max(self.values.nbytes, 1)))
        self.address = memory.value
        self.__cuda_array_interface__ = {
            "version": 3,
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (self.address, False),
            "strides": strides,
        }
        copy(self.address, self.values.ctypes.data, self.values.nbytes, 0)
        synchronize(0)

    def __del__(self) -> None:
        call("cuMemFree_v2", ctypes.c_uint64(self.address))

    def read(self, on: int = 0) -> np.ndarray:
        values = np.empty_like(self.values)
        copy(values.ctypes.data, self.address, values.nbytes, on)
        synchronize(on)
        return values
