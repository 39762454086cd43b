"""The HTTP routes of metadata and of Triton's extensions: repository, configuration, statistics, shared memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import FastAPI, Request, Response

from ..errors import BadRequest, shown
from . import extensions
from .held import Share

if TYPE_CHECKING:
    from .http import House

Body = Callable[[Request, int, float, Share, str], Awaitable[bytearray]]
_MOST = 1 << 16  # Bytes of a body that only names things.
_MISSING = {
    "/v2/trace/setting": "trace settings",
    "/v2/models/{model}/trace/setting": "trace settings",
    "/v2/logging": "log settings",
    "/v2/cudasharedmemory/{rest:path}": "CUDA shared memory",
    "/v2/models/{model}/generate": "the generate extension",
    "/v2/models/{model}/generate_stream": "the generate extension",
}


async def _object(body: Body, request: Request, house: House) -> dict[str, Any]:
    try:
        with Share(house.held) as share:
            found = orjson.loads(await body(request, _MOST, house.patience, share, "") or b"{}")
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the request is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise BadRequest("the request is no JSON object")
    return found


def check_parameters(names: object) -> None:
    """Triton's clients can send a configuration or files with a load; here both stand in the folder."""
    given = [name for name in (names if isinstance(names, dict) else {}) if name != "unload_dependents"]
    if given:
        raise BadRequest(
            f"the parameter '{shown(given[0])}' is not implemented: configuration and files stand in the folder"
        )


def add_to(app: FastAPI, house: House, body: Body) -> None:
    _add_models(app, house)
    _add_repository(app, house, body)
    _add_shared_memory(app, house, body)
    _add_missing(app)


def _add_models(app: FastAPI, house: House) -> None:
    async def metadata(model: str, version: str | None = None) -> Any:
        return extensions.metadata(house.catalog, model, version)

    async def ready(model: str, version: str | None = None) -> Any:
        house.catalog.find(model, version)
        return {"name": model, "ready": True}

    async def configuration(model: str, version: str | None = None) -> Any:
        return extensions.configuration(house.catalog.find(model, version))

    async def statistics(model: str = "", version: str | None = None) -> Any:
        return extensions.statistics(house.catalog, model, version)

    app.add_api_route("/v2/models/stats", statistics)
    for path in ("/v2/models/{model}", "/v2/models/{model}/versions/{version}"):
        app.add_api_route(path, metadata)
        app.add_api_route(path + "/ready", ready)
        app.add_api_route(path + "/config", configuration)
        app.add_api_route(path + "/stats", statistics)


def _add_repository(app: FastAPI, house: House, body: Body) -> None:
    async def index(request: Request) -> Any:
        asked = await _object(body, request, house)
        found = await house.catalog.index()
        return [each for each in found if not asked.get("ready") or each["state"] == "READY"]

    async def load(request: Request, model: str) -> Any:
        house.check_control()
        check_parameters((await _object(body, request, house)).get("parameters"))
        await house.catalog.load_now(model)
        return {"name": model, "load": True}

    async def unload(request: Request, model: str) -> Any:
        house.check_control()
        check_parameters((await _object(body, request, house)).get("parameters"))
        await house.catalog.unload_now(model)
        return {"name": model, "unload": True}

    app.add_api_route("/v2/repository/index", index, methods=["POST"])
    app.add_api_route("/v2/repository/models/{model}/load", load, methods=["POST"])
    app.add_api_route("/v2/repository/models/{model}/unload", unload, methods=["POST"])


def _add_shared_memory(app: FastAPI, house: House, body: Body) -> None:
    async def status(region: str = "") -> Any:
        return house.regions.status(region)

    async def register(request: Request, region: str) -> Any:
        asked = await _object(body, request, house)
        key, offset, size = asked.get("key"), asked.get("offset", 0), asked.get("byte_size")
        if not isinstance(key, str) or type(offset) is not int or type(size) is not int:
            raise BadRequest(f"region '{shown(region)}' has no 'key' and 'byte_size', or ones of another type")
        house.regions.register(region, key, offset, size)
        return Response()

    async def unregister(region: str = "") -> Any:
        house.regions.unregister(region)
        return Response()

    for path in ("/v2/systemsharedmemory", "/v2/systemsharedmemory/region/{region}"):
        app.add_api_route(path + "/status", status)
        app.add_api_route(path + "/unregister", unregister, methods=["POST"])
    app.add_api_route("/v2/systemsharedmemory/region/{region}/register", register, methods=["POST"])


def _add_missing(app: FastAPI) -> None:
    from .http import Missing

    def refusal(what: str) -> Callable[[], Awaitable[Any]]:
        async def refuse() -> Any:
            raise Missing(f"{what}: not implemented")

        return refuse

    for path, what in _MISSING.items():
        app.add_api_route(path, refusal(what), methods=["GET", "POST"])
