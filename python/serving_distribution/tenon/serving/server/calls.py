"""Calls of gRPC before and behind the servicer: who is let in, how messages arrive, what becomes of their answers."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any
from urllib.parse import quote

import grpc
from google.protobuf.message import DecodeError
from kserve.errors import ModelNotFound

from ..errors import BadRequest, Closed, PoolError, QueueFull
from . import http
from .credentials import Credentials
from .held import Held, Share
from .places import Places
from .sources import Unusable
from .untaken import Untaken

_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    408: grpc.StatusCode.DEADLINE_EXCEEDED,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    500: grpc.StatusCode.INTERNAL,
    501: grpc.StatusCode.UNIMPLEMENTED,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}
_OPEN = ("ServerLive", "ServerReady")
_MOST_TOLD = 6000  # Bytes of a status: gRPC's clients have 8 KB for all that stands around a message.


@dataclasses.dataclass(frozen=True)
class Call:
    """What the servicer is told of a call."""

    time_remaining: Callable[[], float | None]
    share: Share


class Calls(grpc.aio.ServerInterceptor):
    """Errors become statuses, and nobody is let in without the token.

    To gRPC every call is a stream of messages: so a call is refused before its message has come, and a message that
    does not come is not waited for.
    """

    def __init__(self, credentials: Credentials, held: Held, places: Places, untaken: Untaken, most: int) -> None:
        self._credentials = credentials
        self._held, self._places, self._untaken = held, places, untaken
        self._count, self._most = 0, most
        self._pauses: set[asyncio.Timeout] = set()  # Of streams, between one request and the next.
        self._is_ending = False

    def end(self) -> None:
        """Streams end behind the answer that is under way."""
        self._is_ending = True
        for pause in self._pauses:
            pause.reschedule(asyncio.get_running_loop().time())

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        handler = await continuation(details)
        if handler is None:
            return None
        name = details.method.rsplit("/", 1)[-1]
        brought = str(dict(details.invocation_metadata).get("authorization", ""))
        is_let_in = name in _OPEN or http.brings(brought.encode(), self._credentials.token)

        def read(message: bytes) -> tuple[int, Any]:
            try:
                return len(message), handler.request_deserializer(message)
            except DecodeError as error:  # Raised here it would be a status without a meaning.
                return len(message), BadRequest(str(error))

        work = self._answered if handler.unary_unary is not None else self._streamed

        async def called(_: Any, context: Any) -> bytes | None:
            if not is_let_in:
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "a bearer token is needed")
            try:
                with Share(self._held) as share:
                    self._begin(context)
                    if name not in _OPEN:  # Whether the server lives is no question of its memory.
                        share.check(1)
                    return await work(handler, context, share)
            except (PoolError, ModelNotFound, Unusable) as error:
                await _abort(context, error)
            return None

        if handler.unary_unary is not None:
            return grpc.stream_unary_rpc_method_handler(called, read)
        return grpc.stream_stream_rpc_method_handler(called, read)

    def _begin(self, context: Any) -> None:
        if self._count >= self._most:
            raise self._held.refusal(f"{self._count} calls are under way, as many as may (--max-connections)")
        self._count += 1
        context.add_done_callback(self._end)

    def _end(self, _: Any) -> None:
        self._count -= 1

    async def _answered(self, handler: Any, context: Any, share: Share) -> bytes:
        message = await self._places.receive(context.read)
        if message is grpc.aio.EOF:
            raise BadRequest("the call has no message")
        size, request = message
        if size:
            share.take(size)
        if isinstance(request, PoolError):
            raise request
        answer = await handler.unary_unary(request, Call(context.time_remaining, share))
        data: bytes = handler.response_serializer(answer)
        number = self._untaken.add(context.peer(), len(data))
        context.add_done_callback(lambda _: self._untaken.drop(number))
        return data

    async def _streamed(self, handler: Any, context: Any, share: Share) -> None:
        async def requests() -> AsyncIterator[Any]:
            while True:
                share.close()  # The request before is answered.
                message = await self._next(context)
                if message is grpc.aio.EOF:
                    return
                size, request = message
                try:
                    share.take(size)
                except QueueFull as full:
                    request = full
                yield request

        with self._places.stream():
            async for answer in handler.stream_stream(requests(), Call(context.time_remaining, share)):
                with self._on_its_way(context, data := handler.response_serializer(answer)):
                    await context.write(data)

    async def _next(self, context: Any) -> Any:
        """A stream's next message."""
        try:
            async with asyncio.timeout(0 if self._is_ending else None) as pause:
                self._pauses.add(pause)
                try:
                    return await context.read()
                finally:
                    self._pauses.discard(pause)
        except TimeoutError:
            raise Closed("the server ends") from None

    @contextlib.contextmanager
    def _on_its_way(self, context: Any, data: bytes) -> Iterator[None]:
        number = self._untaken.add(context.peer(), len(data))
        try:
            yield
        finally:
            self._untaken.drop(number)


async def _abort(context: Any, error: Exception) -> None:
    code = _CODES[http.status_of(error)]
    if isinstance(error, QueueFull):
        code = grpc.StatusCode.RESOURCE_EXHAUSTED
        context.set_trailing_metadata((("retry-after", f"{error.retry_after:.3f}"),))
    await context.abort(code, _short(str(error)))


def _short(text: str) -> str:
    """Of a status that is longer than a client takes, its head: a character is up to 12 bytes on the way."""
    return text if len(quote(text)) <= _MOST_TOLD else f"{text[: _MOST_TOLD // 12]} …"
