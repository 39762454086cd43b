"""The plugin objects behind functions: every answer comes from them. One kind runs in Python, the other is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native as trt
from ._aot import KernelLaunchParams, checked_kernel, symbolic
from ._autotune import AutoTuneCombination
from ._definition import ANY_ARRAY, Definition
from ._shapes import ShapeExprs, building_with
from ._tensors import Shape, SizeTensorDesc, Tensor, TensorDesc

Request = trt.QuickPluginCreationRequest

_FIELD_TYPES: dict[Any, Any] = {
    str: trt.PluginFieldType.CHAR, bytes: trt.PluginFieldType.CHAR, int: trt.PluginFieldType.INT64,
    bool: trt.PluginFieldType.INT64, float: trt.PluginFieldType.FLOAT64,
    np.dtype(np.float32): trt.PluginFieldType.FLOAT32, np.dtype(np.float64): trt.PluginFieldType.FLOAT64,
    np.dtype(np.int8): trt.PluginFieldType.INT8, np.dtype(np.int16): trt.PluginFieldType.INT16,
    np.dtype(np.int32): trt.PluginFieldType.INT32, np.dtype(np.int64): trt.PluginFieldType.INT64,
}  # fmt: skip


def _field(name: str, value: Any, kind: Any) -> trt.PluginField:
    if kind is str:
        return trt.PluginField(name, value.encode(), trt.PluginFieldType.CHAR)
    if kind is bytes:
        return trt.PluginField(name, value, trt.PluginFieldType.UNKNOWN)
    if kind is int or kind is bool:
        return trt.PluginField(name, np.array([value], np.int64), trt.PluginFieldType.INT64)
    if kind is float:
        return trt.PluginField(name, np.array([value], np.float64), trt.PluginFieldType.FLOAT64)
    return trt.PluginField(name, np.ascontiguousarray(value).tobytes(), trt.PluginFieldType.UNKNOWN)


def _value(field: trt.PluginField, kind: Any) -> Any:
    if kind is str:
        return bytes(field.data or b"").decode()
    if kind is bytes:
        return bytes(field.data or b"")
    if isinstance(kind, type) and issubclass(kind, int | float):  # A NumPy type equals int, too.
        return kind(field.data[0])
    if isinstance(field.data, np.ndarray):  # Of an ONNX node: numbers of the field's own type.
        return np.array(field.data, dtype=None if kind is ANY_ARRAY else kind)
    return np.frombuffer(bytes(field.data or b""), kind).copy()


class _Quick:
    """What both kinds answer alike."""

    def __init__(self, definition: Definition, attributes: dict[str, Any]) -> None:
        self.definition = definition
        self.attributes = attributes
        self.plugin_name = definition.name
        self.plugin_namespace = definition.namespace
        self.plugin_version = "1"  # N7
        self.num_outputs = definition.outputs
        self.combinations: list[tuple[list[tuple[Any, Any]], list[int] | None]] = []
        self.valid_tactics: list[int] = []
        self.aliases: dict[int, int] = {}
        self.tactic = 0

    def get_capability_interface(self, type: Any) -> Any:
        return self

    def clone(self) -> Any:
        copy = type(self)(self.definition, self.attributes)
        copy.combinations, copy.valid_tactics = self.combinations, self.valid_tactics
        copy.aliases, copy.tactic = self.aliases, self.tactic
        return copy

    # ---- descriptions

    def _described(self, inputs: list[TensorDesc]) -> list[TensorDesc]:
        for index, desc in enumerate(inputs):
            desc._index = index
            desc._immutable = True
        answer = self.definition.describe(*inputs, **self.attributes)
        outputs = list(answer) if isinstance(answer, tuple) else [answer]
        where = f"{self.definition.describe.__name__} for {self.definition.id}"
        if len(outputs) != self.definition.outputs or not all(isinstance(each, TensorDesc) for each in outputs):
            raise ValueError(f"{where} must return {self.definition.outputs} TensorDesc, not {answer!r}")
        for index, desc in enumerate(outputs):
            if isinstance(desc, SizeTensorDesc):
                desc._index = index
        return outputs

    def get_output_data_types(self, input_types: list[Any], ranks: list[int]) -> list[Any]:
        inputs = [
            TensorDesc(ShapeExprs(rank, _is_dummy=True), kind) for rank, kind in zip(ranks, input_types, strict=True)
        ]
        return [desc.dtype for desc in self._described(inputs)]

    def get_output_shapes(self, inputs: list[Any], shape_inputs: list[Any], expr_builder: Any) -> list[Any]:
        if shape_inputs:
            raise ValueError(f"{self.definition}: shape inputs are not supported by plugins of functions (N10)")
        with building_with(expr_builder):
            types = [trt.DataType.FLOAT] * len(inputs)  # Shapes do not depend on types.
            descs = [TensorDesc(ShapeExprs._of(dims), kind) for dims, kind in zip(inputs, types, strict=True)]
            outputs = self._described(descs)
            self.aliases = {
                i: each._aliased_to._index for i, each in enumerate(outputs) if each._aliased_to is not None
            }
            shapes = [trt.DimsExprs([each._as_expr() for each in desc.shape_expr]) for desc in outputs]
            for desc in outputs:
                if isinstance(desc, SizeTensorDesc):
                    desc._declared()
            return shapes

    def get_aliased_input(self, output_index: int) -> int:
        return self.aliases.get(output_index, -1)

    # ---- types, formats and tactics

    def _ask_autotune(self, in_out: list[Any], num_inputs: int) -> None:
        descs = []
        for desc in in_out:
            tensor = TensorDesc(dtype=desc.desc.type)
            tensor.shape = Shape(desc)
            tensor._immutable = True
            descs.append(tensor)
        attributes = {name: self.attributes[name] for name in self.definition.autotune_attributes}
        function = self.definition.autotune
        answer = function(*descs[:num_inputs], **attributes, outputs=tuple(descs[num_inputs:]))  # type: ignore[misc]
        for combination in answer:
            if not isinstance(combination, AutoTuneCombination):
                raise ValueError(f"{function.__name__} must return a list of AutoTuneCombination")  # type: ignore[union-attr]
            self.combinations += combination._expanded(len(in_out))

    def get_supported_format_combinations(self, in_out: list[Any], num_inputs: int) -> list[Any]:
        self.combinations = []
        if self.definition.autotune is not None:
            self._ask_autotune(in_out, num_inputs)
        else:  # N8: the declared types, which are what the network has at the inputs and what it was told of outputs.
            self.combinations = [([(each.desc.type, trt.TensorFormat.LINEAR) for each in in_out], None)]
        descs = []
        for ports, _ in self.combinations:
            for (kind, layout), port in zip(ports, in_out, strict=True):
                desc = trt.PluginTensorDesc()
                desc.type, desc.format, desc.dims, desc.scale = kind, layout, port.desc.dims, port.desc.scale
                descs.append(desc)
        return descs

    def configure_plugin(self, inputs: list[Any], outputs: list[Any]) -> None:
        chosen = [(each.desc.type, each.desc.format) for each in [*inputs, *outputs]]
        self.valid_tactics = next((tactics or [] for ports, tactics in self.combinations if ports == chosen), [])

    def get_valid_tactics(self) -> list[int]:
        return self.valid_tactics

    def set_tactic(self, tactic: int) -> None:
        self.tactic = tactic


class JitPlugin(_Quick, trt.IPluginV3, trt.IPluginV3QuickCore, trt.IPluginV3QuickBuild, trt.IPluginV3QuickRuntime):
    """One instance of a plugin that runs in this Python process."""

    def __init__(self, definition: Definition, attributes: dict[str, Any]) -> None:
        trt.IPluginV3.__init__(self)
        trt.IPluginV3QuickCore.__init__(self)
        trt.IPluginV3QuickBuild.__init__(self)
        trt.IPluginV3QuickRuntime.__init__(self)
        _Quick.__init__(self, definition, attributes)

    def get_fields_to_serialize(self) -> trt.PluginFieldCollection:
        names = self.definition.impl_attributes  # N6
        kinds = self.definition.attributes
        return trt.PluginFieldCollection([_field(name, self.attributes[name], kinds[name]) for name in names])

    def enqueue(
        self, input_desc: list[Any], output_desc: list[Any], inputs: list[int], outputs: list[int],
        in_strides: list[Any], out_strides: list[Any], stream: int,
    ) -> None:  # fmt: skip
        gpu = trt._plugin_gpu()
        tensors = [
            Tensor._of(desc, at, strides, at in outputs, gpu, stream)
            for desc, at, strides in zip(input_desc, inputs, in_strides, strict=True)
        ]
        results = []
        for desc, at, strides in zip(output_desc, outputs, out_strides, strict=True):
            results.append(Tensor._of(desc, at, strides, True, gpu, stream))
            if at in inputs:
                object.__setattr__(results[-1], "_aliased_to", tensors[inputs.index(at)])
        arguments = {name: self.attributes[name] for name in self.definition.impl_attributes}
        if self.definition.impl_takes_tactic:
            arguments["tactic"] = self.tactic
        try:
            self.definition.impl(*tensors, **arguments, outputs=tuple(results), stream=stream)  # type: ignore[misc]
        finally:
            for tensor in [*tensors, *results]:
                tensor._end()


class AotPlugin(_Quick, trt.IPluginV3, trt.IPluginV3QuickCore, trt.IPluginV3QuickAOTBuild):
    """One instance of a plugin whose kernel goes into the plan."""

    def __init__(self, definition: Definition, attributes: dict[str, Any]) -> None:
        trt.IPluginV3.__init__(self)
        trt.IPluginV3QuickCore.__init__(self)
        trt.IPluginV3QuickAOTBuild.__init__(self)
        _Quick.__init__(self, definition, attributes)
        self.kernel: tuple[Any, Any] | None = None

    def get_launch_params(
        self, inputs: list[Any], in_out: list[Any], num_inputs: int, launch: Any, extra_args: Any, expr_builder: Any
    ) -> None:
        with building_with(expr_builder):
            descs = [TensorDesc(ShapeExprs._of(dims)) for dims in inputs]
            for desc, port in zip(descs, in_out, strict=False):
                desc.dtype = port.desc.type
            outputs = self._described(descs)
            for desc, port in zip([*descs, *outputs], in_out, strict=True):
                desc._take(port)
            attributes = {name: self.attributes[name] for name in self.definition.aot_attributes}
            function = self.definition.aot
            answer = function(*descs, **attributes, outputs=tuple(outputs), tactic=self.tactic)  # type: ignore[misc]
            name, code, params, arguments = checked_kernel(self.definition, answer)
            self.kernel = (name, code)
            for size in KernelLaunchParams._names:
                setattr(launch, size, symbolic(getattr(params, size)))
            extra_args.nbSymExprs = len(arguments)
            for index, argument in enumerate(arguments):
                extra_args[index] = symbolic(argument)

    def get_kernel(self, in_desc: list[Any], out_desc: list[Any]) -> tuple[Any, Any]:
        if self.kernel is None:
            raise RuntimeError(f"{self.definition}: the kernel is asked for before its launch parameters")
        return self.kernel


def make(definition: Definition, attributes: dict[str, Any], request: Any) -> JitPlugin | AotPlugin:
    """An instance of the form that the request names; ValueError when there is none of it (N7)."""
    has_jit, has_aot = definition.impl is not None, definition.aot is not None
    if not has_jit and not has_aot:
        raise ValueError(f"{definition.id} has no implementation: decorate one with impl() or aot_impl()")
    if request == Request.STRICT_JIT and not has_jit:
        raise ValueError(f"{definition.id} has no just-in-time implementation: decorate one with impl()")
    if request == Request.STRICT_AOT and not has_aot:
        raise ValueError(f"{definition.id} has no ahead-of-time implementation: decorate one with aot_impl()")
    if has_jit and has_aot and request == Request.UNKNOWN:
        raise ValueError(
            f"{definition.id} has both a just-in-time and an ahead-of-time implementation: say which you want by "
            "the network's flag NetworkDefinitionCreationFlag.PREFER_JIT_PYTHON_PLUGINS or PREFER_AOT_PYTHON_PLUGINS, "
            "or with add_plugin(..., aot=True or False)"
        )
    wants_aot = request in (Request.PREFER_AOT, Request.STRICT_AOT) if has_jit and has_aot else has_aot
    return (AotPlugin if wants_aot else JitPlugin)(definition, attributes)


class QuickCreator(trt.IPluginCreatorV3Quick):
    """Makes instances of one definition, for networks and for engines."""

    def __init__(self, definition: Definition) -> None:
        trt.IPluginCreatorV3Quick.__init__(self)
        self.definition = definition
        self.name = definition.name
        self.plugin_namespace = definition.namespace
        self.plugin_version = "1"
        self.field_names = trt.PluginFieldCollection([_declared(n, k) for n, k in definition.attributes.items()])

    def create_plugin(
        self, name: str, namespace: str, field_collection: Any, phase: Any, quick_request: Any
    ) -> JitPlugin | AotPlugin:
        kinds = self.definition.attributes
        given = {field.name: _value(field, kinds[field.name]) for field in field_collection if field.name in kinds}
        if phase == trt.TensorRTPhase.RUNTIME:
            return make(self.definition, given, Request.STRICT_JIT)  # What is compiled needs no object then.
        if missing := [each for each in kinds if each not in given]:
            raise ValueError(f"{self.definition}: attribute {missing[0]!r} is not given")
        return make(self.definition, given, quick_request)


def _declared(name: str, kind: Any) -> trt.PluginField:
    """What a creator says of an attribute: the types that ONNX attributes can be turned into."""
    field = trt.PluginField(name)
    field.type = _FIELD_TYPES.get(kind, trt.PluginFieldType.UNKNOWN)
    return field
