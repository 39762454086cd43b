"""A data-dependent output, an output in an input's memory, and tactics, from ONNX nodes: C++ plugins of a library.

Networks by calls have tests/plugins/special_test.cpp.
"""

import os
import pathlib
import subprocess
from collections.abc import Iterator, Mapping

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", pathlib.Path(__file__).resolve().parents[2] / "build"))
LIBRARY = BUILD / "lib" / "libtenon_special_library.so"
RUN_PLAN = BUILD / "bin" / "tenon_run_plan"
FLOAT, INT32 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT32


@pytest.fixture(scope="module", autouse=True)
def library() -> Iterator[None]:
    registry = trt.get_plugin_registry()
    handle = registry.load_library(str(LIBRARY))
    assert handle is not None
    yield
    registry.deregister_library(handle)


def plan_of(nodes: list, inputs: dict, outputs: dict, most: int = 0) -> bytes:
    """Inputs and outputs: type and shape by name; `most`: the bound of extents that have names."""
    values = [[oh.make_tensor_value_info(name, *each) for name, each in some.items()] for some in (inputs, outputs)]
    opsets = [oh.make_opsetid("", 17), oh.make_opsetid("mine", 1)]
    model = oh.make_model(oh.make_graph(nodes, "g", *values), opset_imports=opsets, ir_version=9)
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.parse(model.SerializeToString()), [parser.get_error(i).desc() for i in range(parser.num_errors)]
    config = builder.create_builder_config()
    config.set_preview_feature(trt.PreviewFeature.ALIASED_PLUGIN_IO_10_03, True)
    if most:
        profile = builder.create_optimization_profile()
        for name, (_, shape) in inputs.items():
            profile.set_shape(name, [1] * len(shape), [most // 2] * len(shape), [most] * len(shape))
        config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return bytes(plan)


def plugin(name: str, inputs: list[str], outputs: list[str]) -> onnx.NodeProto:
    return oh.make_node(name, inputs, outputs, domain="mine", plugin_version="1", plugin_namespace="special")


class Growing(trt.IOutputAllocator):
    def __init__(self) -> None:
        trt.IOutputAllocator.__init__(self)
        self.memory, self.shape = np.empty(0, np.uint8), ()

    def reallocate_output(self, tensor_name, memory, size, alignment):
        self.memory = np.empty(size, np.uint8)
        return self.memory.ctypes.data

    def notify_shape(self, tensor_name, shape):
        self.shape = tuple(shape)

    def read(self, kind: type) -> np.ndarray:
        count = int(np.prod(self.shape))
        return self.memory.view(kind)[:count].reshape(self.shape).copy()


def run(context: trt.IExecutionContext, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, type]) -> dict:
    for name, data in inputs.items():
        assert context.set_input_shape(name, data.shape)
        assert context.set_tensor_address(name, data.ctypes.data)
    grown = {name: Growing() for name in outputs}
    for name, each in grown.items():
        assert context.set_output_allocator(name, each)
    assert context.execute_async_v3(0)
    return {name: each.read(outputs[name]) for name, each in grown.items()}


def check(plan: bytes, cases: list[dict], outputs: dict[str, type], expected, folder: pathlib.Path) -> None:
    """Here in two contexts, of an engine that is stored and loaded again, and in a process of its own."""
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    again = trt.Runtime(LOGGER).deserialize_cuda_engine(bytes(engine.serialize()))
    contexts = [engine.create_execution_context(), again.create_execution_context(), again.create_execution_context()]
    for number, inputs in enumerate(cases):
        before = {name: data.copy() for name, data in inputs.items()}
        got = run(contexts[number % 3], inputs, outputs)
        for name, wanted in expected(**inputs).items():
            np.testing.assert_array_equal(got[name], wanted)
        for name, data in inputs.items():
            np.testing.assert_array_equal(data, before[name])
    inputs = cases[0]
    (folder / "plan").write_bytes(plan)
    for name, data in inputs.items():
        (folder / name).write_bytes(data.tobytes())
    shapes = [f"{name}={','.join(str(extent) for extent in data.shape)}" for name, data in inputs.items()]
    subprocess.run([RUN_PLAN, LIBRARY, "plan", ".", *shapes], cwd=folder, check=True)
    for name, wanted in expected(**inputs).items():
        assert (folder / name).read_bytes() == wanted.tobytes(), name


def test_L10_a_node_with_a_data_dependent_output(tmp_path: pathlib.Path) -> None:
    plan = plan_of(
        [plugin("NonZeroPairs", ["x"], ["pairs", "count"])],
        {"x": (FLOAT, ["m", "n"])},
        {"pairs": (INT32, None), "count": (INT32, None)},
        most=16,
    )

    def expected(x: np.ndarray) -> dict:
        pairs = np.argwhere(x).astype(np.int32)
        return {"pairs": pairs, "count": np.array(len(pairs), np.int32)}

    random = np.random.default_rng(5)
    cases = [{"x": random.integers(0, 3, shape).astype(np.float32)} for shape in [(4, 5), (16, 16), (1, 3), (7, 2)]]
    check(plan, cases, {"pairs": np.int32, "count": np.int32}, expected, tmp_path)


def test_L18_a_node_that_works_in_place(tmp_path: pathlib.Path) -> None:
    plan = plan_of(
        [
            oh.make_node("Add", ["x", "x"], ["twice"]),
            plugin("InPlaceScatter", ["twice", "at", "updates"], ["y"]),
            oh.make_node("Neg", ["twice"], ["rest"]),
        ],
        {"x": (FLOAT, [8]), "at": (INT32, [3]), "updates": (FLOAT, [3])},
        {"y": (FLOAT, [8]), "rest": (FLOAT, [8])},
    )

    def expected(x: np.ndarray, at: np.ndarray, updates: np.ndarray) -> dict:
        y = x + x
        y[at] = updates
        return {"y": y, "rest": -(x + x)}

    random = np.random.default_rng(6)
    cases = [
        {
            "x": random.standard_normal(8).astype(np.float32),
            "at": random.permutation(8)[:3].astype(np.int32),
            "updates": random.standard_normal(3).astype(np.float32),
        }
        for _ in range(4)
    ]
    check(plan, cases, {"y": np.float32, "rest": np.float32}, expected, tmp_path)


def test_L16_a_node_with_two_tactics(tmp_path: pathlib.Path) -> None:
    plan = plan_of([plugin("TwoTactics", ["x"], ["y"])], {"x": (FLOAT, ["n"])}, {"y": (FLOAT, None)}, most=64)
    random = np.random.default_rng(7)
    cases = [{"x": random.standard_normal(n).astype(np.float32)} for n in (20, 1, 64, 33)]
    # The first tactic, which the plugin adds: nothing is timed.
    check(plan, cases, {"y": np.float32}, lambda x: {"y": x + np.float32(3)}, tmp_path)
