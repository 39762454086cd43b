"""The ONNX backend tests: each is built, saved, reloaded and run; node_tests.toml lists failures, and why.

On a GPU (TENON_DEVICE=cuda) what cuda_exclusions.toml says goes before that.
"""

import fnmatch
import pathlib
import re
import tomllib
import warnings
from collections.abc import Container

import numpy as np
import onnx
import onnx.backend.test.loader
import onnx.helper
import onnx.numpy_helper
import pytest
import tenon
import tensorrt as trt
from onnx.backend.test.case.test_case import TestCase as Case
from running import LOGGER, Refused, check_equal, engine_of, plan_of, run_once

LIST = tomllib.loads((pathlib.Path(__file__).parent / "node_tests.toml").read_text())
# What holds on CPUs and not there, in the same form.
OF_GPUS = tomllib.loads((pathlib.Path(__file__).parents[1] / "cuda_exclusions.toml").read_text())
ON_GPU = tenon.devices()["chosen"].startswith("cuda")

# Inputs that networks must know when they are built: given at run time in the node tests, initializers here.
BUILD_TIME = {
    "BatchNormalization": (1, 2, 3, 4), "CenterCropPad": (1,), "ConstantOfShape": (0,), "CumProd": (1,),
    "CumSum": (1,), "Dropout": (1, 2), "Clip": (1, 2), "Expand": (1,), "OneHot": (1,),
    "Pad": (1, 2, 3), "Range": (0, 1, 2), "Reshape": (1,), "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,), "Tile": (1,),
    "TopK": (1,), "Trilu": (1,), "Unsqueeze": (1,), "Upsample": (1,),
    "QuantizeLinear": (2,), "DequantizeLinear": (2,), "AffineGrid": (1,), "Col2Im": (1, 2), "DFT": (1, 2),
    "STFT": (1, 2, 3), "HannWindow": (0,), "HammingWindow": (0,), "BlackmanWindow": (0,),
    "MelWeightMatrix": (0, 1, 2, 3, 4), "MaxUnpool": (2,), "SplitToSequence": (1,),
    "SequenceAt": (1,), "SequenceErase": (1,), "SequenceInsert": (2,),
}  # fmt: skip
REDUCTIONS = "Reduce"

# What the second pass leaves to the run: the run's own numbers lie somewhere within what the profile says of them.
RUN_TIME = {"Expand": (1,), "Range": (0, 1, 2), "Reshape": (1,), "Slice": (1, 2), "TopK": (1,)}

FOUR_DIGITS = (1e-4, 1e-3)  # The tolerance for results that the package gives in so many.

# "real" are the light models: known networks with weights that the graph itself makes.
KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")

# Element types that the engine has not and computes in others.
ONNX = onnx.TensorProto
COMPUTED_IN = {
    ONNX.INT16: np.int32, ONNX.UINT16: np.int32, ONNX.UINT32: np.int64, ONNX.UINT64: np.int64,
    ONNX.INT4: np.int8, ONNX.UINT4: np.uint8, ONNX.INT2: np.int8, ONNX.UINT2: np.uint8,
}  # fmt: skip
# Those that NumPy has not stand as float32 in its arrays. Of the engine's types they are these.
FLOAT = trt.DataType.FLOAT
AS_FLOAT = {
    ONNX.BFLOAT16: trt.DataType.BF16, ONNX.FLOAT8E4M3FN: trt.DataType.FP8, ONNX.FLOAT8E4M3FNUZ: FLOAT,
    ONNX.FLOAT8E5M2: FLOAT, ONNX.FLOAT8E5M2FNUZ: FLOAT, ONNX.FLOAT4E2M1: FLOAT, ONNX.FLOAT8E8M0: FLOAT,
}  # fmt: skip


def loaded() -> dict[str, Case]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # The package computes what it expects, infinities included.
        cases = [case for kind in KINDS for case in onnx.backend.test.loader.load_model_tests(kind=kind)]
    return {case.name: case for case in sorted(cases, key=lambda case: case.name)}


CASES = loaded()

# What a case that fails on purpose ends with: the engine says no, numbers differ, or Python's own tools give up.
RAISED = {kind.__name__: kind for kind in (Refused, AssertionError, TypeError, ValueError)}


def expected_failure(case: str) -> dict | None:
    """The entry of the list for a case: its own name goes before patterns, on a GPU the GPU's before all."""
    of_gpus = entry_for(case, OF_GPUS.get("node_tests", [])) if ON_GPU else None
    return of_gpus or entry_for(case, LIST["expected_failure"])


def entry_for(case: str, entries: list[dict]) -> dict | None:
    own = [entry for entry in entries if case in entry["cases"]]
    matching = [entry for entry in entries if any(fnmatch.fnmatchcase(case, one) for one in entry["cases"])]
    found = own or matching
    assert len(found) < 2, f"{case} is listed more than once: {[entry['why'] for entry in found]}"
    return found[0] if found else None


def tensor_type_of(info: onnx.ValueInfoProto) -> onnx.TypeProto.Tensor | None:
    """Of a tensor, or of an optional one."""
    of = info.type.optional_type.elem_type if info.type.HasField("optional_type") else info.type
    return of.tensor_type if of.HasField("tensor_type") else None


def array_of(element, info: onnx.ValueInfoProto) -> np.ndarray | None:
    """None for sequences and empty optionals, which no plan gets as far as to read."""
    of_tensor = tensor_type_of(info)
    if of_tensor is None or element is None:
        return None
    kind = of_tensor.elem_type
    array = onnx.numpy_helper.to_array(element) if isinstance(element, onnx.TensorProto) else np.asarray(element)
    if kind in AS_FLOAT:
        return array.astype(np.float32)
    return array.astype(COMPUTED_IN[kind]) if kind in COMPUTED_IN and array.dtype.kind not in "OU" else array


def build_time_names(name: str, model: onnx.ModelProto) -> set[str]:
    """Inputs of the model's nodes that must be known; the function of an operator takes those of the operator."""
    names = set()
    nodes = list(model.graph.node)
    whole = CASES.get(name.removesuffix("_expanded"))
    if name.endswith("_expanded") and whole is not None and whole.model is not None:
        nodes += whole.model.graph.node
    for node in nodes:
        positions = (1,) if node.op_type.startswith(REDUCTIONS) else BUILD_TIME.get(node.op_type, ())
        names |= {node.input[i] for i in positions if i < len(node.input)}
    return names


def run_time_bounds(model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """What a profile says of the operands that the second pass leaves to the run: more than the run's own numbers."""
    bounds = {}
    for node in model.graph.node:
        for position in RUN_TIME.get(node.op_type, ()):
            name = node.input[position] if position < len(node.input) else ""
            if name not in feed:
                continue
            values = np.asarray(feed[name]).reshape(-1)
            least, most = values - 1, values + 1
            if node.op_type in ("Expand", "Reshape"):  # 0 and -1 say something else than an extent.
                least, most = (np.where(values < 1, values, np.maximum(each, 1)) for each in (least, most))
            if node.op_type == "TopK":
                most = values
            if node.op_type == "Slice":
                far = abs(values.astype(np.float64)) > 2**31
                least, most = np.where(far, values, least), np.where(far, values, most)
            if node.op_type == "Range" and position == 2:  # The sign of the step decides.
                least = most = values
            bounds[name] = (least, most)
    return bounds


def with_initializers(
    name: str, model: onnx.ModelProto, feed: dict[str, np.ndarray], run_time: Container[str] = ()
) -> dict[str, np.ndarray]:
    """Moves the build-time inputs of the model's nodes from the feed into the graph."""
    names = {each for each in build_time_names(name, model) if each not in run_time}
    rest = {}
    for info in list(model.graph.input):
        if info.name in names and info.name in feed:
            array, kind = feed[info.name], tensor_type_of(info).elem_type
            known = onnx.helper.make_tensor(info.name, kind, array.shape, array.ravel().tolist())
            model.graph.initializer.append(known)
            model.graph.input.remove(info)
        elif info.name in feed:
            rest[info.name] = feed[info.name]
    return rest


def stored(folder: pathlib.Path, pattern: str) -> list[onnx.TensorProto]:
    """Tensors of files whose names end with their number."""
    files = sorted(folder.glob(pattern), key=lambda file: int(file.stem.rsplit("_", 1)[1]))
    return [onnx.TensorProto.FromString(file.read_bytes()) for file in files]


def ramp(info: onnx.ValueInfoProto) -> np.ndarray:
    """What the package's runner gives to light models: numbers from 0 up to 1."""
    shape = [axis.dim_value or 1 for axis in info.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def data_of(case: Case) -> tuple[onnx.ModelProto, list, list]:
    """The model and its first inputs and outputs, made by the package or read from its folder."""
    if case.model is not None:
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        inputs, outputs = case.data_sets[0]
        return model, list(inputs), list(outputs)
    if case.url is not None:
        file = pathlib.Path(onnx.__file__).parents[1] / case.url
        model = onnx.load(file)
        known = {tensor.name for tensor in model.graph.initializer}
        inputs = [None if info.name in known else ramp(info) for info in model.graph.input]
        return model, inputs, stored(file.parent, f"{file.stem}_output_*.pb")
    folder = pathlib.Path(case.model_dir)
    data = folder / "test_data_set_0"
    model = onnx.load(folder / "model.onnx")
    if not model.graph.input or any(tensor_type_of(info) is None for info in model.graph.input):
        return model, [None], [None]
    return model, stored(data, "input_*.pb"), stored(data, "output_*.pb")


def check(name: str, leaves_to_run: bool = False) -> None:
    model, inputs, outputs = data_of(CASES[name])
    known = {tensor.name for tensor in model.graph.initializer}  # Old models list them among the inputs.
    feed = {
        info.name: array_of(element, info)
        for info, element in zip(model.graph.input, inputs, strict=False)
        if info.name not in known
    }
    expected = {info.name: array_of(each, info) for info, each in zip(model.graph.output, outputs, strict=True)}
    bounds = run_time_bounds(model, feed) if leaves_to_run else {}
    feed = with_initializers(name, model, feed, bounds)
    engine = engine_of(plan_of(model, [feed], bounds))
    found = run_once(engine, engine.create_execution_context(), feed)
    kinds = {info.name: info.type.tensor_type.elem_type for info in model.graph.output}
    for output, array in expected.items():
        tensor = "__" + output if output in feed else output
        result = found[tensor]
        assert result.dtype == array.dtype, f"{output}: {result.dtype}, not {array.dtype}"
        if kinds[output] in AS_FLOAT:
            assert engine.get_tensor_dtype(tensor) == AS_FLOAT[kinds[output]], output
        tolerance = FOUR_DIGITS if name in LIST["four_digits"]["cases"] else None
        if CASES[name].kind == "real":
            tolerance = (CASES[name].atol, CASES[name].rtol)
        if kinds[output] == ONNX.BFLOAT16 and tolerance is None:
            tolerance = (1e-2, 1e-2)  # Eight bits, whose last one may differ.
        check_equal(result, array, output, tolerance)


def check_or_fail(case: str, failure: dict | None, leaves_to_run: bool = False) -> None:
    if failure is None:
        check(case, leaves_to_run)
        return
    with pytest.raises(RAISED[failure["raises"]]) as caught:
        check(case, leaves_to_run)
    assert type(caught.value) is RAISED[failure["raises"]]
    assert re.search(failure["says"], str(caught.value))


@pytest.mark.parametrize("case", CASES)
def test_node(case: str) -> None:
    check_or_fail(case, expected_failure(case))


def run_time_cases() -> list[str]:
    """Cases one of whose nodes takes from the graph's inputs what the second pass leaves to the run."""
    found = []
    for name, case in CASES.items():
        if case.model is None or expected_failure(name) is not None:
            continue
        inputs = {info.name for info in case.model.graph.input}
        if any(
            node.input[i] in inputs
            for node in case.model.graph.node
            for i in RUN_TIME.get(node.op_type, ())
            if i < len(node.input)
        ):
            found.append(name)
    return found


@pytest.mark.parametrize("case", run_time_cases())
def test_node_with_operands_of_the_run(case: str) -> None:
    of_gpus = entry_for(case, OF_GPUS.get("node_tests_with_operands_of_the_run", [])) if ON_GPU else None
    check_or_fail(case, of_gpus or entry_for(case, LIST.get("run_time_failure", [])), leaves_to_run=True)


def test_W4_what_is_imported_is_said_to_be_supported() -> None:
    """No false negatives: each operator of a case that passes, in its own domain."""
    parser = trt.OnnxParser(trt.Builder(LOGGER).create_network(0), LOGGER)
    operators = {
        node.op_type
        for name, case in CASES.items()
        if case.model is not None and expected_failure(name) is None
        for node in case.model.graph.node
        if node.domain in ("", "ai.onnx")
    }
    local = {function.name for case in CASES.values() if case.model is not None for function in case.model.functions}
    assert len(operators) > 150
    assert [op for op in sorted(operators - local) if not parser.supports_operator(op)] == []


def test_every_entry_of_the_list_names_a_case() -> None:
    on_gpus = OF_GPUS.get("node_tests", []) + OF_GPUS.get("node_tests_with_operands_of_the_run", [])
    for entry in LIST["expected_failure"] + LIST.get("run_time_failure", []) + on_gpus:
        assert len(entry["why"]) > 15 and len(entry["says"]) > 2, f"{entry['cases']} have no reason"
        for pattern in entry["cases"]:
            assert fnmatch.filter(CASES, pattern), f"'{pattern}' is no backend test"
