"""The few calls of the CUDA driver that scripts use beside the runtime's: each returns a tuple, its result first."""

from enum import IntEnum
from typing import Any

from . import runtime
from .values import DRIVER_ATTRIBUTES, cudaError_t, cudaMemcpyKind


class CUresult(IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_ILLEGAL_STATE = 401
    CUDA_ERROR_NOT_READY = 600
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_NOT_SUPPORTED = 801
    CUDA_ERROR_UNKNOWN = 999

    @classmethod
    def _missing_(cls, value: object) -> "CUresult":
        return cls.CUDA_ERROR_UNKNOWN


class CUdevice(int):
    """A device by its number."""


class CUcontext(runtime._Handle):
    """A context; there is one, of the one device."""


class CUstream(runtime.cudaStream_t):
    """A stream."""


class CUevent(runtime.cudaEvent_t):
    """An event."""


class CUdeviceptr(int):
    """An address of device memory."""


CUdevice_attribute = IntEnum(  # type: ignore[misc]
    "CUdevice_attribute", {f"CU_DEVICE_ATTRIBUTE_{name}": value for name, value in DRIVER_ATTRIBUTES.items()}
)

_context = CUcontext(1)
_current: list[CUcontext] = []


def _said(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    return (CUresult(answer[0]), *answer[1:])


def cuInit(flags: int) -> tuple[CUresult]:
    return (CUresult.CUDA_SUCCESS if flags == 0 else CUresult.CUDA_ERROR_INVALID_VALUE,)


def cuDriverGetVersion() -> tuple[Any, ...]:
    return _said(runtime.cudaDriverGetVersion())


def cuDeviceGetCount() -> tuple[Any, ...]:
    return _said(runtime.cudaGetDeviceCount())


def cuDeviceGet(ordinal: int) -> tuple[CUresult, CUdevice | None]:
    error, count = runtime.cudaGetDeviceCount()
    if error == cudaError_t.cudaSuccess and not 0 <= ordinal < count:
        return CUresult.CUDA_ERROR_INVALID_DEVICE, None
    return CUresult(error), CUdevice(ordinal)


def cuDeviceGetName(length: int, device: int) -> tuple[CUresult, bytes]:
    error, properties = runtime.cudaGetDeviceProperties(int(device))
    return CUresult(error), properties.name[: max(length - 1, 0)]


def cuDeviceTotalMem(device: int) -> tuple[CUresult, int]:
    error, properties = runtime.cudaGetDeviceProperties(int(device))
    return CUresult(error), properties.totalGlobalMem


def cuDeviceGetAttribute(attribute: int, device: int) -> tuple[Any, ...]:
    return _said(runtime.cudaDeviceGetAttribute(int(attribute), int(device)))


def cuDevicePrimaryCtxRetain(device: int) -> tuple[CUresult, CUcontext | None]:
    (error,) = runtime.cudaSetDevice(int(device))
    return CUresult(error), _context if error == cudaError_t.cudaSuccess else None


def cuDevicePrimaryCtxRelease(device: int) -> tuple[CUresult]:
    (error,) = runtime.cudaSetDevice(int(device))
    return (CUresult(error),)


def cuCtxCreate(*arguments: Any) -> tuple[CUresult, CUcontext | None]:
    """(flags, device) or, as later versions have it, (parameters, flags, device)."""
    error, context = cuDevicePrimaryCtxRetain(arguments[-1])
    if context is not None:
        _current.append(context)
    return error, context


def cuCtxPushCurrent(context: CUcontext) -> tuple[CUresult]:
    _current.append(context)
    return (CUresult.CUDA_SUCCESS,)


def cuCtxPopCurrent() -> tuple[CUresult, CUcontext | None]:
    return (CUresult.CUDA_SUCCESS, _current.pop()) if _current else (CUresult.CUDA_ERROR_INVALID_CONTEXT, None)


def cuCtxSetCurrent(context: CUcontext) -> tuple[CUresult]:
    _current[-1:] = [context]
    return (CUresult.CUDA_SUCCESS,)


def cuCtxGetCurrent() -> tuple[CUresult, CUcontext]:
    return CUresult.CUDA_SUCCESS, _current[-1] if _current else CUcontext(0)


def cuCtxDestroy(context: CUcontext) -> tuple[CUresult]:
    if context in _current:
        _current.remove(context)
    return (CUresult.CUDA_SUCCESS,)


def cuCtxSynchronize() -> tuple[Any, ...]:
    return _said(runtime.cudaDeviceSynchronize())


def cuMemGetInfo() -> tuple[Any, ...]:
    return _said(runtime.cudaMemGetInfo())


def cuMemAlloc(size: int) -> tuple[CUresult, CUdeviceptr | None]:
    error, address = runtime.cudaMalloc(size)
    return CUresult(error), None if address is None else CUdeviceptr(address)


def cuMemFree(memory: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaFree(memory))


def cuMemAllocHost(size: int) -> tuple[Any, ...]:
    return _said(runtime.cudaMallocHost(size))


def cuMemFreeHost(memory: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaFreeHost(memory))


def cuMemcpyHtoD(to: Any, source: Any, size: int) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpy(to, source, size, cudaMemcpyKind.cudaMemcpyHostToDevice))


def cuMemcpyDtoH(to: Any, source: Any, size: int) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpy(to, source, size, cudaMemcpyKind.cudaMemcpyDeviceToHost))


def cuMemcpyDtoD(to: Any, source: Any, size: int) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpy(to, source, size, cudaMemcpyKind.cudaMemcpyDeviceToDevice))


def cuMemcpyHtoDAsync(to: Any, source: Any, size: int, stream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpyAsync(to, source, size, cudaMemcpyKind.cudaMemcpyHostToDevice, stream))


def cuMemcpyDtoHAsync(to: Any, source: Any, size: int, stream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpyAsync(to, source, size, cudaMemcpyKind.cudaMemcpyDeviceToHost, stream))


def cuMemsetD8(to: Any, value: int, count: int) -> tuple[Any, ...]:
    return _said(runtime.cudaMemset(to, value, count))


def cuStreamCreate(flags: int) -> tuple[CUresult, CUstream | None]:
    error, stream = runtime.cudaStreamCreateWithFlags(int(flags))
    return CUresult(error), None if stream is None else CUstream(int(stream))


def cuStreamSynchronize(stream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaStreamSynchronize(stream))


def cuStreamQuery(stream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaStreamQuery(stream))


def cuStreamDestroy(stream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaStreamDestroy(stream))


def cuStreamWaitEvent(stream: Any, event: Any, flags: int) -> tuple[Any, ...]:
    return _said(runtime.cudaStreamWaitEvent(stream, event, flags))


def cuEventCreate(flags: int) -> tuple[CUresult, CUevent | None]:
    error, event = runtime.cudaEventCreateWithFlags(int(flags))
    return CUresult(error), None if event is None else CUevent(int(event))


def cuEventRecord(event: Any, stream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaEventRecord(event, stream))


def cuEventSynchronize(event: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaEventSynchronize(event))


def cuEventElapsedTime(start: Any, end: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaEventElapsedTime(start, end))


def cuEventDestroy(event: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaEventDestroy(event))


def cuGetErrorName(result: CUresult) -> tuple[CUresult, bytes]:
    return CUresult.CUDA_SUCCESS, CUresult(result).name.encode()


def cuGetErrorString(result: CUresult) -> tuple[CUresult, bytes]:
    return CUresult.CUDA_SUCCESS, runtime.cudaGetErrorString(int(result))[1]


__all__ = [name for name in globals() if name.startswith(("cu", "CU")) and not name.startswith("cuda")]
