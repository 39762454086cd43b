"""A plugin library made from the layout table alone: its tables are those of tools/api, and it builds and runs here."""

import ctypes
import json
import os
import pathlib
import re

import numpy as np
import pytest
import small
import tensorrt as trt

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build")) / "lib" / "libtenon_raw_library.so"
TABLE = json.loads((ROOT / "tools/api/abi-10.16.json").read_text())


def rows() -> list[tuple[str, str, int, str]]:
    """What the library says that it has taken from the table: kind, class, position, name."""
    layout = ctypes.CDLL(str(LIBRARY)).rawLayout
    layout.restype = ctypes.c_char_p
    cells = [line.split("\t") for line in layout().decode().splitlines()]
    return [(kind, record, int(position), name) for kind, record, position, name in cells]


def test_every_table_of_functions_is_that_of_the_layout_table() -> None:
    tables: dict[str, list[str]] = {}
    for kind, record, position, name in rows():
        if kind == "slot":
            assert position == len(tables.setdefault(record, []))
            tables[record].append(name)
    assert set(tables) == {
        f"nvinfer1::{name}"
        for name in [
            "IPluginV2DynamicExt",
            "IPluginCreator",
            "IPluginV3",
            "IPluginV3OneCore",
            "IPluginV3OneBuild",
            "IPluginV3OneRuntime",
            "IPluginCreatorV3One",
        ]
    }
    for record, names in tables.items():
        assert names == TABLE[record]["slots"], record


def test_what_it_calls_and_the_records_are_those_of_the_layout_table() -> None:
    seen = {"call": 0, "place": 0, "slot": 0}
    for kind, record, position, name in rows():
        seen[kind] += 1
        if kind == "call":
            assert TABLE[record]["slots"][position] == name
        elif kind == "place" and name == "":
            assert TABLE[record]["size"] == position, record
        elif kind == "place":
            assert [at for member, _, at in TABLE[record]["fields"] if member == name] == [position], (record, name)
    assert seen["call"] >= 4 and seen["place"] >= 25


def test_its_sources_know_no_header_of_the_api() -> None:
    sources = sorted((ROOT / "tests/plugins/library").glob("raw_*"))
    assert len(sources) == 4
    for source in sources:
        for header in re.findall(r"#include (.*)", source.read_text()):
            assert header == '"raw_layout.h"' or re.fullmatch(r"<[a-z]+>", header), (source.name, header)


def field(name: str, value: int | float) -> trt.PluginField:
    if isinstance(value, int):
        return trt.PluginField(name, np.array([value], np.int32), trt.PluginFieldType.INT32)
    return trt.PluginField(name, np.array([value], np.float32), trt.PluginFieldType.FLOAT32)


@pytest.fixture
def logger() -> small.Recorder:
    return small.Recorder()


def build(logger: trt.ILogger, dtype: trt.DataType, factor: float) -> bytes:
    """x -> RawRepeat(3, factor) -> RawStride(4) -> y, made by the creators that the registry finds."""
    builder = trt.Builder(logger)
    registry = builder.get_plugin_registry()
    assert registry.load_library(str(LIBRARY)) is not None
    network = builder.create_network()
    x = network.add_input("x", dtype, (-1, 2, -1))
    repeats = registry.get_creator("RawRepeat", "1", "raw")
    assert [each.name for each in repeats.field_names] == ["times", "factor"]
    repeat = repeats.create_plugin("repeat", trt.PluginFieldCollection([field("times", 3), field("factor", factor)]))
    first = network.add_plugin_v2([x], repeat)
    strides = registry.get_creator("RawStride", "1", "raw")
    stride = strides.create_plugin("stride", trt.PluginFieldCollection([field("step", 4)]), trt.TensorRTPhase.BUILD)
    second = network.add_plugin_v3([first.get_output(0)], [], stride)
    y = second.get_output(0)
    y.name = "y"
    network.mark_output(y)
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 2, 1), (2, 2, 8), (4, 2, 32))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return bytes(plan)


def expected(x: np.ndarray, factor: float) -> np.ndarray:
    return (np.repeat(x, 3, axis=-1).astype(np.float32) * np.float32(factor)).astype(x.dtype)[..., ::4]


IN_ANOTHER_PROCESS = """
import sys
import numpy as np
import tensorrt as trt
plan, given, made, library = {paths!r}
runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR))
assert runtime.deserialize_cuda_engine(open(plan, "rb").read()) is None, "without the library"
assert runtime.get_plugin_registry().load_library(library) is not None
engine = runtime.deserialize_cuda_engine(open(plan, "rb").read())
context = engine.create_execution_context()
x = np.load(given)
assert context.set_input_shape("x", x.shape)
y = np.empty(tuple(context.get_tensor_shape("y")), x.dtype)
assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
assert context.execute_async_v3(0)
np.save(made, y)
"""


@pytest.mark.parametrize(("dtype", "factor"), [(np.float32, 0.75), (np.int32, -2.0)])
def test_it_builds_saves_and_runs_here_and_in_another_process(
    logger: trt.ILogger, tmp_path: pathlib.Path, dtype: type, factor: float
) -> None:
    plan = build(logger, trt.float32 if dtype is np.float32 else trt.int32, factor)
    generator = np.random.default_rng(8)
    runtime = trt.Runtime(logger)
    assert runtime.get_plugin_registry().load_library(str(LIBRARY)) is not None
    engine = runtime.deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    for shape in [(3, 2, 7), (4, 2, 32), (1, 2, 1)]:
        x = generator.integers(-1000, 1000, shape).astype(dtype)
        y = np.empty((*shape[:2], -(-shape[2] * 3 // 4)), dtype)
        assert context.set_input_shape("x", shape)
        assert tuple(context.get_tensor_shape("y")) == y.shape
        assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
        assert context.execute_async_v3(0)
        np.testing.assert_array_equal(y, expected(x, factor))

    paths = [str(tmp_path / name) for name in ("plan", "x.npy", "y.npy")] + [str(LIBRARY)]
    pathlib.Path(paths[0]).write_bytes(plan)
    x = generator.integers(-1000, 1000, (2, 2, 9)).astype(dtype)
    np.save(paths[1], x)
    done = small.script(IN_ANOTHER_PROCESS.format(paths=paths))
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(paths[2]), expected(x, factor))
