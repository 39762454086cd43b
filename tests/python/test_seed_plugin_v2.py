"""Plain IPluginV2 (and IPluginV2Ext) objects of C++, used from Python with the methods of the second seed document.

The table tests/seeds.toml says which row each test is for.
"""

import ctypes
import gc
import json
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import small
import tensorrt as trt
from journal_library import Journal, opened

LOGGER = trt.Logger(trt.Logger.ERROR)
KINDS = ["CircPadV2", "CircPadV2Ext"]
BEFORE, AFTER = (2, 1), (0, 3)


@pytest.fixture
def journal() -> Iterator[Journal]:
    yield from opened()


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    return lambda: capfd.readouterr().err


def pad(x: np.ndarray) -> np.ndarray:
    return np.pad(x, [(0, 0)] * (x.ndim - 2) + list(zip(BEFORE, AFTER, strict=True)), mode="wrap")


def make(journal: Journal, name: str) -> trt.IPluginV2:
    plugin = journal.make(name, BEFORE, AFTER)
    plugin.plugin_namespace = "five"
    return plugin


def capsule(address: int) -> object:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(address, None, None)


def configure(plugin: trt.IPluginV2, shape: tuple, batch: int) -> trt.Dims:
    """Ready for `shape` without the batch."""
    out = plugin.get_output_shape(0, [trt.Dims(shape)])
    if isinstance(plugin, trt.IPluginV2Ext):
        lists = ([trt.Dims(shape)], [out], [trt.float32], [trt.float32], [False], [False])
        plugin.configure_plugin(*lists, trt.TensorFormat.LINEAR, batch)
    else:
        plugin.configure_with_format([trt.Dims(shape)], [out], trt.float32, trt.TensorFormat.LINEAR, batch)
    return out


def definition(builder: trt.Builder, plugin: trt.IPluginV2, shape: tuple = (3, 2, 5, 6)) -> trt.INetworkDefinition:
    network = builder.create_network()
    layer = network.add_plugin_v2([network.add_input("x", trt.float32, shape)], plugin)
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    return network


def build(plugin: trt.IPluginV2) -> trt.IHostMemory | None:
    builder = trt.Builder(LOGGER)
    return builder.build_serialized_network(definition(builder, plugin), builder.create_builder_config())


def run(context: trt.IExecutionContext) -> bool:
    """Whether the run succeeds; if so, its result is right."""
    x = np.random.default_rng(3).standard_normal((3, 2, 5, 6)).astype(np.float32)
    y = np.empty((3, 2, 7, 10), np.float32)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    if not context.execute_async_v3(0):
        return False
    np.testing.assert_array_equal(y, pad(x))
    return True


@pytest.mark.parametrize("name", KINDS)
def test_cpp_objects_are_used_with_every_method(name: str, journal: Journal) -> None:
    """In the order of a life: outputs, formats, configuration, initialize, workspace, runs, terminate."""
    plugin = make(journal, name)
    assert type(plugin) is (trt.IPluginV2 if name == "CircPadV2" else trt.IPluginV2Ext)
    assert isinstance(plugin, trt.IPluginV2)
    assert plugin.supports_format(trt.float32, trt.TensorFormat.LINEAR) is True
    assert plugin.supports_format(dtype=trt.bool, format=trt.TensorFormat.LINEAR) is False
    assert plugin.supports_format(trt.float32, trt.TensorFormat.CHW32) is False
    assert tuple(configure(plugin, (2, 5, 6), 3)) == (2, 7, 10)
    assert plugin.initialize() == 0
    size = plugin.get_workspace_size(max_batch_size=3)
    assert size == 128
    x = np.random.default_rng(4).standard_normal((3, 2, 5, 6)).astype(np.float32)
    scratch = np.zeros(size, np.uint8)
    for wrap in (int, capsule):
        y = np.zeros((3, 2, 7, 10), np.float32)
        given = [wrap(each.ctypes.data) for each in (x, y, scratch)]
        code = plugin.execute_async(
            batch_size=3, inputs=[given[0]], outputs=[given[1]], workspace=given[2], stream_handle=0
        )
        assert code == 0
        np.testing.assert_array_equal(y, pad(x))
    half = np.zeros((1, 2, 7, 10), np.float32)
    assert plugin.execute_async(1, [x.ctypes.data], [half.ctypes.data], scratch.ctypes.data, 0) == 0
    np.testing.assert_array_equal(half, pad(x[:1]))
    assert plugin.terminate() is None
    order = [call for _, call, _ in journal.entries()]
    for before, after in (("getOutputDimensions", "initialize"), ("configure", "initialize"), ("enqueue", "terminate")):
        assert order.index(before) < order.index(after)


@pytest.mark.parametrize("name", KINDS)
def test_attributes_of_cpp_objects(name: str, journal: Journal) -> None:
    plugin = make(journal, name)
    assert plugin.num_outputs == 1
    assert (plugin.plugin_type, plugin.plugin_version) == (name, "1"), "those of its creator"
    found = trt.get_plugin_registry().get_creator(plugin.plugin_type, plugin.plugin_version, plugin.plugin_namespace)
    assert type(found) is trt.IPluginCreator and (found.name, found.plugin_version) == (name, "1")
    generation, version = plugin.tensorrt_version >> 24, plugin.tensorrt_version & 0xFFFFFF
    assert generation == KINDS.index(name)
    assert version // 10000 == int(trt.__version__.split(".")[0])
    for attribute, value in (
        ("num_outputs", 2),
        ("plugin_type", "x"),
        ("plugin_version", "x"),
        ("tensorrt_version", 1),
    ):
        with pytest.raises(AttributeError):
            setattr(plugin, attribute, value)
    plugin.plugin_namespace = "elsewhere"
    assert plugin.plugin_namespace == "elsewhere"


@pytest.mark.parametrize("name", KINDS)
def test_clones_and_serialized_bytes_carry_the_parameters(name: str, journal: Journal) -> None:
    plugin = make(journal, name)
    configure(plugin, (2, 5, 6), 4)
    stored = plugin.serialize()
    assert type(stored) is memoryview and stored.nbytes == plugin.serialization_size > 0
    creator = trt.get_plugin_registry().get_plugin_creator(name, "1", "five")
    copies = [plugin.clone(), creator.deserialize_plugin(name, stored), creator.deserialize_plugin(name, bytes(stored))]
    del plugin
    gc.collect()
    x = np.random.default_rng(5).standard_normal((1, 2, 5, 6)).astype(np.float32)
    for copy in copies:
        assert type(copy) is (trt.IPluginV2 if name == "CircPadV2" else trt.IPluginV2Ext)
        assert bytes(copy.serialize()) == bytes(stored)
        y, scratch = np.empty((1, 2, 7, 10), np.float32), np.empty(128, np.uint8)
        assert copy.execute_async(1, [x.ctypes.data], [y.ctypes.data], scratch.ctypes.data, 0) == 0
        np.testing.assert_array_equal(y, pad(x))


@pytest.mark.parametrize("name", KINDS)
def test_engines_find_the_creator_of_what_they_restore(name: str, journal: Journal) -> None:
    plan = build(make(journal, name))
    assert plan is not None
    journal.library.journalClear()
    context = trt.Runtime(LOGGER).deserialize_cuda_engine(plan).create_execution_context()
    assert journal.calls("deserializePlugin") and run(context)
    del context
    gc.collect()
    journal.unload()
    assert trt.Runtime(LOGGER).deserialize_cuda_engine(plan) is None
    journal.load()
    assert trt.Runtime(LOGGER).deserialize_cuda_engine(plan) is not None


@pytest.mark.parametrize("name", KINDS)
def test_order_of_calls_in_builds_and_runs(name: str, journal: Journal) -> None:
    builder = trt.Builder(LOGGER)
    network = definition(builder, make(journal, name))
    asked = [call for _, call, _ in journal.entries()]
    assert "getNbOutputs" in asked and "initialize" not in asked, "the network counts outputs"
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    built = journal.entries()
    order = [call for _, call, _ in built]
    assert order.index("getOutputDimensions") < order.index("configure")
    assert order.index("supportsFormat") < order.index("configure") < order.index("initialize")
    assert {what for _, call, what in built if call == "configure"} == {"2x5x6 batch 3"}, "without the batch"
    assert {what for _, call, what in built if call == "getOutputDimensions"} == {"2x5x6"}
    journal.library.journalClear()
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    loaded = [call for _, call, _ in journal.entries()]
    assert "supportsFormat" in loaded and loaded.count("initialize") == 1, "asked again when an engine is loaded"
    assert loaded.index("initialize") < loaded.index("getWorkspaceSize"), "at the start of the engine"
    assert {what for _, call, what in journal.entries() if call == "getWorkspaceSize"} == {"3"}, "the largest batch"
    main = journal.calls("initialize")[0][0]
    context = engine.create_execution_context()
    assert run(context) and [what for _, _, what in journal.calls("enqueue")] == ["3"]
    del context
    gc.collect()
    assert main not in {number for number, _, _ in journal.calls("terminate", "destroy")}
    del engine
    gc.collect()
    assert [call for number, call, _ in journal.calls("terminate", "destroy") if number == main] == [
        "terminate",
        "destroy",
    ]


@pytest.mark.parametrize("name", KINDS)
def test_objects_are_destroyed_once_with_their_owner(name: str, journal: Journal) -> None:
    plan = build(make(journal, name))
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    contexts = [engine.create_execution_context() for _ in range(2)]
    assert all(run(context) for context in contexts)
    assert journal.alive() == 3, "one for the engine, one for each context"
    del contexts, engine
    gc.collect()
    assert journal.alive() == 0
    gone = [number for number, _, _ in journal.calls("destroy")]
    assert len(gone) == len(set(gone)) > 4
    ready, over = ([number for number, _, _ in journal.calls(call)] for call in ("initialize", "terminate"))
    assert sorted(ready) == sorted(set(over) & set(ready)) and len(over) >= len(ready)


@pytest.mark.parametrize("name", [*KINDS, "CircPadV2DynamicExt"])
def test_destroy_ends_a_plugin_that_python_owns_and_no_other(name: str, journal: Journal) -> None:
    plugin = make(journal, name)
    plugin.destroy()
    assert journal.alive() == 0 and len(journal.calls("destroy")) == 1
    with pytest.raises(AttributeError, match="num_outputs is not set"):
        _ = plugin.num_outputs
    with pytest.raises(RuntimeError, match="clone"):
        plugin.clone()
    plugin.destroy()
    del plugin
    gc.collect()
    assert len(journal.calls("destroy")) == 1, "not again with its Python object"
    builder = trt.Builder(LOGGER)
    network = definition(builder, make(journal, name))
    with pytest.raises(RuntimeError, match="belongs to the library"):
        small.layer(network, 0, trt.IPluginV2Layer).plugin.destroy()
    assert builder.build_serialized_network(network, builder.create_builder_config()) is not None


class PyPad(trt.IPluginV2):
    """The same in Python: shapes are fixed, the batch is not among them."""

    error: Exception | None = None
    code = 0
    ready = 0

    def __init__(self) -> None:
        trt.IPluginV2.__init__(self)
        self.num_outputs = 1
        self.plugin_type, self.plugin_version, self.plugin_namespace = "PyPad", "1", "five"
        self.shape: tuple = ()

    def get_output_shape(self, index, input_shapes):
        *front, rows, columns = input_shapes[0]
        return trt.Dims([*front, rows + BEFORE[0] + AFTER[0], columns + BEFORE[1] + AFTER[1]])

    def supports_format(self, dtype, format):
        return dtype == trt.float32 and format == trt.TensorFormat.LINEAR

    def configure_with_format(self, input_shapes, output_shapes, dtype, format, max_batch_size):
        assert (dtype, format, max_batch_size) == (trt.float32, trt.TensorFormat.LINEAR, 3)
        self.shape = tuple(input_shapes[0])

    def initialize(self):
        return type(self).ready

    def execute_async(self, batch_size, inputs, outputs, workspace, stream_handle):
        if type(self).error is not None:
            raise type(self).error
        source, size = (batch_size, *self.shape), 4 * batch_size * int(np.prod(self.shape))
        x = np.frombuffer((ctypes.c_char * size).from_address(inputs[0]), np.float32).reshape(source)
        y = pad(x)
        ctypes.memmove(outputs[0], y.ctypes.data, y.nbytes)
        return type(self).code

    def serialize(self):
        return memoryview(json.dumps(self.shape).encode())

    def clone(self):
        copy = PyPad()
        copy.__dict__.update(self.__dict__)
        return copy


class PyPadCreator(trt.IPluginCreator):
    def __init__(self) -> None:
        trt.IPluginCreator.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "PyPad", "1", "five"
        self.field_names = trt.PluginFieldCollection([])

    def deserialize_plugin(self, name, data):
        plugin = PyPad()
        plugin.shape = tuple(json.loads(bytes(data)))
        return plugin


@pytest.fixture
def python_creator() -> Iterator[None]:
    registry, creator = trt.get_plugin_registry(), PyPadCreator()
    assert registry.register_creator(creator, "five")
    yield
    PyPad.error, PyPad.code, PyPad.ready = None, 0, 0
    assert registry.deregister_creator(creator)


def test_python_may_implement_it_too(python_creator: None) -> None:
    plan = build(PyPad())
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    assert all(run(engine.create_execution_context()) for _ in range(2))


def test_what_fails_ends_the_run_and_the_engine(python_creator: None, printed: Callable[[], str]) -> None:
    plan = build(PyPad())
    runtime = trt.Runtime(LOGGER)
    context = runtime.deserialize_cuda_engine(plan).create_execution_context()
    PyPad.code = 5
    assert not run(context)
    PyPad.code, PyPad.error = 0, ValueError("an illegal value")
    assert not run(context) and "ValueError: an illegal value" in printed()
    PyPad.error = None
    assert run(context), "a failed run leaves the context as it was"
    PyPad.ready = 3
    assert runtime.deserialize_cuda_engine(plan) is None and build(PyPad()) is None
    PyPad.ready = 0
    assert runtime.deserialize_cuda_engine(plan) is not None
