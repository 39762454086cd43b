"""A quantized network from its input on: what Tenon, ONNX Runtime with either of its float32 convolutions, and double
precision make of its int8 tensors, and how many of their values are within one step of each other."""

import pathlib

import exact_numbers
import numpy as np
import onnx
import onnxruntime
import plans
import references
from onnx import numpy_helper
from zoo import image

Values = dict[str, np.ndarray]
LEVELS = {"ORT none": "ORT_DISABLE_ALL", "ORT all": "ORT_ENABLE_ALL"}


def session(path: pathlib.Path, level: str) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = references.THREADS
    options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, LEVELS[level])
    options.add_session_config_entry("session.x64quantprecision", "1")  # As in references.ort_session.
    # It would quantize biases that the model has as real numbers: another network.
    return onnxruntime.InferenceSession(
        str(path), options, providers=["CPUExecutionProvider"], disabled_optimizers=["WeightBiasQuantization"]
    )


def with_real_weights(source: pathlib.Path, path: pathlib.Path) -> None:
    """Writes the model with its weights as the float32 numbers that its own DequantizeLinear makes of them: the same
    network, but ONNX Runtime packs weights that it knows, for convolutions that add in another order."""
    model = onnx.load(source)
    known = {each.name: each for each in model.graph.initializer}
    kept = []
    for node in model.graph.node:
        if node.op_type != "DequantizeLinear" or node.input[0] not in known:
            kept.append(node)
            continue
        x, scale, zero = (numpy_helper.to_array(known[name]) for name in node.input)
        axis = next((each.i for each in node.attribute if each.name == "axis"), 1)
        shape = [-1 if i == axis else 1 for i in range(x.ndim)] if scale.size > 1 else []
        whole = x.astype(np.int32) - zero.reshape(shape).astype(np.int32)
        real = whole.astype(np.float32) * scale.reshape(shape)
        known[node.output[0]] = numpy_helper.from_array(np.float32(real), node.output[0])
    used = {name for node in kept for name in node.input}
    del model.graph.node[:], model.graph.initializer[:]
    model.graph.node.extend(kept)
    model.graph.initializer.extend(tensor for name, tensor in known.items() if name in used)
    onnx.save(model, path)


def with_numbers(source: pathlib.Path, path: pathlib.Path) -> list[str]:
    """Writes the model with its int8 tensors as outputs; real numbers stay within, for engines fuse around them."""
    model = onnx.shape_inference.infer_shapes(onnx.load(source))
    types = {value.name: value for value in model.graph.value_info}
    known = {initializer.name for initializer in model.graph.initializer}
    quantizes = [node for node in model.graph.node if node.op_type == "QuantizeLinear" and node.input[0] not in known]
    names = [node.output[0] for node in quantizes]
    model.graph.output.extend(types[name] for name in names)
    onnx.save(model, path)
    return names


def of_engines(name: str, source: pathlib.Path, real: pathlib.Path, feed: Values) -> dict[str, Values]:
    """What each makes of one form of the network. `ORT packed`: by the convolutions for weights that it knows."""
    plan = real.with_suffix(".plan")
    plan.write_bytes(plans.build(image(name), path=source))
    found = {"Tenon": plans.Session(plan)(feed)}
    found |= {level: references.ort_outputs(session(source, level), feed) for level in LEVELS}
    return found | {"ORT packed": references.ort_outputs(session(real, "ORT all"), feed)}


class WholeNetwork:
    """Of one input: all int8 tensors (`numbers`), and the last tensor where these are no outputs (`last`)."""

    def __init__(self, name: str, source: pathlib.Path, batch: int, seed: int, folder: pathlib.Path, has_last=False):
        marked, real, real_marked = (folder / f"{form}.onnx" for form in ("marked", "real", "real_marked"))
        self.names = with_numbers(source, marked)
        with_real_weights(source, real)
        with_numbers(real, real_marked)
        feed = references.inputs(image(name), {"input": (batch, 3, 224, 224)}, seed)
        exact = exact_numbers.exact(onnx.load(source), feed)
        self.numbers = of_engines(name, marked, real_marked, feed) | {"exact": exact}
        if has_last:
            (output,) = (each.name for each in onnx.load(source).graph.output)
            last = of_engines(name, source, real, feed) | {"exact": exact}
            self.last = {label: each[output] for label, each in last.items()}

    def shares(self, a: str, b: str) -> tuple[float, float]:
        """Of all numbers of two: within one step, and equal."""
        apart = [np.abs(self.numbers[a][name].astype(int) - self.numbers[b][name]) for name in self.names]
        count = sum(each.size for each in apart)
        return tuple(sum(int((each <= most).sum()) for each in apart) / count for most in (1, 0))

    def last_share(self, a: str, b: str) -> float:
        gaps = np.diff(np.unique(self.last["ORT none"]))
        return float((np.abs(self.last[a] - self.last[b]) <= 1.01 * gaps[gaps > 1e-6].min()).mean())
