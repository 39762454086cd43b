"""Circular padding, the same small operator in every plugin generation that Python has; for test_contract.py.

As a program: `contract_pads.py PLAN X Y [GENERATION]` runs a plan on X.npy into Y.npy in a process of its own, with the
plugins of the generation registered, or with none.
"""

from __future__ import annotations

import sys

import numpy as np
import tensorrt as trt
import test_plugins as pads

TYPES = {np.float32: trt.float32, np.float16: trt.float16, np.int8: trt.int8, np.int32: trt.int32}
VERSION, NAMESPACE = "7", "contract"


def _accepts(kind: trt.DataType, first: trt.DataType, layout: trt.TensorFormat) -> bool:
    return layout == trt.TensorFormat.LINEAR and kind in TYPES.values() and kind == first


class DynamicPad(pads.CircPadDynamic):
    """IPluginV2DynamicExt."""

    def __init__(self, *widths: tuple[int, int]) -> None:
        super().__init__(*widths)
        self.plugin_type, self.plugin_version, self.plugin_namespace = "DynamicPad", VERSION, NAMESPACE

    def supports_format_combination(self, pos, in_out, num_inputs):
        return _accepts(in_out[pos].type, in_out[0].type, in_out[pos].format)


class ShapedPad(pads.CircPadV3):
    """IPluginV3; a shape tensor says what is added behind."""

    def __init__(self, *widths: tuple[int, int]) -> None:
        super().__init__(*widths)
        self.plugin_name, self.plugin_version, self.plugin_namespace = "ShapedPad", VERSION, NAMESPACE

    def supports_format_combination(self, pos, in_out, num_inputs):
        return _accepts(in_out[pos].desc.type, in_out[0].desc.type, in_out[pos].desc.format)


FIELDS = [
    trt.PluginField("before", np.array([], np.int32), trt.PluginFieldType.INT32),
    trt.PluginField("after", np.array([], np.int32), trt.PluginFieldType.INT32),
]


class DynamicPadCreator(pads.CircPadDynamicCreator):
    def __init__(self) -> None:
        super().__init__()
        self.name, self.plugin_version, self.plugin_namespace = "DynamicPad", VERSION, NAMESPACE
        self.field_names = trt.PluginFieldCollection(FIELDS)

    def create_plugin(self, name, field_collection):
        fields = {field.name: tuple(int(each) for each in field.data) for field in field_collection}
        return DynamicPad(fields["before"], fields["after"])

    def deserialize_plugin(self, name, data):
        plugin = super().deserialize_plugin(name, data)
        return DynamicPad(plugin.before, plugin.after)


class ShapedPadCreator(pads.CircPadV3Creator):
    def __init__(self) -> None:
        super().__init__()
        self.name, self.plugin_version, self.plugin_namespace = "ShapedPad", VERSION, NAMESPACE
        self.field_names = trt.PluginFieldCollection(FIELDS)

    def create_plugin(self, name, field_collection, phase):
        fields = {field.name: tuple(int(each) for each in field.data) for field in field_collection}
        return ShapedPad(fields["before"], fields.get("after", (0, 0)))


class Generation:
    """How a network gets the plugin: by calls, and by the attributes of an ONNX node."""

    def __init__(self, name: str, version: str, namespace: str, has_shape_input: bool = False) -> None:
        self.name, self.version, self.namespace, self.has_shape_input = name, version, namespace, has_shape_input

    def register(self) -> None:
        """Makes the plugin known to this process; once."""
        if trt.get_plugin_registry().get_creator(self.name, self.version, self.namespace) is not None:
            return
        if self.name == "DynamicPad":
            assert trt.get_plugin_registry().register_creator(DynamicPadCreator(), NAMESPACE)
        elif self.name == "ShapedPad":
            assert trt.get_plugin_registry().register_creator(ShapedPadCreator(), NAMESPACE)
        else:
            import circ_pad_aot

            circ_pad_aot.register(self.name, jit=self.name == "jit_pad", aot=self.name == "aot_pad")

    def add(self, network: trt.INetworkDefinition, x: trt.ITensor, more: trt.ITensor | None, before, after):
        if self.name == "DynamicPad":
            return network.add_plugin_v2([x], DynamicPad(tuple(before), tuple(after)))
        if self.name == "ShapedPad":
            return network.add_plugin_v3([x], [more], ShapedPad(tuple(before)))
        import tensorrt.plugin as trtp

        widths = {"before": np.array(before, np.int32), "after": np.array(after, np.int32)}
        return network.add_plugin(getattr(trtp.op.pads, self.name)(x, **widths))


GENERATIONS = {
    each.name: each
    for each in [
        Generation("DynamicPad", VERSION, NAMESPACE),
        Generation("ShapedPad", VERSION, NAMESPACE, has_shape_input=True),
        Generation("jit_pad", "1", "pads"),
        Generation("aot_pad", "1", "pads"),
    ]
}


def load(plan: bytes) -> trt.ICudaEngine | None:
    runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR))
    runtime.engine_host_code_allowed = True
    return runtime.deserialize_cuda_engine(plan)


def run(context: trt.IExecutionContext, x: np.ndarray, after: tuple[int, int]) -> np.ndarray:
    """One run; a shape tensor `more`, where the engine has one, is `after`."""
    engine = context.engine
    more = np.array(after, np.int32)
    if "more" in [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]:
        assert context.set_tensor_address("more", more)
    assert context.set_input_shape("x", x.shape)
    assert context.infer_shapes() == []
    y = np.empty(tuple(context.get_tensor_shape("y")), x.dtype)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    return y


if __name__ == "__main__":
    if len(sys.argv) > 6:
        GENERATIONS[sys.argv[6]].register()
    with open(sys.argv[1], "rb") as file:
        made = load(file.read())
    assert made is not None
    given = np.load(sys.argv[2])
    np.save(sys.argv[3], run(made.create_execution_context(), given, (int(sys.argv[4]), int(sys.argv[5]))))
