"""Triton's extensions over gRPC: messages that KServe's SDK does not have, and the calls that take them.

The messages stand in a pool of descriptors of their own: whoever imports Triton's client as well has the same names.
"""

from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.json_format import ParseDict

from . import extension_routes, extensions
from .http import House, Missing

SERVICE = "inference.GRPCInferenceService"
_KINDS = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _KINDS.TYPE_STRING,
    "bool": _KINDS.TYPE_BOOL,
    "int64": _KINDS.TYPE_INT64,
    "uint64": _KINDS.TYPE_UINT64,
    "int32": _KINDS.TYPE_INT32,
    "bytes": _KINDS.TYPE_BYTES,
}
# Fields by name: number and type; "*" repeats. A map is a repeated pair of key and value, as it is on the wire.
_MESSAGES: dict[str, dict[str, tuple[int, str]]] = {
    "Nothing": {},
    "IndexRequest": {"ready": (2, "bool")},
    "ModelIndex": {"name": (1, "string"), "version": (2, "string"), "state": (3, "string"), "reason": (4, "string")},
    "IndexResponse": {"models": (1, "*ModelIndex")},
    "Parameter": {"key": (1, "string")},
    "ChangeRequest": {"first_name": (1, "string"), "model_name": (2, "string"), "parameters": (3, "*Parameter")},
    "ChangeResponse": {"model_name": (1, "string"), "is_done": (2, "bool")},
    "Named": {"name": (1, "string")},
    "NamedVersion": {"name": (1, "string"), "version": (2, "string")},
    "Region": {"name": (1, "string"), "key": (2, "string"), "offset": (3, "uint64"), "byte_size": (4, "uint64")},
    "RegionEntry": {"key": (1, "string"), "value": (2, "Region")},
    "RegionsResponse": {"regions": (1, "*RegionEntry")},
    "Duration": {"count": (1, "uint64"), "ns": (2, "uint64")},
    "InferStatistics": {
        "success": (1, "Duration"),
        "fail": (2, "Duration"),
        "queue": (3, "Duration"),
        "compute_infer": (5, "Duration"),
    },
    "ModelStatistics": {
        "name": (1, "string"),
        "version": (2, "string"),
        "inference_count": (4, "uint64"),
        "execution_count": (5, "uint64"),
        "inference_stats": (6, "InferStatistics"),
    },
    "StatisticsResponse": {"model_stats": (1, "*ModelStatistics")},
    "ConfigInput": {"name": (1, "string"), "data_type": (2, "int32"), "dims": (4, "*int64")},
    "ConfigOutput": {"name": (1, "string"), "data_type": (2, "int32"), "dims": (3, "*int64")},
    "Config": {
        "name": (1, "string"),
        "platform": (2, "string"),
        "max_batch_size": (4, "int32"),
        "input": (5, "*ConfigInput"),
        "output": (6, "*ConfigOutput"),
        "backend": (17, "string"),
    },
    "ConfigResponse": {"config": (1, "Config")},
    "StreamResponse": {"error_message": (1, "string"), "infer_response": (2, "bytes")},  # Bytes: a message in it.
}
_TYPE_NUMBERS = {"BOOL": 1, "UINT8": 2, "INT8": 6, "INT32": 8, "INT64": 9, "FP16": 10, "FP32": 11, "BF16": 14}
_MISSING = {
    "TraceSetting": "trace settings",
    "LogSettings": "log settings",
    "CudaSharedMemoryStatus": "CUDA shared memory",
    "CudaSharedMemoryRegister": "CUDA shared memory",
    "CudaSharedMemoryUnregister": "CUDA shared memory",
}


def _made_messages() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="tenon_extensions.proto", package="tenon", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            bare = kind.removeprefix("*")
            label = _KINDS.LABEL_REPEATED if kind != bare else _KINDS.LABEL_OPTIONAL
            made = message.field.add(
                name=field, number=number, label=label, type=_SCALARS.get(bare, _KINDS.TYPE_MESSAGE)
            )
            if bare not in _SCALARS:
                made.type_name = f".tenon.{bare}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tenon.{name}")) for name in _MESSAGES}


_M = _made_messages()
Call = Callable[[Any], Awaitable[dict[str, Any]]]


class Extensions:
    """A call per method: from a request to what the answer's message holds."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def index(self, request: Any) -> dict[str, Any]:
        found = await self._house.catalog.index()
        return {"models": [each for each in found if not request.ready or each["state"] == "READY"]}

    async def load(self, request: Any) -> dict[str, Any]:
        return await self._change(request, self._house.catalog.load_now)

    async def unload(self, request: Any) -> dict[str, Any]:
        return await self._change(request, self._house.catalog.unload_now)

    async def _change(self, request: Any, change: Callable[[str], Awaitable[None]]) -> dict[str, Any]:
        """Triton's messages have the model's name in field 2, behind a repository's; KServe's in field 1."""
        self._house.check_control()
        extension_routes.check_parameters({each.key: None for each in request.parameters})
        name = request.model_name or request.first_name
        await change(name)
        return {"model_name": name, "is_done": True}

    async def metadata(self, request: Any) -> dict[str, Any]:
        return extensions.metadata(self._house.catalog, request.name, request.version)

    async def configuration(self, request: Any) -> dict[str, Any]:
        found = extensions.configuration(self._house.catalog.find(request.name, request.version))
        for each in [*found["input"], *found["output"]]:
            each["data_type"] = _TYPE_NUMBERS[each["data_type"].removeprefix("TYPE_")]
        return {"config": found}

    async def statistics(self, request: Any) -> dict[str, Any]:
        return extensions.statistics(self._house.catalog, request.name, request.version)

    async def regions(self, request: Any) -> dict[str, Any]:
        return {"regions": [{"key": each["name"], "value": each} for each in self._house.regions.status(request.name)]}

    async def register(self, request: Any) -> dict[str, Any]:
        self._house.regions.register(request.name, request.key, request.offset, request.byte_size)
        return {}

    async def unregister(self, request: Any) -> dict[str, Any]:
        self._house.regions.unregister(request.name)
        return {}


def handlers(house: House) -> dict[str, grpc.RpcMethodHandler]:
    """By the method's name."""
    calls = Extensions(house)
    found = {
        "RepositoryIndex": _handler(calls.index, "IndexRequest", "IndexResponse"),
        "RepositoryModelLoad": _handler(calls.load, "ChangeRequest", "ChangeResponse"),
        "RepositoryModelUnload": _handler(calls.unload, "ChangeRequest", "ChangeResponse"),
        "ModelConfig": _handler(calls.configuration, "NamedVersion", "ConfigResponse"),
        "ModelStatistics": _handler(calls.statistics, "NamedVersion", "StatisticsResponse"),
        "SystemSharedMemoryStatus": _handler(calls.regions, "Named", "RegionsResponse"),
        "SystemSharedMemoryRegister": _handler(calls.register, "Region", "Nothing"),
        "SystemSharedMemoryUnregister": _handler(calls.unregister, "Named", "Nothing"),
    }

    def missing(what: str) -> Call:
        async def refuse(request: Any) -> dict[str, Any]:
            raise Missing(f"{what}: not implemented")

        return refuse

    return found | {name: _handler(missing(what), "Nothing", "Nothing") for name, what in _MISSING.items()}


def _handler(call: Call, request: str, response: str) -> grpc.RpcMethodHandler:
    async def answered(message: Any, context: Any) -> Any:
        return ParseDict(await call(message), _M[response]())

    return grpc.unary_unary_rpc_method_handler(answered, _M[request].FromString, _M[response].SerializeToString)


def streamed(answer: bytes = b"", error: str = "") -> Any:
    """A message of ModelStreamInfer."""
    return _M["StreamResponse"](infer_response=answer, error_message=error)
