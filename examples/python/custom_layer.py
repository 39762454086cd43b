"""A custom layer in Python: y = x / sqrt(mean(x²) + epsilon) over the last axis. Run it: custom_layer.py"""

import ctypes
import os

import numpy as np
import tensorrt as trt

os.environ["TENON_DEVICE"] = (
    os.environ.get("TENON_DEVICE") or "cpu"
)  # Arrays are its memory, also where there is a GPU.
LOGGER = trt.Logger()
trt.init_libnvinfer_plugins(LOGGER, "")


def array_at(address: int, desc: trt.PluginTensorDesc) -> np.ndarray:
    """A tensor that enqueue is given, as an array; on the CPU addresses are those of the program."""
    kind = np.dtype(trt.nptype(desc.type))
    memory = (ctypes.c_char * (trt.volume(desc.dims) * kind.itemsize)).from_address(address)
    return np.frombuffer(memory, kind).reshape(tuple(desc.dims))


class RootMeanSquare(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    def __init__(self, epsilon: float) -> None:
        for base in (trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
            base.__init__(self)
        self.epsilon = epsilon
        self.num_outputs = 1
        self.plugin_name, self.plugin_version, self.plugin_namespace = "RootMeanSquare", "1", ""

    def get_capability_interface(self, type):
        return self

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        return [trt.DimsExprs(inputs[0])]

    def supports_format_combination(self, pos, in_out, num_inputs):
        desc = in_out[pos].desc
        return desc.type == trt.float32 and desc.format == trt.TensorFormat.LINEAR

    def configure_plugin(self, inputs, outputs):
        """Called while an engine is built, with the bounds of the shapes."""

    def on_shape_change(self, inputs, outputs):
        """Called before a run whose shapes are new."""

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        x = array_at(inputs[0], input_desc[0])
        array_at(outputs[0], output_desc[0])[...] = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon)

    def get_fields_to_serialize(self):
        epsilon = np.array([self.epsilon], np.float32)
        return trt.PluginFieldCollection([trt.PluginField("epsilon", epsilon, trt.PluginFieldType.FLOAT32)])

    def attach_to_context(self, resource_context):
        return self.clone()

    def clone(self):
        return RootMeanSquare(self.epsilon)


class RootMeanSquareCreator(trt.IPluginCreatorV3One):
    def __init__(self) -> None:
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "RootMeanSquare", "1", ""
        epsilon = trt.PluginField("epsilon", np.array([1e-6], np.float32), trt.PluginFieldType.FLOAT32)
        self.field_names = trt.PluginFieldCollection([epsilon])

    def create_plugin(self, name, field_collection, phase):
        """Called by whoever adds the layer, and with the stored fields when a plan is loaded."""
        given = {field.name: field.data for field in field_collection}
        return RootMeanSquare(float(given["epsilon"][0]))


def plugin_named(name: str, version: str, namespace: str) -> trt.IPluginV3 | None:
    creator = trt.get_plugin_registry().get_creator(name, version, namespace)
    if creator is None:  # Else it is the registered object itself: creator.interface_info says of which interface.
        return None
    epsilon = trt.PluginField("epsilon", np.array([1e-5], dtype=np.float32), trt.PluginFieldType.FLOAT32)
    fields = trt.PluginFieldCollection([epsilon])
    return creator.create_plugin(name=name, field_collection=fields, phase=trt.TensorRTPhase.BUILD)


def main() -> None:
    trt.get_plugin_registry().register_creator(RootMeanSquareCreator(), "")
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    config = builder.create_builder_config()
    config.max_workspace_size = 1 << 20
    x = network.add_input(name="x", dtype=trt.float32, shape=(2, 4))
    layer = network.add_plugin_v3(inputs=[x], shape_inputs=[], plugin=plugin_named("RootMeanSquare", "1", ""))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))

    plan = builder.build_serialized_network(network, config)
    context = trt.Runtime(LOGGER).deserialize_cuda_engine(plan).create_execution_context()
    data, result = np.arange(8, dtype=np.float32).reshape(2, 4), np.empty((2, 4), np.float32)
    context.set_tensor_address("x", data)
    context.set_tensor_address("y", result)
    if not context.execute_async_v3(0):
        raise SystemExit("the run failed")
    print(result)


if __name__ == "__main__":
    main()
