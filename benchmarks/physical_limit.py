#!/usr/bin/env python3
"""The least time that a network's layers need one after the other on an H200 in float16: layer by layer the larger of
FLOPs over 790 TFLOP/s and bytes over 4.26 TB/s, both reached there by large matrix products and copies.

A layer is a convolution, a matrix product, attention, a norm, a softmax, a pooling or reduction, or a table's rows,
with all element-wise operators and moves behind it: what stands in its kernel costs nothing, but other tensors that it
reads (a residual, say) do. Each tensor is read once by each layer that wants it and written once.

    physical_limit.py model.onnx input=8x3x224x224      # the limit in milliseconds, and the slowest layers
"""

import dataclasses
import math
import pathlib
import sys
import tempfile

import numpy as np
import onnx

FLOPS = 790e12
BYTES = 4.26e12
HALF = 2
PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
OTHERS = ("MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "LayerNormalization", "Softmax", "Gather")
FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE, onnx.TensorProto.BFLOAT16)


@dataclasses.dataclass
class Layer:
    """What stands in one kernel; bytes and operations of a run."""

    nodes: list[onnx.NodeProto] = dataclasses.field(default_factory=list)
    flops: float = 0.0
    bytes: float = 0.0

    @property
    def name(self) -> str:
        return " + ".join(dict.fromkeys(node.op_type for node in self.nodes))

    @property
    def seconds(self) -> float:
        return max(self.flops / FLOPS, self.bytes / BYTES)

    def has(self, *kinds: str) -> bool:
        return any(node.op_type in kinds for node in self.nodes)


LARGE = 1024  # Elements from which on a weight is no shape, axis or index.


def without_contents(graph: onnx.GraphProto) -> set[str]:
    """Makes inputs of large weights, so that nothing has to copy them; their names."""
    large = [each for each in graph.initializer if math.prod(each.dims) >= LARGE]
    small = [each for each in graph.initializer if math.prod(each.dims) < LARGE]
    named = {each.name for each in graph.input}
    for each in large:
        if each.name not in named:
            graph.input.append(onnx.helper.make_tensor_value_info(each.name, each.data_type, list(each.dims)))
    del graph.initializer[:]
    graph.initializer.extend(small)
    return {each.name for each in large}


def with_shapes(path: pathlib.Path, inputs: dict[str, tuple[int, ...]]) -> tuple[onnx.ModelProto, set[str]]:
    """The graph for these inputs, what only depends on shapes folded, shapes inferred; names of large weights."""
    import onnxruntime as ort

    model = onnx.load(path)
    large = without_contents(model.graph)
    for given in model.graph.input:
        if given.name in inputs:
            for dim, extent in zip(given.type.tensor_type.shape.dim, inputs[given.name], strict=True):
                dim.dim_value = extent
    del model.graph.value_info[:]
    with tempfile.TemporaryDirectory() as folder:
        fixed, folded = pathlib.Path(folder) / "fixed.onnx", pathlib.Path(folder) / "folded.onnx"
        onnx.save(model, fixed)
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.optimized_model_filepath = str(folded)
        options.log_severity_level = 3
        ort.InferenceSession(str(fixed), options, providers=["CPUExecutionProvider"])
        return onnx.shape_inference.infer_shapes(onnx.load(folded), data_prop=True), large


class Tensors:
    """Elements and bytes of each tensor of a graph by its name; reals have two bytes."""

    def __init__(self, graph: onnx.GraphProto, large: set[str]):
        self.weights = large | {each.name for each in graph.initializer}
        self.extents = {each.name: list(each.dims) for each in graph.initializer}
        self._types = {each.name: each.data_type for each in graph.initializer}
        for each in [*graph.value_info, *graph.input, *graph.output]:
            kind = each.type.tensor_type
            if all(dim.HasField("dim_value") for dim in kind.shape.dim):
                self.extents[each.name] = [dim.dim_value for dim in kind.shape.dim]
                self._types[each.name] = kind.elem_type

    def shape(self, name: str) -> list[int]:
        if name not in self.extents:
            raise ValueError(f"tensor '{name}' has no known shape")
        return self.extents[name]

    def bytes(self, name: str) -> int:
        kind = self._types.get(name, onnx.TensorProto.FLOAT)
        size = HALF if kind in FLOATS else np.dtype(onnx.helper.tensor_dtype_to_np_dtype(kind)).itemsize
        return math.prod(self.shape(name)) * size


def flops(node: onnx.NodeProto, tensors: Tensors) -> float:
    out = math.prod(tensors.shape(node.output[0]))
    if node.op_type == "Conv":
        return 2.0 * out * math.prod(tensors.shape(node.input[1])[1:])
    if node.op_type == "ConvTranspose":
        return 2.0 * math.prod(tensors.shape(node.input[0])) * math.prod(tensors.shape(node.input[1])[1:])
    if node.op_type == "Gemm":
        is_transposed = any(each.name == "transA" and each.i for each in node.attribute)
        return 2.0 * out * tensors.shape(node.input[0])[0 if is_transposed else 1]
    return 2.0 * out * tensors.shape(node.input[0])[-1] if node.op_type == "MatMul" else 0.0


def begins(node: onnx.NodeProto) -> bool:
    return node.op_type in PRODUCTS or node.op_type in OTHERS or node.op_type.startswith("Reduce")


def home(node: onnx.NodeProto, makers: dict[str, Layer], order: list[Layer]) -> Layer | None:
    """The layer whose kernel has room for a node; none: it begins one, or stands in front of all."""
    before = [makers[name] for name in node.input if name in makers]
    if node.op_type == "Softmax":
        return next((each for each in before if each.has("MatMul") and not each.has("Softmax")), None)
    if node.op_type == "MatMul":  # Attention's second product.
        return next((each for each in before if each.has("Softmax") and each.has("MatMul")), None)
    return None if begins(node) or not before else max(before, key=lambda layer: order.index(layer))


def layers(model: onnx.ModelProto, large: set[str]) -> list[Layer]:
    tensors, makers, order = Tensors(model.graph, large), {}, []
    for node in model.graph.node:
        if node.op_type == "Constant":
            tensors.weights.add(node.output[0])
            continue
        layer = home(node, makers, order)
        if layer is None and begins(node):
            layer = Layer()
            order.append(layer)
        if layer is None:  # Casts and the like of inputs and constants: read as if it were one.
            continue
        layer.nodes.append(node)
        layer.flops += flops(node, tensors)
        makers |= dict.fromkeys(filter(None, node.output), layer)
    results = {each.name for each in model.graph.output}
    readers: dict[str, set[int]] = {}
    for layer in order:
        own = {name for node in layer.nodes for name in node.output}
        for name in {name for node in layer.nodes for name in node.input if name} - own:
            readers.setdefault(name, set()).add(id(layer))
            layer.bytes += rows_read(name, layer, tensors) or tensors.bytes(name)
    for layer in order:
        for name in {name for node in layer.nodes for name in node.output if name}:
            if name in results or readers.get(name, set()) - {id(layer)}:
                layer.bytes += tensors.bytes(name)
    return order


def rows_read(name: str, layer: Layer, tensors: Tensors) -> int:
    """Bytes of the rows that are taken out of a table, where it is one; else 0."""
    takes = [node for node in layer.nodes if node.op_type == "Gather" and node.input[0] == name]
    return sum(tensors.bytes(node.output[0]) for node in takes) if name in tensors.weights else 0


def limit_ms(path: pathlib.Path, inputs: dict[str, tuple[int, ...]]) -> float:
    return 1e3 * sum(layer.seconds for layer in layers(*with_shapes(path, inputs)))


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    given = dict(each.split("=") for each in sys.argv[2:])
    inputs = {name: tuple(map(int, shape.split("x"))) for name, shape in given.items()}
    found = layers(*with_shapes(pathlib.Path(sys.argv[1]), inputs))
    print(f"{1e3 * sum(each.seconds for each in found):.4f} ms in {len(found)} layers; the longest, in µs:")
    for each in sorted(found, key=lambda layer: -layer.seconds)[:12]:
        print(f"{1e6 * each.seconds:9.2f}  {each.flops / 1e9:9.3f} GFLOP {each.bytes / 1e6:9.3f} MB  {each.name[:80]}")


if __name__ == "__main__":
    main()
