"""The ONNX backend node tests: each is built, saved, reloaded and run; node_tests.toml lists failures, and why."""

import fnmatch
import pathlib
import re
import tomllib

import numpy as np
import onnx
import onnx.backend.test
import onnx.helper
import onnx.numpy_helper
import pytest
from running import Refused, check_equal, plan_of, run

DATA = pathlib.Path(onnx.backend.test.__file__).parent / "data" / "node"
LIST = tomllib.loads((pathlib.Path(__file__).parent / "node_tests.toml").read_text())

# Inputs that networks must know when they are built: given at run time in the node tests, initializers here.
BUILD_TIME = {
    "BatchNormalization": (1, 2, 3, 4), "CenterCropPad": (1,), "ConstantOfShape": (0,), "CumSum": (1,),
    "Dropout": (1, 2), "Clip": (1, 2), "Expand": (1,), "OneHot": (1,),
    "Pad": (1, 2, 3), "Range": (0, 1, 2), "Reshape": (1,), "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,), "Tile": (1,),
    "TopK": (1,), "Trilu": (1,), "Unsqueeze": (1,), "Upsample": (1,),
    "QuantizeLinear": (2,), "DequantizeLinear": (2,), "AffineGrid": (1,), "Col2Im": (1, 2), "DFT": (1, 2),
    "STFT": (1, 2, 3), "HannWindow": (0,), "HammingWindow": (0,), "BlackmanWindow": (0,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
}  # fmt: skip
REDUCTIONS = "Reduce"

FOUR_DIGITS = (1e-4, 1e-3)  # The tolerance for results that the package gives in so many.

# Element types that the engine has not and computes in others (W14).
NARROWED = {np.dtype(np.float64): np.dtype(np.float32)}


def cases() -> list[str]:
    return sorted(path.name for path in DATA.iterdir() if (path / "model.onnx").exists())


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


def load(path: pathlib.Path, info: onnx.ValueInfoProto) -> np.ndarray | None:
    """None for sequences and optionals, which no plan gets as far as to read."""
    if not info.type.HasField("tensor_type"):
        return None
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    array = onnx.numpy_helper.to_array(tensor)
    kind = info.type.tensor_type.elem_type  # The package stores some of them as the bits alone.
    if array.dtype.kind == "u" and kind == onnx.TensorProto.BFLOAT16:
        return (array.astype(np.uint32) << 16).view(np.float32)
    if array.dtype.kind == "u" and kind == onnx.TensorProto.FLOAT8E4M3FN:
        return onnx.numpy_helper.float8e4m3_to_float32(array.astype(np.uint8), array.shape)
    return array


def with_initializers(model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Moves the build-time inputs of the model's nodes from the feed into the graph."""
    names = set()
    for node in model.graph.node:
        positions = (1,) if node.op_type.startswith(REDUCTIONS) else BUILD_TIME.get(node.op_type, ())
        names |= {node.input[i] for i in positions if i < len(node.input)}
    rest = {}
    for info in list(model.graph.input):
        if info.name in names and info.name in feed:
            array, kind = feed[info.name], info.type.tensor_type.elem_type
            known = (
                onnx.helper.make_tensor(info.name, kind, array.shape, array.ravel().tolist())
                if kind == onnx.TensorProto.FLOAT8E4M3FN
                else onnx.numpy_helper.from_array(array, info.name)
            )
            model.graph.initializer.append(known)
            model.graph.input.remove(info)
        elif info.name in feed:
            rest[info.name] = feed[info.name]
    return rest


def check(case: str) -> None:
    model = onnx.load(DATA / case / "model.onnx")
    data = DATA / case / "test_data_set_0"
    feed = {info.name: load(data / f"input_{i}.pb", info) for i, info in enumerate(model.graph.input)}
    expected = {info.name: load(data / f"output_{i}.pb", info) for i, info in enumerate(model.graph.output)}
    feed = with_initializers(model, feed)
    (found,) = run(plan_of(model, [feed]), [feed])
    for name, array in expected.items():
        result = found["__" + name if name in feed else name]
        assert result.dtype == NARROWED.get(array.dtype, array.dtype), f"{name}: {result.dtype}, not {array.dtype}"
        check_equal(result, array, name, FOUR_DIGITS if case in LIST["four_digits"]["cases"] else None)


@pytest.mark.parametrize("case", cases())
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
    names = cases()
    for entry in LIST["expected_failure"]:
        assert len(entry["why"]) > 15 and len(entry["says"]) > 2, f"{entry['cases']} have no reason"
        for pattern in entry["cases"]:
            assert fnmatch.filter(names, pattern), f"'{pattern}' is no node test"
