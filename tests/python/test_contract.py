"""The same operator in all Python generations of plugins, under one contract.

Circular padding: class-based IPluginV2DynamicExt and IPluginV3 (whose last widths come from a shape tensor), and
decorated functions that run in Python or are compiled into the plan. The C++ generations have tests/plugins.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
import threading

import contract_pads
import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorrt as trt
import test_plugins as pads
from contract_pads import GENERATIONS, TYPES

LOGGER = trt.Logger(trt.Logger.ERROR)
BEFORE, AFTER = (2, 0), (1, 3)
SHAPES = ((1, 2, 5, 6), (2, 2, 5, 6), (4, 2, 9, 6))
STRONG = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
CASES = [
    *[(kind, 0) for kind in (np.float32, np.int32)],
    *[(kind, STRONG) for kind in (np.float32, np.float16, np.int8, np.int32)],
]


def by_calls(network: trt.INetworkDefinition, generation: str, kind: type) -> None:
    made = GENERATIONS[generation]
    x = network.add_input("x", TYPES[kind], (-1, 2, -1, 6))
    more = network.add_input("more", trt.int32, (2,)) if made.has_shape_input else None
    layer = made.add(network, x, more, BEFORE, AFTER)
    assert layer is not None
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))


def from_onnx(network: trt.INetworkDefinition, generation: str, kind: type) -> None:
    made = GENERATIONS[generation]
    element = oh.np_dtype_to_tensor_dtype(np.dtype(kind))
    inputs = [oh.make_tensor_value_info("x", element, ["n", 2, "h", 6])]
    attributes: dict[str, object] = {"before": list(BEFORE), "plugin_version": made.version}
    attributes |= {"plugin_namespace": made.namespace}
    if made.has_shape_input:
        inputs.append(oh.make_tensor_value_info("more", onnx.TensorProto.INT32, [2]))
        attributes["tensorrt_plugin_shape_input_indices"] = [1]
    else:
        attributes["after"] = list(AFTER)
    node = oh.make_node(made.name, [each.name for each in inputs], ["y"], name="pad", domain="other", **attributes)
    outputs = [oh.make_tensor_value_info("y", element, None)]
    graph = oh.make_graph([node], "g", inputs, outputs)
    opsets = [oh.make_opsetid("", 17), oh.make_opsetid("other", 1)]
    model = oh.make_model(graph, opset_imports=opsets, ir_version=9)
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.parse(model.SerializeToString()), [parser.get_error(i).desc() for i in range(parser.num_errors)]


def build(way, generation: str, kind: type, flags: int) -> bytes:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(flags)
    way(network, generation, kind)
    output = network.get_output(0)
    columns = -1 if GENERATIONS[generation].has_shape_input else 9
    assert (output.name, output.dtype, tuple(output.shape)) == ("y", TYPES[kind], (-1, 2, -1, columns))
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("x", *SHAPES)
    if GENERATIONS[generation].has_shape_input:
        profile.set_shape_input("more", (0, 0), (1, 3), (4, 4))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return bytes(plan)


def data(kind: type, number: int) -> np.ndarray:
    shape = [(1, 2, 5, 6), (4, 2, 9, 6), (3, 2, 7, 6), (2, 2, 5, 6)][number % 4]
    return np.random.default_rng(number).integers(-100, 100, shape).astype(kind)


def check(engine: trt.ICudaEngine | None, kind: type) -> None:
    """Two contexts, by turns and at the same time."""
    assert engine is not None
    contexts = [engine.create_execution_context() for _ in range(2)]
    for number in range(5):
        x = data(kind, number)
        y = contract_pads.run(contexts[number % 2], x, AFTER)
        assert y.dtype == kind
        np.testing.assert_array_equal(y, pads.circ_pad(x, BEFORE, AFTER))
    problems: list[BaseException] = []

    def work(context: trt.IExecutionContext, seed: int) -> None:
        try:
            for number in range(seed, seed + 12):
                x = data(kind, number)
                got = contract_pads.run(context, x, AFTER)
                np.testing.assert_array_equal(got, pads.circ_pad(x, BEFORE, AFTER))
        except BaseException as problem:  # noqa: BLE001
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(context, 50 * i)) for i, context in enumerate(contexts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


@pytest.mark.parametrize("way", [by_calls, from_onnx], ids=["calls", "onnx"])
@pytest.mark.parametrize(
    ("kind", "flags"), CASES, ids=[f"{'strong' if flags else 'weak'}-{np.dtype(kind).name}" for kind, flags in CASES]
)
@pytest.mark.parametrize("generation", list(GENERATIONS))
def test_contract(generation: str, kind: type, flags: int, way, tmp_path: pathlib.Path) -> None:
    GENERATIONS[generation].register()
    plan = build(way, generation, kind, flags)
    engine = contract_pads.load(plan)
    check(engine, kind)
    again = bytes(engine.serialize())  # Saved and loaded.
    check(contract_pads.load(again), kind)
    x = data(kind, 2)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "pad.plan").write_bytes(again)
    command = [sys.executable, contract_pads.__file__, "pad.plan", "x.npy", "y.npy", *map(str, AFTER)]
    if generation != "aot_pad":  # What is compiled needs nothing registered.
        command.append(generation)
    subprocess.run(command, cwd=tmp_path, check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), pads.circ_pad(x, BEFORE, AFTER))


@pytest.mark.parametrize("generation", list(GENERATIONS))
def test_shape_tensors_and_extents_may_change_between_runs(generation: str) -> None:
    GENERATIONS[generation].register()
    context = contract_pads.load(build(by_calls, generation, np.float32, 0)).create_execution_context()
    afters = [(0, 0), (4, 2), (1, 4)] if GENERATIONS[generation].has_shape_input else [AFTER] * 3
    for number, after in enumerate(afters):
        x = data(np.float32, number)
        np.testing.assert_array_equal(contract_pads.run(context, x, after), pads.circ_pad(x, BEFORE, after))


class Halving(contract_pads.DynamicPad):
    """Says that it makes halves of what it is told."""

    told: list[trt.DataType] = []
    offered: set[trt.DataType] = set()

    def get_output_datatype(self, index, input_types):
        Halving.told.append(input_types[0])
        return trt.float16

    def supports_format_combination(self, pos, in_out, num_inputs):
        Halving.offered.add(in_out[pos].type)
        return in_out[pos].type == trt.float32 and in_out[pos].format == trt.TensorFormat.LINEAR


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_K11_weak_typing_offers_float_and_makes_float_of_reduced_answers(kind: type) -> None:
    Halving.told.clear()
    Halving.offered.clear()
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", TYPES[kind], (1, 2, 5, 6))
    layer = network.add_plugin_v2([x], Halving(BEFORE, AFTER))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    assert layer.get_output(0).dtype == trt.float32
    GENERATIONS["DynamicPad"].register()
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    assert plan is not None
    assert set(Halving.told) == {trt.float32}
    assert Halving.offered == {trt.float32}
    context = contract_pads.load(plan).create_execution_context()
    x = data(kind, 0)
    y = np.empty((1, 2, 8, 9), np.float32)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(y, pads.circ_pad(x.astype(np.float32), BEFORE, AFTER))


def test_K11_strong_typing_passes_real_types() -> None:
    Halving.told.clear()
    builder = trt.Builder(LOGGER)
    network = builder.create_network(STRONG)
    x = network.add_input("x", trt.float16, (1, 2, 5, 6))
    layer = network.add_plugin_v2([x], Halving(BEFORE, AFTER))
    assert layer.get_output(0).dtype == trt.float16 and set(Halving.told) == {trt.float16}


class Answering:
    """A pad of either generation that answers with one type, whatever it is told."""

    answer = trt.int8
    told: list[trt.DataType] = []
    offered: set[trt.DataType] = set()

    @staticmethod
    def accepts(desc: trt.PluginTensorDesc) -> bool:
        Answering.offered.add(desc.type)
        return desc.type == trt.float32 and desc.format == trt.TensorFormat.LINEAR


class AnsweringDynamic(contract_pads.DynamicPad):
    def get_output_datatype(self, index, input_types):
        Answering.told += input_types
        return Answering.answer

    def supports_format_combination(self, pos, in_out, num_inputs):
        return Answering.accepts(in_out[pos])


class AnsweringV3(contract_pads.ShapedPad):
    def get_output_data_types(self, input_types):
        Answering.told += input_types
        return [Answering.answer]

    def supports_format_combination(self, pos, in_out, num_inputs):
        return Answering.accepts(in_out[pos].desc)


def padded_by(network: trt.INetworkDefinition, plugin: type, x: trt.ITensor) -> trt.ILayer:
    if plugin is AnsweringDynamic:
        return network.add_plugin_v2([x], plugin(BEFORE, AFTER))
    more = network.add_constant((2,), np.array(AFTER, np.int32)).get_output(0)
    return network.add_plugin_v3([x], [more], plugin(BEFORE))


@pytest.mark.parametrize("answer", [trt.int8, trt.float16, trt.bfloat16], ids=str)
@pytest.mark.parametrize("kind", [np.float32, np.float16])
@pytest.mark.parametrize("plugin", [AnsweringDynamic, AnsweringV3])
def test_K11_reduced_answers_of_any_type_become_float(plugin: type, kind: type, answer: trt.DataType) -> None:
    Answering.answer = answer
    Answering.told.clear()
    Answering.offered.clear()
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    layer = padded_by(network, plugin, network.add_input("x", TYPES[kind], (1, 2, 5, 6)))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    assert layer.get_output(0).dtype == trt.float32
    for name in ("DynamicPad", "ShapedPad"):
        GENERATIONS[name].register()
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    assert plan is not None
    assert set(Answering.told) == {trt.float32} and Answering.offered == {trt.float32}
    engine = contract_pads.load(plan)
    assert engine.get_tensor_dtype("y") == trt.float32
    context = engine.create_execution_context()
    x, y = data(kind, 0), np.empty((1, 2, 8, 9), np.float32)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(y, pads.circ_pad(x.astype(np.float32), BEFORE, AFTER))


@pytest.mark.parametrize("answer", [trt.int8, trt.float16], ids=str)
@pytest.mark.parametrize("plugin", [AnsweringDynamic, AnsweringV3])
def test_K11_strong_typing_keeps_answers_of_any_type(plugin: type, answer: trt.DataType) -> None:
    Answering.answer = answer
    Answering.told.clear()
    network = trt.Builder(LOGGER).create_network(STRONG)
    layer = padded_by(network, plugin, network.add_input("x", trt.float16, (1, 2, 5, 6)))
    assert layer.get_output(0).dtype == answer and set(Answering.told) == {trt.float16}


def test_casts_between_plugins_of_a_strongly_typed_network() -> None:
    """half -> plugin -> cast to int32 -> V3 plugin -> cast to int8 -> plugin: each has the type that it gets."""
    for name in ("DynamicPad", "ShapedPad"):
        GENERATIONS[name].register()
    builder = trt.Builder(LOGGER)
    network = builder.create_network(STRONG)
    more = network.add_constant((2,), np.array(AFTER, np.int32)).get_output(0)
    tensors = [network.add_input("x", trt.float16, (1, 2, 5, 6))]
    tensors.append(network.add_plugin_v2([tensors[-1]], contract_pads.DynamicPad(BEFORE, AFTER)).get_output(0))
    tensors.append(network.add_cast(tensors[-1], trt.int32).get_output(0))
    tensors.append(network.add_plugin_v3([tensors[-1]], [more], contract_pads.ShapedPad(BEFORE)).get_output(0))
    tensors.append(network.add_cast(tensors[-1], trt.int8).get_output(0))
    tensors.append(network.add_plugin_v2([tensors[-1]], contract_pads.DynamicPad((1, 1), (1, 1))).get_output(0))
    types = [trt.float16, trt.float16, trt.int32, trt.int32, trt.int8, trt.int8]
    assert [each.dtype for each in tensors] == types
    made = {"half": (1, np.float16), "integers": (3, np.int32), "y": (5, np.int8)}
    for name, (index, _) in made.items():
        tensors[index].name = name
        network.mark_output(tensors[index])
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    assert plan is not None
    engine = contract_pads.load(plan)
    context = engine.create_execution_context()
    x = np.random.default_rng(8).integers(-500, 500, (1, 2, 5, 6)).astype(np.float16) / np.float16(4)
    arrays = {"x": x}
    for name, (_, kind) in made.items():
        assert engine.get_tensor_dtype(name) == TYPES[kind]
        arrays[name] = np.empty(tuple(engine.get_tensor_shape(name)), kind)
    assert all(context.set_tensor_address(name, array) for name, array in arrays.items())
    assert context.execute_async_v3(0)
    half = pads.circ_pad(x, BEFORE, AFTER)
    integers = pads.circ_pad(half.astype(np.int32), BEFORE, AFTER)
    np.testing.assert_array_equal(arrays["half"], half)
    np.testing.assert_array_equal(arrays["integers"], integers)
    np.testing.assert_array_equal(arrays["y"], pads.circ_pad(integers.astype(np.int8), (1, 1), (1, 1)))


def test_K16_python_implements_what_8_6_had_in_cpp_only_beside_its_names() -> None:
    """A class of IPluginV2DynamicExt, which 8.6 could not derive from, in a program that has 8.6's names else."""
    GENERATIONS["DynamicPad"].register()
    builder = trt.Builder(LOGGER)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH))
    layer = network.add_plugin_v2(
        [network.add_input("x", trt.float32, (1, 2, 5, 6))], contract_pads.DynamicPad(BEFORE, AFTER)
    )
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    config.max_workspace_size = 1 << 20
    engine = builder.build_engine(network, config)
    assert engine.num_bindings == 2 and tuple(engine.get_binding_shape(1)) == (1, 2, 8, 9)
    x, y = data(np.float32, 0), np.empty((1, 2, 8, 9), np.float32)
    assert engine.create_execution_context().execute_v2([x.ctypes.data, y.ctypes.data])
    np.testing.assert_array_equal(y, pads.circ_pad(x, BEFORE, AFTER))
