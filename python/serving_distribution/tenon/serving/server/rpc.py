"""The gRPC side: KServe's servicer, with an infer call that leaves raw contents raw."""

import asyncio
import functools
import logging
import math
from collections.abc import AsyncIterator
from typing import Any

import grpc
import numpy as np
from kserve.errors import ModelNotFound
from kserve.protocol.dataplane import DataPlane
from kserve.protocol.grpc import grpc_predict_v2_pb2 as pb
from kserve.protocol.grpc.servicer import InferenceServicer

from ..answers import Outputs
from ..errors import BadRequest, PoolError, shown
from . import extensions, http, triton, wire
from .calls import Call, Calls
from .places import Places
from .served import Served
from .shared import Place
from .untaken import Untaken

log = logging.getLogger("tenon.serving")
_CONTENTS = {
    "FP32": "fp32_contents",
    "INT8": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "UINT8": "uint_contents",
    "BOOL": "bool_contents",
}
_LEAST_KEEPALIVE = 1.0  # Seconds: who is asked more often, and does not answer as soon, may be there all the same.


def _parameter(of: Any, name: str) -> Any:
    """A parameter's value, of whatever type it is; None: there is none."""
    if name not in of.parameters:
        return None
    kind = of.parameters[name].WhichOneof("parameter_choice")
    return None if kind is None else getattr(of.parameters[name], kind)


class Asked:
    """A request of infer. Its message goes as soon as its arrays are there, which are copies of what it holds."""

    def __init__(self, message: Any) -> None:
        self.message = message
        self.id, self.model_name = message.id, message.model_name

    @classmethod
    def read(cls, data: bytes) -> "Asked":
        return cls(pb.ModelInferRequest.FromString(data))


def _contents(name: str, datatype: str, contents: Any) -> list[Any]:
    """The numbers of an input that come one by one, in the field that its type has."""
    expected = _CONTENTS[datatype]
    for field, _ in contents.ListFields():
        if field.name != expected:
            raise BadRequest(f"input '{name}' has {field.name}, but {datatype} comes in {expected}")
    return list(getattr(contents, expected))


def _arrays(request: Any, types: dict[str, str], access: wire.Access) -> dict[str, np.ndarray]:
    raw, at = request.raw_input_contents, 0
    found: dict[str, np.ndarray] = {}
    for tensor in request.inputs:
        name, shape = tensor.name, list(tensor.shape)
        wire.check_name(name, "input", types)
        if name in found:
            raise BadRequest(f"input '{name}' is given twice")
        if raw and tensor.HasField("contents"):
            raise BadRequest(f"input '{name}' has contents beside raw contents")
        place = wire.place_of(name, functools.partial(_parameter, tensor))
        if place is not None:
            found[name] = wire.from_shared(name, tensor.datatype, shape, place, types, access)
        elif raw:
            if at == len(raw):
                raise BadRequest(f"there are {len(request.inputs)} inputs, but {len(raw)} raw contents")
            found[name] = wire.from_bytes(name, tensor.datatype, shape, raw[at], types)
            at += 1
        else:
            if types[name] != tensor.datatype or tensor.datatype in wire.ONLY_BINARY:
                wire.from_numbers(name, tensor.datatype, shape, [], types)  # Says what is wrong.
            access.takes(name, shape)
            numbers = _contents(name, tensor.datatype, tensor.contents)
            found[name] = wire.from_numbers(name, tensor.datatype, shape, numbers, types)
            access.hold(found[name].nbytes)
    if at != len(raw):
        raise BadRequest(f"there are {len(request.inputs)} inputs, but {len(raw)} raw contents")
    return found


def _outputs(request: Any, given: dict[str, str]) -> dict[str, Place | None]:
    """The outputs that are asked for, and where in shared memory they go."""
    if not request.outputs:
        return dict.fromkeys(given)
    found = {}
    for output in request.outputs:
        wire.check_name(output.name, "output", given)
        if output.name in found:
            raise BadRequest(f"output '{output.name}' is asked for twice")
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

    async def ModelInfer(self, asked: Asked, context: Call) -> Any:
        request, asked.message = asked.message, None
        model = self._house.catalog.find(request.model_name, request.model_version)
        pool, types, given = model.pool, model.input_types, model.output_types
        try:
            places = _outputs(request, given)
            limits = [wire.seconds(_parameter(request, "timeout")), context.time_remaining()]
            arrays = _arrays(request, types, self._house.access(model, context.share))
            timeout = min((each for each in limits if each is not None), default=None)
            del request
            found = await pool.ainfer(arrays, timeout=timeout, lend=context.share.lend)
            return self._answer(asked.id, model, given, places, found)
        except PoolError as error:
            error.args = (f"[model '{asked.model_name}'] {error}",)
            raise

    def _answer(
        self, identity: str, model: Served, given: dict[str, str], places: dict[str, Place | None], found: Outputs
    ) -> Any:
        """`given`: the types of the plan that took the request; the model may have another one by now."""
        response = pb.ModelInferResponse(id=identity, model_name=model.name, model_version=model.version)
        for name, place in places.items():
            value = found[name]
            output = response.outputs.add(name=name, datatype=given[name], shape=value.shape)
            if place is None:
                response.raw_output_contents.append(value.tobytes())
                continue
            self._house.regions.write(name, place, value)
            response.raw_output_contents.append(b"")  # Clients count them by the outputs.
            for part, told in wire.told(place, value).items():
                field = {"string_param" if isinstance(told, str) else "int64_param": told}
                output.parameters[f"shared_memory_{part}"].CopyFrom(pb.InferParameter(**field))
        return response

    async def ModelStreamInfer(self, requests: AsyncIterator[Any], context: Call) -> AsyncIterator[Any]:
        """Requests of a stream are answered one after another; one that is refused does not end the stream."""
        async for asked in requests:
            if isinstance(asked, PoolError):
                yield triton.streamed(pb.ModelInferResponse().SerializeToString(), str(asked))
                continue
            try:
                answer = await self.ModelInfer(asked, context)
                answer.parameters["triton_final_response"].bool_param = True  # Some clients wait for it.
                yield triton.streamed(answer.SerializeToString())
            except (PoolError, ModelNotFound) as error:
                empty = pb.ModelInferResponse(id=asked.id, model_name=shown(asked.model_name))
                yield triton.streamed(empty.SerializeToString(), str(error))


def _handlers(servicer: Servicer) -> dict[str, grpc.RpcMethodHandler]:
    """KServe's own registration would hide the calls that Triton has otherwise."""
    found = {
        name: grpc.unary_unary_rpc_method_handler(
            getattr(servicer, name),
            Asked.read if name == "ModelInfer" else getattr(pb, f"{name}Request").FromString,
            getattr(pb, f"{name}Response").SerializeToString,
        )
        for name in ("ServerLive", "ServerReady", "ServerMetadata", "ModelReady", "ModelMetadata", "ModelInfer")
    }
    found["ModelStreamInfer"] = grpc.stream_stream_rpc_method_handler(
        servicer.ModelStreamInfer, Asked.read, lambda answer: answer.SerializeToString()
    )
    return found


class Server:
    """The server of gRPC; OSError when the address is taken."""

    def __init__(self, dataplane: DataPlane, house: http.House, host: str, port: int, most: int) -> None:
        untaken = Untaken(house.held, house.patience)
        calls = Calls(house.credentials, house.held, Places(house.held, house.most, house.patience), untaken, most)
        self._calls = calls
        self._server = grpc.aio.server(interceptors=[calls], options=_options(house))
        handlers = _handlers(Servicer(dataplane, house)) | triton.handlers(house)
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(triton.SERVICE, handlers),))
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if house.credentials.tls is None:
                self._port = self._server.add_insecure_port(address)
            else:
                self._port = self._server.add_secure_port(address, house.credentials.for_calls())
        except RuntimeError as error:
            raise OSError(f"no gRPC at {address}: {error}") from None
        self._untaken, self._most = untaken, most
        self._address = f"{address.rpartition(':')[0]}:{self._port}"

    async def start(self) -> None:
        logging.getLogger("grpc._cython.cygrpc").addFilter(_is_news)
        await self._server.start()
        log.info("gRPC at %s", self._address)
        self._watching = asyncio.create_task(self._untaken.watch(self._port, self._most))

    async def stop(self, grace: float) -> None:
        """Takes no calls from now on; those under way have so many seconds, streams that pause have none."""
        self._calls.end()
        await self._server.stop(grace)
        self._watching.cancel()


def _is_news(record: logging.LogRecord) -> bool:
    """Clients that go before they have their answer are none."""
    return record.exc_info is None or not isinstance(record.exc_info[1], grpc._cython.cygrpc.ExecuteBatchError)


def _options(house: http.House) -> list[tuple[str, int]]:
    keepalive = max(house.patience, _LEAST_KEEPALIVE)
    if keepalive > house.patience:
        log.info("gRPC's clients have %g s to answer a ping: --patience %g is less", keepalive, house.patience)
    return [
        ("grpc.max_receive_message_length", min(house.most, 2**31 - 1)),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),
        ("grpc.server_handshake_timeout_ms", math.ceil(house.patience * 1e3)),  # Whoever connects and says nothing.
        ("grpc.keepalive_time_ms", math.ceil(keepalive * 1e3)),  # Whoever is gone without a word.
        ("grpc.keepalive_timeout_ms", math.ceil(keepalive * 1e3)),
        ("grpc.max_connection_idle_ms", math.ceil(keepalive * 1e3)),  # Whoever has no call: such are not asked.
    ]
