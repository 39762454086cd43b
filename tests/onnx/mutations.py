"""Changes of ONNX models at random: what a seeded generator makes of one is a model again, mostly a wrong one."""

import random
from collections.abc import Callable, Iterator

import onnx
import onnx.defs

Attribute = onnx.AttributeProto
Tensor = onnx.TensorProto

STRANGE = (
    0,
    1,
    -1,
    2,
    3,
    7,
    8,
    63,
    64,
    100,
    -100,
    65536,
    2**31 - 1,
    -(2**31),
    2**31,
    2**40,
    2**62,
    2**63 - 1,
    -(2**63),
)
SMALL = (-2, -1, 0, 1, 2, 3, 4, 5)
STRANGE_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, float("inf"), float("-inf"), float("nan"), 3.4e38, 2.0, -7.0)
TEXTS = ("", "constant", "reflect", "edge", "wrap", "linear", "nearest", "cubic", "SAME_UPPER", "SAME_LOWER", "VALID")
TEXTS += ("NOTSET", "half_pixel", "align_corners", "bidirectional", "reverse", "ij,jk->ik", "ii->i", "...i,...i->...")
TEXTS += ("mean", "max", "none", "mul", "tanh", "%s%n", "x" * 3000)
TYPES = tuple(range(0, 28))
COMMON_TYPES = (Tensor.FLOAT, Tensor.INT64, Tensor.INT32, Tensor.BOOL, Tensor.FLOAT16, Tensor.INT8, Tensor.UINT8)

SCHEMAS = [schema for schema in onnx.defs.get_all_schemas() if schema.domain == ""]
OPERATORS = [schema.name for schema in SCHEMAS]
MICROSOFT = ["Gelu", "FastGelu", "BiasGelu", "SkipLayerNormalization", "Attention", "MultiHeadAttention", "QAttention"]
MICROSOFT += ["RotaryEmbedding", "GroupQueryAttention", "MatMulNBits", "QuickGelu", "FusedMatMul", "QLinearAdd"]
MICROSOFT += ["TransposeMatMul", "SkipSimplifiedLayerNormalization", "DynamicQuantizeMatMul", "MatMulIntegerToFloat"]
MICROSOFT += ["QLinearMul", "QLinearConcat", "QLinearSoftmax", "QLinearAveragePool", "QLinearGlobalAveragePool"]
MICROSOFT += ["QLinearReduceMean", "QLinearWhere", "QLinearSigmoid", "QLinearLeakyRelu", "QGemm", "DynamicQuantizeLSTM"]
MICROSOFT += ["QuantizeLinear", "DequantizeLinear"]
SWITCHES = [(name, int(Attribute.INT)) for name in ("transBatchA", "transBatchB", "channels_last", "do_rotary", "bits")]
SWITCHES += [
    (name, int(Attribute.INT)) for name in ("unidirectional", "num_heads", "kv_num_heads", "block_size", "K", "N")
]
ATTRIBUTES = sorted(
    {(name, int(one.type.value)) for schema in SCHEMAS for name, one in schema.attributes.items()} | set(SWITCHES),
)


class Mutator:
    """Changes one model some times over; `donors` are models whose nodes it may plant."""

    def __init__(self, seed: int, donors: list[bytes]):
        self.random = random.Random(seed)
        self.donors = donors
        self.fresh = 0

    def mutated(self, model: onnx.ModelProto) -> onnx.ModelProto:
        changes = self.weighted()
        for _ in range(1 + int(self.random.expovariate(0.6))):
            graph = self.random.choice(list(graphs_of(model.graph))) if self.chance(0.3) else model.graph
            try:
                self.random.choice(changes)(model, graph)
            except (IndexError, ValueError):
                pass  # Nothing of that sort is in this model.
        return model

    def weighted(self) -> list[Callable]:
        return (
            [self.change_operator] * 2 + [self.change_attribute] * 5 + [self.change_edge] * 5
            + [self.change_initializer] * 4 + [self.change_dims] * 3 + [self.change_type] * 3 + [self.plant] * 4
            + [self.known_to_run_time] * 2 + [self.open_dims] * 2
            + [self.run_time_to_known, self.insert, self.duplicate, self.remove, self.swap, self.change_opset]
            + [self.change_output, self.rename, self.nest, self.claim, self.change_function, self.close_circle]
            + [self.change_node_edges, self.make_call, self.overflow]
        )  # fmt: skip

    # ---- Choices
    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def number(self) -> int:
        return self.random.choice(SMALL if self.chance(0.7) else STRANGE)

    def real(self) -> float:
        return self.random.choice(STRANGE_FLOATS) if self.chance(0.5) else self.random.uniform(-3, 3)

    def new_name(self) -> str:
        self.fresh += 1
        return f"new{self.fresh}"

    def pick(self, things):
        return self.random.choice(list(things))

    def value(self, graph: onnx.GraphProto) -> str:
        """A name of the graph, mostly one that exists."""
        names = [info.name for info in graph.input] + [tensor.name for tensor in graph.initializer]
        names += [name for node in graph.node for name in node.output]
        return self.random.choice(names) if names and not self.chance(0.03) else self.random.choice(("", "nowhere"))

    # ---- Nodes
    def change_operator(self, model, graph):
        node = self.pick(graph.node)
        node.op_type = self.random.choice(OPERATORS)
        if self.chance(0.1):
            node.domain, node.op_type = "com.microsoft", self.random.choice(MICROSOFT)

    def insert(self, model, graph):
        """A new node of one operator in an edge."""
        node = self.pick(graph.node)
        place = self.random.randrange(len(node.input))
        schema = self.random.choice(SCHEMAS)
        new = onnx.NodeProto(op_type=schema.name, input=[node.input[place]], output=[self.new_name()])
        new.input.extend(self.value(graph) for _ in range(max(schema.min_input, 1) - 1))
        node.input[place] = new.output[0]
        at = list(graph.node).index(node)
        self.put(graph, at, new)

    def put(self, graph, at, node):
        nodes = list(graph.node)
        nodes.insert(at, node)
        nodes = [onnx.NodeProto.FromString(one.SerializeToString()) for one in nodes]
        del graph.node[:]
        graph.node.extend(nodes)

    def duplicate(self, model, graph):
        node = onnx.NodeProto()
        node.CopyFrom(self.pick(graph.node))
        if self.chance(0.9):
            node.output[:] = [self.new_name() for _ in node.output]
        graph.node.append(node)
        self.read_new(graph, node)

    def plant(self, model, graph):
        """A node of another model, with its known operands, behind some values of this one."""
        donor = onnx.ModelProto.FromString(self.random.choice(self.donors))
        node = onnx.NodeProto()
        node.CopyFrom(self.pick(donor.graph.node))
        known = {tensor.name: tensor for tensor in donor.graph.initializer}
        for i, name in enumerate(node.input):
            if name in known and self.chance(0.9):
                tensor = graph.initializer.add()
                tensor.CopyFrom(known[name])
                tensor.name = node.input[i] = self.new_name()
            elif name:
                node.input[i] = self.value(graph)
        node.output[:] = [self.new_name() for _ in node.output]
        if donor.functions and self.chance(0.9):
            model.functions.extend(donor.functions)
            model.opset_import.extend(donor.opset_import)
        graph.node.append(node)
        self.read_new(graph, node)

    def read_new(self, graph, node):
        if not node.output:
            return
        name = self.pick(node.output)
        if self.chance(0.5):
            graph.output.append(onnx.helper.make_empty_tensor_value_info(name))
        else:
            reader = self.pick(graph.node)
            reader.input[self.random.randrange(len(reader.input))] = name  # Sometimes a circle.

    def remove(self, model, graph):
        node = self.random.randrange(len(graph.node))
        old = graph.node[node]
        if old.input and self.chance(0.7):
            for other in graph.node:
                other.input[:] = [old.input[0] if name in old.output else name for name in other.input]
            for output in graph.output:
                output.name = old.input[0] if output.name in old.output else output.name
        del graph.node[node]

    def swap(self, model, graph):
        a, b = self.pick(graph.node), self.pick(graph.node)
        which = self.random.randrange(3)
        if which == 0:
            a.op_type, b.op_type = b.op_type, a.op_type
        elif which == 1:
            inputs = list(a.input)
            a.input[:] = b.input
            b.input[:] = inputs
        else:
            nodes = [onnx.NodeProto.FromString(one.SerializeToString()) for one in graph.node]
            self.random.shuffle(nodes)
            del graph.node[:]
            graph.node.extend(nodes)

    # ---- Edges
    def change_edge(self, model, graph):
        node = self.pick(graph.node)
        which = self.random.randrange(6)
        if which == 0:
            node.input.append(self.value(graph))
        elif which == 1:
            del node.input[self.random.randrange(len(node.input))]
        elif which == 2:
            node.input[self.random.randrange(len(node.input))] = ""
        else:
            node.input[self.random.randrange(len(node.input))] = self.value(graph)

    def change_node_edges(self, model, graph):
        node = self.pick(graph.node)
        which = self.random.randrange(4)
        if which == 0:
            node.output.append(self.new_name())
        elif which == 1:
            node.output[self.random.randrange(len(node.output))] = self.value(graph)
        elif which == 2:
            del node.output[:]
        else:
            node.input.extend(list(node.input) * 20)

    def close_circle(self, model, graph):
        node = self.pick(graph.node)
        node.input[self.random.randrange(len(node.input))] = self.random.choice(graph.node[-1].output)

    # ---- Attributes
    def change_attribute(self, model, graph):
        node = self.pick(graph.node)
        if not node.attribute or self.chance(0.25):
            name, kind = self.random.choice(ATTRIBUTES)
            new = node.attribute.add(name=name, type=kind)
            self.fill(new)
            return
        attribute = self.pick(node.attribute)
        if self.chance(0.1):
            node.attribute.remove(attribute)
        elif self.chance(0.05):
            attribute.type = self.random.randrange(15)
        elif self.chance(0.03):
            attribute.ref_attr_name = attribute.name
        else:
            self.fill(attribute)

    def fill(self, attribute):
        kind = attribute.type
        if kind == Attribute.INT:
            attribute.i = self.number()
        elif kind == Attribute.FLOAT:
            attribute.f = self.real()
        elif kind == Attribute.STRING:
            attribute.s = self.random.choice(TEXTS).encode()
        elif kind == Attribute.INTS:
            self.fill_list(attribute.ints, self.number)
        elif kind == Attribute.FLOATS:
            self.fill_list(attribute.floats, self.real)
        elif kind == Attribute.STRINGS:
            self.fill_list(attribute.strings, lambda: self.random.choice(TEXTS).encode())
        elif kind == Attribute.TENSOR:
            self.spoil(attribute.t)

    def fill_list(self, numbers, new):
        which = self.random.randrange(4)
        if which == 0 and numbers:
            del numbers[self.random.randrange(len(numbers))]
        elif which == 1 or not numbers:
            numbers.append(new())
        elif which == 2:
            numbers[self.random.randrange(len(numbers))] = new()
        else:
            numbers[:] = [new() for _ in numbers]

    # ---- Tensors
    def tensors(self, graph) -> list[onnx.TensorProto]:
        held = [one.t for node in graph.node for one in node.attribute if one.HasField("t")]
        return list(graph.initializer) * 2 + held

    def change_initializer(self, model, graph):
        self.spoil(self.pick(self.tensors(graph)))

    def spoil(self, tensor):
        which = self.random.randrange(9)
        if which == 0:
            tensor.dims.append(self.number())
        elif which == 1:
            del tensor.dims[self.random.randrange(len(tensor.dims))]
        elif which == 2:
            tensor.dims[self.random.randrange(len(tensor.dims))] = self.number()
        elif which == 3:
            tensor.data_type = self.random.choice(TYPES)
        elif which == 4:
            tensor.raw_data = tensor.raw_data[: self.random.randrange(len(tensor.raw_data))]
        elif which == 5:
            tensor.dims[:] = reversed(list(tensor.dims))
        else:
            self.change_elements(tensor)

    def change_elements(self, tensor):
        if tensor.data_type == Tensor.INT64 and tensor.raw_data and len(tensor.raw_data) % 8 == 0:
            at = 8 * self.random.randrange(len(tensor.raw_data) // 8)
            raw = self.number().to_bytes(8, "little", signed=True)
            tensor.raw_data = tensor.raw_data[:at] + raw + tensor.raw_data[at + 8 :]
        elif tensor.raw_data:
            at = self.random.randrange(len(tensor.raw_data))
            tensor.raw_data = tensor.raw_data[:at] + self.random.randbytes(4) + tensor.raw_data[at + 4 :]
        elif tensor.int64_data:
            self.fill_list(tensor.int64_data, self.number)
        elif tensor.float_data:
            self.fill_list(tensor.float_data, self.real)
        elif tensor.int32_data:
            tensor.int32_data[self.random.randrange(len(tensor.int32_data))] = self.random.choice(SMALL)

    def claim(self, model, graph):
        """A tensor that says that it is huge, or that its elements are somewhere else."""
        tensor = self.pick(self.tensors(graph))
        which = self.random.randrange(4)
        if which == 0:
            tensor.dims[:] = [2**20, 2**20]
        elif which == 1:
            tensor.dims[:] = [2**32, 2**32, 2]
        elif which == 2:
            tensor.dims.append(2**31)
        else:
            tensor.data_location = Tensor.EXTERNAL
            for key, text in (("location", "../../etc/passwd"), ("offset", "-1"), ("length", str(2**62))):
                tensor.external_data.add(key=key, value=text)

    def known_to_run_time(self, model, graph):
        tensor = self.pick(model.graph.initializer)
        info = onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        model.graph.initializer.remove(tensor)
        model.graph.input.append(info)

    def run_time_to_known(self, model, graph):
        info = self.pick(model.graph.input)
        tensor = self.pick(self.tensors(graph))
        new = graph.initializer.add()
        new.CopyFrom(tensor)
        new.name = info.name

    # ---- Shapes and types of inputs
    def change_dims(self, model, graph):
        shape = self.pick(self.pick([*model.graph.input, *graph.output]).type.tensor_type.shape for _ in "x")
        which = self.random.randrange(4)
        if which == 0:
            shape.dim.add().dim_value = self.number()
        elif which == 1:
            del shape.dim[self.random.randrange(len(shape.dim))]
        else:
            dim = self.pick(shape.dim)
            dim.dim_value = self.random.choice(SMALL) if self.chance(0.8) else self.random.choice(STRANGE)

    def open_dims(self, model, graph):
        info = self.pick(model.graph.input)
        for i, dim in enumerate(info.type.tensor_type.shape.dim):
            if self.chance(0.6):
                dim.dim_param = self.random.choice(("n", "m", f"d{i}", ""))

    def change_type(self, model, graph):
        if self.chance(0.5):
            info = self.pick([*model.graph.input, *graph.input])
            info.type.tensor_type.elem_type = self.random.choice(COMMON_TYPES if self.chance(0.8) else TYPES)
            return
        to = self.random.choice((Tensor.FLOAT16, Tensor.BFLOAT16, Tensor.DOUBLE, Tensor.INT32, Tensor.INT8))
        for info in model.graph.input:
            if info.type.tensor_type.elem_type == Tensor.FLOAT:
                info.type.tensor_type.elem_type = to

    # ---- The rest
    def change_output(self, model, graph):
        which = self.random.randrange(4)
        if which == 0:
            graph.output.append(onnx.helper.make_empty_tensor_value_info(self.value(graph)))
        elif which == 1:
            graph.output.remove(self.pick(graph.output))
        elif which == 2:
            self.pick(graph.output).name = self.value(graph)
        else:
            graph.output.append(self.pick(graph.output))

    def rename(self, model, graph):
        name = self.random.choice(("", "x" * 5000, "a/b", "\u00e4\n", "%s", self.value(graph)))
        which = self.random.randrange(3)
        if which == 0:
            self.pick(graph.node).name = name
        elif which == 1:
            self.pick(model.graph.input).name = name
        else:
            self.pick(graph.initializer).name = name

    def change_opset(self, model, graph):
        which = self.random.randrange(4)
        if which == 0:
            self.pick(model.opset_import).version = self.random.choice(
                (0, -1, 1, 7, 9, 10, 11, 13, 17, 18, 21, 23, 24, 28, 99)
            )
        elif which == 1:
            model.opset_import.append(self.pick(model.opset_import))
        elif which == 2:
            model.ir_version = self.random.choice((0, 3, 4, 8, 10, 13, 14, 2**31))
        else:
            self.pick(graph.node).domain = self.random.choice(("ai.onnx", "ai.onnx.ml", "com.microsoft", "x", ""))

    def nest(self, model, graph):
        """The graph, or one of another model, as a branch or a body."""
        inner = onnx.GraphProto()
        source = model if self.chance(0.5) else onnx.ModelProto.FromString(self.random.choice(self.donors))
        inner.CopyFrom(source.graph)
        if self.chance(0.7):
            del inner.input[:]
        kind = self.random.choice(("If", "If", "Loop", "Scan", "SequenceMap"))
        node = onnx.NodeProto(op_type=kind, output=[self.new_name() for _ in inner.output])
        node.input.extend(self.value(graph) for _ in range(self.random.choice((1, 1, 2, 3))))
        for name in ("then_branch", "else_branch") if kind == "If" else ("body",):
            node.attribute.add(name=name, type=Attribute.GRAPH).g.CopyFrom(inner)
        if kind == "Scan":
            node.attribute.add(name="num_scan_inputs", type=Attribute.INT, i=self.number())
        graph.node.append(node)
        self.read_new(graph, node)

    def make_call(self, model, graph):
        """Part of the graph's nodes as a function, which a node calls, or which calls itself."""
        node = self.pick(graph.node)
        inner = onnx.NodeProto()
        inner.CopyFrom(node)
        function = model.functions.add(name="f", domain="local", input=node.input, output=node.output, node=[inner])
        function.opset_import.extend(model.opset_import)
        if self.chance(0.2):
            function.node[0].op_type, function.node[0].domain = "f", "local"
        del node.attribute[:]
        node.op_type, node.domain = "f", "local"
        if self.chance(0.9):
            model.opset_import.append(onnx.helper.make_opsetid("local", 1))

    def change_function(self, model, graph):
        function = self.pick(model.functions)
        which = self.random.randrange(4)
        node = self.pick(function.node)
        if which == 0:
            node.op_type, node.domain = function.name, function.domain
        elif which == 1:
            function.input.append(self.pick(function.output))
        elif which == 2:
            node.input[self.random.randrange(len(node.input))] = self.pick(function.input)
        else:
            del function.output[self.random.randrange(len(function.output))]

    def overflow(self, model, graph):
        """Extents whose product goes beyond any integer, or beyond any memory, made of small constants."""
        shape = self.random.choice(([2**31, 2**31, 4], [2**20, 2**20], [10**6, 10**5], [2**62, 0], [3000, 3000, 30]))
        name, result = self.new_name(), self.new_name()
        graph.initializer.append(onnx.helper.make_tensor(name, Tensor.INT64, [len(shape)], shape))
        op = self.random.choice(("ConstantOfShape", "Expand", "Reshape", "Tile", "RandomUniform"))
        inputs = [name] if op == "ConstantOfShape" else [self.value(graph), name]
        graph.node.append(onnx.NodeProto(op_type=op, input=inputs, output=[result]))
        self.read_new(graph, graph.node[-1])


def graphs_of(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and those that its nodes carry."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from graphs_of(attribute.g)


def with_noise(model: bytes, source: random.Random) -> bytes:
    """The model's bytes with some of them changed, cut out or repeated."""
    out = bytearray(model)
    for _ in range(1 + source.randrange(4)):
        at = source.randrange(len(out))
        which = source.randrange(4)
        if which == 0:
            out[at] = source.randrange(256)
        elif which == 1:
            del out[at:]
        elif which == 2:
            out[at:at] = out[: source.randrange(len(out))]
        else:
            del out[at : at + 1 + source.randrange(8)]
        out = out or bytearray(b"x")
    return bytes(out)
