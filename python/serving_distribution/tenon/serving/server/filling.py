"""What comes by HTTP: heads in pieces, bodies where they stay, so aligned that engines read their tensors there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from ..errors import QueueFull
from .held import Share

if TYPE_CHECKING:
    from .connections import Connection

_ALIGNMENT = 64  # Of tensors: engines read them where they lie.
_DISCARDED = 1 << 16  # Bytes at once.


PIECE = 1 << 13  #: Bytes of heads that are received, and parsed, at once.


class Receiver(asyncio.BufferedProtocol):
    """What a transport sees of a connection: it says where the next bytes go.

    A piece is copied before the next one comes, of whatever connection of the thread: one memory does for all.
    """

    _piece = memoryview(bytearray(PIECE))

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.filling: Filling | None = None  #: The body that is received at present.

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._piece if self.filling is None else self.filling.room

    def buffer_updated(self, count: int) -> None:
        if self.filling is None:
            self._connection.data_received(bytes(self._piece[:count]))
        else:
            self.filling.take(count)

    def connection_made(self, transport: Any) -> None:
        self._connection.connection_made(transport)

    def eof_received(self) -> None:
        self._connection.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        filling, self.filling = self.filling, None
        if filling is not None:
            filling.let_go()
        self._connection.connection_lost(exc)
        if filling is not None and not filling.is_done.done():
            filling.is_done.set_exception(ClientDisconnect())

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()


class Filling:
    """A body whose rest is received into its own memory. What follows `lead` bytes of it is aligned."""

    def __init__(
        self, connection: Connection, cycle: RequestResponseCycle, length: int, lead: int, share: Share
    ) -> None:
        self.count = len(cycle.body)  #: Bytes that are there.
        share.take(self.count)
        self._connection, self._share = connection, share
        memory = np.empty(length + _ALIGNMENT, np.uint8)  # Untouched: a claim alone takes none.
        start = -(memory.ctypes.data + lead) % _ALIGNMENT
        self.data = memory[start : start + length]
        self.data[: self.count] = cycle.body
        self.room, self._left = memoryview(self.data)[self.count :], length - self.count  #: For what comes next.
        self.is_done: asyncio.Future[None] = connection.loop.create_future()
        cycle.body = bytearray()

    def take(self, count: int) -> None:
        """So many bytes more are there."""
        self._left -= count
        if self.is_done.done():  # It goes nowhere.
            self.room = self.room[: self._left]
        else:
            self._fill(count)
        if not self._left:
            self.room = memoryview(b"")
            self._connection.filled()
            if not self.is_done.done():
                self.is_done.set_result(None)

    def give_up(self) -> None:
        """It has not come in time."""
        if not self.is_done.done():
            self.is_done.set_exception(TimeoutError())

    def _fill(self, count: int) -> None:
        try:
            self._share.take(count)
        except QueueFull as full:  # Who is still sending would not hear of it if this connection were closed.
            self.is_done.set_exception(full)
            self.let_go(min(self._left, _DISCARDED))
        else:
            self.count += count
            self.room = self.room[count:]

    def let_go(self, room: int = 0) -> None:
        """At once: in a circle of references all of it would wait for the collector of garbage."""
        self.data, self.room = np.empty(0, np.uint8), memoryview(bytearray(room))
