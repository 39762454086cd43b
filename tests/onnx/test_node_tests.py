"""The ONNX backend node tests: each is built, saved, reloaded and run; node_tests.toml lists failures, and why."""

import fnmatch
import pathlib
import tomllib

import numpy as np
import onnx
import onnx.backend.test
import onnx.numpy_helper
import pytest
from running import check_equal, plan_of, run

DATA = pathlib.Path(onnx.backend.test.__file__).parent / "data" / "node"
LIST = tomllib.loads((pathlib.Path(__file__).parent / "node_tests.toml").read_text())

# Inputs that networks must know when they are built: given at run time in the node tests, initializers here.
BUILD_TIME = {
    "BatchNormalization": (1, 2, 3, 4), "CenterCropPad": (1,), "ConstantOfShape": (0,), "CumSum": (1,),
    "Dropout": (1, 2), "Clip": (1, 2), "Expand": (1,), "OneHot": (1,),
    "Pad": (1, 2, 3), "Range": (0, 1, 2), "Reshape": (1,), "Resize": (1, 2, 3),
    "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,), "Tile": (1,),
    "TopK": (1,), "Trilu": (1,), "Unsqueeze": (1,), "Upsample": (1,),
    "QuantizeLinear": (1, 2), "DequantizeLinear": (1, 2),
}  # fmt: skip
REDUCTIONS = "Reduce"


def cases() -> list[str]:
    return sorted(path.name for path in DATA.iterdir() if (path / "model.onnx").exists())


def reason(case: str) -> str | None:
    """Why the case is expected to fail; its own entry goes before patterns."""
    entries = LIST["expected_failures"]
    if case in entries:
        return entries[case]
    return next((why for pattern, why in entries.items() if fnmatch.fnmatchcase(case, pattern)), None)


def load(path: pathlib.Path, info: onnx.ValueInfoProto) -> np.ndarray:
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return onnx.numpy_helper.to_array(tensor)


def with_initializers(model: onnx.ModelProto, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Moves the build-time inputs of the model's nodes from the feed into the graph."""
    names = set()
    for node in model.graph.node:
        positions = (1,) if node.op_type.startswith(REDUCTIONS) else BUILD_TIME.get(node.op_type, ())
        names |= {node.input[i] for i in positions if i < len(node.input)}
    rest = {}
    for info in list(model.graph.input):
        if info.name in names and info.name in feed:
            model.graph.initializer.append(onnx.numpy_helper.from_array(feed[info.name], info.name))
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
        check_equal(found["__" + name if name in feed else name], array, name)


@pytest.mark.parametrize("case", cases())
def test_node(case: str, request: pytest.FixtureRequest) -> None:
    why = reason(case)
    if why is not None:
        request.node.add_marker(pytest.mark.xfail(reason=why, strict=True))
    check(case)


def test_every_entry_of_the_list_names_a_case() -> None:
    names = cases()
    for entry, why in LIST["expected_failures"].items():
        assert fnmatch.filter(names, entry), f"'{entry}' is no node test"
        assert len(why) > 15, f"'{entry}' has no sentence"
