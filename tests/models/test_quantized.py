"""Networks that quantize and dequantize between their layers, beside ONNX Runtime, which adds in another order, and
beside what they say in double precision."""

import dataclasses
import pathlib

import exact_numbers
import numpy as np
import onnx
import onnxruntime
import plans
import pytest
import quantized_models
import references
from whole_networks import WholeNetwork
from zoo import image


def plain_session(path: pathlib.Path) -> onnxruntime.InferenceSession:
    """ONNX Runtime without optimizations: the arithmetic of the Q/DQ network in float32, as it is written."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = references.THREADS
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.x64quantprecision", "1")  # As in references.ort_session.
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def within_one_step(got: np.ndarray, want: np.ndarray) -> float:
    """Share of the values that are at most a step apart; results are quantized, so that they are whole steps apart."""
    differences = np.diff(np.unique(want))
    steps = np.abs(got - want) / differences[differences > 1e-6].min()
    assert steps.max() <= 3.01
    return float((steps <= 1.01).mean())


@pytest.mark.parametrize(("name", "batch"), [("qdq_resnet18", 1), ("qdq_resnet18", 3), ("resnet50", 1)])
def test_quantized_network_rounds_as_onnxruntime_does(name: str, batch: int, tmp_path) -> None:
    model = image(name)
    source = quantized_models.materialize(name) if name == "resnet50" else model.path
    path = tmp_path / "quantized.plan"
    path.write_bytes(plans.build(model, path=source))
    feed = references.inputs(model, {"input": (batch, 3, 224, 224)}, 0)
    (got,) = plans.Session(path)(feed).values()
    (want,) = references.ort_outputs(references.ort_session(source), feed).values()
    assert got.dtype == want.dtype and got.shape == want.shape
    # A sum on the edge between two numbers falls to either side, and what follows spreads that: ONNX Runtime differs
    # from itself, too, where it adds integers instead of floats.
    (plain,) = references.ort_outputs(plain_session(source), feed).values()
    own = min(within_one_step(plain, want), 0.999)
    assert max(within_one_step(got, want), within_one_step(got, plain)) >= own - 0.002
    np.testing.assert_array_equal(got.argmax(-1), want.argmax(-1))
    true = exact_numbers.exact(onnx.load(source), feed)["output"].astype(np.float32)
    assert within_one_step(got, true) >= min(within_one_step(each, true) for each in (want, plain)) - 0.002


@pytest.mark.parametrize("name", ["resnet50", "mobilenet_v2"])
def test_operators_of_quantized_numbers_agree_bit_for_bit(name: str, tmp_path) -> None:
    """Where ONNX Runtime adds integers, too: all results of QLinearConv, QLinearAdd and QuantizeLinear."""
    source = quantized_models.materialize(name, form="integer")
    network = onnx.load(source)
    kinds = ("QLinearConv", "QLinearAdd", "QuantizeLinear")
    names = [node.output[0] for node in network.graph.node if node.op_type in kinds]
    assert sum(node.op_type == "QLinearConv" for node in network.graph.node) > 50
    for each in names:
        network.graph.output.append(onnx.helper.make_tensor_value_info(each, onnx.TensorProto.INT8, None))
    marked, path, model = tmp_path / "marked.onnx", tmp_path / "marked.plan", image(name)
    onnx.save(network, marked)
    path.write_bytes(plans.build(model, path=marked))
    feed = references.inputs(model, {"input": (1, 3, 224, 224)}, 0)
    got, want = plans.Session(path)(feed), references.ort_outputs(plain_session(marked), feed)
    assert {each: int((got[each] != want[each]).sum()) for each in names} == dict.fromkeys(names, 0)
    path.write_bytes(plans.build(model, path=source))  # Fused, with its roundings in epilogues.
    (fused,), last = plans.Session(path)(feed).values(), want[network.graph.output[0].name]
    np.testing.assert_allclose(fused, last, rtol=1e-5, atol=1e-5 * np.abs(last).max())


def test_a_whole_network_is_as_near_to_onnxruntime_as_that_is_to_itself(tmp_path) -> None:
    """From the input on, over all int8 tensors: that 99.9 % are within one step no two orders of float32 sums give, and
    ONNX Runtime's two convolutions do not (benchmarks/results/2026-11-29-int8-steps.md). Tenon's integers are as near
    to it as these are to each other, and nearer to double precision; one input alone says little, four do."""
    kinds = {
        "ours": ("Tenon", "ORT none"),
        "its own": ("ORT packed", "ORT none"),
        "ours to exact": ("Tenon", "exact"),
        "its to exact": ("ORT none", "exact"),
    }
    found = {kind: [] for kind in kinds}
    for seed in range(4):
        whole = WholeNetwork("qdq_resnet18", image("qdq_resnet18").path, 1, seed, tmp_path)
        for kind, pair in kinds.items():
            found[kind].append(whole.shares(*pair)[0])
    mean = {kind: float(np.mean(shares)) for kind, shares in found.items()}
    assert min(found["ours"]) >= 0.995 and min(found["ours to exact"]) >= 0.996
    assert mean["ours"] >= min(mean["its own"], 0.999) - 0.001
    assert mean["ours to exact"] >= min(mean["its to exact"], 0.999) - 0.0005


def with_every_tensor(source: pathlib.Path, path: pathlib.Path) -> list[str]:
    """Writes the model with all results that are no constants as outputs; those of int8."""
    model = onnx.shape_inference.infer_shapes(onnx.load(source))
    types = {value.name: value for value in model.graph.value_info}
    known, numbers = {value.name for value in model.graph.input}, []
    for node in model.graph.node:
        if known.isdisjoint(node.input):
            continue
        known.update(node.output)
        model.graph.output.extend(types[name] for name in node.output if name in types)
        numbers += node.output if node.op_type == "QuantizeLinear" else []
    onnx.save(model, path)
    return numbers


def test_every_int8_tensor_is_what_those_before_it_say(tmp_path) -> None:
    model = image("qdq_resnet18")
    marked, path = tmp_path / "marked.onnx", tmp_path / "marked.plan"
    names = with_every_tensor(model.path, marked)
    path.write_bytes(plans.build(model, path=marked))
    feed = references.inputs(model, {"input": (1, 3, 224, 224)}, 0)
    got = plans.Session(path)(feed)
    want = exact_numbers.exact(onnx.load(model.path), feed, {name: got[name] for name in names})
    apart = {name: np.abs(got[name].astype(int) - want[name]) for name in names}
    assert max(each.max() for each in apart.values()) <= 1
    # A sum that is nearer to the edge between two numbers than a float32 can say falls to either side of it.
    assert sum(each.sum() for each in apart.values()) <= 3e-6 * sum(each.size for each in apart.values())
    for name in got.keys() & want.keys() - apart.keys():
        scale = np.abs(want[name]).max()
        np.testing.assert_allclose(got[name], want[name], rtol=1e-5, atol=1e-6 * scale, err_msg=name)


READERS = ("Conv", "MaxPool", "GlobalAveragePool", "Gemm", "MatMul")


def cut_into_layers(source: pathlib.Path, batch: int, path: pathlib.Path) -> list[str]:
    """Writes the model with the int8 tensors that its convolutions, products and pooling read as inputs `NAME given`,
    beside what it makes of those in front of them. What an engine fuses between two of these stays whole."""
    model = onnx.load(source)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = batch
    types = {each.name: each for each in onnx.shape_inference.infer_shapes(model).graph.value_info}
    makers = {name: node for node in model.graph.node for name in node.output}
    names = []
    for reader in [node for node in model.graph.node if node.op_type in READERS]:
        dequantize = makers.get(reader.input[0])
        if dequantize is None or dequantize.op_type != "DequantizeLinear" or dequantize.input[0] not in makers:
            continue
        name = dequantize.input[0]
        dequantize.input[0] = f"{name} given"
        if name not in names:
            names.append(name)
    for name in names:
        model.graph.output.append(types[name])
        model.graph.input.append(types[name])
        model.graph.input[-1].name = f"{name} given"
    onnx.save(model, path)
    return names


@pytest.mark.parametrize(
    ("name", "batch", "seed"),
    [
        ("qdq_resnet18", 1, 0),
        ("qdq_resnet18", 1, 1),
        ("qdq_resnet18", 3, 0),
        ("resnet50", 1, 0),
        ("mobilenet_v2", 1, 0),
    ],
)
def test_layers_make_of_onnxruntimes_numbers_what_onnxruntime_does(name: str, batch: int, seed: int, tmp_path) -> None:
    """Layer by layer, fused as in the whole network: each starts from what ONNX Runtime made of the tensors in front
    of it. That is how a difference of one layer shows; the whole network spreads the few roundings that any order of
    float32 sums turns the other way, ONNX Runtime's as ours (benchmarks/results/2026-11-24-int8-steps.md)."""
    model = image(name)
    source = model.path if name.startswith("qdq") else quantized_models.materialize(name)
    marked, cut, path = tmp_path / "marked.onnx", tmp_path / "cut.onnx", tmp_path / "cut.plan"
    with_every_tensor(source, marked)
    names = cut_into_layers(source, batch, cut)
    path.write_bytes(plans.build(dataclasses.replace(model, profile=None), path=cut))
    feed = references.inputs(model, {"input": (batch, 3, 224, 224)}, seed)
    want = references.ort_outputs(references.ort_session(marked), feed)
    got = plans.Session(path)(feed | {f"{each} given": want[each] for each in names})
    apart = {each: np.abs(got[each].astype(int) - want[each]) for each in names}
    count = sum(each.size for each in apart.values())
    within, equal = (sum((each <= most).sum() for each in apart.values()) / count for most in (1, 0))
    assert within == 1.0 and equal >= 0.99999
    assert within_one_step(got["output"], want["output"]) == 1.0


@pytest.mark.parametrize("name", ["qdq_resnet18", "resnet50", "mobilenet_v2"])
def test_layers_are_within_a_step_of_double_precision(name: str, tmp_path) -> None:
    """The same cut, each layer starting from exact numbers: what no other engine's rounding has a part in. All values
    are within one step, and but for a few of a million, which float32 cannot tell from the middle of two, equal."""
    model = image(name)
    source = model.path if name.startswith("qdq") else quantized_models.materialize(name)
    cut, path = tmp_path / "cut.onnx", tmp_path / "cut.plan"
    names = cut_into_layers(source, 1, cut)
    path.write_bytes(plans.build(dataclasses.replace(model, profile=None), path=cut))
    feed = references.inputs(model, {"input": (1, 3, 224, 224)}, 0)
    want = exact_numbers.exact(onnx.load(source), feed)
    got = plans.Session(path)(feed | {f"{each} given": want[each] for each in names})
    apart = {each: np.abs(got[each].astype(int) - want[each]) for each in names}
    count = sum(each.size for each in apart.values())
    assert max(each.max() for each in apart.values()) <= 1
    assert sum(each.sum() for each in apart.values()) <= 5e-6 * count
    assert within_one_step(got["output"], want["output"].astype(np.float32)) == 1.0
