"""A custom layer whose work is CuPy's, on addresses and the stream that enqueue is given. Run it: TENON_DEVICE=cuda"""

import cupy as cp
import numpy as np
import tensorrt as trt
import torch

from layers import LOGGER, plan_of, run

SHIFT = 0.5


class Squared(trt.IPluginV2DynamicExt):
    """y = x² + shift, as an IPluginV2DynamicExt."""

    def __init__(self, shift: float = SHIFT) -> None:
        trt.IPluginV2DynamicExt.__init__(self)
        self.shift = shift
        self.num_outputs = 1
        self.plugin_namespace, self.plugin_type, self.plugin_version = "", "Squared", "1"

    def get_output_datatype(self, index, input_types):
        return input_types[0]

    def get_output_dimensions(self, output_index, inputs, exprBuilder):
        return trt.DimsExprs(inputs[0])

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].type == trt.float32 and in_out[pos].format == trt.TensorFormat.LINEAR

    def configure_plugin(self, inp, out):
        pass

    def serialize(self):
        return np.float32(self.shift).tobytes()

    def clone(self):
        return Squared(self.shift)

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        inp_dtype = trt.nptype(input_desc[0].type)
        size = trt.volume(input_desc[0].dims)
        inp_mem = cp.cuda.UnownedMemory(inputs[0], size * cp.dtype(inp_dtype).itemsize, self)
        out_mem = cp.cuda.UnownedMemory(outputs[0], size * cp.dtype(inp_dtype).itemsize, self)
        inp = cp.ndarray((size,), dtype=inp_dtype, memptr=cp.cuda.MemoryPointer(inp_mem, 0))
        out = cp.ndarray((size,), dtype=inp_dtype, memptr=cp.cuda.MemoryPointer(out_mem, 0))
        with cp.cuda.ExternalStream(stream):
            cp.multiply(inp, inp, out=out)
            cp.add(out, cp.float32(self.shift), out=out)


class SquaredCreator(trt.IPluginCreator):
    def __init__(self) -> None:
        trt.IPluginCreator.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "Squared", "1", ""
        self.field_names = trt.PluginFieldCollection([])

    def create_plugin(self, name, field_collection):
        return Squared()

    def deserialize_plugin(self, name, data):
        return Squared(float(np.frombuffer(data, np.float32)[0]))


if __name__ == "__main__":
    assert LOGGER is not None
    creator = SquaredCreator()
    trt.get_plugin_registry().register_creator(creator, "")
    run(plan_of(lambda network, x: network.add_plugin_v2([x], Squared())), SHIFT, torch)
