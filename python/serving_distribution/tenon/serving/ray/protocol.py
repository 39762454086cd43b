"""The Open Inference Protocol behind Ray Serve's HTTP: metadata, readiness and infer of models."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from ..errors import BadRequest, Closed, DeadlineExceeded, PoolError, QueueFull, shown
from ..pool import Pool
from ..server import wire
from ..server.shared import Regions

_STATUSES = ((BadRequest, 400), (QueueFull, 503), (Closed, 503), (DeadlineExceeded, 504))


class _Unknown(PoolError):
    """A path or model that is not there."""


class Protocol:
    def __init__(self, pools: Mapping[str, Pool]) -> None:
        self._pools = pools
        self._regions = Regions(False)  # Who calls may be on another machine.
        self._types = {
            name: [{each: wire.type_name(pool.engine, each) for each in ports} for ports in (pool.inputs, pool.outputs)]
            for name, pool in pools.items()
        }

    async def answered(self, request: Request) -> Response:
        path = request.url.path.removeprefix(request.scope.get("root_path", "")).rstrip("/")
        try:
            return await self._answer(request, path)
        except PoolError as error:
            status = next((code for kind, code in _STATUSES if isinstance(error, kind)), 500)
            return JSONResponse({"error": str(error)}, 404 if isinstance(error, _Unknown) else status)

    async def _answer(self, request: Request, path: str) -> Response:
        if path in ("/v2/health/live", "/v2/health/ready"):
            return JSONResponse({path.rpartition("/")[2]: True})
        if path == "/v2":
            return JSONResponse({"name": "tenon", "version": "1", "extensions": ["binary_tensor_data"]})
        name, _, action = path.removeprefix("/v2/models/").partition("/")
        if not path.startswith("/v2/models/") or action not in ("", "ready", "infer"):
            raise _Unknown(f"there is no {shown(path)}")
        if name not in self._pools:
            raise _Unknown(f"there is no model '{shown(name)}'; the models are {', '.join(map(repr, self._pools))}")
        if action == "infer":
            return await self._inferred(request, name)
        return JSONResponse(self._metadata(name) if not action else {"name": name, "ready": True})

    def _metadata(self, name: str) -> dict[str, Any]:
        pool = self._pools[name]
        inputs, outputs = (
            [{"name": each, "datatype": types[each], "shape": list(port.shape)} for each, port in ports.items()]
            for ports, types in zip((pool.inputs, pool.outputs), self._types[name], strict=True)
        )
        return {"name": name, "versions": ["1"], "platform": "tenon", "inputs": inputs, "outputs": outputs}

    async def _inferred(self, request: Request, name: str) -> Response:
        taken, given = self._types[name]
        body, length = await request.body(), request.headers.get("inference-header-content-length")
        try:
            lead = wire.json_length(None if length is None else length.encode("latin-1"))
            access = wire.Access(self._regions, lambda *_: None, lambda _: None, len(body))
            asked, arrays = wire.read_http(body, lead, taken, access)
            wanted = wire.wanted(asked, given)
            head = {"model_name": name, "model_version": "1"} | wire.identity(asked)
            timeout = wire.seconds(wire.parameters(asked, "the request").get("timeout"))
            found = await self._pools[name].ainfer(arrays, timeout=timeout)
            parts = wire.written(head, found, given, wanted, self._regions)
        except PoolError as error:
            error.args = (f"[model '{name}'] {error}",)
            raise
        if len(parts) == 1:
            return Response(parts[0], media_type="application/json")
        headers = {"Inference-Header-Content-Length": str(len(parts[0]))}
        return Response(b"".join(parts), media_type="application/octet-stream", headers=headers)
