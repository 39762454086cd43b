"""Connections of HTTP: whoever does not say in time what he wants takes nobody's place."""

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST_HEAD = 1 << 16  # Bytes of a request's line and headers.


class Connection(HttpToolsProtocol):  # type: ignore[misc]
    """Closed when a request has not arrived after `patience` seconds, or its head is too long."""

    patience = 30.0

    def connection_made(self, transport: Any) -> None:
        self._is_in_head, self._head_bytes = True, 0
        self._limit: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        self._expect()

    def data_received(self, data: bytes) -> None:
        self._expect()  # Until the message is complete.
        if self._is_in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._is_in_head and self._head_bytes > _MOST_HEAD:
            self.logger.warning("A request's head has more than %d bytes.", _MOST_HEAD)
            self.transport.close()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_head, self._head_bytes = True, 0
        self._expect_no_more()
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect_no_more()
        super().connection_lost(exc)

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


def patient(seconds: float) -> type[Connection]:
    return type("Connection", (Connection,), {"patience": seconds})


def allow_many() -> None:
    """Takes as many open files as the system lets this process have: a connection is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
