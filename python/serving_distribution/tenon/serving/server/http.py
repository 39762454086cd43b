"""The HTTP side but for infer: KServe's endpoints for health and metadata, Triton's extensions, errors, the token."""

import asyncio
import dataclasses
import hmac
import math
from collections.abc import Awaitable, Callable
from typing import Any

import prometheus_client
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from kserve.errors import ModelNotFound
from kserve.protocol.dataplane import DataPlane
from kserve.protocol.rest.v2_endpoints import V2Endpoints
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from ..errors import BadRequest, Closed, DeadlineExceeded, PoolError, QueueFull
from . import extension_routes, wire
from .aside import Unanswered
from .catalog import Catalog
from .credentials import Credentials
from .held import Held, Share
from .served import Served
from .shared import Regions
from .sources import Unusable

OPEN = ("/v2/health/live", "/v2/health/ready")  #: Whoever starts and stops the process has no token.


class TooLarge(PoolError):
    """More bytes than a request may have."""


class NotReady(PoolError):
    """The server starts or stops."""


class Forbidden(PoolError):
    """What this server does not let callers do."""


class Missing(PoolError):
    """What this server does not do."""


class TooSlow(PoolError):
    """A body that did not arrive in time."""


def status_of(error: Exception) -> int:
    kinds = [(BadRequest, 400), (ModelNotFound, 404), (TooSlow, 408), (TooLarge, 413), (QueueFull, 503)]
    kinds += [(Unusable, 400), (Forbidden, 403), (Missing, 501)]
    kinds += [(Closed, 503), (NotReady, 503), (Unanswered, 503), (DeadlineExceeded, 504)]
    return next((status for kind, status in kinds if isinstance(error, kind)), 500)


def refusal(error: Exception) -> JSONResponse:
    headers = {"Retry-After": str(math.ceil(error.retry_after))} if isinstance(error, QueueFull) else None
    return JSONResponse({"error": str(error)}, status_of(error), headers)


@dataclasses.dataclass(frozen=True)
class House:
    """What both protocols serve, and their limits."""

    catalog: Catalog
    regions: Regions
    held: Held
    most: int  #: Bytes of a request.
    patience: float  #: Seconds that it may take to arrive.
    credentials: Credentials
    allows_control: bool

    def access(self, model: Served, share: Share) -> wire.Access:
        return wire.Access(self.regions, model.takes, share.take, model.most_json)

    def check_control(self) -> None:
        if not self.allows_control:
            raise Forbidden("models are loaded and unloaded from outside only with --allow-control")


async def body_of(
    request: Request, most: int, patience: float, share: Share, limit: str = " (--max-request-mb)"
) -> bytearray:
    """The body; what is too long is refused before it is kept, and what comes too slowly is not waited for."""
    claimed = request.headers.get("content-length", "0")
    body = bytearray()
    codings = [*request.headers.getlist("content-encoding"), *request.headers.getlist("transfer-encoding")]
    if {each.strip().lower() for each in ",".join(codings).split(",")} - {"", "identity", "chunked"}:
        raise BadRequest("compressed requests are not implemented")
    if claimed.isdigit() and int(claimed) > most:
        raise TooLarge(f"the request has {claimed} bytes, but {most} at most are taken{limit}")
    try:
        async with asyncio.timeout(patience):
            async for part in request.stream():
                if len(body) + len(part) > most:
                    raise TooLarge(f"the request has more than {most} bytes{limit}")
                share.take(len(part))
                body += part
    except TimeoutError:
        of = f" of {claimed}" if "content-length" in request.headers else ""
        raise TooSlow(f"{len(body)}{of} bytes came within {patience:g} s (--patience)") from None
    return body


def brings(authorization: bytes, token: str | None) -> bool:
    """Whether a request that says this has the token; of the scheme's name any spelling does."""
    if token is None:
        return True
    scheme, _, brought = authorization.partition(b" ")
    return hmac.compare_digest(brought.strip(), token.encode()) and scheme.lower() == b"bearer"


class Guard:
    """Lets nobody in who does not bring the token."""

    def __init__(self, app: Callable[..., Awaitable[None]], credentials: Credentials) -> None:
        self._app, self._credentials = app, credentials

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN:
            brought = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
            if not brings(brought, self._credentials.token):
                answer = JSONResponse({"error": "a bearer token is needed"}, 401, {"WWW-Authenticate": "Bearer"})
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def application(dataplane: DataPlane, registry: prometheus_client.CollectorRegistry, house: House) -> FastAPI:
    """All routes but that of infer."""
    app = FastAPI(title="tenon serve", docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    front = V2Endpoints(dataplane)

    async def server_ready() -> Any:
        if not await dataplane.ready():
            raise NotReady("the server is not ready")
        return {"ready": True}

    async def metrics() -> Response:
        return Response(prometheus_client.generate_latest(registry), media_type=prometheus_client.CONTENT_TYPE_LATEST)

    app.add_api_route("/v2", front.metadata)
    app.add_api_route("/v2/health/live", front.live)
    app.add_api_route("/v2/health/ready", server_ready)
    app.add_api_route("/v2/models", front.models)
    app.add_api_route("/metrics", metrics)
    extension_routes.add_to(app, house, body_of)

    async def refused(_: Request, error: Exception) -> JSONResponse:
        return refusal(error)

    async def unheard(_: Request, error: Exception) -> Response:
        return Response(status_code=499)  # Nobody waits for the answer.

    async def unknown(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)

    app.add_exception_handler(HTTPException, unknown)
    for kind in (PoolError, ModelNotFound, Unusable):
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(ClientDisconnect, unheard)
    return app
