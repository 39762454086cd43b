"""Connections of HTTP: whoever does not say in time what he wants, or take what he gets, is sent away."""

import asyncio
import math
import resource
import socket
from collections.abc import Callable, Sequence
from typing import Any

import httptools
import numpy as np
import orjson
from starlette.requests import ClientDisconnect
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from .filling import PIECE, Filling, Receiver
from .held import Held, Share
from .tcp import is_established

_MOST_HEAD = 1 << 16  # Bytes of a request's line and headers.
_LOOKS = 0.5  # Seconds from one look to the next.
_NONE = "Invalid HTTP request received."


class Connection(HttpToolsProtocol):  # type: ignore[misc]
    """Closed when a request has not arrived after `patience` seconds, an answer not been taken, or a head is too long.

    Of an answer only what the system's buffers do not take is seen here. The kernel ends a connection whose client has
    taken nothing of those for as long.

    Requests that are sent before the answer to an earlier one wait as bytes, not as requests.
    """

    patience: float
    held: Held
    most: int  #: Connections at once.

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.receiver = Receiver(self)  #: What the transport is to have as its protocol.

    def connection_made(self, transport: Any) -> None:
        self._is_in_head, self._head_bytes = True, 0
        self._limit: asyncio.TimerHandle | None = None
        self._held = memoryview(b"")  # What is behind requests that wait for their turn.
        self._is_resuming = False  # A head is read for the second time.
        self.on_gone: Callable[[], object] | None = None  #: Called when the client goes; by whoever works for it.
        self._watching: asyncio.TimerHandle | None = None
        self._untaken = 0  # Bytes of an answer.
        self._taking: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        self._came_beyond = len(self.connections) > self.most
        transport.get_extra_info("socket").setsockopt(
            socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, math.ceil(self.patience * 1e3)
        )
        self._expect()

    @property
    def is_beyond(self) -> bool:
        """Whether it is one more than may be: those that were there before it are not."""
        return self._came_beyond and len(self.connections) > self.most

    def data_received(self, data: bytes) -> None:
        self._expect()  # Until the message is complete.
        self._take(memoryview(b"".join((self._held, data)) if self._held else data))

    def _take(self, data: memoryview) -> None:
        self._hold(memoryview(b""))
        was_in_head = self._is_in_head
        while data and not self.transport.is_closing():
            if self.pipeline:
                self._hold(data)
                self.flow.pause_reading()
                return
            if self._is_in_head:
                self._head_bytes += len(data[:PIECE])
            data = data[self._parse(data[:PIECE]) :]
            if self._is_in_head and self._head_bytes > _MOST_HEAD:
                self.logger.warning("A request's head has more than %d bytes.", _MOST_HEAD)
                self.transport.close()
        if was_in_head and not self._is_in_head:
            self.flow.pause_reading()  # Until somebody says where the body goes.

    def _hold(self, data: memoryview) -> None:
        self.held.add(len(data) - len(self._held))
        self._held = data

    def _parse(self, data: memoryview) -> int:
        """How much of it has been parsed."""
        self._unset_keepalive_if_required()
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as asked:
            self._decline_upgrade()
            return int(asked.args[0])
        except httptools.HttpParserError as error:
            self.logger.warning("A request that is none: %s", error)
            self.send_400_response(_NONE)
        return len(data)

    def send_400_response(self, msg: str) -> None:
        body = orjson.dumps({"error": msg})
        lines = [b"content-type: application/json", b"content-length: %d" % len(body), b"connection: close"]
        self.transport.write(STATUS_LINE[400] + b"\r\n".join((*lines, b"", body)))
        self.transport.close()

    def _decline_upgrade(self) -> None:
        """The parser has stopped behind the head: another one, which is told of the same body, goes on."""
        names = (b"content-length", b"transfer-encoding")
        kept = [b"%s: %s\r\n" % (name, value) for name, value in self.headers if name in names]
        self.parser, self._is_resuming = httptools.HttpRequestParser(self), True
        self.parser.feed_data(b"POST / HTTP/1.1\r\n%s\r\n" % b"".join(kept))

    def on_message_begin(self) -> None:
        if not self._is_resuming:
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._is_resuming:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_resuming:
            return
        if not self._is_in_head:  # A trailer, of which a body has as many as its sender likes.
            self._head_bytes += len(name) + len(value)
            if self._head_bytes > _MOST_HEAD:
                raise ValueError("trailers without an end")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._is_resuming:
            self._is_resuming = False
            return
        self._is_in_head = False
        super().on_headers_complete()
        self.scope["extensions"] = {"tenon": Exchange(self, self.cycle)}  # Its task begins later.

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return  # The body is still to come.
        self._is_in_head, self._head_bytes = True, 0
        self._expect_no_more()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()  # Which reads on.
        if self._held and not self.transport.is_closing():
            self.flow.pause_reading()
            if not self.pipeline:
                self.loop.call_soon(self.take_held)

    def watch(self) -> None:
        """While somebody works for the client, and nothing is read as more requests have come, its end is asked for."""
        if self._watching is not None:
            self._watching.cancel()
        self._watching = None if self.on_gone is None else self.loop.call_later(_LOOKS, self._look)

    def _look(self) -> None:
        if self.pipeline and not is_established(self.transport.get_extra_info("socket")):
            self.transport.abort()
        else:
            self.watch()

    def take_held(self) -> None:
        if self._held:
            self._expect()
            self._take(self._held)
            if not self._held and not self.transport.is_closing():
                self.flow.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_no_more()
        self._hold(memoryview(b""))
        self._is_taken()
        super().connection_lost(exc)
        if self._watching is not None:
            self._watching.cancel()
        if self.on_gone is not None:
            self.on_gone()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._untaken = self.transport.get_write_buffer_size()
        self.held.add(self._untaken)
        self._taking = self.loop.call_later(self.patience, self._send_away)

    def resume_writing(self) -> None:
        self._is_taken()
        super().resume_writing()

    def _is_taken(self) -> None:
        self.held.drop(self._untaken)
        self._untaken = 0
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def _send_away(self) -> None:
        self.held.sent_away += 1
        self.logger.warning("A client did not take its answer in %g s.", self.patience)
        self.transport.abort()

    def fill(self, cycle: RequestResponseCycle, length: int, lead: int, share: Share) -> Filling:
        """Has the rest of this request's body come into memory of its own, past the parser."""
        self.receiver.filling = Filling(self, cycle, length, lead, share)
        self.flow.resume_reading()
        return self.receiver.filling

    def filled(self) -> None:
        self.receiver.filling = None
        self.parser = httptools.HttpRequestParser(self)  # Which stands before the next head.
        self.on_message_complete()

    def _expect(self) -> None:
        if self._limit is None:
            self._limit = self.loop.call_later(self.patience, self._give_up)

    def _expect_no_more(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _give_up(self) -> None:
        self._limit = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        else:  # Whoever reads the body answers first, with the reason.
            self._limit = self.loop.call_later(1, self._give_up)


class Exchange:
    """A request on its connection, as far as ASGI has no words for it."""

    def __init__(self, connection: Connection, cycle: RequestResponseCycle) -> None:
        self._connection, self._cycle = connection, cycle
        self._keeps_alive = cycle.keep_alive
        if cycle.waiting_for_100_continue:  # Answered before its body is asked for it may never send that: or may.
            cycle.keep_alive = False

    @property
    def is_beyond(self) -> bool:
        return self._connection.is_beyond

    @property
    def is_answered(self) -> bool:
        """Whether an answer has begun."""
        return bool(self._cycle.response_started)

    @property
    def is_gone(self) -> bool:
        return bool(self._cycle.disconnected) or self._cycle.transport.is_closing()

    def end(self) -> None:
        """Without an answer, which uvicorn would miss: it hears last that the client has gone."""
        self._cycle.disconnected = True

    async def body(self, length: int, lead: int, patience: float, share: Share) -> bytearray | np.ndarray:
        """The body, which has `length` bytes, `lead` of them before the tensors, and is taken into `share`.

        The argument of a TimeoutError is how many came in time.
        """
        cycle = self._cycle
        self._connection.take_held()
        if not cycle.more_body:
            share.take(len(cycle.body))
            return cycle.body
        if self.is_gone:
            raise ClientDisconnect
        if cycle.waiting_for_100_continue:
            cycle.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            cycle.waiting_for_100_continue, cycle.keep_alive = False, self._keeps_alive
        filling = self._connection.fill(cycle, length, lead, share)
        limit = self._connection.loop.call_later(patience, filling.give_up)
        try:
            await filling.is_done
        except TimeoutError:
            cycle.keep_alive = False  # Where the next request would begin nobody knows.
            raise TimeoutError(filling.count) from None
        finally:
            limit.cancel()
        data, filling.data = filling.data, np.empty(0, np.uint8)
        return data

    async def answer(self, fields: Sequence[tuple[bytes, bytes]], parts: Sequence[bytes | memoryview]) -> None:
        """200 with this body: what ASGI says in two messages goes in one call of the system, and nothing is joined."""
        cycle, flow = self._cycle, self._connection.flow
        if flow.write_paused and not cycle.disconnected:
            await flow.drain()
        if self.is_gone:
            self.end()
            return
        length = b"%d" % sum(len(part) for part in parts)
        head = [*fields, (b"content-length", length), *([] if cycle.keep_alive else [(b"connection", b"close")])]
        lines = [STATUS_LINE[200], *(b"%s: %s\r\n" % field for field in head), b"\r\n"]
        cycle.response_started = cycle.response_complete = True
        cycle.transport.writelines([b"".join(lines), *(part for part in parts if part)])
        cycle.message_event.set()
        if not cycle.keep_alive:
            cycle.transport.close()
        cycle.on_response()

    def call_when_gone(self, callback: Callable[[], object] | None) -> None:
        """None: nobody is to be called any more."""
        self._connection.on_gone = callback
        self._connection.watch()
        if callback is not None and not self._connection.pipeline and not self.is_gone:
            self._connection.flow.resume_reading()  # Or it would not be seen.


def while_there(exchange: Exchange, send: Any) -> Any:
    """`send` for a client that may go between head and body of its answer, of which ASGI's server learns too late."""

    async def sent(message: dict[str, Any]) -> None:
        try:
            await send(message)
        except RuntimeError:  # The event loop's word for a connection that is closed.
            if not exchange.is_gone:
                raise

    return sent


def patient(seconds: float, held: Held, most: int) -> Callable[..., Receiver]:
    """What makes the protocol of each connection."""
    kind = type("Connection", (Connection,), {"patience": seconds, "held": held, "most": most})
    return lambda **settings: kind(**settings).receiver


def allow_many() -> None:
    """Takes as many open files as the system lets this process have: a connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
