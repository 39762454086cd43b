"""Memory, copies, streams and events as pycuda.driver has them, over the host calls of the CUDA runtime."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Sequence
from enum import IntEnum, IntFlag
from typing import Any

import numpy as np
import tenon
from tenon_hostcuda import runtime
from tenon_hostcuda.library import address_of, check_pieces
from tenon_hostcuda.values import DRIVER_ATTRIBUTES, cudaError_t, cudaMemcpyKind


class Error(Exception):
    """Something that CUDA refused."""


class LogicError(Error):
    """A call that was wrong in itself."""


class RuntimeError(Error):  # noqa: A001  The name is pycuda's.
    """A call that could not be done."""


class LaunchError(Error):
    """Work that failed."""


class MemoryError(Error):  # noqa: A001  The name is pycuda's.
    """There is not enough memory."""


class CompileError(Error):
    """Device code that cannot be compiled."""


_CLASSES = {
    cudaError_t.cudaErrorMemoryAllocation: MemoryError,
    cudaError_t.cudaErrorLaunchFailure: LaunchError,
    cudaError_t.cudaErrorNotSupported: RuntimeError,
}


def _done(call: Any, *arguments: Any) -> Any:
    """What a call of the runtime gives; an error becomes an exception that names the call."""
    error, *values = call(*arguments)
    if error != cudaError_t.cudaSuccess:
        text = runtime.cudaGetErrorString(error)[1].decode()
        raise _CLASSES.get(error, LogicError)(f"{call.__name__} failed: {text}")
    return values[0] if len(values) == 1 else tuple(values)


# Flags.


class event_flags(IntFlag):
    DEFAULT = runtime.cudaEventDefault
    BLOCKING_SYNC = runtime.cudaEventBlockingSync
    DISABLE_TIMING = runtime.cudaEventDisableTiming
    INTERPROCESS = runtime.cudaEventInterprocess


class stream_flags(IntFlag):
    DEFAULT = runtime.cudaStreamDefault
    NON_BLOCKING = runtime.cudaStreamNonBlocking


class host_alloc_flags(IntFlag):
    PORTABLE = runtime.cudaHostAllocPortable
    DEVICEMAP = runtime.cudaHostAllocMapped
    WRITECOMBINED = runtime.cudaHostAllocWriteCombined


class mem_host_register_flags(IntFlag):
    PORTABLE = runtime.cudaHostRegisterPortable
    DEVICEMAP = runtime.cudaHostRegisterMapped


class mem_attach_flags(IntFlag):
    GLOBAL = runtime.cudaMemAttachGlobal
    HOST = runtime.cudaMemAttachHost
    SINGLE = runtime.cudaMemAttachSingle


class ctx_flags(IntFlag):
    SCHED_AUTO = runtime.cudaDeviceScheduleAuto
    SCHED_SPIN = runtime.cudaDeviceScheduleSpin
    SCHED_YIELD = runtime.cudaDeviceScheduleYield
    SCHED_BLOCKING_SYNC = runtime.cudaDeviceScheduleBlockingSync
    MAP_HOST = runtime.cudaDeviceMapHost


device_attribute = IntEnum("device_attribute", DRIVER_ATTRIBUTES)  # type: ignore[misc]


# Devices and contexts: there is one of each.


def init(flags: int = 0) -> None:
    """Nothing has to be made ready."""
    if flags != 0:
        raise LogicError("init() takes no flags")


def get_version() -> tuple[int, int, int]:
    version = _done(runtime.cudaRuntimeGetVersion)
    return version // 1000, version % 1000 // 10, version % 10


def get_driver_version() -> int:
    return _done(runtime.cudaDriverGetVersion)


class Device:
    """The machine."""

    def __init__(self, number: int | str) -> None:
        if isinstance(number, str):
            number = _done(runtime.cudaDeviceGetByPCIBusId, number.encode())
        _done(runtime.cudaSetDevice, number)
        self._number = number

    @staticmethod
    def count() -> int:
        return _done(runtime.cudaGetDeviceCount)

    def name(self) -> str:
        return _done(runtime.cudaGetDeviceProperties, self._number).name.decode()

    def pci_bus_id(self) -> str:
        return _done(runtime.cudaDeviceGetPCIBusId, 32, self._number).decode()

    def compute_capability(self) -> tuple[int, int]:
        properties = _done(runtime.cudaGetDeviceProperties, self._number)
        return properties.major, properties.minor

    def total_memory(self) -> int:
        return _done(runtime.cudaGetDeviceProperties, self._number).totalGlobalMem

    def get_attribute(self, attribute: device_attribute) -> int:
        return _done(runtime.cudaDeviceGetAttribute, attribute, self._number)

    def get_attributes(self) -> dict[device_attribute, int]:
        return {attribute: self.get_attribute(attribute) for attribute in device_attribute}

    def __getattr__(self, name: str) -> int:
        """An attribute by its name in lower case, such as `multiprocessor_count`."""
        try:
            return self.get_attribute(device_attribute[name.upper()])
        except KeyError:
            raise AttributeError(name) from None

    def make_context(self, flags: int = 0) -> Context:
        return Context(self).push()

    def retain_primary_context(self) -> Context:
        return Context(self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other._number == self._number

    def __hash__(self) -> int:
        return hash(self._number)


class _OnObjectAndClass:
    """A method that pycuda lets scripts call on the class as well as on the current context."""

    def __init__(self, function: Any) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, context: Context | None, kind: type[Context]) -> Any:
        return lambda *arguments: self._function(context or kind.get_current(), *arguments)


class Context:
    """What a thread works with. All contexts are of the one device, whose memory needs none."""

    _stack: list[Context] = []

    def __init__(self, device: Device) -> None:
        self._device = device

    def push(self) -> Context:
        self._stack.append(self)
        return self

    @classmethod
    def get_current(cls) -> Context | None:
        return cls._stack[-1] if cls._stack else None

    @_OnObjectAndClass
    def pop(self) -> None:
        """Takes the current context away."""
        if not Context._stack:
            raise LogicError("there is no current context")
        Context._stack.pop()

    @_OnObjectAndClass
    def detach(self) -> None:
        """The context is not needed any more."""
        if self in Context._stack:
            Context._stack.remove(self)

    @_OnObjectAndClass
    def get_device(self) -> Device:
        """The device of the context."""
        if self is None:
            raise LogicError("there is no current context")
        return self._device

    @staticmethod
    def synchronize() -> None:
        """Waits for all streams."""
        _done(runtime.cudaDeviceSynchronize)


def mem_get_info() -> tuple[int, int]:
    """Free memory and memory in all, in bytes."""
    return _done(runtime.cudaMemGetInfo)


# Memory.


def _at_its_end(owner: Any, call: Any, *arguments: Any) -> Any:
    """Calls it when the object goes, but not at the interpreter's end: the process gives everything back, and there is
    one wait there for the work of streams."""
    end = weakref.finalize(owner, call.at_once, *arguments)
    end.atexit = False
    return end


def _freed(free: Any) -> None:
    """Frees now; where Ctrl-C ends the wait before, everything is as it was."""
    if not free.alive:
        raise LogicError("the memory was freed before")
    tenon._native._streams_await()
    free()


class PointerHolderBase:
    """What scripts derive from to have their own memory."""

    def get_pointer(self) -> int:
        raise NotImplementedError("get_pointer() has to be overridden")

    def __int__(self) -> int:
        return self.get_pointer()

    __index__ = __int__


class DeviceAllocation:
    """Device memory, freed with the object."""

    def __init__(self, size: int) -> None:
        self._address = _done(runtime.cudaMalloc, size)
        self._free = _at_its_end(self, runtime.cudaFree, self._address)

    def free(self) -> None:
        _freed(self._free)

    def as_buffer(self, size: int, offset: int = 0) -> memoryview:
        return memoryview((ctypes.c_char * size).from_address(self._address + offset)).cast("B")

    def __int__(self) -> int:
        if not self._free.alive:
            raise LogicError("the memory was freed")
        return self._address

    __index__ = __int__


def mem_alloc(size: int) -> DeviceAllocation:
    """Device memory of a size in bytes."""
    if size <= 0:
        raise LogicError("mem_alloc() needs a size of at least one byte")
    return DeviceAllocation(int(size))


def mem_alloc_pitch(width: int, height: int, access_size: int) -> tuple[DeviceAllocation, int]:
    """Rows of a width in bytes, and how far they are apart."""
    pitch = (width + 511) // 512 * 512
    return mem_alloc(pitch * height), pitch


def to_device(array: Any) -> DeviceAllocation:
    """New device memory with the contents of an array."""
    source = _readable(array)
    memory = mem_alloc(source.nbytes)
    memcpy_htod(memory, source)
    return memory


def from_device(memory: Any, shape: Any, dtype: Any, order: str = "C") -> np.ndarray:
    """A new array with the contents of device memory."""
    array = np.empty(shape, dtype, order)  # type: ignore[call-overload]
    memcpy_dtoh(array, memory)
    return array


def from_device_like(memory: Any, other: np.ndarray) -> np.ndarray:
    array = np.empty_like(other)
    memcpy_dtoh(array, memory)
    return array


class HostAllocation:
    """Memory of the host's that NumPy arrays keep alive; it is the `base` of the array that was made with it."""

    def __init__(self, address: int, size: int, free: Any) -> None:
        self.address = address
        self._free = _at_its_end(self, free, address)
        self._size = size
        self.__array_interface__: dict[str, Any] = {}

    def array(self, shape: tuple[int, ...], kind: np.dtype, order: str) -> np.ndarray:
        """An array over all of it."""
        order = "F" if order == "F" else "C"
        if kind.isbuiltin != 1:  # Text does not tell of records all that their types do.
            return self._seen_as((self._size,), np.dtype(np.uint8), (1,)).view(kind).reshape(shape, order=order)
        strides, step = [], kind.itemsize
        for extent in shape if order == "F" else reversed(shape):
            strides.append(step)
            step *= extent
        return self._seen_as(shape, kind, tuple(strides if order == "F" else reversed(strides)))

    def _seen_as(self, shape: tuple[int, ...], kind: np.dtype, strides: tuple[int, ...]) -> np.ndarray:
        self.__array_interface__ = {
            "data": (self.address, False),
            "shape": shape,
            "typestr": kind.str,
            "strides": strides,
            "version": 3,
        }
        return np.asarray(self)

    def get_device_pointer(self) -> int:
        """The address of the same memory for the device."""
        if not self._free.alive:
            raise LogicError("the memory was freed")
        return self._device_pointer()

    def _device_pointer(self) -> int:
        return _done(runtime.cudaHostGetDevicePointer, self.address, 0)

    def free(self) -> None:
        """Gives the memory back before the arrays go, which must not be used any more."""
        _freed(self._free)


class PagelockedHostAllocation(HostAllocation):
    """Memory that copies go to and from without an intermediate one."""

    def get_flags(self) -> int:
        return _done(runtime.cudaHostGetFlags, self.address)


class ManagedAllocation(HostAllocation):
    """Memory that the device uses, too."""

    def _device_pointer(self) -> int:
        return self.address


class RegisteredHostMemory(HostAllocation):
    """Memory of an array that the run-time knows."""

    def __init__(self, array: np.ndarray) -> None:
        super().__init__(address_of(array), array.nbytes, runtime.cudaHostUnregister)
        self.original = array

    unregister = HostAllocation.free


def _extents(shape: Any) -> tuple[int, ...]:
    return (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(extent) for extent in shape)


def _array(shape: Any, dtype: Any, order: str, allocate: Any, own: Any) -> np.ndarray:
    kind, extents = np.dtype(dtype), _extents(shape)
    if any(extent < 0 for extent in extents):
        raise ValueError(f"an array of shape {extents} cannot be: there is a negative extent")
    size = math.prod(extents) * kind.itemsize
    return own(allocate(max(size, 1)), size).array(extents, kind, order)


def pagelocked_empty(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> np.ndarray:
    """A NumPy array in memory that copies go to and from without an intermediate one."""

    def own(address: int, size: int) -> HostAllocation:
        return PagelockedHostAllocation(address, size, runtime.cudaFreeHost)

    return _array(shape, dtype, order, lambda size: _done(runtime.cudaHostAlloc, size, mem_flags), own)


def pagelocked_zeros(shape: Any, dtype: Any, order: str = "C", mem_flags: int = 0) -> np.ndarray:
    array = pagelocked_empty(shape, dtype, order, mem_flags)
    array.fill(0)
    return array


def pagelocked_empty_like(array: np.ndarray, mem_flags: int = 0) -> np.ndarray:
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return pagelocked_empty(array.shape, array.dtype, order, mem_flags)


def pagelocked_zeros_like(array: np.ndarray, mem_flags: int = 0) -> np.ndarray:
    like = pagelocked_empty_like(array, mem_flags)
    like.fill(0)
    return like


def managed_empty(shape: Any, dtype: Any, order: str = "C", mem_flags: int = mem_attach_flags.GLOBAL) -> np.ndarray:
    """A NumPy array in memory that the device uses, too."""

    def own(address: int, size: int) -> HostAllocation:
        return ManagedAllocation(address, size, runtime.cudaFree)

    return _array(shape, dtype, order, lambda size: _done(runtime.cudaMallocManaged, size, mem_flags), own)


def managed_zeros(shape: Any, dtype: Any, order: str = "C", mem_flags: int = mem_attach_flags.GLOBAL) -> np.ndarray:
    array = managed_empty(shape, dtype, order, mem_flags)
    array.fill(0)
    return array


def aligned_empty(shape: Any, dtype: Any, order: str = "C", alignment: int = 4096) -> np.ndarray:
    """An array that starts at a multiple of the alignment, in bytes."""
    kind, extents = np.dtype(dtype), _extents(shape)
    size = math.prod(extents) * kind.itemsize
    raw = np.empty(size + alignment, np.uint8)
    offset = -raw.__array_interface__["data"][0] % alignment
    return raw[offset : offset + size].view(kind).reshape(extents, order="F" if order == "F" else "C")


def register_host_memory(array: np.ndarray, flags: int = 0) -> np.ndarray:
    """The same array, known to the run-time while the result is alive."""
    _writable(array)
    _done(runtime.cudaHostRegister, address_of(array), array.nbytes, flags)
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return RegisteredHostMemory(array).array(array.shape, array.dtype, order)


# Copies.


def _readable(source: Any) -> np.ndarray:
    """The bytes of an array or another buffer, which must lie in one piece."""
    if isinstance(source, np.ndarray):
        check_pieces(source)
        return source
    return np.frombuffer(source, np.uint8)


def _writable(target: Any) -> np.ndarray:
    array = _readable(target)
    if not array.flags.writeable:
        raise ValueError("the target of a copy cannot be written")
    return array


def _address(stream: Stream | None) -> int:
    return 0 if stream is None else stream.handle


def memcpy_htod(dest: Any, src: Any) -> None:
    """Host to device. The size is that of the source."""
    source = _readable(src)
    _done(runtime.cudaMemcpy, int(dest), source, source.nbytes, cudaMemcpyKind.cudaMemcpyHostToDevice)


def memcpy_htod_async(dest: Any, src: Any, stream: Stream | None = None) -> None:
    source = _readable(src)
    _done(
        runtime.cudaMemcpyAsync,
        int(dest),
        source,
        source.nbytes,
        cudaMemcpyKind.cudaMemcpyHostToDevice,
        _address(stream),
    )


def memcpy_dtoh(dest: Any, src: Any) -> None:
    """Device to host. The size is that of the target."""
    target = _writable(dest)
    _done(runtime.cudaMemcpy, target, int(src), target.nbytes, cudaMemcpyKind.cudaMemcpyDeviceToHost)


def memcpy_dtoh_async(dest: Any, src: Any, stream: Stream | None = None) -> None:
    target = _writable(dest)
    _done(
        runtime.cudaMemcpyAsync,
        target,
        int(src),
        target.nbytes,
        cudaMemcpyKind.cudaMemcpyDeviceToHost,
        _address(stream),
    )


def memcpy_dtod(dest: Any, src: Any, size: int) -> None:
    _done(runtime.cudaMemcpy, int(dest), int(src), size, cudaMemcpyKind.cudaMemcpyDeviceToDevice)


def memcpy_dtod_async(dest: Any, src: Any, size: int, stream: Stream | None = None) -> None:
    kind = cudaMemcpyKind.cudaMemcpyDeviceToDevice
    _done(runtime.cudaMemcpyAsync, int(dest), int(src), size, kind, _address(stream))


def memset_d8(dest: Any, data: int, size: int) -> None:
    _done(runtime.cudaMemset, int(dest), data, size)


def memset_d8_async(dest: Any, data: int, size: int, stream: Stream | None = None) -> None:
    _done(runtime.cudaMemsetAsync, int(dest), data, size, _address(stream))


def memset_d16(dest: Any, data: int, size: int) -> None:
    """`size` elements, not bytes."""
    memcpy_htod(dest, np.full(size, data, np.uint16))


def memset_d16_async(dest: Any, data: int, size: int, stream: Stream | None = None) -> None:
    _fill_async(dest, np.full(size, data, np.uint16), stream)


def memset_d32(dest: Any, data: int, size: int) -> None:
    memcpy_htod(dest, np.full(size, data, np.uint32))


def memset_d32_async(dest: Any, data: int, size: int, stream: Stream | None = None) -> None:
    _fill_async(dest, np.full(size, data, np.uint32), stream)


def _fill_async(dest: Any, values: np.ndarray, stream: Stream | None) -> None:
    if not runtime._is_capturing(_address(stream)):
        memcpy_htod_async(dest, values, stream)
        return
    address = int(dest)  # A copy would be recorded with the place of the values alone.
    _done(
        runtime.cudaLaunchHostFunc,
        _address(stream),
        lambda _: ctypes.memmove(address, values.ctypes.data, values.nbytes),
    )


# Streams and events.


class Stream:
    """A queue of work."""

    def __init__(self, flags: int = 0) -> None:
        self._stream = int(_done(runtime.cudaStreamCreateWithFlags, int(flags)))
        _at_its_end(self, runtime.cudaStreamDestroy, self._stream)

    @property
    def handle(self) -> int:
        return self._stream

    def synchronize(self) -> None:
        _done(runtime.cudaStreamSynchronize, self._stream)

    def is_done(self) -> bool:
        return _isDone(runtime.cudaStreamQuery, self._stream)

    def wait_for_event(self, event: Event) -> None:
        _done(runtime.cudaStreamWaitEvent, self._stream, event.handle, 0)

    def __int__(self) -> int:
        return self._stream

    __index__ = __int__


def _isDone(query: Any, handle: int) -> bool:
    if query(handle)[0] == cudaError_t.cudaErrorNotReady:
        runtime.cudaGetLastError()
        return False
    _done(query, handle)
    return True


class Event:
    """A place in a stream."""

    def __init__(self, flags: int = 0) -> None:
        self._event = int(_done(runtime.cudaEventCreateWithFlags, int(flags)))
        _at_its_end(self, runtime.cudaEventDestroy, self._event)

    @property
    def handle(self) -> int:
        return self._event

    def record(self, stream: Stream | None = None) -> Event:
        _done(runtime.cudaEventRecord, self._event, _address(stream))
        return self

    def synchronize(self) -> Event:
        _done(runtime.cudaEventSynchronize, self._event)
        return self

    def query(self) -> bool:
        return _isDone(runtime.cudaEventQuery, self._event)

    def time_since(self, event: Event) -> float:
        """Milliseconds from the other event to this one."""
        return _done(runtime.cudaEventElapsedTime, event.handle, self._event)

    def time_till(self, event: Event) -> float:
        return _done(runtime.cudaEventElapsedTime, self._event, event.handle)


def start_profiler() -> None:
    _done(runtime.cudaProfilerStart)


def stop_profiler() -> None:
    _done(runtime.cudaProfilerStop)


Shape = int | Sequence[int]
