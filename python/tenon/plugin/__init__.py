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

On the CPU tensors are host memory, which NumPy and PyTorch view without copying. Ahead-of-time implementations are not
implemented in this version.
"""

from __future__ import annotations

import inspect as _inspect
import warnings as _warnings
from collections.abc import Callable as _Callable
from typing import Any as _Any

import numpy as _np

from .. import _native as _trt
from ._autotune import AutoTuneCombination as AutoTuneCombination
from ._definition import Definition as _Definition
from ._definition import check_helper as _check_helper
from ._definition import definition_of as _definition_of
from ._definition import definitions as _definitions
from ._jit import JitCreator as _JitCreator
from ._jit import JitPlugin as _JitPlugin
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

_warnings.warn("tensorrt.plugin is experimental: it may change", stacklevel=2)  # N13


def register(plugin_id: str, lazy_register: bool = False) -> _Callable[[_Any], _Any]:
    """Registers a plugin by the function that describes its outputs.

    Its arguments are tensors (TensorDesc) first and attributes then, all annotated; it returns one TensorDesc or a
    tuple of them. `lazy_register`: the creator is registered when the plugin is first used.
    """

    def decorate(function: _Any) -> _Any:
        definition = _Definition(plugin_id, function)
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
    creator = _JitCreator(definition)
    if not _trt.get_plugin_registry().register_creator(creator, definition.namespace):
        raise ValueError(f"plugin {definition.id!r}: a creator of that name is registered already")
    definition.creator = creator


def impl(plugin_id: str) -> _Callable[[_Any], _Any]:
    """The function that runs the plugin: tensors, attributes, `outputs`, `stream`, and `tactic` where it wants it."""
    definition = _definition_of(plugin_id)

    def decorate(function: _Any) -> _Any:
        if definition.impl is not None:
            raise ValueError(f"plugin {plugin_id!r} has an implementation already")
        attributes, _ = _check_helper(definition, function, ("outputs", "stream", "tactic"), 2)
        if _inspect.signature(function).return_annotation not in (_inspect.Signature.empty, None, "None"):
            raise ValueError(f"{function.__name__} for {plugin_id}: an implementation returns None")
        definition.impl = function
        definition.impl_attributes = attributes
        definition.impl_takes_tactic = "tactic" in _inspect.signature(function).parameters
        return function

    return decorate


def autotune(plugin_id: str) -> _Callable[[_Any], _Any]:
    """The function that lists the combinations of types, formats and tactics: tensors, attributes, `outputs`."""
    definition = _definition_of(plugin_id)

    def decorate(function: _Any) -> _Any:
        if definition.autotune is not None:
            raise ValueError(f"plugin {plugin_id!r} has an autotune function already")
        definition.autotune_attributes, _ = _check_helper(definition, function, ("outputs",), 1)
        definition.autotune = function
        return function

    return decorate


def aot_impl(plugin_id: str) -> _Callable[[_Any], _Any]:
    """The function that compiles the plugin into the plan. Not implemented in this version: says so."""
    _definition_of(plugin_id)
    raise NotImplementedError(f"tensorrt.plugin.aot_impl({plugin_id!r}) is not implemented in this version")


class KernelLaunchParams:
    """How a compiled kernel is launched; part of ahead-of-time implementations."""

    def __init__(self, **sizes: _Any) -> None:
        raise NotImplementedError("tensorrt.plugin.KernelLaunchParams is not implemented in this version")


class _Use:
    """A call of a plugin, for INetworkDefinition.add_plugin."""

    def __init__(self, definition: _Definition, inputs: list[_Any], attributes: dict[str, _Any]) -> None:
        self.definition = definition
        self.inputs = inputs
        self.attributes = attributes


def _checked(definition: _Definition, name: str, value: _Any) -> _Any:
    kind = definition.attributes[name]
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

    def __call__(self, *tensors: _Any, **attributes: _Any) -> _Use:
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
        _register_creator(definition)
        checked = {name: _checked(definition, name, value) for name, value in attributes.items()}
        return _Use(definition, list(tensors), checked)


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


def _add_plugin(self: _Any, func: _Any, aot: bool | None = None) -> _Any:
    """Adds a plugin that is registered by its functions: `add_plugin(tensorrt.plugin.op.namespace.name(...))`."""
    if not isinstance(func, _Use):
        raise ValueError(f"add_plugin takes a call of tensorrt.plugin.op, not {func!r}")
    definition = func.definition
    if aot:
        raise NotImplementedError(f"{definition.id}: ahead-of-time implementations are not implemented in this version")
    if definition.impl is None:
        raise ValueError(f"{definition.id} has no implementation: decorate one with impl()")
    return self.add_plugin_v3(func.inputs, [], _JitPlugin(definition, func.attributes))


_trt.INetworkDefinition.add_plugin = _add_plugin
