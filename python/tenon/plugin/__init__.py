"""Plugins as Python functions: decorators for their description, implementation and choices.

    import numpy as np
    import tensorrt.plugin as trtp

    @trtp.register("example::scale")
    def scale(x: trtp.TensorDesc, factor: float) -> trtp.TensorDesc:
        return x.like()

    @trtp.impl("example::scale")
    def scale_impl(x: trtp.Tensor, factor: float, outputs: tuple[trtp.Tensor], stream: int) -> None:
        np.multiply(np.asarray(x), factor, out=np.asarray(outputs[0]))

    layer = network.add_plugin(trtp.op.example.scale(tensor, factor=2.0))

On the CPU tensors are host memory, which NumPy and PyTorch view without copying. An implementation may also be compiled
into the plan, which then runs without Python (aot_impl): on the CPU from C source or from a shared object, as
docs/PLUGINS.md says.
"""

from __future__ import annotations

import inspect as _inspect
import typing as _typing
from collections.abc import Callable as _Callable
from typing import Any as _Any

import numpy as _np
import numpy.typing as _npt

from .. import _native as _trt
from ._aot import KernelLaunchParams as KernelLaunchParams
from ._autotune import AutoTuneCombination as AutoTuneCombination
from ._definition import ANY_ARRAY as _ANY_ARRAY
from ._definition import Definition as _Definition
from ._definition import array_type as _array_type
from ._definition import check_helper as _check_helper
from ._definition import definition_of as _definition_of
from ._definition import definitions as _definitions
from ._definition import returned_hint as _returned_hint
from ._quick import QuickCreator as _QuickCreator
from ._quick import make as _make
from ._shapes import ShapeExpr as ShapeExpr
from ._shapes import ShapeExprs as ShapeExprs
from ._shapes import SizeTensorShapeExpr as SizeTensorShapeExpr
from ._shapes import SymExprs as SymExprs
from ._shapes import SymInt8 as SymInt8
from ._shapes import SymInt16 as SymInt16
from ._shapes import SymInt32 as SymInt32
from ._shapes import SymIntExprs as SymIntExprs
from ._shapes import cdiv as cdiv
from ._shapes import max as max
from ._shapes import min as min
from ._tensors import Shape as Shape
from ._tensors import SizeTensorDesc as SizeTensorDesc
from ._tensors import Tensor as Tensor
from ._tensors import TensorDesc as TensorDesc
from ._tensors import from_shape_expr as from_shape_expr
from ._tensors import size_tensor as size_tensor

_trt.Logger(_trt.Logger.WARNING).log(
    _trt.Logger.WARNING, "tensorrt.plugin is experimental: it may change in later versions"
)  # N13


def register(plugin_id: str, lazy_register: bool = False) -> _Callable[..., _Any]:
    """Registers a plugin by the function that describes its outputs.

    Its arguments are tensors (TensorDesc) first and attributes then, all annotated; it returns one TensorDesc or a
    tuple of them. `lazy_register`: the creator is registered when the plugin is first used.
    """

    def decorate(function: _Any) -> _Any:
        definition = _Definition(plugin_id, function, lazy_register)
        if plugin_id in _definitions:
            raise ValueError(f"plugin {plugin_id!r} is registered already")
        if not lazy_register:
            _register_creator(definition)
        _definitions[plugin_id] = definition
        return function

    return decorate


def _register_creator(definition: _Definition) -> None:
    if definition.creator is not None:
        return
    creator = _QuickCreator(definition)
    if not _trt.get_plugin_registry().register_creator(creator, definition.namespace):
        raise ValueError(f"plugin {definition.id!r}: a creator of that name is registered already")
    definition.creator = creator


def impl(plugin_id: str) -> _Callable[..., _Any]:
    """The function that runs the plugin: tensors, attributes, `outputs`, `stream`, and `tactic` where it wants it."""
    definition = _definition_of(plugin_id)

    def decorate(function: _Any) -> _Any:
        if definition.impl is not None:
            raise ValueError(f"plugin {plugin_id!r} has an implementation already")
        attributes, taken = _check_helper(definition, function, ("outputs", "stream", "tactic"), 2, Tensor)
        if _returned_hint(function) not in (_inspect.Signature.empty, None, type(None)):
            raise ValueError(f"{function.__name__} for {plugin_id}: an implementation returns None")
        definition.impl = function
        definition.impl_attributes = attributes
        definition.impl_takes_tactic = taken == 3
        return function

    return decorate


def autotune(plugin_id: str) -> _Callable[..., _Any]:
    """The function that lists the combinations of types, formats and tactics: tensors, attributes, `outputs`."""
    definition = _definition_of(plugin_id)

    def decorate(function: _Any) -> _Any:
        if definition.autotune is not None:
            raise ValueError(f"plugin {plugin_id!r} has an autotune function already")
        definition.autotune_attributes, _ = _check_helper(definition, function, ("outputs",), 1, TensorDesc)
        hint = _returned_hint(function)
        is_list = _typing.get_origin(hint) is list and _typing.get_args(hint) == (AutoTuneCombination,)
        if not is_list and hint not in (_inspect.Signature.empty, list):
            raise ValueError(f"{function.__name__} for {plugin_id}: annotate the result with list[AutoTuneCombination]")
        definition.autotune = function
        return function

    return decorate


def aot_impl(plugin_id: str) -> _Callable[..., _Any]:
    """The function that gives a kernel for the plan: tensors, attributes, `outputs`, `tactic`.

    It returns the kernel's name, its code, KernelLaunchParams and a list of SymInt32 as extra arguments, and its result
    is annotated so. On the CPU the code is C source or a shared object.
    """
    definition = _definition_of(plugin_id)

    def decorate(function: _Any) -> _Any:
        if definition.aot is not None:
            raise ValueError(f"plugin {plugin_id!r} has an ahead-of-time implementation already")
        attributes, _ = _check_helper(definition, function, ("outputs", "tactic"), 2, TensorDesc)
        _check_kernel_hint(function, f"{function.__name__} for {plugin_id}")
        definition.aot = function
        definition.aot_attributes = attributes
        return function

    return decorate


def _check_kernel_hint(function: _Any, where: str) -> None:
    hint = _returned_hint(function)
    parts = _typing.get_args(hint) if _typing.get_origin(hint) is tuple else ()
    is_text = [bool(part in (str, bytes) or set(_typing.get_args(part)) == {str, bytes}) for part in parts[:2]]
    fits = len(parts) == 4 and all(is_text) and parts[2] is KernelLaunchParams
    if not fits or not (isinstance(parts[3], type) and issubclass(parts[3], SymExprs)):
        raise ValueError(
            f"{where}: annotate the result with tuple[str | bytes, str | bytes, KernelLaunchParams, SymIntExprs], "
            f"not with {hint!r}"
        )


def _checked(definition: _Definition, name: str, value: _Any) -> _Any:
    kind = definition.attributes[name]
    if kind is _ANY_ARRAY and isinstance(value, _np.ndarray):
        kind = _array_type(_npt.NDArray[value.dtype.type])
        definition.attributes[name] = kind  # The first use tells.
    if isinstance(kind, _np.dtype):
        if not isinstance(value, _np.ndarray) or value.dtype != kind or value.ndim != 1:
            raise ValueError(f"{definition.id}: attribute {name!r} must be a 1-D array of {kind}, not {value!r}")
        return value
    fits = type(value) is kind or (kind is float and type(value) is int)
    if not fits:
        raise ValueError(f"{definition.id}: attribute {name!r} must be of type {kind.__name__}, not {value!r}")
    return kind(value)


class _Operator:
    def __init__(self, definition: _Definition) -> None:
        self._definition = definition

    def __call__(self, *tensors: _Any, **attributes: _Any) -> _Callable[..., tuple[list[_Any], list[_Any], _Any]]:
        definition = self._definition
        if len(tensors) != len(definition.inputs):
            raise ValueError(f"{definition.id} takes {len(definition.inputs)} tensors, not {len(tensors)}")
        for name, tensor in zip(definition.inputs, tensors, strict=True):
            if not isinstance(tensor, _trt.ITensor):
                raise ValueError(f"{definition.id}: input {name!r} must be an ITensor, not {tensor!r}")
        known = list(definition.attributes)
        for name in attributes:
            if name not in known:
                raise ValueError(f"{definition.id} has no attribute {name!r}")
        if list(attributes) != [each for each in known if each in attributes]:
            raise ValueError(f"{definition.id}: attributes must stand in the order {', '.join(known)}")
        if missing := [each for each in known if each not in attributes]:
            raise ValueError(f"{definition.id}: attribute {missing[0]!r} is not given")
        checked = {name: _checked(definition, name, value) for name, value in attributes.items()}
        _register_creator(definition)

        def parts(request: _Any = None) -> tuple[list[_Any], list[_Any], _Any]:
            """Inputs, shape inputs and plugin, as INetworkDefinition.add_plugin takes them."""
            wanted = _trt.QuickPluginCreationRequest.UNKNOWN if request is None else request
            return list(tensors), [], _make(definition, checked, wanted)

        return parts


class _Namespace:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> _Operator:
        plugin_id = f"{self._name}::{name}"
        if plugin_id not in _definitions:
            raise AttributeError(f"no plugin {plugin_id!r} is registered")
        return _Operator(_definitions[plugin_id])


class _Operators:
    """`op.namespace.name(*tensors, **attributes)` is a call of a registered plugin."""

    def __getattr__(self, name: str) -> _Namespace:
        if not any(definition.namespace == name for definition in _definitions.values()):
            raise AttributeError(f"no plugin of namespace {name!r} is registered")
        return _Namespace(name)


op = _Operators()
