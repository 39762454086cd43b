"""Load for a server of the Open Inference Protocol: prepared requests over connections that stay open."""

import asyncio
import json
import time
from collections.abc import Coroutine, Sequence
from typing import Any

import numpy as np
import uvloop
from tenon.serving.turns import take_short_turns

_IDLE = 2.0


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


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer, self._used = reader, writer, time.perf_counter()

    @property
    def is_fresh(self) -> bool:
        """Servers close what has been idle for some seconds."""
        return time.perf_counter() - self._used < _IDLE

    @classmethod
    async def to(cls, port: int) -> "Connection":
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 24))

    async def ask(self, sent: bytes) -> bytes:
        """The answer's body."""
        self._writer.write(sent)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(line for line in head.split("\r\n") if line.startswith("content-length:"))
        body = await self._reader.readexactly(int(length.split(":")[1]))
        if " 200 " not in head[:20]:
            raise Refused(f"{head.splitlines()[0]}: {body[:300]!r}")
        self._used = time.perf_counter()
        return body

    def close(self) -> None:
        self._writer.close()


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
