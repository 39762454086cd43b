"""A client of HTTP/2 that does as little as it likes: it sends part of a message, or opens no window for an answer."""

import contextlib
import socket
import struct
import threading
import time
from typing import Self

_DATA, _HEADERS, _SETTINGS, _PING = 0, 1, 4, 6
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4
_INITIAL_WINDOW = 4  # The setting's number.


def _field(name: str, value: str) -> bytes:
    """A header, neither indexed nor compressed."""
    return b"\0" + b"".join(bytes([len(part)]) + part.encode() for part in (name, value))


class Client:
    """Answers pings and settings by itself, and takes what comes; of an answer `window` bytes at most."""

    def __init__(self, port: int, window: int = 0) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=300)
        self._lock, self._stream = threading.Lock(), -1
        self.received = 0  #: Bytes of messages.
        self.statuses: list[bytes] = []  #: Headers and trailers, as they came.
        self.is_gone = threading.Event()  #: The server has hung up.
        self._socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self._send(_SETTINGS, 0, 0, struct.pack(">HI", _INITIAL_WINDOW, window))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # The reader has it open, too.
        self._socket.close()

    def call(self, method: str, message: bytes, missing: int = 0) -> None:
        """Calls with a message whose last `missing` bytes do not come."""
        self._stream += 2
        path = f"/inference.GRPCInferenceService/{method}"
        fields = {":method": "POST", ":scheme": "http", ":path": path, ":authority": "x", "te": "trailers"}
        fields["content-type"] = "application/grpc"
        self._send(_HEADERS, _END_HEADERS, self._stream, b"".join(map(_field, fields, fields.values())))
        data = b"\0" + struct.pack(">I", len(message)) + message
        data = data[: len(data) - missing]
        pieces = [data[at : at + 16_000] for at in range(0, len(data), 16_000)]
        for number, piece in enumerate(pieces, 1):
            is_last = number == len(pieces) and not missing
            self._send(_DATA, _END_STREAM if is_last else 0, self._stream, piece)

    def wait_until_gone(self, seconds: float) -> None:
        assert self.is_gone.wait(seconds), "the server has not hung up"

    def wait_for(self, status: bytes, seconds: float) -> None:
        """Until some headers or trailers have this."""
        until = time.monotonic() + seconds
        while not any(status in each for each in self.statuses):
            assert time.monotonic() < until, (status, self.statuses)
            time.sleep(0.02)

    def _send(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        head = struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream)
        with self._lock, contextlib.suppress(OSError):  # Whoever reads finds out that the server has hung up.
            self._socket.sendall(head + payload)

    def _read(self) -> None:
        try:
            with self._socket.makefile("rb") as stream:
                while head := stream.read(9):
                    kind, flags, payload = head[3], head[4], stream.read(int.from_bytes(head[:3]))
                    self._take(kind, flags, payload)
        except OSError:
            pass
        self.is_gone.set()

    def _take(self, kind: int, flags: int, payload: bytes) -> None:
        if kind in (_SETTINGS, _PING) and not flags & _ACK:
            self._send(kind, _ACK, 0, payload if kind == _PING else b"")
        elif kind == _DATA:
            self.received += len(payload)
        elif kind == _HEADERS:
            self.statuses.append(payload)
