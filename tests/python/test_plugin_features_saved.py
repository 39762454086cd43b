"""The plugins of test_plugin_features.py from ONNX nodes: before saving, saved and loaded, and in another process.

As a program: `test_plugin_features_saved.py PLAN NAME` runs a plan of the plugin in a process of its own.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import small
import tensorrt as trt
import test_plugin_features as features
from test_plugin_features import registered  # noqa: F401  (creators of the class-based ones)

FLOAT, INT32 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT32
RANDOM = np.random.default_rng(11)


class Case:
    """Inputs with their declared shapes, outputs with their types, and what is computed."""

    def __init__(self, inputs: dict, shapes: dict, outputs: dict, compute: Callable[..., dict]) -> None:
        self.inputs, self.shapes, self.outputs, self.compute = inputs, shapes, outputs, compute


def scattered(data: np.ndarray, rows: np.ndarray, updates: np.ndarray) -> dict:
    result = data.copy()
    result[rows] = updates
    return {"y": result}


SPARSE = RANDOM.standard_normal((5, 7)).astype(np.float32) * (RANDOM.random((5, 7)) < 0.5)
NON_ZERO = Case(
    {"x": SPARSE},
    {"x": ["m", "n"]},
    {"y": np.int32, "count": np.int32},
    lambda x: {"y": np.argwhere(x).T, "count": np.array(np.count_nonzero(x))},
)
SCATTER = Case(
    {
        "data": RANDOM.standard_normal((6, 4)).astype(np.float32),
        "rows": np.array([4, 0, 2], np.int32),
        "updates": RANDOM.standard_normal((3, 4)).astype(np.float32),
    },
    {"data": [6, 4], "rows": [3], "updates": [3, 4]},
    {"y": np.float32},
    scattered,
)
TACTICS = Case(
    {"x": RANDOM.standard_normal((4, 5)).astype(np.float32)},
    {"x": ["m", "n"]},
    {"y": np.float32},
    lambda x: {"y": 2 * x},
)
CASES = {
    "NonZero": NON_ZERO,
    "non_zero": NON_ZERO,
    "non_zero_compiled": NON_ZERO,
    "ScatterInPlace": SCATTER,
    "scatter": SCATTER,
    "TwoTactics": TACTICS,
    "two_tactics": TACTICS,
}


def plan_of(name: str, level: int) -> bytes:
    case = CASES[name]
    kinds = {np.dtype(np.float32): FLOAT, np.dtype(np.int32): INT32}
    inputs = [
        oh.make_tensor_value_info(each, kinds[case.inputs[each].dtype], case.shapes[each]) for each in case.inputs
    ]
    outputs = [oh.make_tensor_value_info(each, kinds[np.dtype(kind)], None) for each, kind in case.outputs.items()]
    node = oh.make_node(
        name, list(case.inputs), list(case.outputs), domain="mine", plugin_version="1", plugin_namespace="features"
    )
    opsets = [oh.make_opsetid("", 17), oh.make_opsetid("mine", 1)]
    model = oh.make_model(oh.make_graph([node], "g", inputs, outputs), opset_imports=opsets, ir_version=9)
    builder = trt.Builder(features.LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, features.LOGGER)
    assert parser.parse(model.SerializeToString()), [parser.get_error(i).desc() for i in range(parser.num_errors)]
    config = builder.create_builder_config()
    config.builder_optimization_level = level
    config.min_timing_iterations = 10  # The shortest counts: other programs hold up some runs, hardly all.
    config.set_preview_feature(trt.PreviewFeature.ALIASED_PLUGIN_IO_10_03, True)
    profile = builder.create_optimization_profile()
    for each, shape in case.shapes.items():
        if "m" in shape:
            profile.set_shape(each, (1, 1), (4, 4), (9, 9))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return bytes(plan)


def load(plan: bytes) -> trt.ICudaEngine:
    runtime = trt.Runtime(features.LOGGER)
    runtime.engine_host_code_allowed = True
    engine = runtime.deserialize_cuda_engine(plan)
    assert engine is not None
    return engine


def runs(engine: trt.ICudaEngine, name: str) -> None:
    """In two contexts; inputs stay the caller's."""
    case = CASES[name]
    for context in [engine.create_execution_context() for _ in range(2)]:
        given = {each: array.copy() for each, array in case.inputs.items()}
        made = {each: features.Growing() for each in case.outputs}
        for each, array in given.items():
            assert context.set_input_shape(each, array.shape) and context.set_tensor_address(each, array)
        for each, allocator in made.items():
            assert context.set_output_allocator(each, allocator)
        assert context.execute_async_v3(0)
        for each, wanted in case.compute(**case.inputs).items():
            assert made[each].shape == wanted.shape
            got = made[each].memory.view(case.outputs[each])[: wanted.size].reshape(wanted.shape)
            np.testing.assert_array_equal(got, wanted)
        for each, array in given.items():
            np.testing.assert_array_equal(array, case.inputs[each])


@pytest.mark.parametrize("name", CASES)
def test_nodes_run_before_saving_saved_and_in_another_process(name: str, tmp_path: pathlib.Path) -> None:
    level = 4 if "actics" in name else 3
    plan = plan_of(name, level)
    features.TwoTactics.ran.clear()
    engine = load(plan)
    runs(engine, name)
    saved = bytes(engine.serialize())
    runs(load(saved), name)
    if level == 4:
        assert features.TwoTactics.ran == [3] * 4, "the fastest, also after loading (L16)"
    (tmp_path / "a.plan").write_bytes(saved)
    done = subprocess.run(
        [sys.executable, __file__, tmp_path / "a.plan", name], capture_output=True, text=True, timeout=small.PATIENCE
    )
    assert done.returncode == 0 and done.stdout == f"{name} ran\n", done.stdout + done.stderr


def main() -> None:
    plan, name = sys.argv[1:]
    creators = [features.creator_of(each) for each in (features.NonZero, features.ScatterInPlace, features.TwoTactics)]
    assert all(trt.get_plugin_registry().register_creator(each, "features") for each in creators)
    runs(load(pathlib.Path(plan).read_bytes()), name)
    print(f"{name} ran")


if __name__ == "__main__":
    main()
