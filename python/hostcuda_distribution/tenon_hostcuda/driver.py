"""The few calls of the CUDA driver that scripts use beside the runtime's: each returns a tuple, its result first."""

from enum import IntEnum
from typing import Any

from . import runtime
from .nvrtc import REASON
from .values import DRIVER_ATTRIBUTES, cudaError_t, cudaMemcpyKind, cudaMemoryType


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

    def __new__(cls, init_value: Any = 0) -> "CUdeviceptr":
        return super().__new__(cls, init_value)


class CUctx_flags(IntEnum):
    CU_CTX_SCHED_AUTO = runtime.cudaDeviceScheduleAuto
    CU_CTX_SCHED_SPIN = runtime.cudaDeviceScheduleSpin
    CU_CTX_SCHED_YIELD = runtime.cudaDeviceScheduleYield
    CU_CTX_SCHED_BLOCKING_SYNC = runtime.cudaDeviceScheduleBlockingSync
    CU_CTX_MAP_HOST = runtime.cudaDeviceMapHost


class CUstream_flags(IntEnum):
    CU_STREAM_DEFAULT = runtime.cudaStreamDefault
    CU_STREAM_NON_BLOCKING = runtime.cudaStreamNonBlocking


class CUevent_flags(IntEnum):
    CU_EVENT_DEFAULT = runtime.cudaEventDefault
    CU_EVENT_BLOCKING_SYNC = runtime.cudaEventBlockingSync
    CU_EVENT_DISABLE_TIMING = runtime.cudaEventDisableTiming
    CU_EVENT_INTERPROCESS = runtime.cudaEventInterprocess


class CUmemorytype(IntEnum):
    CU_MEMORYTYPE_HOST = 1
    CU_MEMORYTYPE_DEVICE = 2
    CU_MEMORYTYPE_ARRAY = 3
    CU_MEMORYTYPE_UNIFIED = 4


class CUpointer_attribute(IntEnum):
    CU_POINTER_ATTRIBUTE_CONTEXT = 1
    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3
    CU_POINTER_ATTRIBUTE_HOST_POINTER = 4
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9


CUdevice_attribute = IntEnum(  # type: ignore[misc]
    "CUdevice_attribute", {f"CU_DEVICE_ATTRIBUTE_{name}": value for name, value in DRIVER_ATTRIBUTES.items()}
)

_context = CUcontext(1)
_current: list[CUcontext] = []


def _said(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    return (CUresult(answer[0]), *answer[1:])


def cuInit(Flags: int) -> tuple[CUresult]:
    return (CUresult.CUDA_SUCCESS if Flags == 0 else CUresult.CUDA_ERROR_INVALID_VALUE,)


def cuDriverGetVersion() -> tuple[Any, ...]:
    return _said(runtime.cudaDriverGetVersion())


def cuDeviceGetCount() -> tuple[Any, ...]:
    return _said(runtime.cudaGetDeviceCount())


def cuDeviceGet(ordinal: int) -> tuple[CUresult, CUdevice | None]:
    error, count = runtime.cudaGetDeviceCount()
    if error == cudaError_t.cudaSuccess and not 0 <= ordinal < count:
        return CUresult.CUDA_ERROR_INVALID_DEVICE, None
    return CUresult(error), CUdevice(ordinal)


def cuDeviceGetName(length: int, dev: int) -> tuple[CUresult, bytes]:
    error, properties = runtime.cudaGetDeviceProperties(int(dev))
    return CUresult(error), properties.name[: max(length - 1, 0)]


def cuDeviceTotalMem(dev: int) -> tuple[CUresult, int]:
    error, properties = runtime.cudaGetDeviceProperties(int(dev))
    return CUresult(error), properties.totalGlobalMem


def cuDeviceGetAttribute(attrib: int, dev: int) -> tuple[Any, ...]:
    return _said(runtime.cudaDeviceGetAttribute(int(attrib), int(dev)))


def cuDevicePrimaryCtxRetain(dev: int) -> tuple[CUresult, CUcontext | None]:
    (error,) = runtime.cudaSetDevice(int(dev))
    return CUresult(error), _context if error == cudaError_t.cudaSuccess else None


def cuDevicePrimaryCtxRelease(dev: int) -> tuple[CUresult]:
    (error,) = runtime.cudaSetDevice(int(dev))
    return (CUresult(error),)


def cuCtxCreate(*arguments: Any) -> tuple[CUresult, CUcontext | None]:
    """(flags, device) or, as later versions have it, (parameters, flags, device)."""
    error, context = cuDevicePrimaryCtxRetain(arguments[-1])
    if context is not None:
        _current.append(context)
    return error, context


def cuCtxPushCurrent(ctx: CUcontext) -> tuple[CUresult]:
    _current.append(ctx)
    return (CUresult.CUDA_SUCCESS,)


def cuCtxPopCurrent() -> tuple[CUresult, CUcontext | None]:
    return (CUresult.CUDA_SUCCESS, _current.pop()) if _current else (CUresult.CUDA_ERROR_INVALID_CONTEXT, None)


def cuCtxSetCurrent(ctx: CUcontext) -> tuple[CUresult]:
    _current[-1:] = [ctx]
    return (CUresult.CUDA_SUCCESS,)


def cuCtxGetCurrent() -> tuple[CUresult, CUcontext]:
    return CUresult.CUDA_SUCCESS, _current[-1] if _current else CUcontext(0)


def cuCtxDestroy(ctx: CUcontext) -> tuple[CUresult]:
    if ctx in _current:
        _current.remove(ctx)
    return (CUresult.CUDA_SUCCESS,)


def cuCtxSynchronize() -> tuple[Any, ...]:
    return _said(runtime.cudaDeviceSynchronize())


def cuMemGetInfo() -> tuple[Any, ...]:
    return _said(runtime.cudaMemGetInfo())


def cuMemAlloc(bytesize: int) -> tuple[CUresult, CUdeviceptr | None]:
    error, address = runtime.cudaMalloc(bytesize)
    return CUresult(error), None if address is None else CUdeviceptr(address)


def cuMemFree(dptr: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaFree(dptr))


def cuMemAllocAsync(bytesize: int, hStream: Any) -> tuple[CUresult, CUdeviceptr | None]:
    error, address = runtime.cudaMallocAsync(bytesize, hStream)
    return CUresult(error), None if address is None else CUdeviceptr(address)


def cuMemFreeAsync(dptr: Any, hStream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaFreeAsync(dptr, hStream))


def cuMemHostAlloc(bytesize: int, Flags: int) -> tuple[Any, ...]:
    return _said(runtime.cudaHostAlloc(bytesize, Flags))


def cuMemAllocHost(bytesize: int) -> tuple[Any, ...]:
    return _said(runtime.cudaMallocHost(bytesize))


def cuMemFreeHost(p: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaFreeHost(p))


def cuMemcpyHtoD(dstDevice: Any, srcHost: Any, ByteCount: int) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpy(dstDevice, srcHost, ByteCount, cudaMemcpyKind.cudaMemcpyHostToDevice))


def cuMemcpyDtoH(dstHost: Any, srcDevice: Any, ByteCount: int) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpy(dstHost, srcDevice, ByteCount, cudaMemcpyKind.cudaMemcpyDeviceToHost))


def cuMemcpyDtoD(dstDevice: Any, srcDevice: Any, ByteCount: int) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpy(dstDevice, srcDevice, ByteCount, cudaMemcpyKind.cudaMemcpyDeviceToDevice))


def cuMemcpyHtoDAsync(dstDevice: Any, srcHost: Any, ByteCount: int, hStream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpyAsync(dstDevice, srcHost, ByteCount, cudaMemcpyKind.cudaMemcpyHostToDevice, hStream))


def cuMemcpyDtoHAsync(dstHost: Any, srcDevice: Any, ByteCount: int, hStream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpyAsync(dstHost, srcDevice, ByteCount, cudaMemcpyKind.cudaMemcpyDeviceToHost, hStream))


def cuMemcpy(dst: Any, src: Any, ByteCount: int) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpy(dst, src, ByteCount, cudaMemcpyKind.cudaMemcpyDefault))


def cuMemcpyAsync(dst: Any, src: Any, ByteCount: int, hStream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaMemcpyAsync(dst, src, ByteCount, cudaMemcpyKind.cudaMemcpyDefault, hStream))


def cuMemcpyDtoDAsync(dstDevice: Any, srcDevice: Any, ByteCount: int, hStream: Any) -> tuple[Any, ...]:
    kind = cudaMemcpyKind.cudaMemcpyDeviceToDevice
    return _said(runtime.cudaMemcpyAsync(dstDevice, srcDevice, ByteCount, kind, hStream))


def cuPointerGetAttribute(attribute: CUpointer_attribute, ptr: Any) -> tuple[CUresult, Any]:
    """What is known of an address; nothing where CUDA has not heard of it."""
    error, found = runtime.cudaPointerGetAttributes(ptr)
    if error != cudaError_t.cudaSuccess or found.type == cudaMemoryType.cudaMemoryTypeUnregistered:
        return CUresult.CUDA_ERROR_INVALID_VALUE, None
    if found.hostPointer == 0 and attribute == CUpointer_attribute.CU_POINTER_ATTRIBUTE_HOST_POINTER:
        return CUresult.CUDA_ERROR_INVALID_VALUE, None
    of_host = found.type == cudaMemoryType.cudaMemoryTypeHost
    values = {
        CUpointer_attribute.CU_POINTER_ATTRIBUTE_CONTEXT: _context,
        CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE: CUmemorytype(1 if of_host else 2),
        CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_POINTER: CUdeviceptr(found.devicePointer),
        CUpointer_attribute.CU_POINTER_ATTRIBUTE_HOST_POINTER: found.hostPointer,
        CUpointer_attribute.CU_POINTER_ATTRIBUTE_IS_MANAGED: found.type == cudaMemoryType.cudaMemoryTypeManaged,
        CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: found.device,
    }
    if attribute not in values:
        return CUresult.CUDA_ERROR_NOT_SUPPORTED, None
    return CUresult.CUDA_SUCCESS, values[attribute]


def cuMemsetD8(dstDevice: Any, uc: int, N: int) -> tuple[Any, ...]:
    return _said(runtime.cudaMemset(dstDevice, uc, N))


def cuMemsetD8Async(dstDevice: Any, uc: int, N: int, hStream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaMemsetAsync(dstDevice, uc, N, hStream))


def cuStreamCreate(Flags: int) -> tuple[CUresult, CUstream | None]:
    error, stream = runtime.cudaStreamCreateWithFlags(int(Flags))
    return CUresult(error), None if stream is None else CUstream(int(stream))


def cuStreamSynchronize(hStream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaStreamSynchronize(hStream))


def cuStreamQuery(hStream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaStreamQuery(hStream))


def cuStreamDestroy(hStream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaStreamDestroy(hStream))


def cuStreamWaitEvent(hStream: Any, hEvent: Any, Flags: int) -> tuple[Any, ...]:
    return _said(runtime.cudaStreamWaitEvent(hStream, hEvent, Flags))


def cuEventCreate(Flags: int) -> tuple[CUresult, CUevent | None]:
    error, event = runtime.cudaEventCreateWithFlags(int(Flags))
    return CUresult(error), None if event is None else CUevent(int(event))


def cuEventRecord(hEvent: Any, hStream: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaEventRecord(hEvent, hStream))


def cuEventSynchronize(hEvent: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaEventSynchronize(hEvent))


def cuEventElapsedTime(hStart: Any, hEnd: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaEventElapsedTime(hStart, hEnd))


def cuEventDestroy(hEvent: Any) -> tuple[Any, ...]:
    return _said(runtime.cudaEventDestroy(hEvent))


def _no_kernels(*arguments: Any) -> tuple[CUresult, None]:
    """What modules and kernels are asked for: nothing here runs one, which the error's text says."""
    return CUresult.CUDA_ERROR_NOT_SUPPORTED, None


cuModuleLoad = cuModuleLoadData = cuModuleLoadDataEx = cuModuleGetFunction = cuModuleGetGlobal = _no_kernels
cuLibraryLoadData = cuLibraryLoadFromFile = cuLibraryGetKernel = cuKernelGetFunction = _no_kernels


def cuModuleUnload(hmod: Any) -> tuple[CUresult]:
    return (CUresult.CUDA_ERROR_INVALID_HANDLE,)


def cuLaunchKernel(f: Any, *arguments: Any) -> tuple[CUresult]:
    return (CUresult.CUDA_ERROR_NOT_SUPPORTED,)


def cuGetErrorName(error: CUresult) -> tuple[CUresult, bytes]:
    return CUresult.CUDA_SUCCESS, CUresult(error).name.encode()


def cuGetErrorString(error: CUresult) -> tuple[CUresult, bytes]:
    if error == CUresult.CUDA_ERROR_NOT_SUPPORTED:
        return CUresult.CUDA_SUCCESS, f"not supported: {REASON}".encode()
    return CUresult.CUDA_SUCCESS, runtime.cudaGetErrorString(int(error))[1]


__all__ = [name for name in globals() if name.startswith(("cu", "CU")) and not name.startswith("cuda")]
