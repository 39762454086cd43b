"""Definitions of plugins by functions: what the decorators check and remember (rules N1 to N4)."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from ._tensors import TensorDesc

_RESERVED = ("", "trt", "tensorrt", "std")
_FORBIDDEN = ("outputs", "stream", "tactic")
_SCALARS = (int, float, str, bool, bytes)
_ELEMENTS = ("int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool")

#: Stands for the type of an attribute that is any 1-D array: its first value decides.
ANY_ARRAY = np.ndarray


class Definition:
    """One plugin: names, attributes, and the functions that work for it."""

    def __init__(self, plugin_id: str, describe: Callable[..., Any], is_lazy: bool = False) -> None:
        self.id = plugin_id
        self.namespace, self.name = _split(plugin_id)
        self.describe = describe
        self.inputs, self.attributes = _arguments(describe, is_lazy)
        self.outputs = _outputs(describe)
        self.autotune: Callable[..., Any] | None = None
        self.autotune_attributes: list[str] = []
        self.impl: Callable[..., Any] | None = None
        self.impl_attributes: list[str] = []
        self.impl_takes_tactic = False
        self.aot: Callable[..., Any] | None = None
        self.aot_attributes: list[str] = []
        self.creator: Any = None

    def __repr__(self) -> str:
        return f"plugin {self.id}"


definitions: dict[str, Definition] = {}


def definition_of(plugin_id: str) -> Definition:
    """The registered plugin; ValueError when there is none."""
    _split(plugin_id)
    if plugin_id not in definitions:
        raise ValueError(f"plugin {plugin_id!r} is not registered: decorate its description with register() first")
    return definitions[plugin_id]


def _split(plugin_id: str) -> tuple[str, str]:
    parts = plugin_id.split("::")
    if len(parts) != 2 or not parts[1]:
        raise ValueError(f"{plugin_id!r} is no plugin id: 'namespace::name' is one")
    if "." in plugin_id:
        raise ValueError(f"plugin id {plugin_id!r}: namespace and name may not have dots")
    if parts[0] in _RESERVED:
        raise ValueError(f"plugin id {plugin_id!r}: the namespace {parts[0]!r} is reserved")
    return parts[0], parts[1]


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except NameError as error:
        raise ValueError(f"{function.__name__}: an annotation cannot be resolved: {error}") from error


def array_type(hint: Any, is_lazy: bool = False) -> Any:
    """The element type of numpy.typing.NDArray[...]; None for other annotations."""
    if hint is np.ndarray and is_lazy:
        return ANY_ARRAY
    if hint is np.ndarray:
        raise ValueError("numpy.ndarray without its element type needs lazy_register=True")
    if typing.get_origin(hint) is not np.ndarray:
        return None
    arguments = typing.get_args(hint)
    inner = typing.get_args(arguments[1]) if len(arguments) > 1 else ()
    if not inner or inner[0] is Any or isinstance(inner[0], typing.TypeVar):
        raise ValueError("an array attribute needs its element type: numpy.typing.NDArray[numpy.float32], say")
    kind = np.dtype(inner[0])
    if kind.name not in _ELEMENTS:
        raise ValueError(f"an array attribute cannot have elements of type {kind}: {', '.join(_ELEMENTS)} are possible")
    return kind


def _array_hint(function: Callable[..., Any], name: str, hint: Any, is_lazy: bool) -> Any:
    try:
        return array_type(hint, is_lazy)
    except ValueError as error:
        raise ValueError(f"{function.__name__}: argument {name!r}: {error}") from None


def _arguments(function: Callable[..., Any], is_lazy: bool) -> tuple[list[str], dict[str, Any]]:
    """Names of tensors, and attributes with a Python type or the element type of an array."""
    hints = _hints(function)
    inputs: list[str] = []
    attributes: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
            raise ValueError(f"{function.__name__}: argument {name!r} must be an ordinary one")
        if name in _FORBIDDEN:
            raise ValueError(f"{function.__name__}: {name!r} is a name with a meaning of its own; take another one")
        if parameter.default is not inspect.Parameter.empty:
            raise ValueError(f"{function.__name__}: argument {name!r} has a default, which is not possible")
        if name not in hints:
            raise ValueError(f"{function.__name__}: argument {name!r} has no annotation")
        hint = hints[name]
        if hint is TensorDesc:
            if attributes:
                raise ValueError(f"{function.__name__}: tensor {name!r} stands behind an attribute; tensors come first")
            inputs.append(name)
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                raise ValueError(f"{function.__name__}: tensor {name!r} must be a positional argument")
        elif hint in _SCALARS:
            attributes[name] = hint
        elif (kind := _array_hint(function, name, hint, is_lazy)) is not None:
            attributes[name] = kind
        else:
            raise ValueError(
                f"{function.__name__}: argument {name!r} is annotated with {hint!r}: tensors are TensorDesc, "
                "attributes int, float, str, bool, bytes or numpy.typing.NDArray[...]"
            )
    if not inputs:
        raise ValueError(f"{function.__name__}: a plugin needs an input")
    return inputs, attributes


def _outputs(function: Callable[..., Any]) -> int:
    hint = _hints(function).get("return")
    if hint is TensorDesc:
        return 1
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple and arguments and all(each is TensorDesc for each in arguments):
        return len(arguments)
    raise ValueError(f"{function.__name__}: annotate the result with TensorDesc or a tuple of them")


def check_helper(
    definition: Definition, function: Callable[..., Any], endings: tuple[str, ...], needed: int, tensor: type
) -> tuple[list[str], int]:
    """Checks tensors, a subset of the attributes in their order, then `endings`, of which the first `needed` must be
    there, and annotations where there are any; the attributes that the function takes, and how many endings."""
    names = list(inspect.signature(function).parameters)
    count = len(definition.inputs)
    where = f"{function.__name__} for {definition.id}"
    if names[:count] != definition.inputs:
        raise ValueError(f"{where}: the first arguments must be the tensors {', '.join(definition.inputs)}")
    rest = names[count:]
    taken = 0
    for ending in reversed(endings):
        if taken == 0 and rest and rest[-1] == ending:
            taken = endings.index(ending) + 1
    if taken < needed or (taken and rest[-taken:] != list(endings[:taken])):
        raise ValueError(f"{where}: the last arguments must be {', '.join(endings[:needed])}")
    attributes = rest[: len(rest) - taken]
    known = list(definition.attributes)
    positions = [known.index(each) if each in known else -1 for each in attributes]
    if -1 in positions:
        raise ValueError(f"{where}: {attributes[positions.index(-1)]!r} is no attribute of the plugin")
    if positions != sorted(positions):
        raise ValueError(f"{where}: attributes must stand in the order of the registered function")
    _check_annotations(definition, function, tensor, where)
    return attributes, taken


def _is_tuple_of(hint: Any, kind: type) -> bool:
    if hint in (tuple, list):
        return True
    arguments = [each for each in typing.get_args(hint) if each is not Ellipsis]
    return typing.get_origin(hint) in (tuple, list) and bool(arguments) and all(each is kind for each in arguments)


def _check_annotations(definition: Definition, function: Callable[..., Any], tensor: type, where: str) -> None:
    hints = _hints(function)
    hints.pop("return", None)
    for name, hint in hints.items():
        if name in definition.inputs:
            fits, wanted = hint is tensor, tensor.__name__
        elif name == "outputs":
            fits, wanted = _is_tuple_of(hint, tensor), f"a tuple of {tensor.__name__}"
        elif name in ("stream", "tactic"):
            fits, wanted = hint is int, "int"
        else:
            kind = definition.attributes[name]
            is_array = kind is ANY_ARRAY or isinstance(kind, np.dtype)
            fits = array_type(hint, True) in (kind, ANY_ARRAY) if is_array else hint is kind
            wanted = f"the type that is registered, {kind}"
        if not fits:
            raise ValueError(f"{where}: {name!r} is annotated with {hint!r}, not with {wanted}")


def returned_hint(function: Callable[..., Any]) -> Any:
    """The annotation of the result; NoneType for None, inspect.Signature.empty where there is none."""
    return _hints(function).get("return", inspect.Signature.empty)
