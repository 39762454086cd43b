"""A custom layer whose work is a kernel that numba compiles. Run it: TENON_DEVICE=cuda numba_layer.py"""

import tensorrt as trt
import torch
from numba import cuda

from layers import Shifted, creator_of, plan_of, run

SHIFT = -1.25


@cuda.jit
def square(x, y, shift):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = x[i] * x[i] + shift


class ArrayAt:
    """Memory of the GPU as numba takes it."""

    def __init__(self, address: int, count: int) -> None:
        self.__cuda_array_interface__ = {"shape": (count,), "typestr": "<f4", "data": (address, False), "version": 3}


class NumbaSquared(Shifted):
    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        count = trt.volume(input_desc[0].dims)
        x, y = (cuda.as_cuda_array(ArrayAt(address, count)) for address in (inputs[0], outputs[0]))
        square[(count + 127) // 128, 128, cuda.external_stream(stream)](x, y, self.shift)


if __name__ == "__main__":
    creator = creator_of(NumbaSquared)
    run(plan_of(lambda network, x: network.add_plugin_v3([x], [], NumbaSquared(SHIFT))), SHIFT, torch)
