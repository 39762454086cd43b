"""What a network with Q/DQ layers says in double precision: quantized where it says so, and rounded nowhere else."""

from collections.abc import Callable

import numpy as np
import onnx
from onnx import numpy_helper

Values = dict[str, np.ndarray]
Attributes = dict[str, object]


def along(scale: np.ndarray, attributes: Attributes, rank: int) -> np.ndarray:
    """One scale, or one per position of an axis, as real numbers that broadcast over a tensor."""
    if scale.size == 1:
        return scale.astype(np.float64).reshape(())
    return scale.astype(np.float64).reshape([-1 if axis == attributes.get("axis", 1) else 1 for axis in range(rank)])


def dequantize(attributes: Attributes, x: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    return (x - along(zero, attributes, x.ndim)) * along(scale, attributes, x.ndim)


def quantize(attributes: Attributes, x: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    limits = np.iinfo(zero.dtype)
    numbers = np.rint(x.astype(np.float64) / along(scale, attributes, x.ndim)) + along(zero, attributes, x.ndim)
    return np.clip(numbers, limits.min, limits.max).astype(zero.dtype)


def windows(attributes: Attributes, x: np.ndarray, size: tuple[int, int], filler: float) -> list[list[np.ndarray]]:
    """[ky][kx]: what each position of a window sees, of all windows."""
    top, left, bottom, right = attributes.get("pads", [0] * 4)
    (down, across), (height, width) = attributes.get("strides", [1, 1]), size
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=filler)
    lines, columns = (x.shape[2] - height) // down + 1, (x.shape[3] - width) // across + 1
    return [
        [x[:, :, ky : ky + down * lines : down, kx : kx + across * columns : across] for kx in range(width)]
        for ky in range(height)
    ]


def convolve(attributes: Attributes, x: np.ndarray, kernel: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    groups = attributes.get("group", 1)
    if groups != 1 and kernel.shape[1] == 1 and groups == len(kernel):
        maps = by_channel(attributes, x, kernel)
    elif groups != 1:
        parts = zip(np.split(x, groups, 1), np.split(kernel, groups), strict=True)
        maps = np.concatenate([of_all_channels(attributes, *part) for part in parts], 1)
    else:
        maps = of_all_channels(attributes, x, kernel)
    return maps if bias is None else maps + bias[:, None, None]


def by_channel(attributes: Attributes, x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    lines = windows(attributes, x, kernel.shape[2:], 0)
    return sum(kernel[:, 0, ky, kx, None, None] * seen for ky, line in enumerate(lines) for kx, seen in enumerate(line))


def of_all_channels(attributes: Attributes, x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    maps = 0.0
    for ky, line in enumerate(windows(attributes, x, kernel.shape[2:], 0)):
        for kx, seen in enumerate(line):
            maps = maps + np.tensordot(kernel[:, :, ky, kx], seen, ([1], [1]))
    return np.moveaxis(maps, 0, 1)


def pool(attributes: Attributes, x: np.ndarray) -> np.ndarray:
    least = np.iinfo(x.dtype).min if x.dtype.kind == "i" else -np.inf
    return np.max([seen for line in windows(attributes, x, attributes["kernel_shape"], least) for seen in line], 0)


def gemm(attributes: Attributes, a: np.ndarray, b: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return a @ (b.T if attributes.get("transB") else b) + bias


OPERATORS: dict[str, Callable[..., np.ndarray]] = {
    "DequantizeLinear": dequantize,
    "QuantizeLinear": quantize,
    "Conv": convolve,
    "MaxPool": pool,
    "Gemm": gemm,
    "Add": lambda attributes, a, b: a + b,
    "Relu": lambda attributes, x: np.maximum(x, 0),
    "Constant": lambda attributes: numpy_helper.to_array(attributes["value"]),
    "Clip": lambda attributes, x, least, most: np.clip(x, least, most),
    "Identity": lambda attributes, x: x,
    "Flatten": lambda attributes, x: x.reshape(len(x), -1),
    "GlobalAveragePool": lambda attributes, x: x.mean((2, 3), keepdims=True),
}


def exact(model: onnx.ModelProto, feed: Values, taken: Values | None = None) -> Values:
    """Results of all nodes. Where `taken` has what an engine made of a tensor, the nodes behind start from that."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer} | feed
    results = {}
    for node in model.graph.node:
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        (name,) = node.output
        results[name] = OPERATORS[node.op_type](attributes, *(values[given] for given in node.input))
        values[name] = results[name] if taken is None else taken.get(name, results[name])
    return results
