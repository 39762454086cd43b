"""Q/DQ layers around the convolutions and products of an ONNX model, in int8 or in fp8 (E4M3).

Activations get one scale each, from their largest element in a few runs of ONNX Runtime on random inputs; weights one
per output channel in int8, and one in fp8. With `sums`, sums that read a quantized tensor read it dequantized, so that
it is in memory in one form. Convolutions of few channels and groups stay as they are.
"""

import os
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

GRAIN = 16  # Channels of a convolution.
OPSET = 19  # The first whose Q/DQ layers know fp8.
LARGEST = {"int8": 127.0, "fp8": 448.0}


def fp8_bytes(values: np.ndarray) -> np.ndarray:
    """The nearest numbers of E4M3, as their bits."""
    size = np.minimum(np.abs(values.astype(np.float32)), 448.0)
    bits = size.view(np.int32)
    normal = ((bits + 0x7FFFF + (bits >> 20 & 1)) >> 20) - 960
    small = np.rint(size * 512.0).astype(np.int32)
    return (np.where(size < 2.0**-6, small, normal) | np.where(np.signbit(values), 0x80, 0)).astype(np.uint8)


def operands(node: onnx.NodeProto, weights: dict[str, np.ndarray]) -> tuple[str, str, int] | None:
    """Activation, weights, and the weights' axis of output channels; None: the node stays."""
    if len(node.input) < 2 or node.input[1] not in weights or node.input[0] in weights:
        return None
    shape = weights[node.input[1]].shape
    attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
    if node.op_type == "Conv" and attributes.get("group", 1) == 1 and shape[1] % GRAIN == 0:
        return node.input[0], node.input[1], 0
    if node.op_type == "MatMul" and len(shape) == 2 and shape[0] % GRAIN == 0:
        return node.input[0], node.input[1], 1
    if node.op_type == "Gemm" and not attributes.get("transA", 0):
        axis = 0 if attributes.get("transB", 0) else 1
        return (node.input[0], node.input[1], axis) if shape[1 - axis] % GRAIN == 0 else None
    return None


def largest_elements(
    model: onnx.ModelProto, names: list[str], feeds: list[dict[str, np.ndarray]], folder: pathlib.Path
) -> dict[str, float]:
    import onnxruntime

    seen = onnx.ModelProto()
    seen.CopyFrom(model)
    del seen.graph.output[:]
    seen.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    path = folder / f"ranges.{os.getpid()}.onnx"
    onnx.save(seen, path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    largest = dict.fromkeys(names, 0.0)
    for feed in feeds:
        for name, values in zip(names, session.run(names, feed), strict=True):
            largest[name] = max(largest[name], float(np.abs(values).max()))
    path.unlink()
    return largest


def quantized_weights(values: np.ndarray, axis: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    if kind == "fp8":
        scale = np.float32(max(np.abs(values).max(), 1e-6) / LARGEST[kind])
        return fp8_bytes(values / scale), np.array(scale)
    others = tuple(i for i in range(values.ndim) if i != axis)
    scales = np.maximum(np.abs(values).max(axis=others), 1e-6).astype(np.float32) / np.float32(LARGEST[kind])
    return np.clip(np.rint(values / np.expand_dims(scales, others)), -127, 127).astype(np.int8), scales


class Quantizer:
    def __init__(self, model: onnx.ModelProto, kind: str, largest: dict[str, float]) -> None:
        self.kind = kind
        self.type = TensorProto.FLOAT8E4M3FN if kind == "fp8" else TensorProto.INT8
        self.largest = largest
        self.graph = model.graph
        self.made: list[onnx.NodeProto] = []
        self.pairs: dict[str, str] = {}

    def constant(self, name: str, data: np.ndarray) -> str:
        narrow = data.dtype in (np.int8, np.uint8)
        kind = self.type if narrow else TensorProto.FLOAT
        self.graph.initializer.append(helper.make_tensor(name, kind, data.shape, data.tobytes(), raw=True))
        return name

    def activation(self, name: str) -> str:
        if name not in self.pairs:
            scale = max(self.largest[name], 1e-6) / LARGEST[self.kind]
            inputs = [self.constant(f"{name}.scale", np.float32(scale)), self.constant(f"{name}.zero", np.int8(0))]
            self.made += [
                helper.make_node("QuantizeLinear", [name, *inputs], [f"{name}.q"]),
                helper.make_node("DequantizeLinear", [f"{name}.q", *inputs], [f"{name}.dq"]),
            ]
            self.pairs[name] = f"{name}.dq"
        return self.pairs[name]

    def weight(self, name: str, values: np.ndarray, axis: int) -> str:
        if f"{name}.w" not in self.pairs:
            steps, scales = quantized_weights(values, axis, self.kind)
            zeros = np.zeros(scales.shape, steps.dtype)
            inputs = [self.constant(f"{name}.steps", steps), self.constant(f"{name}.scales", scales)]
            inputs.append(self.constant(f"{name}.zeros", zeros))
            along = {"axis": axis} if scales.ndim else {}
            self.made.append(helper.make_node("DequantizeLinear", inputs, [f"{name}.w"], **along))
            self.pairs[f"{name}.w"] = f"{name}.w"
        return f"{name}.w"


def quantize(
    model: onnx.ModelProto, kind: str, feeds: list[dict[str, np.ndarray]], folder: pathlib.Path, sums: bool = False
) -> onnx.ModelProto:
    weights = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    found = {node.output[0]: operands(node, weights) for node in model.graph.node}
    names = list(dict.fromkeys(each[0] for each in found.values() if each))
    made = onnx.ModelProto()
    made.CopyFrom(model)
    made.opset_import[0].version = max(made.opset_import[0].version, OPSET)
    quantizer = Quantizer(made, kind, largest_elements(model, names, feeds, folder))
    nodes = []
    for node in made.graph.node:
        place = found[node.output[0]]
        if place:
            node.input[0] = quantizer.activation(place[0])
            node.input[1] = quantizer.weight(place[1], weights[place[1]], place[2])
        elif node.op_type == "Add" and sums:
            for i, name in enumerate(node.input):
                node.input[i] = quantizer.activation(name) if name in names else name
        nodes += [*quantizer.made, node]
        quantizer.made.clear()
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    used = {name for node in nodes for name in node.input}
    kept = [each for each in made.graph.initializer if each.name in used]
    del made.graph.initializer[:]
    made.graph.initializer.extend(kept)
    return made
