"""Runs a model in ONNX Runtime node by node, beside values of Tenon: for `tenon verify --against`.

Arguments: the model, a folder. It answers in lines of JSON: {"version", "values"} (names of what nodes make) or
{"error"} first. The line it then reads has {"inputs", "values"} (name to file in the folder, .npy) and the tolerances;
it answers with lines {"done", "of"}, and the report in the end.

A node differs where its outputs differ in a run of the whole model, and again where the node alone gets the inputs that
it got in Tenon: so neither what came before nor an index that hangs on a rounding is blamed on it.
"""

import collections
import json
import math
import os
import sys

MODEL, FOLDER = sys.argv[1], sys.argv[2]
# Relative to the largest magnitude of the tensor: roundings of what was added up lie within it.
USUAL = {"float16": 2e-2, "float32": 1e-3, "float64": 1e-3}
RANDOM = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}


def tell(value):
    print(json.dumps(value), flush=True)


def difference(numpy, got, want, task):
    """None, or the element that is furthest from what it should be."""
    if got.shape != want.shape:
        return {"got_shape": list(got.shape), "want_shape": list(want.shape)}
    if want.size == 0:
        return None
    usual = max(USUAL.get(str(each.dtype), 0.0) for each in (got, want))
    got, want = got.astype("float64"), want.astype("float64")
    finite = numpy.abs(want[numpy.isfinite(want)])
    if task["absolute"] is None and task["relative"] is None:
        bound = usual * finite.max(initial=0.0)
    else:
        bound = (task["absolute"] or 0.0) + (task["relative"] or 0.0) * finite.max(initial=0.0)
    with numpy.errstate(invalid="ignore"):
        error = numpy.where((got == want) | (numpy.isnan(got) & numpy.isnan(want)), 0.0, numpy.abs(got - want))
    error = numpy.nan_to_num(error, nan=math.inf)
    if error.max() <= bound:
        return None
    at = numpy.unravel_index(error.argmax(), error.shape)
    index = [int(each) for each in at]
    return {"index": index, "got": str(got[at]), "want": str(want[at]), "error": str(error[at]), "bound": str(bound)}


class Model:
    def __init__(self):
        import numpy
        import onnx
        import onnxruntime

        self.numpy, self.onnx, self.engine = numpy, onnx, onnxruntime
        self.proto = onnx.load(MODEL, load_external_data=False)
        self.nodes = list(self.proto.graph.node)
        self.values = [name for node in self.nodes if node.op_type not in RANDOM for name in node.output if name]
        self.weights = {each.name: each for each in self.proto.graph.initializer}
        self.varying = self.names_that_vary()

    def names_that_vary(self):
        """What depends on the contents of inputs, not on their extents alone."""
        names = {each.name for each in self.proto.graph.input} - self.weights.keys()
        for node in self.nodes:
            inside = any(each.HasField("g") or each.graphs for each in node.attribute)  # May read what it lists not.
            if inside or (node.op_type not in {"Shape", "Size"} and not names.isdisjoint(node.input)):
                names.update(filter(None, node.output))
        return names

    def session(self, proto):
        options = self.engine.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = self.engine.GraphOptimizationLevel.ORT_DISABLE_ALL
        folder = os.path.dirname(os.path.abspath(MODEL))
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
        return self.engine.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def run_whole(self, inputs):
        """Everything that nodes make, by name."""
        proto = self.onnx.ModelProto()
        proto.CopyFrom(self.proto)
        known = {each.name for each in proto.graph.output}
        made = [name for node in self.nodes for name in node.output if name]
        proto.graph.output.extend(self.onnx.ValueInfoProto(name=name) for name in made if name not in known)
        session = self.session(proto)
        asked = {each.name for each in session.get_inputs()}
        return dict(zip(made, session.run(made, {k: v for k, v in inputs.items() if k in asked}), strict=True))

    def run_alone(self, node, feed):
        """What the node makes of these inputs; None where it cannot be run by itself."""
        if any(each.HasField("g") or each.graphs for each in node.attribute):
            return None
        names = [name for name in dict.fromkeys(node.input) if name and name not in self.weights]
        if any(not isinstance(feed.get(name), self.numpy.ndarray) for name in names):
            return None
        proto = self.onnx.ModelProto(ir_version=self.proto.ir_version)
        proto.opset_import.extend(self.proto.opset_import)
        proto.functions.extend(self.proto.functions)
        graph, helper = proto.graph, self.onnx.helper
        graph.name = "node"
        graph.node.append(node)
        graph.initializer.extend(self.weights[name] for name in dict.fromkeys(node.input) if name in self.weights)
        for name in names:
            kind = helper.np_dtype_to_tensor_dtype(feed[name].dtype)
            graph.input.append(helper.make_tensor_value_info(name, kind, list(feed[name].shape)))
        outputs = [name for name in node.output if name]
        graph.output.extend(self.onnx.ValueInfoProto(name=name) for name in outputs)
        found = self.session(proto).run(outputs, {name: feed[name] for name in names})
        return dict(zip(outputs, found, strict=True))


class Comparison:
    def __init__(self, model, task):
        self.model, self.task, self.numpy = model, task, model.numpy
        self.inputs = {name: self.load(file) for name, file in task["inputs"].items()}
        self.whole = model.run_whole(self.inputs)
        self.left_out = collections.Counter()

    def load(self, file):
        return self.numpy.load(os.path.join(FOLDER, file))

    def ours(self, name):
        """The value in Tenon, None where there is none to compare with."""
        file = self.task["values"].get(name)
        value = None if file is None else self.load(file)
        return None if value is None or value.dtype.kind == "V" else value

    def fed(self, node):
        """The node's inputs as they were in Tenon, of ONNX Runtime's types; its own where Tenon folded them."""
        feed = {}
        for name in filter(None, node.input):
            theirs = self.inputs.get(name, self.whole.get(name))
            ours = self.ours(name)
            is_like = ours is not None and isinstance(theirs, self.numpy.ndarray)
            feed[name] = ours.astype(theirs.dtype) if is_like else theirs
        return feed

    def is_unseen(self, name):
        """Whether its values may be others in Tenon without being known."""
        return name in self.model.varying and name not in self.inputs and self.ours(name) is None

    def differing(self, node, wanted):
        for name in filter(None, node.output):
            value, want = self.ours(name), wanted.get(name)
            if value is None or not isinstance(want, self.numpy.ndarray):
                continue
            found = difference(self.numpy, value, want, self.task)
            if found is not None:
                return {"output": name, **found}
        return None

    def judge(self, node):
        """None, or where the node differs; counts what it leaves out."""
        if node.op_type in RANDOM:
            self.left_out["random"] += 1
            return None
        if all(self.ours(name) is None for name in filter(None, node.output)):
            self.left_out["no tensor of the network: constant, folded or of a type that files lack"] += 1
            return None
        found = self.differing(node, self.whole)
        if found is None:
            return None
        if any(self.is_unseen(name) for name in node.input):
            self.left_out["it differs, but so may an input of it, whose values are not seen"] += 1
            return None
        try:
            alone = self.model.run_alone(node, self.fed(node))
        except Exception as problem:  # It may refuse what it gets by itself: then the whole run has to do.
            found["alone"] = f"{type(problem).__name__}: {problem}"
            return found
        return found if alone is None else self.differing(node, alone)

    def report(self):
        differ, nodes, judged = [], self.model.nodes, 0
        for i, node in enumerate(nodes):
            found = self.judge(node)
            judged += 1
            if found is not None:
                who = {"node": node.name or f"number {i}", "number": i, "operator": node.op_type}
                differ.append({**who, "domain": node.domain, **found})
                if self.task["first_only"]:
                    break
            tell({"done": i + 1, "of": len(nodes)})
        compared = judged - sum(self.left_out.values())
        return {"nodes": len(nodes), "compared": compared, "left_out": dict(self.left_out), "differ": differ}


def main():
    try:
        model = Model()
        tell({"version": model.engine.__version__, "values": model.values})
        for line in sys.stdin:
            tell(Comparison(model, json.loads(line)).report())
    except Exception as problem:  # Whatever the engine says is what the user wants to read.
        tell({"error": f"{type(problem).__name__}: {problem}"})


main()
