"""The gRPC side: KServe's servicer, with an infer call that leaves raw contents raw."""

import functools
import hmac
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import numpy as np
from google.protobuf.message import DecodeError
from kserve.errors import ModelNotFound
from kserve.protocol.dataplane import DataPlane
from kserve.protocol.grpc import grpc_predict_v2_pb2 as pb
from kserve.protocol.grpc.servicer import InferenceServicer
from kserve.protocol.infer_type import get_content

from ..errors import BadRequest, PoolError, QueueFull
from ..waiting import Outputs
from . import extensions, http, triton, wire
from .served import Served
from .shared import Place
from .sources import Unusable

_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    413: grpc.StatusCode.RESOURCE_EXHAUSTED,
    500: grpc.StatusCode.INTERNAL,
    501: grpc.StatusCode.UNIMPLEMENTED,
    503: grpc.StatusCode.UNAVAILABLE,
    504: grpc.StatusCode.DEADLINE_EXCEEDED,
}
_OPEN = ("ServerLive", "ServerReady")


def _parameter(of: Any, name: str) -> Any:
    """A parameter's value, of whatever type it is; None: there is none."""
    if name not in of.parameters:
        return None
    kind = of.parameters[name].WhichOneof("parameter_choice")
    return None if kind is None else getattr(of.parameters[name], kind)


def _arrays(request: Any, types: dict[str, str], access: wire.Access) -> dict[str, np.ndarray]:
    raw, at = request.raw_input_contents, 0
    found: dict[str, np.ndarray] = {}
    for tensor in request.inputs:
        name, shape = tensor.name, list(tensor.shape)
        if name in found:
            raise BadRequest(f"input '{name}' is given twice")
        place = wire.place_of(name, functools.partial(_parameter, tensor))
        if place is not None:
            found[name] = wire.from_shared(name, tensor.datatype, shape, place, types, access)
        elif raw:
            if at == len(raw):
                raise BadRequest(f"there are {len(request.inputs)} inputs, but {len(raw)} raw contents")
            found[name] = wire.from_bytes(name, tensor.datatype, shape, raw[at], types)
            at += 1
        else:
            if types.get(name) != tensor.datatype or tensor.datatype in wire.ONLY_BINARY:
                wire.from_numbers(name, tensor.datatype, shape, [], types)  # Says what is wrong.
            access.takes(name, shape)
            found[name] = wire.from_numbers(
                name, tensor.datatype, shape, get_content(tensor.datatype, tensor.contents), types
            )
    if at != len(raw):
        raise BadRequest(f"there are {len(request.inputs)} inputs, but {len(raw)} raw contents")
    return found


def _outputs(request: Any, given: dict[str, str]) -> dict[str, Place | None]:
    """The outputs that are asked for, and where in shared memory they go."""
    if not request.outputs:
        return dict.fromkeys(given)
    found = {}
    for output in request.outputs:
        if output.name not in given:
            raise BadRequest(f"there is no output '{output.name[:200]}'; the outputs are {', '.join(map(repr, given))}")
        described = functools.partial(_parameter, output)
        wire.check_output(output.name, described)
        found[output.name] = wire.place_of(output.name, described)
    return found


class Servicer(InferenceServicer):  # type: ignore[misc]
    def __init__(self, dataplane: DataPlane, house: http.House) -> None:
        super().__init__(dataplane, None)
        self._house = house

    async def ModelReady(self, request: Any, context: Any) -> Any:
        self._house.catalog.find(request.name, request.version)
        return pb.ModelReadyResponse(ready=True)

    async def ModelMetadata(self, request: Any, context: Any) -> Any:
        return pb.ModelMetadataResponse(
            **extensions.metadata(self._house.catalog, request.name, request.version or None)
        )

    async def ModelInfer(self, request: Any, context: Any) -> Any:
        model = self._house.catalog.find(request.model_name, request.model_version)
        pool, types, given = model.pool, model.input_types, model.output_types
        try:
            places = _outputs(request, given)
            limits = [wire.seconds(_parameter(request, "timeout")), context.time_remaining()]
            arrays = _arrays(request, types, self._house.access(model))
            timeout = min((each for each in limits if each is not None), default=None)
            found = await pool.ainfer(arrays, timeout=timeout)
            return self._answer(request, model, places, found)
        except PoolError as error:
            error.args = (f"[model '{request.model_name}'] {error}",)
            raise

    def _answer(self, request: Any, model: Served, places: dict[str, Place | None], found: Outputs) -> Any:
        response = pb.ModelInferResponse(id=request.id, model_name=request.model_name, model_version=model.version)
        for name, place in places.items():
            value = found[name]
            output = response.outputs.add(name=name, datatype=model.output_types[name], shape=value.shape)
            if place is None:
                response.raw_output_contents.append(value.tobytes())
                continue
            self._house.regions.write(name, place, value)
            response.raw_output_contents.append(b"")  # Clients count them by the outputs.
            for part, told in wire.told(place, value).items():
                field = {"string_param" if isinstance(told, str) else "int64_param": told}
                output.parameters[f"shared_memory_{part}"].CopyFrom(pb.InferParameter(**field))
        return response

    async def ModelStreamInfer(self, requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        """Requests of a stream are answered one after another; one that is refused does not end the stream."""
        async for request in requests:
            if isinstance(request, BadRequest):
                yield triton.streamed(pb.ModelInferResponse().SerializeToString(), str(request))
                continue
            try:
                answer = await self.ModelInfer(request, context)
                yield triton.streamed(answer.SerializeToString())
            except (PoolError, ModelNotFound) as error:
                empty = pb.ModelInferResponse(id=request.id, model_name=request.model_name)
                yield triton.streamed(empty.SerializeToString(), str(error))


class Statuses(grpc.aio.ServerInterceptor):
    """Errors become statuses, and nobody is let in without the token."""

    def __init__(self, token: str | None) -> None:
        self._expected = None if token is None else f"Bearer {token}"

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        handler = await continuation(details)
        if handler is None:
            return None
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

        if handler.unary_unary is None:
            return self._stream(handler, read, is_let_in)

        async def answered(request: Any, context: Any) -> Any:
            if not is_let_in:
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "a bearer token is needed")
            try:
                if isinstance(request, BadRequest):
                    raise request
                return await handler.unary_unary(request, context)
            except (PoolError, ModelNotFound, Unusable) as error:
                await _abort(context, error)

        return grpc.unary_unary_rpc_method_handler(answered, read, handler.response_serializer)

    @staticmethod
    def _stream(handler: Any, read: Callable[[bytes], Any], is_let_in: bool) -> Any:
        async def answered(requests: Any, context: Any) -> Any:
            if not is_let_in:
                await context.abort(grpc.StatusCode.UNAUTHENTICATED, "a bearer token is needed")
            async for answer in handler.stream_stream(requests, context):
                yield answer

        return grpc.stream_stream_rpc_method_handler(answered, read, handler.response_serializer)


async def _abort(context: Any, error: Exception) -> None:
    code = _CODES[http.status_of(error)]
    if isinstance(error, QueueFull):
        code = grpc.StatusCode.RESOURCE_EXHAUSTED
        context.set_trailing_metadata((("retry-after", f"{error.retry_after:.3f}"),))
    await context.abort(code, str(error))


def _handlers(servicer: Servicer) -> dict[str, grpc.RpcMethodHandler]:
    """KServe's own registration would hide the calls that Triton has otherwise."""
    found = {
        name: grpc.unary_unary_rpc_method_handler(
            getattr(servicer, name),
            getattr(pb, f"{name}Request").FromString,
            getattr(pb, f"{name}Response").SerializeToString,
        )
        for name in ("ServerLive", "ServerReady", "ServerMetadata", "ModelReady", "ModelMetadata", "ModelInfer")
    }
    found["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(
        servicer.ModelStreamInfer, pb.ModelInferRequest.FromString, lambda answer: answer.SerializeToString()
    )
    return found


def server(dataplane: DataPlane, house: http.House, address: str, tls: tuple[bytes, bytes] | None) -> grpc.aio.Server:
    """A server that is not started; OSError when the address is taken."""
    patience = math.ceil(house.patience * 1e3)
    limits = [
        ("grpc.max_receive_message_length", min(house.most, 2**31 - 1)),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),
        ("grpc.server_handshake_timeout_ms", patience),  # Whoever connects and says nothing.
        ("grpc.keepalive_time_ms", patience),  # Whoever is gone without a word, or takes nothing of an answer.
        ("grpc.keepalive_timeout_ms", patience),
    ]
    made = grpc.aio.server(interceptors=[Statuses(house.token)], options=limits)
    calls = _handlers(Servicer(dataplane, house)) | triton.handlers(house)
    made.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(triton.SERVICE, calls),))
    try:
        if tls is None:
            made.add_insecure_port(address)
        else:
            made.add_secure_port(address, grpc.ssl_server_credentials([tls]))
    except RuntimeError as error:
        raise OSError(f"no gRPC at {address}: {error}") from None
    return made
