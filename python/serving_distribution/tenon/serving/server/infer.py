"""The infer call of HTTP. It stands in front of the framework, which would take as long as the call itself."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from fastapi.responses import JSONResponse
from kserve.errors import ModelNotFound
from starlette.requests import ClientDisconnect, Request

from ..answers import Outputs
from ..errors import Closed, PoolError
from . import wire
from .connections import Exchange, while_there
from .held import Share
from .http import OPEN, House, TooLarge, TooSlow, body_of, refusal
from .sources import Unusable

_ENDS = "the server ends (--grace)"
_PATH = re.compile(r"/v2/models/([^/]+)(?:/versions/([^/]+))?/infer")
_Scope = dict[str, Any]
_Headers = dict[bytes, bytes]
_Fields = list[tuple[bytes, bytes]]


class Infer:
    """An ASGI application: infer calls by itself, all else by `app`."""

    def __init__(self, app: Callable[..., Awaitable[None]], house: House) -> None:
        self._app, self._house = app, house

    async def __call__(self, scope: _Scope, receive: Any, send: Any) -> None:
        path = None
        if scope["type"] == "http":
            path, send = _PATH.fullmatch(scope["path"]), while_there(scope["extensions"]["tenon"], send)
            if scope["extensions"]["tenon"].is_beyond and scope["path"] not in OPEN:
                await self._beyond()(scope, receive, send)
                return
            if scope["method"] == "HEAD":  # As GET: the connection leaves the body out.
                scope = scope | {"method": "GET"}
        if path is None:
            await self._other(scope, receive, send)
            return
        try:
            if scope["method"] == "POST":
                with Share(self._house.held) as share:
                    fields, parts = await self._answered(scope, receive, share, *path.groups())
                await scope["extensions"]["tenon"].answer(fields, parts)
                return
            answer = JSONResponse({"error": "infer is a POST"}, 405, {"Allow": "POST"})
        except ClientDisconnect:
            scope["extensions"]["tenon"].end()
            return
        except (PoolError, ModelNotFound, Unusable) as error:
            if isinstance(error, PoolError):
                error.args = (f"[model '{path[1]}'] {error}",)
            answer = refusal(error)
        except asyncio.CancelledError:  # By uvicorn alone, which gives up what --grace was too short for.
            answer = refusal(Closed(f"[model '{path[1]}'] {_ENDS}"))
        await answer(scope, receive, send)

    async def _other(self, scope: _Scope, receive: Any, send: Any) -> None:
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:  # As above.
            if not scope["extensions"]["tenon"].is_answered:
                await refusal(Closed(_ENDS))(scope, receive, send)

    def _beyond(self) -> JSONResponse:
        why = "there are as many connections as may be (--max-connections)"
        answer = refusal(self._house.held.refusal(why))
        answer.headers["connection"] = "close"
        return answer

    async def _answered(
        self, scope: _Scope, receive: Any, share: Share, name: str, version: str | None
    ) -> tuple[_Fields, list[bytes | memoryview]]:
        """Fields of the answer's head, and its body."""
        house, headers, exchange = self._house, dict(scope["headers"]), scope["extensions"]["tenon"]
        house.catalog.find(name, version)  # Before a body is read that nobody takes.
        lead = wire.json_length(headers.get(b"inference-header-content-length"))
        body = await _body(house, scope, receive, headers, exchange, share, lead or 0)
        model = house.catalog.find(name, version)
        asked, arrays = wire.read_http(body, lead, model.input_types, house.access(model, share))
        outputs = wire.wanted(asked, model.output_types)
        head = {"model_name": name, "model_version": model.version} | wire.identity(asked)
        timeout = wire.seconds(wire.parameters(asked, "the request").get("timeout"))
        pool, given = model.pool, model.output_types
        found = await _while_connected(exchange, pool.ainfer(arrays, timeout=timeout, lend=share.lend))
        parts = wire.written(head, found, given, outputs, house.regions)
        if len(parts) == 1:
            return [(b"content-type", b"application/json")], parts
        length = b"%d" % len(parts[0])
        return [(b"content-type", b"application/octet-stream"), (b"inference-header-content-length", length)], parts


async def _body(
    house: House, scope: _Scope, receive: Any, headers: _Headers, exchange: Exchange, share: Share, lead: int
) -> bytes | bytearray | np.ndarray:
    """A body whose length is said is received where it stays."""
    claimed = headers.get(b"content-length", b"")
    if not claimed.isdigit() or b"content-encoding" in headers or b"transfer-encoding" in headers:
        return await body_of(Request(scope, receive), house.most, house.patience, share)
    if int(claimed) > house.most:
        raise TooLarge(f"the request has {int(claimed)} bytes, but {house.most} at most are taken (--max-request-mb)")
    share.check(int(claimed))
    try:
        return await exchange.body(int(claimed), lead, house.patience, share)
    except TimeoutError as late:
        raise TooSlow(f"{late.args[0]} of {int(claimed)} bytes came within {house.patience:g} s (--patience)") from None


async def _while_connected(exchange: Exchange, work: Awaitable[Outputs]) -> Outputs:
    """What `work` gives. A client that goes away cancels it, which takes its request out of the queue.

    It begins at once, in the same step of the event loop, as an awaited coroutine does and a task does not.
    """
    task = asyncio.current_task()
    assert task is not None
    exchange.call_when_gone(task.cancel)
    try:
        return await work
    except asyncio.CancelledError:
        if exchange.is_gone:
            raise ClientDisconnect from None
        raise
    finally:
        exchange.call_when_gone(None)
