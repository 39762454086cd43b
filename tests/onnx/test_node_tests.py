"""The ONNX backend tests: each is built, saved, reloaded and run; node_tests.toml lists failures, and why."""

import fnmatch
import pathlib
import re
import tomllib
import warnings

import numpy as np
import onnx
import onnx.backend.test.loader
import onnx.helper
import onnx.numpy_helper
import pytest
from onnx.backend.test.case.test_case import TestCase as Case
from running import Refused, check_equal, plan_of, run

LIST = tomllib.loads((pathlib.Path(__file__).parent / "node_tests.toml").read_text())

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
}  # fmt: skip
REDUCTIONS = "Reduce"

FOUR_DIGITS = (1e-4, 1e-3)  # The tolerance for results that the package gives in so many.

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")

# Element types that the engine has not and computes in others (W14).
ONNX = onnx.TensorProto
COMPUTED_IN = {
    ONNX.DOUBLE: np.float32, ONNX.INT16: np.int32, ONNX.UINT16: np.int32, ONNX.UINT32: np.int64,
    ONNX.UINT64: np.int64, ONNX.INT4: np.int8, ONNX.UINT4: np.uint8, ONNX.INT2: np.int8, ONNX.UINT2: np.uint8,
}  # fmt: skip
# Those that NumPy has not stand as float32 in its arrays.
AS_FLOAT = {
    ONNX.BFLOAT16, ONNX.FLOAT8E4M3FN, ONNX.FLOAT8E4M3FNUZ, ONNX.FLOAT8E5M2, ONNX.FLOAT8E5M2FNUZ, ONNX.FLOAT4E2M1,
    ONNX.FLOAT8E8M0,
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
    """The entry of the list for a case: its own name goes before patterns."""
    entries = LIST["expected_failure"]
    own = [entry for entry in entries if case in entry["cases"]]
    matching = [entry for entry in entries if any(fnmatch.fnmatchcase(case, one) for one in entry["cases"])]
    found = own or matching
    assert len(found) < 2, f"{case} is listed more than once: {[entry['why'] for entry in found]}"
    return found[0] if found else None


def array_of(element, info: onnx.ValueInfoProto) -> np.ndarray | None:
    """None for sequences and optionals, which no plan gets as far as to read."""
    if not info.type.HasField("tensor_type") or element is None:
        return None
    kind = info.type.tensor_type.elem_type
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


def with_initializers(name: str, model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Moves the build-time inputs of the model's nodes from the feed into the graph."""
    names = build_time_names(name, model)
    rest = {}
    for info in list(model.graph.input):
        if info.name in names and info.name in feed:
            array, kind = feed[info.name], info.type.tensor_type.elem_type
            known = onnx.helper.make_tensor(info.name, kind, array.shape, array.ravel().tolist())
            model.graph.initializer.append(known)
            model.graph.input.remove(info)
        elif info.name in feed:
            rest[info.name] = feed[info.name]
    return rest


def data_of(case: Case) -> tuple[onnx.ModelProto, list, list]:
    """The model and its first inputs and outputs, made by the package or read from its folder."""
    if case.model is not None:
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        inputs, outputs = case.data_sets[0]
        return model, list(inputs), list(outputs)
    folder = pathlib.Path(case.model_dir)
    data = folder / "test_data_set_0"

    def read(kind: str) -> list:
        files = sorted(data.glob(f"{kind}_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
        tensors = [onnx.TensorProto() for _ in files]
        for tensor, file in zip(tensors, files, strict=True):
            tensor.ParseFromString(file.read_bytes())
        return tensors

    model = onnx.load(folder / "model.onnx")
    if not model.graph.input or not model.graph.input[0].type.HasField("tensor_type"):
        return model, [None], [None]
    return model, read("input"), read("output")


def check(name: str) -> None:
    model, inputs, outputs = data_of(CASES[name])
    feed = {
        info.name: array_of(element, info)
        for info, element in zip(model.graph.input, inputs, strict=False)  # Old models list initializers, too.
    }
    expected = {info.name: array_of(each, info) for info, each in zip(model.graph.output, outputs, strict=True)}
    feed = with_initializers(name, model, feed)
    (found,) = run(plan_of(model, [feed]), [feed])
    kinds = {info.name: info.type.tensor_type.elem_type for info in model.graph.output}
    for output, array in expected.items():
        result = found["__" + output if output in feed else output]
        assert result.dtype == array.dtype, f"{output}: {result.dtype}, not {array.dtype}"
        tolerance = FOUR_DIGITS if name in LIST["four_digits"]["cases"] else None
        if kinds[output] == ONNX.BFLOAT16 and tolerance is None:
            tolerance = (1e-2, 1e-2)  # Eight bits, whose last one may differ.
        check_equal(result, array, output, tolerance)


@pytest.mark.parametrize("case", CASES)
def test_node(case: str) -> None:
    failure = expected_failure(case)
    if failure is None:
        check(case)
        return
    with pytest.raises(RAISED[failure["raises"]]) as caught:
        check(case)
    assert type(caught.value) is RAISED[failure["raises"]]
    assert re.search(failure["says"], str(caught.value))


def test_every_entry_of_the_list_names_a_case() -> None:
    for entry in LIST["expected_failure"]:
        assert len(entry["why"]) > 15 and len(entry["says"]) > 2, f"{entry['cases']} have no reason"
        for pattern in entry["cases"]:
            assert fnmatch.filter(CASES, pattern), f"'{pattern}' is no backend test"
