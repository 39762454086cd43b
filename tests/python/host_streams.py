"""Streams and events of the host by the C functions of libtenon, with work that a test holds up."""

import ctypes
import pathlib
import threading

import small
import tenon  # noqa: F401  The library is loaded.

NOT_READY = 1


def _library() -> ctypes.CDLL:
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    return ctypes.CDLL(next(line.split()[-1] for line in lines if "/libtenon.so" in line))


_HOST = _library()
_WORK = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


def _call(name: str, *arguments: object) -> int:
    return getattr(_HOST, name)(*arguments)


class Event:
    """Over when all that stood in its stream is."""

    def __init__(self) -> None:
        handle = ctypes.c_void_p()
        assert _call("tenonHostCreateEvent", ctypes.byref(handle), 0) == 0
        self.handle = handle.value

    def record(self, stream: "Stream") -> None:
        assert _call("tenonHostRecordEvent", ctypes.c_void_p(self.handle), ctypes.c_void_p(stream.handle), 0) == 0

    def is_over(self) -> bool:
        return _call("tenonHostQueryEvent", ctypes.c_void_p(self.handle)) != NOT_READY

    def wait(self) -> None:
        assert _call("tenonHostSynchronizeEvent", ctypes.c_void_p(self.handle)) == 0


class Stream:
    """A queue with a thread of its own, apart from the legacy stream's order unless it is blocking."""

    def __init__(self, blocking: bool = False) -> None:
        handle = ctypes.c_void_p()
        assert _call("tenonHostCreateStream", ctypes.byref(handle), int(blocking), 0) == 0
        self.handle, self._kept = handle.value, []

    def hold(self) -> threading.Event:
        """What is put into the stream from now on waits until the event is set."""
        gate = threading.Event()
        work = _WORK(lambda _: 0 if gate.wait(small.PATIENCE) else 1)
        self._kept.append(work)
        assert _call("tenonHostSubmit", ctypes.c_void_p(self.handle), work, None, None) == 0
        return gate

    def is_idle(self) -> bool:
        return _call("tenonHostQueryStream", ctypes.c_void_p(self.handle)) != NOT_READY

    def synchronize(self) -> int:
        return _call("tenonHostSynchronizeStream", ctypes.c_void_p(self.handle))

    def capture(self) -> None:
        """What is put into the stream from now on becomes part of a graph, and is not done."""
        assert _call("tenonHostBeginCapture", ctypes.c_void_p(self.handle), 2) == 0

    def end_capture(self) -> "Graph":
        graph = ctypes.c_void_p()
        assert _call("tenonHostEndCapture", ctypes.c_void_p(self.handle), ctypes.byref(graph)) == 0
        return Graph(graph.value)

    def close(self) -> None:
        self.synchronize()  # The stream's work calls what is kept here.
        assert _call("tenonHostDestroyStream", ctypes.c_void_p(self.handle)) == 0


class Graph:
    """What a stream recorded."""

    def __init__(self, handle: int) -> None:
        executable = ctypes.c_void_p()
        assert _call("tenonHostInstantiateGraph", ctypes.byref(executable), ctypes.c_void_p(handle)) == 0
        self.handle, self.executable = handle, executable.value

    def launch(self, stream: Stream) -> None:
        assert _call("tenonHostLaunchGraph", ctypes.c_void_p(self.executable), ctypes.c_void_p(stream.handle)) == 0

    def close(self) -> None:
        assert _call("tenonHostDestroyExecutable", ctypes.c_void_p(self.executable)) == 0
        assert _call("tenonHostDestroyGraph", ctypes.c_void_p(self.handle)) == 0
