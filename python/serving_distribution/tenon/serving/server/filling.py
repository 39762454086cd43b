"""Bodies of HTTP are received where they stay, so aligned that engines read their tensors there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from ..errors import QueueFull
from .held import Share

if TYPE_CHECKING:
    from .connections import Connection

_ALIGNMENT = 64  # Of tensors: engines read them where they lie.
_DISCARDED = 1 << 16  # Bytes at once.


class Filling(asyncio.BufferedProtocol):
    """Stands in for a connection while the rest of a body is received. What follows `lead` bytes of it is aligned."""

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
        self._room, self._left = memoryview(self.data)[self.count :], length - self.count
        self.is_done: asyncio.Future[None] = connection.loop.create_future()
        cycle.body = bytearray()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._room

    def buffer_updated(self, count: int) -> None:
        self._left -= count
        if self.is_done.done():  # It goes nowhere.
            self._room = self._room[: self._left]
        else:
            self._fill(count)
        if not self._left:
            self._room = memoryview(b"")  # The transport keeps this object as long as the connection is there.
            self._connection.filled()
            if not self.is_done.done():
                self.is_done.set_result(None)

    def _fill(self, count: int) -> None:
        try:
            self._share.take(count)
        except QueueFull as full:  # Who is still sending would not hear of it if this connection were closed.
            self.is_done.set_exception(full)
            self._let_go(min(self._left, _DISCARDED))
        else:
            self.count += count
            self._room = self._room[count:]

    def _let_go(self, room: int = 0) -> None:
        """At once: in a circle of references all of it would wait for the collector of garbage."""
        self.data, self._room = np.empty(0, np.uint8), memoryview(bytearray(room))

    def connection_lost(self, exc: Exception | None) -> None:
        self._let_go()
        self._connection.connection_lost(exc)
        if not self.is_done.done():
            self.is_done.set_exception(ClientDisconnect())

    def pause_writing(self) -> None:
        self._connection.pause_writing()

    def resume_writing(self) -> None:
        self._connection.resume_writing()
