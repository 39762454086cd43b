"""Tensors on the wire: raw bytes stay as they are, numbers are checked, and nothing is converted without a word."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import orjson
import tenon

from ..errors import BadRequest, shown
from .shared import Place, Regions

Described = Callable[[str], Any]  # A parameter of a tensor by its name; None: it has none.

_NAMES = {
    tenon.float32: "FP32",
    tenon.float16: "FP16",
    tenon.bfloat16: "BF16",
    tenon.int8: "INT8",
    tenon.int32: "INT32",
    tenon.int64: "INT64",
    tenon.uint8: "UINT8",
    tenon.bool: "BOOL",
}
_TYPES = {
    "FP32": np.dtype(np.float32),
    "FP16": np.dtype(np.float16),
    "BF16": np.dtype(np.uint16),
    "INT8": np.dtype(np.int8),
    "INT32": np.dtype(np.int32),
    "INT64": np.dtype(np.int64),
    "UINT8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
}
_KINDS = {"f": {int, float}, "i": {int}, "u": {int}, "b": {bool}}  # What of JSON a kind of elements takes.
_WORDS = {
    bool: "true or false",
    int: "whole numbers",
    float: "numbers with a point",
    str: "texts",
    list: "lists beside values",
    dict: "objects",
    type(None): "null",
}
_MOST_AXES = 64  # NumPy's.
ONLY_BINARY = ("FP16", "BF16")  # JSON has no form of them in the protocol.


@dataclasses.dataclass(frozen=True)
class Access:
    """What is asked before memory is taken for inputs: the regions, whether a model takes a shape, whether there is
    room for so many bytes beside the request's own, the model's longest JSON."""

    regions: Regions
    takes: Callable[[str, Sequence[int]], None]
    hold: Callable[[int], None]
    most_json: int  #: Bytes.


def type_name(engine: tenon.ICudaEngine, tensor: str) -> str:
    kind = engine.get_tensor_dtype(tensor)
    if kind not in _NAMES:
        raise ValueError(f"tensor '{tensor}' has elements of {kind}, which the protocol does not have")
    return _NAMES[kind]


def check_name(name: str, kind: str, names: Mapping[str, str]) -> None:
    """Before anything else is said of a tensor: what is not the engine's may be as long as a request."""
    if name not in names:
        raise BadRequest(f"there is no {kind} '{shown(name)}'; the {kind}s are {', '.join(map(repr, names))}")


def _checked(name: str, datatype: str, expected: Mapping[str, str], shape: Sequence[int]) -> np.dtype:
    if datatype == "BYTES":
        raise BadRequest(f"input '{name}' is BYTES: an engine has no texts; it takes {expected[name]}")
    if datatype != expected[name]:
        raise BadRequest(f"input '{name}' is {shown(datatype)}, but the engine takes {expected[name]}")
    if len(shape) > _MOST_AXES:
        raise BadRequest(f"input '{name}' has {len(shape)} axes")
    if not all(isinstance(extent, int) and not isinstance(extent, bool) and extent >= 0 for extent in shape):
        raise BadRequest(f"input '{name}' has the shape {shown(str(shape))}: extents are whole numbers from 0 on")
    return _TYPES[datatype]


def from_bytes(
    name: str, datatype: str, shape: Sequence[int], data: bytes | memoryview, expected: Mapping[str, str]
) -> np.ndarray:
    """The array that lies in the bytes: no copy."""
    dtype = _checked(name, datatype, expected, shape)
    needed = math.prod(shape) * dtype.itemsize
    if len(data) != needed:
        raise BadRequest(f"input '{name}' has {len(data)} bytes, but {datatype} of shape {list(shape)} takes {needed}")
    if datatype == "BOOL" and needed and np.frombuffer(data, np.uint8).max() > 1:
        raise BadRequest(f"input '{name}' has bytes that are neither 0 nor 1, but {datatype} has no others")
    return _shaped(name, np.frombuffer(data, dtype), shape)


def _shaped(name: str, values: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Extents beside one of 0 may be anything, but not beyond what arrays have."""
    try:
        return values.reshape(shape)
    except (ValueError, OverflowError):
        raise BadRequest(f"input '{name}' has the shape {list(shape)}, which is beyond all memory") from None


def from_numbers(
    name: str, datatype: str, shape: Sequence[int], data: object, expected: Mapping[str, str]
) -> np.ndarray:
    """The array of a list of numbers, nested or not."""
    dtype = _checked(name, datatype, expected, shape)
    if datatype in ONLY_BINARY:
        raise BadRequest(f"input '{name}' is {datatype}, which comes as binary data only")
    others = _types_in(data) - _KINDS[dtype.kind]
    if others:
        raise BadRequest(f"input '{name}' has {_named(others)}, which {datatype} does not take")
    try:
        with np.errstate(over="raise"):  # 1e39 is no FP32.
            found = np.array(data, dtype)
    except (ValueError, TypeError, OverflowError, FloatingPointError) as error:
        raise BadRequest(f"input '{name}' is no list of {datatype}: {error}") from None
    if found.size != math.prod(shape):
        raise BadRequest(f"input '{name}' has {found.size} values, but shape {list(shape)} takes {math.prod(shape)}")
    return _shaped(name, found, shape)


def _types_in(data: object) -> set[type]:
    """Of the values of a list, nested or not. NumPy alone would take true for 1 among numbers."""
    level = [data]
    while (found := set(map(type, level))) == {list}:
        level = list(itertools.chain.from_iterable(level))  # type: ignore[call-overload]
    return found


def _named(types: set[type]) -> str:
    return " and ".join(sorted(_WORDS.get(each, "values of another kind") for each in types))


def _field(of: Mapping[str, Any], name: str, kind: type | tuple[type, ...], where: str) -> Any:
    value = of.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise BadRequest(f"{where} has no '{name}', or one of another type")
    return value


def parameters(of: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    found = of.get("parameters")
    if not isinstance(found, dict | None):
        raise BadRequest(f"the parameters of {where} are no JSON object")
    return found or {}


def identity(request: Mapping[str, Any]) -> dict[str, str]:
    """What an answer repeats of the request."""
    found = request.get("id")
    if not isinstance(found, str | None):
        raise BadRequest("the request's 'id' is no text")
    return {} if found is None else {"id": found}


def _flag(described: Mapping[str, Any], name: str, otherwise: bool) -> bool:
    found = described.get(name, otherwise)
    if not isinstance(found, bool):
        raise BadRequest(f"the parameter '{name}' is neither true nor false")
    return found


def check_output(name: str, described: Described) -> None:
    """An engine has no labels: scores by themselves would be another answer than the one that was asked for."""
    if described("classification") is not None:
        raise BadRequest(f"output '{name}' is asked for as a classification, which is not implemented")


def seconds(microseconds: object) -> float | None:
    """The parameter `timeout` of Triton's clients."""
    if microseconds is None or microseconds == 0:
        return None
    if not isinstance(microseconds, int) or isinstance(microseconds, bool) or microseconds < 0:
        raise BadRequest("the parameter 'timeout' is no number of microseconds")
    return microseconds / 1e6


def place_of(tensor: str, described: Described) -> Place | None:
    """Where in shared memory a tensor is to be; None: it comes, or goes, with the message."""
    region, offset, size = (described(f"shared_memory_{part}") for part in ("region", "offset", "byte_size"))
    if region is None:
        return None
    numbers = (0 if offset is None else offset, size)
    if not isinstance(region, str) or not all(type(each) is int for each in numbers):
        raise BadRequest(f"tensor '{tensor}' has parameters of shared memory that are no name and no numbers")
    return Place(region, *numbers)


def from_shared(
    name: str, datatype: str, shape: Sequence[int], place: Place, expected: Mapping[str, str], access: Access
) -> np.ndarray:
    """The array in a client's memory, copied: what the client does with it meanwhile is his business."""
    needed = math.prod(shape) * _checked(name, datatype, expected, shape).itemsize
    if place.size != needed:
        raise BadRequest(f"input '{name}' has {place.size} bytes, but {datatype} of shape {list(shape)} takes {needed}")
    access.takes(name, shape)
    access.hold(needed)
    return from_bytes(name, datatype, shape, access.regions.read(name, place).data, expected)


def json_length(header: bytes | None) -> int | None:
    """What Inference-Header-Content-Length says: how much of a body is JSON; None: all of it."""
    if header is None:
        return None
    if len(header) > 12 or not header.isdigit():
        raise BadRequest(f"Inference-Header-Content-Length is {header[:40]!r}, which is no number of bytes")
    return int(header)


def read_http(
    body: bytes | bytearray | np.ndarray, lead: int | None, expected: Mapping[str, str], access: Access
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The request's JSON and its inputs; binary data stands behind the JSON, which has `lead` bytes."""
    length = len(body) if lead is None else lead
    if length > len(body):
        raise BadRequest(f"Inference-Header-Content-Length is {length}, but the body has {len(body)} bytes")
    if length > access.most_json:
        raise BadRequest(
            f"the request has {length} bytes of JSON, but no request of this model needs {access.most_json}"
        )
    view = memoryview(body)
    try:
        request = orjson.loads(view[:length])
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the request is no JSON: {error}") from None
    if not isinstance(request, dict):
        raise BadRequest("the request is no JSON object")
    arrays, at = {}, length
    for tensor in _field(request, "inputs", list, "the request"):
        if not isinstance(tensor, dict):
            raise BadRequest("an input is no JSON object")
        name = _field(tensor, "name", str, "an input")
        check_name(name, "input", expected)
        shape = _field(tensor, "shape", list, f"input '{name}'")
        datatype = _field(tensor, "datatype", str, f"input '{name}'")
        if name in arrays:
            raise BadRequest(f"input '{name}' is given twice")
        described = parameters(tensor, f"input '{name}'")
        place = place_of(name, described.get)
        if place is not None:
            arrays[name] = from_shared(name, datatype, shape, place, expected, access)
        elif "binary_data_size" in described:
            size = _field(described, "binary_data_size", int, f"input '{name}'")
            if size < 0 or at + size > len(body):
                raise BadRequest(f"input '{name}' claims {size} bytes, but {len(body) - at} are left")
            arrays[name] = from_bytes(name, datatype, shape, view[at : at + size], expected)
            at += size
        elif "data" in tensor:
            arrays[name] = from_numbers(name, datatype, shape, tensor["data"], expected)
            access.hold(arrays[name].nbytes)
        else:
            raise BadRequest(f"input '{name}' has neither 'data' nor 'binary_data_size'")
    if at != len(body):
        raise BadRequest(f"{len(body) - at} bytes behind the last input belong to none")
    return request, arrays


def wanted(request: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, bool | Place]:
    """The outputs that a request asks for, and whether as binary data, or where in shared memory."""
    by_itself = _flag(parameters(request, "the request"), "binary_data_output", False)
    asked = request.get("outputs")
    if not isinstance(asked, list | None):
        raise BadRequest("the outputs are no JSON list")
    found: dict[str, bool | Place] = {} if asked else dict.fromkeys(names, by_itself)
    for output in asked or ():
        name = _field(output if isinstance(output, dict) else {}, "name", str, "an output")
        check_name(name, "output", names)
        if name in found:
            raise BadRequest(f"output '{name}' is asked for twice")
        described = parameters(output, f"output '{name}'")
        check_output(name, described.get)
        found[name] = place_of(name, described.get) or _flag(described, "binary_data", by_itself)
    for name, is_binary in found.items():
        if not is_binary and names[name] in ONLY_BINARY:
            raise BadRequest(f"output '{name}' is {names[name]}: ask for it as binary data")
    return found


def told(place: Place, value: np.ndarray) -> dict[str, str | int]:
    """What the answer says of an output in shared memory."""
    return {"region": place.region, "offset": place.offset, "byte_size": value.nbytes}


def written(
    head: dict[str, Any],
    outputs: Mapping[str, np.ndarray],
    types: Mapping[str, str],
    asked: Mapping[str, bool | Place],
    regions: Regions,
) -> list[bytes | memoryview]:
    """A response's body: its JSON, and the binary data behind it."""
    described: list[dict[str, Any]] = []
    parts: list[bytes | memoryview] = []
    for name, is_binary in asked.items():
        value = outputs[name]
        entry: dict[str, Any] = {"name": name, "datatype": types[name], "shape": list(value.shape)}
        if isinstance(is_binary, Place):
            regions.write(name, is_binary, value)
            entry["parameters"] = {f"shared_memory_{key}": part for key, part in told(is_binary, value).items()}
        elif is_binary:
            parts.append(memoryview(np.ascontiguousarray(value).reshape(-1).view(np.uint8)))
            entry["parameters"] = {"binary_data_size": value.nbytes}
        else:
            entry["data"] = np.ascontiguousarray(value).reshape(-1)
        described.append(entry)
    text = orjson.dumps(head | {"outputs": described}, option=orjson.OPT_SERIALIZE_NUMPY)
    return [text, *parts]
