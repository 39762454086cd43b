"""The calls of cuda.bindings.runtime: each returns a tuple of the error and what the call gives.

A call is a row of CALLS: the kinds of its parameters in the order of the C function, each with its name there. Capitals
are what it gives.
"""

import ctypes
import functools
import inspect
import itertools
import operator
import threading
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

    def __init__(self, init_value: Any = 0) -> None:
        self._value = int(address_of(init_value))
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


class cudaHostFn_t(_Handle):
    """A function of the host's: its address, or a function of ctypes, which is kept."""

    def __init__(self, init_value: Any = 0) -> None:
        self._function = init_value
        isObject = isinstance(init_value, ctypes._CFuncPtr)  # type: ignore[attr-defined]
        address = ctypes.cast(init_value, ctypes.c_void_p).value if isObject else operator.index(init_value)
        super().__init__(address)


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
    "cudaSetDevice": "i:device",
    "cudaInitDevice": "i:device u:deviceFlags u:flags",
    "cudaDeviceGetAttribute": "I i:attr i:device",
    "cudaDeviceSynchronize": "",
    "cudaDeviceReset": "",
    "cudaSetDeviceFlags": "u:flags",
    "cudaGetDeviceFlags": "U",
    "cudaDeviceGetStreamPriorityRange": "I I",
    "cudaDeviceGetByPCIBusId": "I b:pciBusId",
    "cudaDeviceCanAccessPeer": "I i:device i:peerDevice",
    "cudaDriverGetVersion": "I",
    "cudaRuntimeGetVersion": "I",
    "cudaProfilerStart": "",
    "cudaProfilerStop": "",
    "cudaMalloc": "P z:size",
    "cudaMallocHost": "P z:size",
    "cudaHostAlloc": "P z:size u:flags",
    "cudaMallocManaged": "P z:size u:flags",
    "cudaMallocPitch": "P Z z:width z:height",
    "cudaFree": "p:devPtr",
    "cudaFreeHost": "p:ptr",
    "cudaHostRegister": "p:ptr z:size u:flags",
    "cudaHostUnregister": "p:ptr",
    "cudaHostGetDevicePointer": "P p:pHost u:flags",
    "cudaHostGetFlags": "U p:pHost",
    "cudaMemGetInfo": "Z Z",
    "cudaMallocAsync": "P z:size p:hStream",
    "cudaFreeAsync": "p:devPtr p:hStream",
    "cudaMallocFromPoolAsync": "P z:size p:memPool p:stream",
    "cudaDeviceGetDefaultMemPool": "M i:device",
    "cudaDeviceGetMemPool": "M i:device",
    "cudaDeviceSetMemPool": "i:device p:memPool",
    "cudaMemPoolTrimTo": "p:memPool z:minBytesToKeep",
    "cudaMemcpy": "p:dst p:src z:count i:kind",
    "cudaMemcpyAsync": "p:dst p:src z:count i:kind p:stream",
    "cudaMemcpy2D": "p:dst z:dpitch p:src z:spitch z:width z:height i:kind",
    "cudaMemcpy2DAsync": "p:dst z:dpitch p:src z:spitch z:width z:height i:kind p:stream",
    "cudaMemset": "p:devPtr i:value z:count",
    "cudaMemsetAsync": "p:devPtr i:value z:count p:stream",
    "cudaMemset2D": "p:devPtr z:pitch i:value z:width z:height",
    "cudaMemset2DAsync": "p:devPtr z:pitch i:value z:width z:height p:stream",
    "cudaStreamCreate": "S",
    "cudaStreamCreateWithFlags": "S u:flags",
    "cudaStreamCreateWithPriority": "S u:flags i:priority",
    "cudaStreamDestroy": "p:stream",
    "cudaStreamSynchronize": "p:stream",
    "cudaStreamQuery": "p:stream",
    "cudaStreamWaitEvent": "p:stream p:event u:flags",
    "cudaStreamGetPriority": "p:hStream I",
    "cudaStreamGetFlags": "p:hStream U",
    "cudaStreamGetId": "p:hStream Q",
    "cudaStreamBeginCapture": "p:stream i:mode",
    "cudaStreamEndCapture": "p:stream G",
    "cudaStreamIsCapturing": "p:stream C",
    "cudaEventCreate": "E",
    "cudaEventCreateWithFlags": "E u:flags",
    "cudaEventDestroy": "p:event",
    "cudaEventRecord": "p:event p:stream",
    "cudaEventRecordWithFlags": "p:event p:stream u:flags",
    "cudaEventQuery": "p:event",
    "cudaEventSynchronize": "p:event",
    "cudaEventElapsedTime": "F p:start p:end",
    "cudaGraphCreate": "G u:flags",
    "cudaGraphDestroy": "p:graph",
    "cudaGraphInstantiate": "X p:graph q:flags",
    "cudaGraphInstantiateWithFlags": "X p:graph q:flags",
    "cudaGraphUpload": "p:graphExec p:stream",
    "cudaGraphLaunch": "p:graphExec p:stream",
    "cudaGraphExecDestroy": "p:graphExec",
}


def _is_known(address: int) -> bool:
    return cudaPointerGetAttributes(address)[1].type != cudaMemoryType.cudaMemoryTypeUnregistered


def _await_copy(dst: int, src: int, kind: int, stream: int) -> None:
    """Copies wait for the program's own memory, but for a source that is said to be one."""
    toHost, fromHost = cudaMemcpyKind.cudaMemcpyDeviceToHost, cudaMemcpyKind.cudaMemcpyHostToDevice
    if kind in (fromHost, cudaMemcpyKind.cudaMemcpyDeviceToDevice):
        return
    if not _is_known(dst) or (kind != toHost and not _is_known(src)):
        tenon._native._stream_await(stream)


def _await(name: str, given: dict[str, int]) -> None:
    """What a call would wait for. On the main thread Ctrl-C ends the waiting here, where the call itself would not hear
    of it, and not the work."""
    stream = given.get("stream", given.get("hStream", 0))
    if name in _WAIT_FOR_ALL:
        if given.get("devPtr", given.get("ptr")) != 0:  # To free nothing waits for nobody.
            tenon._native._streams_await()
    elif name == "cudaEventSynchronize":
        tenon._native._event_await(given["event"])
    elif stream in (cudaStreamDefault, cudaStreamLegacy) or name == "cudaStreamSynchronize":
        tenon._native._stream_await(stream)
        if name == "cudaStreamWaitEvent":
            tenon._native._event_await(given["event"])
        if name == "cudaGraphLaunch":
            tenon._native._launches_await(given["graphExec"])
    elif name in ("cudaMemcpyAsync", "cudaMemcpy2DAsync"):
        _await_copy(given["dst"], given["src"], given["kind"], stream)


_WAIT_FOR_ALL = {"cudaDeviceSynchronize", "cudaDeviceReset", "cudaFree", "cudaFreeHost", "cudaHostUnregister"}
#: Beside these what waits for the stream that it names, or for all blocking ones where that is stream 0.
_WAIT = _WAIT_FOR_ALL | {
    "cudaMemcpy",
    "cudaMemcpy2D",
    "cudaMemcpyAsync",
    "cudaMemcpy2DAsync",
    "cudaMemset",
    "cudaMemset2D",
    "cudaMemsetAsync",
    "cudaMemset2DAsync",
    "cudaFreeAsync",
    "cudaStreamSynchronize",
    "cudaStreamWaitEvent",
    "cudaEventRecord",
    "cudaEventRecordWithFlags",
    "cudaEventSynchronize",
    "cudaGraphLaunch",
}


def _call(name: str, parameters: str) -> Callable[..., tuple[Any, ...]]:
    kinds = [parameter[0] for parameter in parameters.split()]
    function = getattr(library, name)
    function.argtypes = [ctypes.c_void_p if kind.isupper() else _INPUTS[kind][0] for kind in kinds]
    function.restype = ctypes.c_int
    inputs = [parameter[2:] for parameter in parameters.split() if parameter[0].islower()]
    converters = [_INPUTS[kind][1] for kind in kinds if kind.islower()]
    outputs = [kind for kind in kinds if kind.isupper()]
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(each, positional) for each in inputs])
    mayWait = name in _WAIT

    def call(*arguments: Any, **named: Any) -> tuple[Any, ...]:
        if named or len(arguments) != len(inputs):
            try:
                arguments = signature.bind(*arguments, **named).args
            except TypeError as problem:
                raise TypeError(f"{name}{signature}: {problem}") from None
        given = [convert(argument) for convert, argument in zip(converters, arguments, strict=True)]
        if mayWait:
            _await(name, dict(zip(inputs, given, strict=True)))
        return at_once(*given)

    def at_once(*given: Any) -> tuple[Any, ...]:
        places = [_OUTPUTS[kind][0]() for kind in outputs]
        next_given, next_place = iter(given), iter(places)
        error = cudaError_t(
            function(*(ctypes.byref(next(next_place)) if kind.isupper() else next(next_given) for kind in kinds))
        )
        if error != cudaError_t.cudaSuccess:
            return (error, *(None for _ in outputs))
        return (error, *(_OUTPUTS[kind][1](place.value or 0) for kind, place in zip(outputs, places, strict=True)))

    call.at_once = at_once  # type: ignore[attr-defined]  For finalizers: Ctrl-C in a wait of theirs would be lost.
    call.__name__ = call.__qualname__ = name
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__doc__ = f"{name} of the CUDA runtime, on the host: the error, then what the call gives."
    return call


for _name, _parameters in CALLS.items():
    globals()[_name] = _call(_name, _parameters)


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


def cudaPointerGetAttributes(ptr: Any) -> tuple[cudaError_t, cudaPointerAttributes]:
    """The kind of memory that an address lies in."""
    attributes = cudaPointerAttributes()
    function = library.cudaPointerGetAttributes
    function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return cudaError_t(function(ctypes.byref(attributes), address_of(ptr))), attributes


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
_waiting: dict[int, Callable[[], Any]] = {}  # Functions in streams, by the number that the stream is given.
_in_graphs: set[int] = set()  # Those that graphs repeat: nobody knows when that is over.
_numbers = itertools.count(1)


class _Launches(threading.local):
    """Where a function runs within its launch, on stream 0, an interruption is the caller's."""

    depth = 0
    interruption: KeyboardInterrupt | None = None


_launches = _Launches()


def _call_waiting(number: int) -> None:
    function = _waiting[number] if number in _in_graphs else _waiting.pop(number)
    try:
        function()
    except KeyboardInterrupt as interruption:
        if _launches.depth == 0:
            raise
        _launches.interruption = interruption


_CALL_WAITING = tenon._native._host_function(_call_waiting)


def _in_python(function: Any, user: Any) -> Callable[[], Any]:
    """What calls the function, and keeps it and what it is given."""
    if not isinstance(function, (int, cudaHostFn_t, ctypes._CFuncPtr)):  # type: ignore[attr-defined]
        return lambda: function(user)
    isObject = isinstance(function, ctypes._CFuncPtr)  # type: ignore[attr-defined]
    address = ctypes.cast(function, ctypes.c_void_p).value if isObject else int(function)
    return functools.partial(_call_native, _HOST_FUNCTION(address), address_of(user), function, user)


def _call_native(native: Any, given: int, *_kept: Any) -> None:
    native(given)


def cudaLaunchHostFunc(stream: Any, fn: Any, userData: Any = 0) -> tuple[cudaError_t]:
    """Puts a function into a stream: a ctypes function, its address, or a Python callable that is given `userData`. All
    that it is given is kept until it was called."""
    call = library.cudaLaunchHostFunc
    call.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    where = address_of(stream)
    if where in (cudaStreamDefault, cudaStreamLegacy):
        tenon._native._stream_await(where)
    isNative = isinstance(fn, int) and isinstance(userData, (int, type(None)))  # Nothing to be kept.
    address, given = (int(fn), address_of(userData)) if isNative else (_CALL_WAITING, next(_numbers))
    if not isNative:
        _waiting[given] = _in_python(fn, userData)
        if _is_capturing(where):
            _in_graphs.add(given)
    _launches.depth += 1
    try:
        error = cudaError_t(call(where, address, given))
    finally:
        _launches.depth -= 1
    if error != cudaError_t.cudaSuccess and not isNative:
        _waiting.pop(given, None)
        _in_graphs.discard(given)
    if (interruption := _launches.interruption) is not None:
        _launches.interruption = None
        raise interruption
    return (error,)


def _is_capturing(stream: Any) -> bool:
    status = ctypes.c_int()
    call = library.cudaStreamIsCapturing
    return call(ctypes.c_void_p(address_of(stream)), ctypes.byref(status)) == 0 and status.value != 0


__all__ = [name for name in globals() if name.startswith("cuda")]
