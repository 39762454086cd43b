"""Answers of gRPC that their clients have not taken yet, and what becomes of clients that never do.

HTTP/2 lets a client close its window and go on answering pings: its answers would be kept for ever. gRPC has no call by
which a server ends that, so that the connection is ended below it, as if the client had hung up. So are connections
beyond a limit: gRPC's own takes nobody any more, once it was reached.
"""

import asyncio
import contextlib
import dataclasses
import ipaddress
import itertools
import logging
import os
import socket
import stat
from collections.abc import Collection, Iterator
from urllib.parse import unquote

from .held import Held
from .tcp import is_established

log = logging.getLogger("tenon.serving")
Peer = tuple[str, int]  # Address and port.


def peer_of(text: str) -> Peer:
    """Of a call's peer as gRPC writes it: ipv4:127.0.0.1:5, ipv6:%5B::1%5D:5."""
    host, _, port = unquote(text).partition(":")[2].rpartition(":")
    return _peer(host.strip("[]"), int(port))


def _peer(host: str, port: int) -> Peer:
    address = ipaddress.ip_address(host.partition("%")[0])
    return str(getattr(address, "ipv4_mapped", None) or address), port


def _connections(port: int) -> Iterator[tuple[Peer, socket.socket]]:
    """This process's TCP connections at `port`, by a file of our own each: the older ones first, mostly."""
    for number in sorted(int(name) for name in os.listdir("/proc/self/fd")):
        try:
            own = os.dup(number)  # The number may be another file's from one moment to the next, this one not.
        except OSError:
            continue
        if not stat.S_ISSOCK(os.fstat(own).st_mode):
            os.close(own)
            continue
        with socket.socket(fileno=own) as connection, contextlib.suppress(OSError):  # It listens, or has just gone.
            if connection.family not in (socket.AF_INET, socket.AF_INET6) or connection.getsockname()[1] != port:
                continue
            if is_established(connection):
                yield _peer(*connection.getpeername()[:2]), connection


def hang_up(port: int, peers: Collection[Peer], most: int) -> tuple[int, int]:
    """Ends the connections with these peers, and those beyond `most`; how many of either there were."""
    late, beyond, others = 0, 0, 0
    for peer, connection in _connections(port):
        is_late = peer in peers
        others += not is_late
        if is_late or others > most:
            with contextlib.suppress(OSError):  # Its client has just gone.
                connection.shutdown(socket.SHUT_RDWR)
            late += is_late
            beyond += not is_late
    return late, beyond


@dataclasses.dataclass(frozen=True)
class Answer:
    due: float
    peer: str
    size: int


class Untaken:
    """The answers that are on their way, the oldest first."""

    def __init__(self, held: Held, patience: float) -> None:
        self._held, self._patience = held, patience
        self._answers: dict[int, Answer] = {}
        self._numbers = itertools.count()

    def add(self, peer: str, size: int) -> int:
        """The number by which it is dropped when it has been taken."""
        number = next(self._numbers)
        self._answers[number] = Answer(asyncio.get_running_loop().time() + self._patience, peer, size)
        self._held.add(size)
        return number

    def drop(self, number: int) -> None:
        found = self._answers.pop(number, None)
        if found is not None:
            self._held.drop(found.size)

    async def watch(self, port: int, most: int) -> None:
        """Ends, for ever, connections that have not taken an answer in time, and those beyond `most`."""
        while True:
            await asyncio.sleep(min(1.0, self._patience))
            try:
                await self._end_late(port, most)
            except (OSError, ValueError) as error:  # Where no file can be opened any more, some will be closed.
                log.warning("gRPC: connections that do not take their answers stay for now: %s", error)

    async def _end_late(self, port: int, most: int) -> None:
        late = {peer_of(each.peer) for each in self._late()}
        if late or len(os.listdir("/proc/self/fd")) > most:
            self._say(*await asyncio.to_thread(hang_up, port, late, most), most)

    def _say(self, late: int, beyond: int, most: int) -> None:
        if late:
            self._held.sent_away += late
            log.warning("gRPC: %d connections did not take their answers in %g s", late, self._patience)
        if beyond:
            log.warning("gRPC: %d connections more than %d (--max-connections) were ended", beyond, most)

    def _late(self) -> list[Answer]:
        now = asyncio.get_running_loop().time()
        return list(itertools.takewhile(lambda each: each.due <= now, self._answers.values()))
