"""The plugin object behind functions: an IPluginV3 whose every answer comes from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _native as trt
from ._autotune import AutoTuneCombination
from ._definition import Definition
from ._shapes import ShapeExprs, SymInt32, building_with
from ._tensors import Shape, SizeTensorDesc, Tensor, TensorDesc


def _field(name: str, value: Any, kind: Any) -> trt.PluginField:
    if kind is str:
        return trt.PluginField(name, value.encode(), trt.PluginFieldType.CHAR)
    if kind is bytes:
        return trt.PluginField(name, value, trt.PluginFieldType.UNKNOWN)
    if kind in (int, bool):
        return trt.PluginField(name, np.array([value], np.int64), trt.PluginFieldType.INT64)
    if kind is float:
        return trt.PluginField(name, np.array([value], np.float64), trt.PluginFieldType.FLOAT64)
    return trt.PluginField(name, np.ascontiguousarray(value).tobytes(), trt.PluginFieldType.UNKNOWN)


def _value(field: trt.PluginField, kind: Any) -> Any:
    if kind is str:
        return bytes(field.data or b"").decode()
    if kind is bytes:
        return bytes(field.data or b"")
    if kind in (int, bool, float):
        return kind(field.data[0])
    if isinstance(field.data, np.ndarray):  # Of an ONNX node: numbers of the field's own type.
        return np.array(field.data, dtype=kind)
    return np.frombuffer(bytes(field.data or b""), kind).copy()


class JitPlugin(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuildV2, trt.IPluginV3OneRuntime):
    """One instance of a plugin that runs in this Python process."""

    def __init__(self, definition: Definition, attributes: dict[str, Any]) -> None:
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuildV2.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.definition = definition
        self.attributes = attributes
        self.plugin_name = definition.name
        self.plugin_namespace = definition.namespace
        self.plugin_version = "1"
        self.num_outputs = definition.outputs
        self.ranks: list[int] = []
        self.combinations: list[tuple[list[tuple[Any, Any]], list[int] | None]] = []
        self.valid_tactics: list[int] = []
        self.aliases: dict[int, int] = {}
        self.tactic = 0

    def get_capability_interface(self, type: Any) -> Any:
        return self

    def clone(self) -> JitPlugin:
        copy = JitPlugin(self.definition, self.attributes)
        copy.ranks, copy.combinations = self.ranks, self.combinations
        copy.valid_tactics, copy.aliases, copy.tactic = self.valid_tactics, self.aliases, self.tactic
        return copy

    # ---- descriptions

    def _described(self, inputs: list[TensorDesc]) -> list[TensorDesc]:
        for index, desc in enumerate(inputs):
            desc._index = index
        answer = self.definition.describe(*inputs, **self.attributes)
        outputs = list(answer) if isinstance(answer, tuple) else [answer]
        where = f"{self.definition.describe.__name__} for {self.definition.id}"
        if len(outputs) != self.definition.outputs or not all(isinstance(each, TensorDesc) for each in outputs):
            raise ValueError(f"{where} must return {self.definition.outputs} TensorDesc, not {answer!r}")
        for index, desc in enumerate(outputs):
            if isinstance(desc, SizeTensorDesc):
                desc._index = index
        return outputs

    def get_output_data_types(self, input_types: list[Any]) -> list[Any]:
        ranks = self.ranks or [trt.Dims.MAX_DIMS] * len(input_types)
        inputs = [
            TensorDesc(ShapeExprs(rank, _is_dummy=True), kind) for rank, kind in zip(ranks, input_types, strict=True)
        ]
        return [desc.dtype for desc in self._described(inputs)]

    def get_output_shapes(self, inputs: list[Any], shape_inputs: list[Any], expr_builder: Any) -> list[Any]:
        if shape_inputs:
            raise ValueError(f"{self.definition}: shape inputs are not supported by plugins of functions (N10)")
        self.ranks = [len(dims) for dims in inputs]
        with building_with(expr_builder):
            types = [trt.DataType.FLOAT] * len(inputs)  # Shapes do not depend on types.
            descs = [TensorDesc(ShapeExprs._of(dims), kind) for dims, kind in zip(inputs, types, strict=True)]
            outputs = self._described(descs)
            self.aliases = {
                i: each._aliased_to._index for i, each in enumerate(outputs) if each._aliased_to is not None
            }
            shapes = []
            for desc in outputs:
                exprs = [each if isinstance(each, SymInt32) else SymInt32(each) for each in desc.shape_expr]
                shapes.append(trt.DimsExprs([each._as_expr() for each in exprs]))
            for desc in outputs:
                if isinstance(desc, SizeTensorDesc):
                    desc._declared()
            return shapes

    def get_aliased_input(self, output_index: int) -> int:
        return self.aliases.get(output_index, -1)

    # ---- types, formats and tactics

    def _ask_autotune(self, in_out: list[Any], num_inputs: int) -> None:
        self.combinations = []
        if self.definition.autotune is None:
            return
        descs = []
        for desc in in_out:
            tensor = TensorDesc()
            tensor.shape = Shape(desc)
            descs.append(tensor)
        attributes = {name: self.attributes[name] for name in self.definition.autotune_attributes}
        answer = self.definition.autotune(*descs[:num_inputs], **attributes, outputs=tuple(descs[num_inputs:]))
        for combination in answer:
            if not isinstance(combination, AutoTuneCombination):
                raise ValueError(f"{self.definition.autotune.__name__} must return a list of AutoTuneCombination")
            self.combinations += combination._expanded(len(in_out))

    def supports_format_combination(self, pos: int, in_out: list[Any], num_inputs: int) -> bool:
        if pos == 0:
            self._ask_autotune(in_out, num_inputs)
        given = [(each.desc.type, each.desc.format) for each in in_out[: pos + 1]]
        if self.combinations:
            return any(ports[: pos + 1] == given for ports, _ in self.combinations)
        if given[pos][1] != trt.TensorFormat.LINEAR:
            return False
        if pos < num_inputs:
            return True  # N8: the declared types; those of the inputs are what the network has.
        return given[pos][0] == self.get_output_data_types([kind for kind, _ in given[:num_inputs]])[pos - num_inputs]

    def configure_plugin(self, inputs: list[Any], outputs: list[Any]) -> None:
        chosen = [(each.desc.type, each.desc.format) for each in [*inputs, *outputs]]
        self.valid_tactics = next((tactics or [] for ports, tactics in self.combinations if ports == chosen), [])

    def get_valid_tactics(self) -> list[int]:
        return self.valid_tactics

    def set_tactic(self, tactic: int) -> None:
        self.tactic = tactic

    # ---- storing and running

    def get_fields_to_serialize(self) -> trt.PluginFieldCollection:
        names = self.definition.impl_attributes  # N6
        kinds = self.definition.attributes
        return trt.PluginFieldCollection([_field(name, self.attributes[name], kinds[name]) for name in names])

    def attach_to_context(self, context: Any) -> JitPlugin:
        return self.clone()

    def on_shape_change(self, inputs: list[Any], outputs: list[Any]) -> None:
        pass

    def enqueue(
        self, input_desc: list[Any], output_desc: list[Any], inputs: list[int], outputs: list[int], workspace: int,
        stream: int,
    ) -> None:  # fmt: skip
        aliased = set(outputs)
        tensors = [Tensor._of(desc, at, at in aliased) for desc, at in zip(input_desc, inputs, strict=True)]
        results = [Tensor._of(desc, at, True) for desc, at in zip(output_desc, outputs, strict=True)]
        for tensor in results:
            same = next((each for each in tensors if each.data_ptr == tensor.data_ptr), None)
            object.__setattr__(tensor, "_aliased_to", same)
        arguments = {name: self.attributes[name] for name in self.definition.impl_attributes}
        if self.definition.impl_takes_tactic:
            arguments["tactic"] = self.tactic
        try:
            self.definition.impl(*tensors, **arguments, outputs=tuple(results), stream=stream)
        finally:
            for tensor in [*tensors, *results]:
                tensor._end()


class JitCreator(trt.IPluginCreatorV3One):
    """Makes instances of one definition, for networks and for engines."""

    def __init__(self, definition: Definition) -> None:
        trt.IPluginCreatorV3One.__init__(self)
        self.definition = definition
        self.name = definition.name
        self.plugin_namespace = definition.namespace
        self.plugin_version = "1"
        self.field_names = trt.PluginFieldCollection([_declared(n, k) for n, k in definition.attributes.items()])

    def create_plugin(self, name: str, field_collection: Any, phase: Any) -> JitPlugin:
        kinds = self.definition.attributes
        given = {field.name: _value(field, kinds[field.name]) for field in field_collection if field.name in kinds}
        if phase == trt.TensorRTPhase.BUILD and (missing := [each for each in kinds if each not in given]):
            raise ValueError(f"{self.definition}: attribute {missing[0]!r} is not given")
        return JitPlugin(self.definition, given)


def _declared(name: str, kind: Any) -> trt.PluginField:
    """What a creator says of an attribute: the types that ONNX attributes can be turned into."""
    types = {
        str: trt.PluginFieldType.CHAR, bytes: trt.PluginFieldType.CHAR, int: trt.PluginFieldType.INT64,
        bool: trt.PluginFieldType.INT64, float: trt.PluginFieldType.FLOAT64,
        np.dtype(np.float32): trt.PluginFieldType.FLOAT32, np.dtype(np.float64): trt.PluginFieldType.FLOAT64,
        np.dtype(np.int8): trt.PluginFieldType.INT8, np.dtype(np.int16): trt.PluginFieldType.INT16,
        np.dtype(np.int32): trt.PluginFieldType.INT32, np.dtype(np.int64): trt.PluginFieldType.INT64,
    }  # fmt: skip
    field = trt.PluginField(name)
    field.type = types.get(kind, trt.PluginFieldType.UNKNOWN)
    return field
