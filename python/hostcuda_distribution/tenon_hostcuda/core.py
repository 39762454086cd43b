"""cuda.core as far as programs around a run import it: devices, streams, events and buffers of the host's runtime.
Programs and launches are there by name, and say at use that there is no GPU for them."""

import dataclasses
from typing import Any

from . import runtime
from .nvrtc import REASON
from .values import cudaError_t, cudaMemcpyKind


class CUDAError(RuntimeError):
    """A call of the runtime that failed, with its name and reason."""


def _value(answer: tuple[Any, ...]) -> Any:
    error, *values = answer
    if error != cudaError_t.cudaSuccess:
        name, reason = (call(error)[1].decode() for call in (runtime.cudaGetErrorName, runtime.cudaGetErrorString))
        raise CUDAError(f"{name}: {reason}")
    return values[0] if values else None


def _handle(stream: Any) -> int:
    """Of a Stream, of what has __cuda_stream__(), of a number; None is the default stream."""
    if stream is None:
        return 0
    return int(stream.__cuda_stream__()[1]) if hasattr(stream, "__cuda_stream__") else int(stream)


@dataclasses.dataclass
class StreamOptions:
    nonblocking: bool = True
    priority: int | None = None


@dataclasses.dataclass
class EventOptions:
    enable_timing: bool = False
    busy_waited_sync: bool = False


class Event:
    """A mark in a stream."""

    def __init__(self, options: EventOptions | None = None) -> None:
        flags = 0 if options is not None and options.enable_timing else runtime.cudaEventDisableTiming
        self._event = _value(runtime.cudaEventCreateWithFlags(flags))

    @property
    def handle(self) -> int:
        return int(self._event)

    @property
    def is_done(self) -> bool:
        error = runtime.cudaEventQuery(self._event)[0]
        if error == cudaError_t.cudaErrorNotReady:
            return False
        _value((error,))
        return True

    def sync(self) -> None:
        _value(runtime.cudaEventSynchronize(self._event))

    def __sub__(self, start: "Event") -> float:
        """Milliseconds from `start` to here."""
        return _value(runtime.cudaEventElapsedTime(start._event, self._event))

    def close(self) -> None:
        if self._event is not None:
            _value(runtime.cudaEventDestroy(self._event))
            self._event = None


class Stream:
    """Work that is done in its order."""

    def __init__(self, handle: int, *, owned: bool = False) -> None:
        self._handle, self._owned = handle, owned

    @staticmethod
    def from_handle(handle: int) -> "Stream":
        return Stream(int(handle))

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle

    @property
    def handle(self) -> int:
        return self._handle

    def __int__(self) -> int:
        return self._handle

    def sync(self) -> None:
        _value(runtime.cudaStreamSynchronize(self._handle))

    def record(self, event: Event | None = None, options: EventOptions | None = None) -> Event:
        event = event or Event(options)
        _value(runtime.cudaEventRecord(event._event, self._handle))
        return event

    def wait(self, event_or_stream: Any) -> None:
        event = event_or_stream if isinstance(event_or_stream, Event) else Stream(_handle(event_or_stream)).record()
        _value(runtime.cudaStreamWaitEvent(self._handle, event._event, 0))

    def close(self) -> None:
        if self._owned:
            _value(runtime.cudaStreamDestroy(self._handle))
            self._owned = False


class Buffer:
    """Device memory, which goes with close() or with the object."""

    def __init__(self, size: int, stream: Any = None) -> None:
        self._size = size
        self._address: int | None = _value(runtime.cudaMallocAsync(size, _handle(stream)))
        self._stream = _handle(stream)

    @property
    def handle(self) -> int:
        return int(self._address or 0)

    def __int__(self) -> int:
        return self.handle

    @property
    def size(self) -> int:
        return self._size

    def copy_to(self, dst: "Buffer | None" = None, *, stream: Any) -> "Buffer":
        dst = dst or Buffer(self._size, stream)
        if dst.size != self._size:
            raise ValueError(f"a buffer of {self._size} bytes cannot be copied to one of {dst.size}")
        _value(
            runtime.cudaMemcpyAsync(
                dst.handle, self.handle, self._size, cudaMemcpyKind.cudaMemcpyDeviceToDevice, _handle(stream)
            )
        )
        return dst

    def copy_from(self, src: "Buffer", *, stream: Any) -> None:
        src.copy_to(self, stream=stream)

    def close(self, stream: Any = None) -> None:
        if self._address is not None:
            _value(runtime.cudaFreeAsync(self._address, self._stream if stream is None else _handle(stream)))
            self._address = None

    def __del__(self) -> None:
        if getattr(self, "_address", None) is not None:
            runtime.cudaFreeAsync(self._address, self._stream)


class Device:
    """The one device that there is: the machine's CPU."""

    def __init__(self, device_id: int | None = None) -> None:
        number = 0 if device_id is None else int(device_id)
        if not 0 <= number < _value(runtime.cudaGetDeviceCount()):
            raise ValueError(f"there is no device {device_id}")
        self.device_id = number

    @property
    def name(self) -> str:
        return _value(runtime.cudaGetDeviceProperties(self.device_id)).name.decode()

    @property
    def compute_capability(self) -> tuple[int, int]:
        properties = _value(runtime.cudaGetDeviceProperties(self.device_id))
        return properties.major, properties.minor

    @property
    def arch(self) -> str:
        return "{}{}".format(*self.compute_capability)

    @property
    def default_stream(self) -> Stream:
        return Stream(0)

    def set_current(self) -> None:
        _value(runtime.cudaSetDevice(self.device_id))

    def create_stream(self, obj: Any = None, options: StreamOptions | None = None) -> Stream:
        if obj is not None:
            return Stream(_handle(obj))
        is_blocking = options is not None and not options.nonblocking
        flags = runtime.cudaStreamDefault if is_blocking else runtime.cudaStreamNonBlocking
        return Stream(int(_value(runtime.cudaStreamCreateWithFlags(flags))), owned=True)

    def create_event(self, options: EventOptions | None = None) -> Event:
        return Event(options)

    def allocate(self, size: int, stream: Any = None) -> Buffer:
        return Buffer(size, stream)

    def sync(self) -> None:
        _value(runtime.cudaDeviceSynchronize())


class _System:
    @property
    def driver_version(self) -> tuple[int, int]:
        version = _value(runtime.cudaDriverGetVersion())
        return version // 1000, version % 1000 // 10

    @property
    def num_devices(self) -> int:
        return _value(runtime.cudaGetDeviceCount())

    @property
    def devices(self) -> tuple[Device, ...]:
        return tuple(Device(i) for i in range(self.num_devices))


system = _System()


@dataclasses.dataclass
class LaunchConfig:
    grid: Any = 1
    block: Any = 1
    cluster: Any = None
    shmem_size: int = 0


@dataclasses.dataclass
class ProgramOptions:
    arch: str | None = None
    std: str | None = None
    options: Any = None


class Program:
    """Source of a kernel, which nothing here compiles."""

    def __init__(self, code: str, code_type: str, options: ProgramOptions | None = None) -> None:
        self.code, self.code_type, self.options = code, code_type, options

    def compile(self, target_type: str, name_expressions: Any = (), logs: Any = None) -> Any:
        if logs is not None:
            logs.write(REASON + "\n")
        raise CUDAError(REASON)

    def close(self) -> None:
        """There is nothing to give back."""


def launch(stream: Any, config: LaunchConfig, kernel: Any, *kernel_args: Any) -> None:
    raise CUDAError(REASON)


__all__ = [
    "Buffer",
    "CUDAError",
    "Device",
    "Event",
    "EventOptions",
    "LaunchConfig",
    "Program",
    "ProgramOptions",
    "Stream",
    "StreamOptions",
    "launch",
    "system",
]
