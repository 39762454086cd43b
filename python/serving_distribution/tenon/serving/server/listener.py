"""The server of HTTP: its addresses are taken before models are loaded, and TLS has as long as a request."""

import asyncio
import contextlib
import errno
import logging
import socket
from collections.abc import Iterator, Sequence

import uvicorn

log = logging.getLogger("tenon.serving")


def bound(host: str, port: int) -> list[socket.socket]:
    """A socket for each of the host's addresses, at which nobody is listened to yet; OSError names what is taken."""
    made: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(found):
            made.append(socket.socket(family, socket.SOCK_STREAM))
            made[-1].setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                made[-1].setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            try:
                made[-1].bind(address)
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL or len(found) == 1:
                    raise
                made.pop().close()  # A name may have an address of a kind that this machine has not.
        if not made:
            raise OSError(errno.EADDRNOTAVAIL, "no address of this name is one of this machine's")
    except OSError as error:
        for each in made:
            each.close()
        raise OSError(f"no HTTP at {host}:{port}: {error.strerror or error}") from None
    return made


class Listener(uvicorn.Server):
    """Whoever connects and does not finish TLS's greeting in `patience` seconds is sent away, as with a request."""

    def __init__(self, config: uvicorn.Config, sockets: Sequence[socket.socket], patience: float) -> None:
        super().__init__(config)
        self._sockets, self._patience = sockets, patience

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # Whoever starts this hears them, for both protocols.

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's, which has no limit for TLS and ends the process where an address is taken."""
        loop, config = asyncio.get_running_loop(), self.config
        limits = dict.fromkeys(("ssl_handshake_timeout", "ssl_shutdown_timeout"), self._patience) if config.ssl else {}

        def connection() -> asyncio.BaseProtocol:
            return config.http_protocol_class(  # type: ignore[call-arg, return-value]
                config=config, server_state=self.server_state, app_state=self.lifespan.state, _loop=loop
            )

        self.servers = [
            await loop.create_server(connection, sock=each, ssl=config.ssl, backlog=config.backlog, **limits)
            for each in self._sockets
        ]
        for each in self._sockets:
            host, port = each.getsockname()[:2]
            scheme = "https" if config.ssl else "http"
            log.info("HTTP at %s://%s:%d", scheme, f"[{host}]" if ":" in host else host, port)
        self.started = True
