"""The gRPC side: KServe's servicer, with an infer call that leaves raw contents raw."""

import hmac
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import numpy as np
from google.protobuf.message import DecodeError
from kserve.errors import ModelNotFound
from kserve.protocol.dataplane import DataPlane
from kserve.protocol.grpc import grpc_predict_v2_pb2 as pb
from kserve.protocol.grpc import grpc_predict_v2_pb2_grpc as services
from kserve.protocol.grpc.servicer import InferenceServicer
from kserve.protocol.infer_type import get_content

from ..errors import BadRequest, PoolError, QueueFull
from . import http, wire

_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    404: grpc.StatusCode.NOT_FOUND,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    500: grpc.StatusCode.INTERNAL,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}
_OPEN = ("ServerLive", "ServerReady")


def _arrays(request: Any, types: dict[str, str]) -> dict[str, np.ndarray]:
    raw = request.raw_input_contents
    if raw and len(raw) != len(request.inputs):
        raise BadRequest(f"there are {len(request.inputs)} inputs, but {len(raw)} raw contents")
    found: dict[str, np.ndarray] = {}
    for number, tensor in enumerate(request.inputs):
        name, shape = tensor.name, list(tensor.shape)
        if name in found:
            raise BadRequest(f"input '{name}' is given twice")
        if raw:
            found[name] = wire.from_bytes(name, tensor.datatype, shape, raw[number], types)
        else:
            if types.get(name) != tensor.datatype or tensor.datatype in wire.ONLY_BINARY:
                wire.from_numbers(name, tensor.datatype, shape, [], types)  # Says what is wrong.
            found[name] = wire.from_numbers(
                name, tensor.datatype, shape, get_content(tensor.datatype, tensor.contents), types
            )
    return found


class Servicer(InferenceServicer):  # type: ignore[misc]
    def __init__(self, dataplane: DataPlane) -> None:
        super().__init__(dataplane, None)

    async def ModelReady(self, request: Any, context: Any) -> Any:
        http.model_of(self._data_plane, request.name, request.version)
        return await super().ModelReady(request, context)

    async def ModelMetadata(self, request: Any, context: Any) -> Any:
        http.model_of(self._data_plane, request.name, request.version)
        return await super().ModelMetadata(request, context)

    async def ModelInfer(self, request: Any, context: Any) -> Any:
        model = http.model_of(self._data_plane, request.model_name, request.model_version)
        pool, types, given = model.pool, model.input_types, model.output_types
        try:
            names = [output.name for output in request.outputs] or list(given)
            for name in names:
                if name not in given:
                    raise BadRequest(f"there is no output '{name}'; the outputs are {', '.join(map(repr, given))}")
            asked = request.parameters["timeout"].int64_param if "timeout" in request.parameters else None
            limits = [each for each in (http.seconds(asked), context.time_remaining()) if each is not None]
            found = await pool.ainfer(_arrays(request, types), timeout=min(limits, default=None))
        except PoolError as error:
            error.args = (f"[model '{request.model_name}'] {error}",)
            raise
        response = pb.ModelInferResponse(id=request.id, model_name=request.model_name, model_version="1")
        for name in names:
            response.outputs.add(name=name, datatype=given[name], shape=found[name].shape)
            response.raw_output_contents.append(found[name].tobytes())
        return response


class Statuses(grpc.aio.ServerInterceptor):
    """Errors become statuses, and nobody is let in without the token."""

    def __init__(self, token: str | None) -> None:
        self._expected = None if token is None else f"Bearer {token}"

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        handler = await continuation(details)
        if handler is None or handler.unary_unary is None:
            return handler
        name = details.method.rsplit("/", 1)[-1]
        brought = str(dict(details.invocation_metadata).get("authorization", ""))
        is_let_in = (
            self._expected is None or name in _OPEN or hmac.compare_digest(brought.encode(), self._expected.encode())
        )

        def read(message: bytes) -> Any:
            try:
                return handler.request_deserializer(message)
            except DecodeError as error:  # Raised here it would be a status without a meaning.
                return BadRequest(str(error))

        async def answered(request: Any, context: Any) -> Any:
            if not is_let_in:
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "a bearer token is needed")
            try:
                if isinstance(request, BadRequest):
                    raise request
                return await handler.unary_unary(request, context)
            except (PoolError, ModelNotFound) as error:
                await _abort(context, error)

        return grpc.unary_unary_rpc_method_handler(answered, read, handler.response_serializer)


async def _abort(context: Any, error: Exception) -> None:
    code = _CODES[http.status_of(error)]
    if isinstance(error, QueueFull):
        code = grpc.StatusCode.RESOURCE_EXHAUSTED
        context.set_trailing_metadata((("retry-after", f"{error.retry_after:.3f}"),))
    await context.abort(code, str(error))


def server(
    dataplane: DataPlane, address: str, most: int, token: str | None, tls: tuple[bytes, bytes] | None
) -> grpc.aio.Server:
    """A server that is not started; OSError when the address is taken."""
    limits = [("grpc.max_receive_message_length", most), ("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0)]
    made = grpc.aio.server(interceptors=[Statuses(token)], options=limits)
    services.add_GRPCInferenceServiceServicer_to_server(Servicer(dataplane), made)
    try:
        if tls is None:
            made.add_insecure_port(address)
        else:
            made.add_secure_port(address, grpc.ssl_server_credentials([tls]))
    except RuntimeError as error:
        raise OSError(f"no gRPC at {address}: {error}") from None
    return made
