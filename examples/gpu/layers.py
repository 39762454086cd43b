"""What the examples of this folder share: a V3 plugin without its work, and a network around it, run and checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.WARNING)
ROWS = (4, 1, 32, 4, 4, 4)  # The first is seen again: its kernels are a graph then.


class Shifted(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    """y = x² + shift; a class derived from it says how."""

    def __init__(self, shift: float) -> None:
        for base in (trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
            base.__init__(self)
        self.shift = shift
        self.num_outputs = 1
        self.plugin_name, self.plugin_version, self.plugin_namespace = type(self).__name__, "1", ""

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
        pass

    def on_shape_change(self, inputs, outputs):
        pass

    def get_fields_to_serialize(self):
        shift = np.array([self.shift], np.float32)
        return trt.PluginFieldCollection([trt.PluginField("shift", shift, trt.PluginFieldType.FLOAT32)])

    def attach_to_context(self, resource_context):
        return self.clone()

    def clone(self):
        return type(self)(self.shift)


def creator_of(plugin: type[Shifted]) -> trt.IPluginCreatorV3One:
    """A registered creator of the class."""

    class Creator(trt.IPluginCreatorV3One):
        def __init__(self) -> None:
            trt.IPluginCreatorV3One.__init__(self)
            self.name, self.plugin_version, self.plugin_namespace = plugin.__name__, "1", ""
            shift = trt.PluginField("shift", np.array([0.0], np.float32), trt.PluginFieldType.FLOAT32)
            self.field_names = trt.PluginFieldCollection([shift])

        def create_plugin(self, name, field_collection, phase):
            return plugin(float(next(iter(field_collection)).data[0]))

    creator = Creator()
    trt.get_plugin_registry().register_creator(creator, "")
    return creator


def plan_of(add: Callable[[Any, Any], Any]) -> Any:
    """The plan of y = −(what `add` makes of x), x being of [1 to 32, 5]."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    config = builder.create_builder_config()
    x = network.add_input("x", trt.float32, (-1, 5))
    layer = network.add_unary(add(network, x).get_output(0), trt.UnaryOperation.NEG)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 5), (4, 5), (32, 5))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise SystemExit("the build failed")
    return plan


def run(plan: Any, shift: float, torch: Any) -> None:
    """Runs the plan on a stream of PyTorch's, with its tensors, and compares."""
    runtime = trt.Runtime(LOGGER)
    engine = runtime.deserialize_cuda_engine(plan)
    if engine is None:
        raise SystemExit("the plan cannot be loaded")
    context = engine.create_execution_context()
    stream = torch.cuda.Stream()
    for rows in ROWS:
        x = torch.randn(rows, 5, device="cuda")
        y = torch.full_like(x, float("nan"))
        torch.cuda.synchronize()
        context.set_input_shape("x", tuple(x.shape))
        context.set_tensor_address("x", x.data_ptr())
        context.set_tensor_address("y", y.data_ptr())
        if not context.execute_async_v3(stream.cuda_stream):
            raise SystemExit("the run failed")
        stream.synchronize()
        worst = float((y + x * x + shift).abs().max())
        print(f"{rows} rows: largest error {worst:g}", flush=True)
        if not worst < 1e-5:
            raise SystemExit("that is wrong")
