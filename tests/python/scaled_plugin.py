"""A module of custom layers as users write it: y = factor · x in two generations, with their creators."""

import ctypes

import numpy as np
import tensorrt as trt


def view(address: int, desc: trt.PluginTensorDesc) -> np.ndarray:
    """The memory of a tensor as an array; one without elements has no memory to look at."""
    kind, shape = np.dtype(trt.nptype(desc.type)), tuple(desc.dims)
    size = int(np.prod(shape)) * kind.itemsize
    if size == 0:
        return np.empty(shape, kind)
    return np.frombuffer((ctypes.c_char * size).from_address(address), kind).reshape(shape)


def is_fitting(desc: trt.PluginTensorDesc) -> bool:
    return desc.type == trt.float32 and desc.format == trt.TensorFormat.LINEAR


class ScaledV3(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    def __init__(self, factor: float = 2.0) -> None:
        for base in (trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
            base.__init__(self)
        self.factor = factor
        self.num_outputs = 1
        self.plugin_name = "ScaledV3"
        self.plugin_version = "1"
        self.plugin_namespace = ""

    def get_capability_interface(self, type):
        return self

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        return [trt.DimsExprs(inputs[0])]

    def supports_format_combination(self, pos, in_out, num_inputs):
        return is_fitting(in_out[pos].desc)

    def configure_plugin(self, inputs, outputs):
        pass

    def on_shape_change(self, inputs, outputs):
        pass

    def set_tactic(self, tactic):
        pass

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        view(outputs[0], output_desc[0])[...] = view(inputs[0], input_desc[0]) * np.float32(self.factor)

    def get_fields_to_serialize(self):
        factor = np.array([self.factor], np.float32)
        return trt.PluginFieldCollection([trt.PluginField("factor", factor, trt.PluginFieldType.FLOAT32)])

    def attach_to_context(self, context):
        return self.clone()

    def clone(self):
        copy = type(self)()
        copy.__dict__.update(self.__dict__)
        return copy


class ScaledDynamic(trt.IPluginV2DynamicExt):
    def __init__(self, factor: float = 2.0) -> None:
        trt.IPluginV2DynamicExt.__init__(self)
        self.factor = factor
        self.num_outputs = 1
        self.plugin_type = "ScaledDynamic"
        self.plugin_version = "1"
        self.plugin_namespace = ""

    def get_output_datatype(self, index, input_types):
        return input_types[0]

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        return trt.DimsExprs(inputs[0])

    def supports_format_combination(self, pos, in_out, num_inputs):
        return is_fitting(in_out[pos])

    def configure_plugin(self, inputs, outputs):
        pass

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        view(outputs[0], output_desc[0])[...] = view(inputs[0], input_desc[0]) * np.float32(self.factor)

    def serialize(self):
        return np.float32(self.factor).tobytes()

    def clone(self):
        copy = type(self)()
        copy.__dict__.update(self.__dict__)
        return copy


class ScaledV3Creator(trt.IPluginCreatorV3One):
    make = ScaledV3

    def __init__(self) -> None:
        trt.IPluginCreatorV3One.__init__(self)
        self.name = "ScaledV3"
        self.plugin_version = "1"
        self.plugin_namespace = ""
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField("factor", np.array([2.0], np.float32), trt.PluginFieldType.FLOAT32)]
        )

    def create_plugin(self, name, field_collection, phase):
        factors = [float(field.data[0]) for field in field_collection if field.name == "factor"]
        return type(self).make(*factors)


class ScaledDynamicCreator(trt.IPluginCreator):
    make = ScaledDynamic

    def __init__(self) -> None:
        trt.IPluginCreator.__init__(self)
        self.name = "ScaledDynamic"
        self.plugin_version = "1"
        self.plugin_namespace = ""
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField("factor", np.array([2.0], np.float32), trt.PluginFieldType.FLOAT32)]
        )

    def create_plugin(self, name, field_collection):
        factors = [float(field.data[0]) for field in field_collection if field.name == "factor"]
        return type(self).make(*factors)

    def deserialize_plugin(self, name, data):
        return type(self).make(float(np.frombuffer(bytes(data), np.float32)[0]))
