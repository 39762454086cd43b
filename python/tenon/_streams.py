"""Streams of a machine without a GPU: in-order queues that runs can be put into."""

from types import TracebackType

from . import _native


class Stream:
    """A queue with a thread of its own, for `execute_async_v3(stream_handle)` and its like.

    With `blocking`, stream 0 waits for it, as CUDA's does. In a `with` statement its work is waited for at the end.
    """

    def __init__(self, blocking: bool = True) -> None:
        self._handle = 0
        self._handle = _native._stream_create(blocking)

    @property
    def handle(self) -> int:
        """What the calls of the TensorRT API take as a stream."""
        if self._handle == 0:
            raise RuntimeError("the stream was closed")
        return self._handle

    def __int__(self) -> int:
        return self.handle

    __index__ = __int__

    def __cuda_stream__(self) -> tuple[int, int]:
        """The protocol by which packages hand streams to each other."""
        return 0, self.handle

    def synchronize(self) -> None:
        """Waits for all work in the stream. RuntimeError, once, when some of it failed."""
        _native._stream_synchronize(self.handle)

    @property
    def is_idle(self) -> bool:
        """Whether all work is done. RuntimeError, once, when some of it failed."""
        return _native._stream_is_idle(self.handle)

    def close(self) -> None:
        """Waits for the work and ends the stream; its handle is not to be used any more."""
        handle, self._handle = self._handle, 0
        if handle != 0:
            _native._stream_destroy(handle)

    def __enter__(self) -> "Stream":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if error is None and self._handle != 0:
                self.synchronize()
        finally:
            self.close()

    def __del__(self) -> None:
        if _native is not None:  # The interpreter may be on its way out.
            self.close()

    def __repr__(self) -> str:
        return f"<tenon.Stream {self._handle:#x}>" if self._handle else "<tenon.Stream closed>"
