"""Circular padding as a decorated plugin with both implementations: in Python, and in C that goes into the plan."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import tensorrt as trt
import tensorrt.plugin as trtp
from test_plugins import circ_pad

SOURCE = """
/* Moves elements of {bits} bits; what they mean does not matter. */
void circ_pad_{bits}(struct tenon_launch const* launch, void const* const* inputs, void* const* outputs,
    int32_t const* arguments)
{{
    uint{bits}_t const* x = inputs[0];
    uint{bits}_t* y = outputs[0];
    int32_t const planes = arguments[0], rows = arguments[1], columns = arguments[2];
    int32_t const outRows = arguments[3], outColumns = arguments[4], top = arguments[5], left = arguments[6];
    (void) launch;
    for (int32_t p = 0; p < planes; ++p)
        for (int32_t i = 0; i < outRows; ++i)
            for (int32_t j = 0; j < outColumns; ++j)
            {{
                int32_t const row = ((i - top) % rows + rows) % rows;
                int32_t const column = ((j - left) % columns + columns) % columns;
                *y++ = x[((int64_t) p * rows + row) * columns + column];
            }}
}}
"""
BITS = {trt.float32: 32, trt.int32: 32, trt.float16: 16, trt.int8: 8}


def describe(x: trtp.TensorDesc, before: npt.NDArray[np.int32], after: npt.NDArray[np.int32]) -> trtp.TensorDesc:
    exprs = trtp.ShapeExprs.from_tuple(x.shape_expr)
    for i in range(2):
        exprs[len(exprs) - 2 + i] = exprs[len(exprs) - 2 + i] + int(before[i]) + int(after[i])
    return trtp.from_shape_expr(exprs, x.dtype)


def run(
    x: trtp.Tensor,
    before: npt.NDArray[np.int32],
    after: npt.NDArray[np.int32],
    outputs: tuple[trtp.Tensor],
    stream: int,
) -> None:
    np.asarray(outputs[0])[...] = circ_pad(np.asarray(x), tuple(before), tuple(after))


def compiled(
    x: trtp.TensorDesc, before: npt.NDArray[np.int32], outputs: tuple[trtp.TensorDesc], tactic: int
) -> tuple[str | bytes, str | bytes, trtp.KernelLaunchParams, trtp.SymIntExprs]:
    bits, extents, made = BITS[x.dtype], x.shape_expr, outputs[0].shape_expr
    planes = trtp.ShapeExpr(1)
    for extent in list(extents)[:-2]:
        planes = planes * extent
    launch = trtp.KernelLaunchParams(grid_x=trtp.cdiv(made.numel(), 256), block_x=256)
    numbers = [planes, extents[-2], extents[-1], made[-2], made[-1], int(before[0]), int(before[1])]
    return (
        f"circ_pad_{bits}",
        SOURCE.format(bits=bits),
        launch,
        trtp.SymIntExprs.from_tuple([trtp.SymInt32(each) for each in numbers]),
    )


def register(name: str, jit: bool, aot: bool) -> None:
    """Registers pads::name with one or both implementations."""
    plugin_id = f"pads::{name}"
    trtp.register(plugin_id)(describe)
    if jit:
        trtp.impl(plugin_id)(run)
    if aot:
        trtp.aot_impl(plugin_id)(compiled)
