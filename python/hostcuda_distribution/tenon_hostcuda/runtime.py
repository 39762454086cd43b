"""The calls of cuda.bindings.runtime: each returns a tuple of the error and what the call gives.

A call is a row of CALLS: the kinds of its parameters in the order of the C function. Capitals are what it gives.
"""

import ctypes
import itertools
import operator
from collections.abc import Callable
from typing import Any

import tenon

from .library import address_of, library
from .values import (  # noqa: F401  Scripts take them from here.
    cudaComputeMode,
    cudaDeviceAttr,
    cudaError_t,
    cudaGraphExecUpdateResult,
    cudaLimit,
    cudaMemcpyKind,
    cudaMemoryType,
    cudaMemPoolAttr,
    cudaStreamCaptureMode,
    cudaStreamCaptureStatus,
)


class _Handle:
    """An object of the runtime's, by its address."""

    def __init__(self, value: Any = 0) -> None:
        self._value = address_of(value)
        self._place = ctypes.c_void_p(self._value)

    def getPtr(self) -> int:
        """Where the handle lies, for calls that take a pointer to it. The handle itself is int() of the object."""
        return ctypes.addressof(self._place)

    def __int__(self) -> int:
        return self._value

    __index__ = __int__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._value:#x}>"


class cudaStream_t(_Handle):
    """A stream."""

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, int(self)


class cudaEvent_t(_Handle):
    """An event."""


class cudaGraph_t(_Handle):
    """A graph."""


class cudaGraphExec_t(_Handle):
    """A graph that can be launched."""


class cudaMemPool_t(_Handle):
    """A pool of memory."""


cudaStreamLegacy = 1
cudaStreamPerThread = 2
cudaStreamDefault = 0
cudaStreamNonBlocking = 1
cudaEventDefault = 0
cudaEventBlockingSync = 1
cudaEventDisableTiming = 2
cudaEventInterprocess = 4
cudaEventRecordDefault = 0
cudaEventRecordExternal = 1
cudaEventWaitDefault = 0
cudaEventWaitExternal = 1
cudaHostAllocDefault = 0
cudaHostAllocPortable = 1
cudaHostAllocMapped = 2
cudaHostAllocWriteCombined = 4
cudaHostRegisterDefault = 0
cudaHostRegisterPortable = 1
cudaHostRegisterMapped = 2
cudaHostRegisterReadOnly = 8
cudaMemAttachGlobal = 1
cudaMemAttachHost = 2
cudaMemAttachSingle = 4
cudaDeviceScheduleAuto = 0
cudaDeviceScheduleSpin = 1
cudaDeviceScheduleYield = 2
cudaDeviceScheduleBlockingSync = 4
cudaDeviceMapHost = 8
cudaCpuDeviceId = -1
cudaInvalidDeviceId = -2


def _number(kind: Any, least: int) -> Callable[[Any], int]:
    """Whole numbers that the C type can have; others would arrive as different ones."""
    most = least + (1 << 8 * ctypes.sizeof(kind)) - 1

    def checked(value: Any) -> int:
        number = operator.index(value)
        if not least <= number <= most:
            raise OverflowError(f"{number} is not between {least} and {most}")
        return number

    return checked


_INPUTS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "p": (ctypes.c_void_p, address_of),  # An address, a handle, an array.
    "i": (ctypes.c_int, _number(ctypes.c_int, -(1 << 31))),
    "u": (ctypes.c_uint, _number(ctypes.c_uint, 0)),
    "z": (ctypes.c_size_t, _number(ctypes.c_size_t, 0)),
    "q": (ctypes.c_ulonglong, _number(ctypes.c_ulonglong, 0)),
    "b": (ctypes.c_char_p, lambda text: text),
}
_OUTPUTS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "P": (ctypes.c_void_p, lambda value: value or 0),
    "I": (ctypes.c_int, int),
    "U": (ctypes.c_uint, int),
    "Z": (ctypes.c_size_t, int),
    "Q": (ctypes.c_ulonglong, int),
    "F": (ctypes.c_float, float),
    "S": (ctypes.c_void_p, cudaStream_t),
    "E": (ctypes.c_void_p, cudaEvent_t),
    "G": (ctypes.c_void_p, cudaGraph_t),
    "X": (ctypes.c_void_p, cudaGraphExec_t),
    "M": (ctypes.c_void_p, cudaMemPool_t),
    "C": (ctypes.c_int, cudaStreamCaptureStatus),
}

CALLS = {
    "cudaGetLastError": "",
    "cudaPeekAtLastError": "",
    "cudaGetDeviceCount": "I",
    "cudaGetDevice": "I",
    "cudaSetDevice": "i",
    "cudaInitDevice": "iuu",
    "cudaDeviceGetAttribute": "Iii",
    "cudaDeviceSynchronize": "",
    "cudaDeviceReset": "",
    "cudaSetDeviceFlags": "u",
    "cudaGetDeviceFlags": "U",
    "cudaDeviceGetStreamPriorityRange": "II",
    "cudaDeviceGetByPCIBusId": "Ib",
    "cudaDeviceCanAccessPeer": "Iii",
    "cudaDriverGetVersion": "I",
    "cudaRuntimeGetVersion": "I",
    "cudaProfilerStart": "",
    "cudaProfilerStop": "",
    "cudaMalloc": "Pz",
    "cudaMallocHost": "Pz",
    "cudaHostAlloc": "Pzu",
    "cudaMallocManaged": "Pzu",
    "cudaMallocPitch": "PZzz",
    "cudaFree": "p",
    "cudaFreeHost": "p",
    "cudaHostRegister": "pzu",
    "cudaHostUnregister": "p",
    "cudaHostGetDevicePointer": "Ppu",
    "cudaHostGetFlags": "Up",
    "cudaMemGetInfo": "ZZ",
    "cudaMallocAsync": "Pzp",
    "cudaFreeAsync": "pp",
    "cudaMallocFromPoolAsync": "Pzpp",
    "cudaDeviceGetDefaultMemPool": "Mi",
    "cudaDeviceGetMemPool": "Mi",
    "cudaDeviceSetMemPool": "ip",
    "cudaMemPoolTrimTo": "pz",
    "cudaMemcpy": "ppzi",
    "cudaMemcpyAsync": "ppzip",
    "cudaMemcpy2D": "pzpzzzi",
    "cudaMemcpy2DAsync": "pzpzzzip",
    "cudaMemset": "piz",
    "cudaMemsetAsync": "pizp",
    "cudaMemset2D": "pzizz",
    "cudaMemset2DAsync": "pzizzp",
    "cudaStreamCreate": "S",
    "cudaStreamCreateWithFlags": "Su",
    "cudaStreamCreateWithPriority": "Sui",
    "cudaStreamDestroy": "p",
    "cudaStreamSynchronize": "p",
    "cudaStreamQuery": "p",
    "cudaStreamWaitEvent": "ppu",
    "cudaStreamGetPriority": "pI",
    "cudaStreamGetFlags": "pU",
    "cudaStreamGetId": "pQ",
    "cudaStreamBeginCapture": "pi",
    "cudaStreamEndCapture": "pG",
    "cudaStreamIsCapturing": "pC",
    "cudaEventCreate": "E",
    "cudaEventCreateWithFlags": "Eu",
    "cudaEventDestroy": "p",
    "cudaEventRecord": "pp",
    "cudaEventRecordWithFlags": "ppu",
    "cudaEventQuery": "p",
    "cudaEventSynchronize": "p",
    "cudaEventElapsedTime": "Fpp",
    "cudaGraphCreate": "Gu",
    "cudaGraphDestroy": "p",
    "cudaGraphInstantiate": "Xpq",
    "cudaGraphInstantiateWithFlags": "Xpq",
    "cudaGraphUpload": "pp",
    "cudaGraphLaunch": "pp",
    "cudaGraphExecDestroy": "p",
}


def _call(name: str, kinds: str) -> Callable[..., tuple[Any, ...]]:
    function = getattr(library, name)
    function.argtypes = [ctypes.c_void_p if kind.isupper() else _INPUTS[kind][0] for kind in kinds]
    function.restype = ctypes.c_int
    inputs = [kind for kind in kinds if kind.islower()]

    def call(*arguments: Any) -> tuple[Any, ...]:
        if len(arguments) != len(inputs):
            raise TypeError(f"{name}() takes {len(inputs)} arguments; {len(arguments)} were given")
        given = iter(arguments)
        places = [_OUTPUTS[kind][0]() for kind in kinds if kind.isupper()]
        next_place = iter(places)
        passed = [ctypes.byref(next(next_place)) if kind.isupper() else _INPUTS[kind][1](next(given)) for kind in kinds]
        error = cudaError_t(function(*passed))
        outputs = [kind for kind in kinds if kind.isupper()]
        if error != cudaError_t.cudaSuccess:
            return (error, *(None for _ in outputs))
        return (error, *(_OUTPUTS[kind][1](place.value or 0) for kind, place in zip(outputs, places, strict=True)))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{name} of the CUDA runtime, on the host: the error, then what the call gives."
    return call


for _name, _kinds in CALLS.items():
    globals()[_name] = _call(_name, _kinds)

_synchronize_stream = globals()["cudaStreamSynchronize"]
_synchronize_event = globals()["cudaEventSynchronize"]
_synchronize_device = globals()["cudaDeviceSynchronize"]


def cudaStreamSynchronize(stream: Any) -> tuple[Any, ...]:
    """Waits for the work of a stream. On the main thread Ctrl-C ends the waiting, not the work."""
    tenon._native._stream_await(address_of(stream))
    return _synchronize_stream(stream)


def cudaEventSynchronize(event: Any) -> tuple[Any, ...]:
    """Waits for what an event marks. On the main thread Ctrl-C ends the waiting, not the work."""
    tenon._native._event_await(address_of(event))
    return _synchronize_event(event)


def cudaDeviceSynchronize() -> tuple[Any, ...]:
    """Waits for the work of all streams. On the main thread Ctrl-C ends the waiting, not the work."""
    tenon._native._streams_await()
    return _synchronize_device()


def _text(name: str) -> Callable[[Any], tuple[cudaError_t, bytes]]:
    function = getattr(library, name)
    function.argtypes = [ctypes.c_int]
    function.restype = ctypes.c_char_p

    def call(error: Any) -> tuple[cudaError_t, bytes]:
        return cudaError_t.cudaSuccess, function(int(error))

    call.__name__ = call.__qualname__ = name
    return call


cudaGetErrorName = _text("cudaGetErrorName")
cudaGetErrorString = _text("cudaGetErrorString")


class cudaPointerAttributes(ctypes.Structure):
    """What is known of an address."""

    _fields_ = [
        ("_type", ctypes.c_int),
        ("device", ctypes.c_int),
        ("_device", ctypes.c_void_p),
        ("_host", ctypes.c_void_p),
    ]

    @property
    def type(self) -> cudaMemoryType:
        return cudaMemoryType(self._type)

    @property
    def devicePointer(self) -> int:
        return self._device or 0

    @property
    def hostPointer(self) -> int:
        return self._host or 0


def cudaPointerGetAttributes(memory: Any) -> tuple[cudaError_t, cudaPointerAttributes]:
    """The kind of memory that an address lies in."""
    attributes = cudaPointerAttributes()
    function = library.cudaPointerGetAttributes
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return cudaError_t(function(ctypes.byref(attributes), address_of(memory))), attributes


def cudaDeviceGetPCIBusId(length: int, device: int) -> tuple[cudaError_t, bytes]:
    """The place of a device on its bus."""
    place = ctypes.create_string_buffer(length)
    return cudaError_t(library.cudaDeviceGetPCIBusId(place, length, device)), place.value


#: The fields of cudaDeviceProp as version 12 of the runtime lays them out: s text, u unsigned, i int, z size.
_PROPERTIES = """
name:256s uuid:16s luid:8s luidDeviceNodeMask:u totalGlobalMem:z sharedMemPerBlock:z regsPerBlock:i warpSize:i
memPitch:z maxThreadsPerBlock:i maxThreadsDim:3i maxGridSize:3i clockRate:i totalConstMem:z major:i minor:i
textureAlignment:z texturePitchAlignment:z deviceOverlap:i multiProcessorCount:i kernelExecTimeoutEnabled:i
integrated:i canMapHostMemory:i computeMode:i maxTexture1D:i maxTexture1DMipmap:i maxTexture1DLinear:i maxTexture2D:2i
maxTexture2DMipmap:2i maxTexture2DLinear:3i maxTexture2DGather:2i maxTexture3D:3i maxTexture3DAlt:3i
maxTextureCubemap:i maxTexture1DLayered:2i maxTexture2DLayered:3i maxTextureCubemapLayered:2i maxSurface1D:i
maxSurface2D:2i maxSurface3D:3i maxSurface1DLayered:2i maxSurface2DLayered:3i maxSurfaceCubemap:i
maxSurfaceCubemapLayered:2i surfaceAlignment:z concurrentKernels:i ECCEnabled:i pciBusID:i pciDeviceID:i pciDomainID:i
tccDriver:i asyncEngineCount:i unifiedAddressing:i memoryClockRate:i memoryBusWidth:i l2CacheSize:i
persistingL2CacheMaxSize:i maxThreadsPerMultiProcessor:i streamPrioritiesSupported:i globalL1CacheSupported:i
localL1CacheSupported:i sharedMemPerMultiprocessor:z regsPerMultiprocessor:i managedMemory:i isMultiGpuBoard:i
multiGpuBoardGroupID:i hostNativeAtomicSupported:i singleToDoublePrecisionPerfRatio:i pageableMemoryAccess:i
concurrentManagedAccess:i computePreemptionSupported:i canUseHostPointerForRegisteredMem:i cooperativeLaunch:i
cooperativeMultiDeviceLaunch:i sharedMemPerBlockOptin:z pageableMemoryAccessUsesHostPageTables:i
directManagedMemAccessFromHost:i maxBlocksPerMultiProcessor:i accessPolicyMaxWindowSize:i reservedSharedMemPerBlock:z
hostRegisterSupported:i sparseCudaArraySupported:i hostRegisterReadOnlySupported:i timelineSemaphoreInteropSupported:i
memoryPoolsSupported:i gpuDirectRDMASupported:i gpuDirectRDMAFlushWritesOptions:u gpuDirectRDMAWritesOrdering:i
memoryPoolSupportedHandleTypes:u deferredMappingCudaArraySupported:i ipcEventSupported:i clusterLaunch:i
unifiedFunctionPointers:i reserved:63i
"""


def _field(text: str) -> tuple[str, Any]:
    name, _, kind = text.partition(":")
    element = {"s": ctypes.c_char, "u": ctypes.c_uint, "z": ctypes.c_size_t, "i": ctypes.c_int}[kind[-1]]
    return name, element * int(kind[:-1]) if len(kind) > 1 else element


class cudaDeviceProp(ctypes.Structure):
    """The properties of a device."""

    _fields_ = [_field(text) for text in _PROPERTIES.split()]


def cudaGetDeviceProperties(device: int) -> tuple[cudaError_t, cudaDeviceProp]:
    """The properties of the machine."""
    properties = cudaDeviceProp()
    return cudaError_t(library.cudaGetDeviceProperties_v2(ctypes.byref(properties), device)), properties


_HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_waiting: dict[int, Callable[[], Any]] = {}  # Python callables in streams, by the number that the stream is given.
_in_graphs: set[int] = set()  # Those that graphs repeat: nobody knows when that is over.
_numbers = itertools.count(1)


@_HOST_FUNCTION
def _call_waiting(number: int) -> None:
    (_waiting.__getitem__ if number in _in_graphs else _waiting.pop)(number)()


_CALL_WAITING = ctypes.cast(_call_waiting, ctypes.c_void_p).value


def _address_of_function(function: Any, user: Any) -> tuple[Any, int]:
    """The address of a function and of what it is given; for a Python callable that is a number."""
    if isinstance(function, int):
        return function, address_of(user)
    if isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        return ctypes.cast(function, ctypes.c_void_p).value, address_of(user)
    number = next(_numbers)
    _waiting[number] = lambda: function(user)
    return _CALL_WAITING, number


def cudaLaunchHostFunc(stream: Any, function: Any, user: Any = 0) -> tuple[cudaError_t]:
    """Puts a function into a stream: a ctypes function, its address, or a Python callable that is given `user`."""
    address, given = _address_of_function(function, user)
    if address == _CALL_WAITING and _is_capturing(stream):
        _in_graphs.add(given)
    call = library.cudaLaunchHostFunc
    call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    error = cudaError_t(call(address_of(stream), address, given))
    if address == _CALL_WAITING and error != cudaError_t.cudaSuccess:
        _waiting.pop(given, None)
        _in_graphs.discard(given)
    return (error,)


def _is_capturing(stream: Any) -> bool:
    status = ctypes.c_int()
    call = library.cudaStreamIsCapturing
    return call(ctypes.c_void_p(address_of(stream)), ctypes.byref(status)) == 0 and status.value != 0


__all__ = [name for name in globals() if name.startswith("cuda")]
