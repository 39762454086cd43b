"""Custom layers of all five C++ generations from ONNX nodes: built, saved, reloaded, run here and in another process.

The plugins are those of a shared library; networks by calls have tests/plugins/contract_test.cpp.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorrt as trt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

import contract_pads
import test_plugins as pads

LOGGER = trt.Logger(trt.Logger.ERROR)
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
LIBRARY = BUILD / "lib" / "libtenon_five_library.so"
RUN_PLAN = BUILD / "bin" / "tenon_run_plan"
BEFORE, AFTER = (2, 0), (1, 3)
GENERATIONS = ["CircPadV2", "CircPadV2Ext", "CircPadV2IOExt", "CircPadV2DynamicExt", "CircPadV3"]
WITH_DYNAMIC_EXTENTS = GENERATIONS[3:]
STRONG = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
CASES = [
    *[(kind, 0) for kind in (np.float32, np.int32)],
    *[(kind, STRONG) for kind in (np.float32, np.float16, np.int8, np.int32)],
]


@pytest.fixture(scope="module", autouse=True)
def library() -> Iterator[None]:
    registry = trt.get_plugin_registry()
    handle = registry.load_library(str(LIBRARY))
    assert handle is not None
    yield
    registry.deregister_library(handle)


def model(generation: str, kind: type, by_shape: bool) -> bytes:
    element = oh.np_dtype_to_tensor_dtype(np.dtype(kind))
    rows: str | int = "h" if generation in WITH_DYNAMIC_EXTENTS else 5
    inputs = [oh.make_tensor_value_info("x", element, ["n", 2, rows, 6])]
    attributes: dict[str, object] = {"before": list(BEFORE), "plugin_version": "1", "plugin_namespace": "five"}
    if by_shape:
        inputs.append(oh.make_tensor_value_info("more", onnx.TensorProto.INT32, [2]))
        attributes["tensorrt_plugin_shape_input_indices"] = [1]
    else:
        attributes["after"] = list(AFTER)
    node = oh.make_node(generation, [each.name for each in inputs], ["y"], name="pad", domain="mine", **attributes)
    graph = oh.make_graph([node], "g", inputs, [oh.make_tensor_value_info("y", element, None)])
    opsets = [oh.make_opsetid("", 17), oh.make_opsetid("mine", 1)]
    return oh.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def build(generation: str, kind: type, flags: int, by_shape: bool = False) -> bytes:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(flags)
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.parse(model(generation, kind, by_shape)), [
        parser.get_error(i).desc() for i in range(parser.num_errors)
    ]
    assert network.get_layer(0).type == (
        trt.LayerType.PLUGIN_V3 if generation == "CircPadV3" else trt.LayerType.PLUGIN_V2
    )
    assert network.get_output(0).dtype == contract_pads.TYPES[kind]
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    most = 9 if generation in WITH_DYNAMIC_EXTENTS else 5
    profile.set_shape("x", (1, 2, 5, 6), (2, 2, 5, 6), (4, 2, most, 6))
    if by_shape:
        profile.set_shape_input("more", (0, 0), (1, 3), (4, 4))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return bytes(plan)


def data(generation: str, kind: type, number: int) -> np.ndarray:
    rows = [5, 9, 7, 5][number % 4] if generation in WITH_DYNAMIC_EXTENTS else 5
    shape = ([1, 4, 3, 2][number % 4], 2, rows, 6)
    return np.random.default_rng(number).integers(-100, 100, shape).astype(kind)


@pytest.mark.parametrize(
    ("kind", "flags"), CASES, ids=[f"{'strong' if flags else 'weak'}-{np.dtype(kind).name}" for kind, flags in CASES]
)
@pytest.mark.parametrize("generation", GENERATIONS)
def test_W2_nodes_become_plugins_of_every_generation(
    generation: str, kind: type, flags: int, tmp_path: pathlib.Path
) -> None:
    first = contract_pads.load(build(generation, kind, flags))
    plan = bytes(first.serialize())
    engine = contract_pads.load(plan)
    contexts = [engine.create_execution_context(), first.create_execution_context(), engine.create_execution_context()]
    for number in range(6):
        x = data(generation, kind, number)
        y = contract_pads.run(contexts[number % 3], x, AFTER)
        np.testing.assert_array_equal(y, pads.circ_pad(x, BEFORE, AFTER))
    x = data(generation, kind, 1)
    (tmp_path / "x").write_bytes(x.tobytes())
    (tmp_path / "pad.plan").write_bytes(plan)
    extents = ",".join(str(extent) for extent in x.shape)
    subprocess.run([RUN_PLAN, LIBRARY, "pad.plan", ".", f"x={extents}"], cwd=tmp_path, check=True)
    assert (tmp_path / "y").read_bytes() == pads.circ_pad(x, BEFORE, AFTER).tobytes()


@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_W2_a_shape_input_of_a_node_reaches_the_plugin(kind: type) -> None:
    context = contract_pads.load(build("CircPadV3", kind, 0, by_shape=True)).create_execution_context()
    for number, after in enumerate([(0, 0), (4, 2), (1, 4)]):
        x = data("CircPadV3", kind, number)
        np.testing.assert_array_equal(contract_pads.run(context, x, after), pads.circ_pad(x, BEFORE, after))


JOURNAL_PROGRAM = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
import numpy as np, tensorrt as trt
import test_onnx_five as five
trt.get_plugin_registry().load_library(str(five.LIBRARY))
library = ctypes.CDLL(str(five.LIBRARY))
library.journalText.restype = ctypes.c_char_p
library.journalClear()
plan = five.build(sys.argv[2], np.float32, 0)
engine = five.contract_pads.load(plan)
contexts = [engine.create_execution_context() for _ in range(2)]
for number in range(4):
    five.contract_pads.run(contexts[number % 2], five.data(sys.argv[2], np.float32, number), five.AFTER)
del contexts, engine
print(library.journalText().decode())
"""
# What the parser calls as well, which the trace of the engine does not have.
OF_THE_PARSER = {"createPlugin", "setPluginNamespace", "destroy", "destructor"}


@pytest.mark.parametrize("generation", GENERATIONS)
def test_the_trace_has_every_callback_of_the_journal(generation: str, tmp_path: pathlib.Path) -> None:
    calls = tmp_path / "calls.txt"
    folder = str(pathlib.Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", JOURNAL_PROGRAM, folder, generation],
        check=True,
        env={**os.environ, "TENON_PLUGIN_TRACE": str(calls)},
        stdout=subprocess.PIPE,
        text=True,
    )
    traced = collections.Counter(
        re.search(r"thread \d+: (\w+)", line)[1] for line in calls.read_text().splitlines() if " = " in line
    )
    # As the API calls them: the plugins write "configure" for both phases of the batch-less generations.
    names = {"configure": "configureWithFormat" if generation == "CircPadV2" else "configurePlugin"}
    noted = collections.Counter(
        names.get(line.split()[1], line.split()[1]) for line in done.stdout.splitlines() if line
    )
    assert noted["enqueue"] == 4 and len(noted) > 8
    for call, count in noted.items():
        if call in OF_THE_PARSER:
            assert 0 < traced[call] <= count, (call, count, traced)
        else:
            assert traced[call] == count, (call, count, traced)
    ends = ["destructor"] if generation == "CircPadV3" else ["terminate", "destroy", "setPluginNamespace"]
    assert all(traced[call] > 0 for call in ends)
    if generation != "CircPadV3":
        assert traced["terminate"] == traced["initialize"] == 2  # The engine that was built, and the one loaded.
