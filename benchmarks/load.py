"""Load for a server of the Open Inference Protocol: prepared requests over connections that stay open."""

import asyncio
import json
import re
import time
from collections.abc import Coroutine, Sequence
from typing import Any

import numpy as np
import uvloop
from tenon.serving.turns import take_short_turns

_IDLE = 2.0
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


def run(work: Coroutine[None, None, Any]) -> Any:
    """By a loop that costs little and is heard at once: callers stand for other machines, not for load of this one."""
    take_short_turns()
    return uvloop.run(work)


def request(model: str, inputs: dict[str, np.ndarray], types: dict[str, str]) -> bytes:
    """All bytes of a request with binary tensors, both ways."""
    described = [
        {
            "name": name,
            "datatype": types[name],
            "shape": list(value.shape),
            "parameters": {"binary_data_size": value.nbytes},
        }
        for name, value in inputs.items()
    ]
    head = json.dumps({"inputs": described, "parameters": {"binary_data_output": True}}).encode()
    body = head + b"".join(value.tobytes() for value in inputs.values())
    lines = [f"POST /v2/models/{model}/infer HTTP/1.1", "Host: x", f"Content-Length: {len(body)}"]
    lines.append(f"Inference-Header-Content-Length: {len(head)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Refused(RuntimeError):
    """An answer that is none."""


class Connection(asyncio.Protocol):
    """For one request at a time; without streams, which cost as much as some servers do."""

    def __init__(self) -> None:
        self._data, self._head, self._length = bytearray(), 0, 0
        self._answer: asyncio.Future[None] | None = None
        self._transport: Any = None
        self._used = time.perf_counter()

    @property
    def is_fresh(self) -> bool:
        """Servers close what has been idle for some seconds."""
        return time.perf_counter() - self._used < _IDLE

    @classmethod
    async def to(cls, port: int) -> "Connection":
        _, connection = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return connection

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._head:
            self._head = self._data.find(b"\r\n\r\n") + 4
            if self._head < 4:
                self._head = 0
                return
            found = _LENGTH.search(self._data, 0, self._head)
            assert found is not None, bytes(self._data[: self._head])
            self._length = self._head + int(found[1])
        if len(self._data) >= self._length and self._answer is not None and not self._answer.done():
            self._answer.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionResetError("the server has hung up"))

    async def ask(self, sent: bytes) -> bytes:
        """The answer's body."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(sent)
        await self._answer
        head, body = bytes(self._data[: self._head]), bytes(self._data[self._head :])
        self._data, self._head, self._used = bytearray(), 0, time.perf_counter()
        if b" 200 " not in head[:20]:
            raise Refused(f"{head.splitlines()[0]!r}: {body[:300]!r}")
        return body

    def close(self) -> None:
        self._transport.close()


async def saturated(port: int, requests: Sequence[bytes], connections: int, seconds: float) -> float:
    """Answers per second when each connection asks as soon as it has an answer; the first fifth is not counted."""
    begin = time.perf_counter() + seconds / 5
    end = time.perf_counter() + seconds

    async def asking(number: int) -> int:
        connection, answers, index = await Connection.to(port), 0, number
        while time.perf_counter() < end:
            await connection.ask(requests[index % len(requests)])
            answers += begin <= time.perf_counter() < end
            index += connections
        connection.close()
        return answers

    return sum(await asyncio.gather(*map(asking, range(connections)))) / (end - begin)


async def delays(port: int, requests: Sequence[bytes], rate: float, seconds: float, seed: int) -> np.ndarray:
    """Seconds from when each request was due until its answer, infinite for one that was refused; requests come at
    random times, `rate` a second."""
    moments = np.cumsum(np.random.default_rng(seed).exponential(1 / rate, int(rate * seconds)))
    free: list[Connection] = []
    begun = time.perf_counter()

    async def asking(index: int, moment: float) -> float:
        await asyncio.sleep(begun + moment - time.perf_counter())
        connection = free.pop() if free else await Connection.to(port)
        if not connection.is_fresh:
            connection.close()
            connection = await Connection.to(port)
        try:
            await connection.ask(requests[index % len(requests)])
        except Refused:
            return float("inf")
        finally:
            free.append(connection)
        return time.perf_counter() - begun - moment

    found = await asyncio.gather(*(asking(index, moment) for index, moment in enumerate(moments)))
    for connection in free:
        connection.close()
    return np.array(found)
