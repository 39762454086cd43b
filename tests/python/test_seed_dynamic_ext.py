"""IPluginV2DynamicExt as the first seed document states it: classes of Python, and C++ objects seen from there.

The table tests/seeds.toml says which row each test is for.
"""

import ctypes
import gc
import sys
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import tensorrt as trt
from journal_library import Journal, opened

LOGGER = trt.Logger(trt.Logger.ERROR)
INT32_MIN = -(2**31)


def view(address: int, desc: trt.PluginTensorDesc) -> np.ndarray:
    kind, shape = np.dtype(trt.nptype(desc.type)), tuple(desc.dims)
    size = int(np.prod(shape)) * kind.itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), kind).reshape(shape)


class Tile(trt.IPluginV2DynamicExt):
    """Two outputs of two types: x repeated `times` times along its last axis, and the signs of x as int32."""

    log: list[tuple] = []  # (call, object, what)

    def __init__(self, times: int = 3, scratch: int = 0) -> None:
        trt.IPluginV2DynamicExt.__init__(self)
        self.times, self.scratch = times, scratch
        self.num_outputs = 2
        self.plugin_type, self.plugin_version, self.plugin_namespace = "Tile", "2", "seed"
        self.configured = False
        self.weights = np.full(4, times)

    def note(self, call: str, *what: object) -> None:
        Tile.log.append((call, id(self), *what))

    def get_output_datatype(self, index, input_types):
        self.note("get_output_datatype", index, list(input_types))
        return input_types[0] if index == 0 else trt.int32

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        self.note("get_output_dimensions", output_index)
        if output_index == 1:
            return inputs[0]
        *front, last = inputs[0]
        times = expr_builder.constant(self.times)
        return trt.DimsExprs([*front, expr_builder.operation(trt.DimensionOperation.PROD, last, times)])

    def supports_format_combination(self, pos, in_out, num_inputs):
        self.note("supports_format_combination", pos, len(in_out), num_inputs)
        wanted = trt.int32 if pos == 2 else trt.float32
        return in_out[pos].type == wanted and in_out[pos].format == trt.TensorFormat.LINEAR

    def configure_plugin(self, inputs, outputs):
        x = inputs[0]
        self.note("configure_plugin", tuple(x.desc.dims), tuple(x.min), tuple(x.max), inputs, outputs)
        self.configured = True

    def get_workspace_size(self, inputs, outputs):
        self.note("get_workspace_size", tuple(inputs[0].dims), inputs, outputs)
        return self.scratch

    def initialize(self):
        self.note("initialize")

    def terminate(self):
        self.note("terminate")

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        self.note("enqueue", input_desc, output_desc, inputs, outputs, workspace, stream, self.weights)
        assert self.configured
        if self.scratch:
            ctypes.memset(workspace, 0xA5, self.scratch)
        x = view(inputs[0], input_desc[0])
        view(outputs[0], output_desc[0])[...] = np.concatenate([x] * self.times, axis=-1)
        view(outputs[1], output_desc[1])[...] = np.sign(x)

    def serialize(self):
        return bytes([self.times]) + self.scratch.to_bytes(4, "little")

    def clone(self):
        copy = type(self)()
        copy.__dict__.update(self.__dict__)
        copy.plugin_type, copy.plugin_version = self.plugin_type, self.plugin_version
        copy.plugin_namespace = self.plugin_namespace
        self.note("clone", id(copy), self.configured)
        return copy

    def destroy(self):
        self.note("destroy")


class TileCreator(trt.IPluginCreator):
    made: type = Tile

    def __init__(self, name: str = "Tile", version: str = "2") -> None:
        trt.IPluginCreator.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = name, version, "seed"
        self.field_names = trt.PluginFieldCollection([])

    def deserialize_plugin(self, name, data):
        return self.made(data[0], int.from_bytes(data[1:5], "little"))


def registered(creator: trt.IPluginCreator) -> Iterator[trt.IPluginCreator]:
    registry = trt.get_plugin_registry()
    assert registry.register_creator(creator, "seed")
    yield creator
    assert registry.deregister_creator(creator)


@pytest.fixture
def creator() -> Iterator[trt.IPluginCreator]:
    gc.collect()
    Tile.log.clear()
    yield from registered(TileCreator())


@pytest.fixture
def journal() -> Iterator[Journal]:
    yield from opened()


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """What programs see on stderr since the last call."""
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    return lambda: capfd.readouterr().err


def calls(name: str) -> list[tuple]:
    return [entry for entry in Tile.log if entry[0] == name]


def first(name: str, who: int | None = None) -> int:
    """The place of the first call in the log."""
    return next(i for i, entry in enumerate(Tile.log) if entry[0] == name and who in (None, entry[1]))


def definition(builder: trt.Builder, plugin: trt.IPluginV2, rank_two: tuple = (-1, 4)) -> trt.INetworkDefinition:
    network = builder.create_network()
    layer = network.add_plugin_v2([network.add_input("x", trt.float32, rank_two)], plugin)
    for i in range(layer.num_outputs):
        layer.get_output(i).name = f"y{i}"
        network.mark_output(layer.get_output(i))
    return network


def settings(builder: trt.Builder) -> trt.IBuilderConfig:
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 4), (2, 4), (5, 4))
    config.add_optimization_profile(profile)
    return config


def build(plugin: trt.IPluginV2) -> trt.IHostMemory | None:
    builder = trt.Builder(LOGGER)
    return builder.build_serialized_network(definition(builder, plugin), settings(builder))


def load(plan: object) -> trt.ICudaEngine | None:
    assert plan is not None
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def run(context: trt.IExecutionContext, rows: int, times: int = 3, seed: int = 1) -> bool:
    """Whether the run succeeds; if so, its results are right."""
    x = np.random.default_rng(seed).standard_normal((rows, 4)).astype(np.float32)
    given, y, signs = x.copy(), np.empty((rows, 4 * times), np.float32), np.empty((rows, 4), np.int32)
    assert context.set_input_shape("x", x.shape)
    for name, array in (("x", x), ("y0", y), ("y1", signs)):
        assert context.set_tensor_address(name, array)
    if not context.execute_async_v3(0):
        return False
    np.testing.assert_array_equal(y, np.tile(x, times))
    np.testing.assert_array_equal(signs, np.sign(x))
    np.testing.assert_array_equal(x, given)
    return True


def test_a_subclass_is_a_layer_with_dynamic_shapes_and_types_of_its_own(creator: TileCreator) -> None:
    engine = load(build(Tile()))
    assert engine.get_tensor_dtype("y0") == trt.float32 and engine.get_tensor_dtype("y1") == trt.int32
    context = engine.create_execution_context()
    for rows in (1, 5, 3):
        assert run(context, rows)
    assert {entry[2] for entry in calls("get_output_datatype")} == {0, 1}
    assert all(entry[3] == [trt.float32] for entry in calls("get_output_datatype"))


@pytest.mark.parametrize("name", ["num_outputs", "plugin_type", "plugin_version", "plugin_namespace"])
def test_each_attribute_must_be_set(name: str, creator: TileCreator, printed: Callable[[], str]) -> None:
    class Lacking(Tile):
        def __init__(self, *arguments) -> None:
            trt.IPluginV2DynamicExt.__init__(self)
            self.times, self.scratch, self.configured, self.weights = 3, 0, False, None
            for each, value in dict(
                num_outputs=2, plugin_type="Tile", plugin_version="2", plugin_namespace="seed"
            ).items():
                if each != name:
                    setattr(self, each, value)

        def clone(self):
            copy = type(self)()
            copy.__dict__.update(self.__dict__)
            return copy

    with pytest.raises(AttributeError, match=f"{name} is not set"):
        getattr(Lacking(), name)
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    layer = network.add_plugin_v2([network.add_input("x", trt.float32, (-1, 4))], Lacking())
    if layer is not None:
        network.mark_output(layer.get_output(0))
        assert builder.build_serialized_network(network, settings(builder)) is None
    errors = printed()
    assert "AttributeError" in errors and f"{name} is not set" in errors


def test_constructors_make_an_empty_object_and_a_copy() -> None:
    empty = trt.IPluginV2DynamicExt()
    with pytest.raises(AttributeError, match="plugin_type is not set"):
        _ = empty.plugin_type
    source = Tile()
    source.plugin_namespace = "elsewhere"
    copy = trt.IPluginV2DynamicExt(source)
    source.plugin_type = "changed later"
    assert (copy.num_outputs, copy.plugin_type, copy.plugin_version) == (2, "Tile", "2")
    assert copy.plugin_namespace == "elsewhere"

    class Derived(trt.IPluginV2DynamicExt):
        def __init__(self, other: trt.IPluginV2DynamicExt) -> None:
            trt.IPluginV2DynamicExt.__init__(self, other)

    assert Derived(source).plugin_type == "changed later"


def test_a_copy_of_a_cpp_object_has_its_attributes(journal: Journal) -> None:
    copy = trt.IPluginV2DynamicExt(journal.make("CircPadV2DynamicExt"))
    assert (copy.num_outputs, copy.plugin_type, copy.plugin_version) == (1, "CircPadV2DynamicExt", "1")


def test_outputs_are_counted_before_initialize(creator: TileCreator) -> None:
    class Counting(Tile):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)

        @property
        def num_outputs(self):
            self.note("num_outputs")
            return 2

        @num_outputs.setter
        def num_outputs(self, value):
            assert value == 2

    builder = trt.Builder(LOGGER)
    network = definition(builder, Counting())
    assert calls("num_outputs") and not calls("initialize"), "the network asks"
    Tile.log.clear()
    assert builder.build_serialized_network(network, settings(builder)) is not None
    assert calls("num_outputs"), "the builder asks"
    if calls("initialize"):
        assert first("num_outputs") < first("initialize")


def test_the_version_of_the_interface_can_be_read_only() -> None:
    plugin = Tile()
    generation, version = plugin.tensorrt_version >> 24, plugin.tensorrt_version & 0xFFFFFF
    assert generation == 0x43, "IPluginV2DynamicExt, in Python"
    major, minor, *_ = (int(part) for part in trt.__version__.split("."))
    assert version // 10000 == major and version // 100 % 100 == minor
    with pytest.raises(AttributeError):
        plugin.tensorrt_version = 3


def test_type_and_version_are_those_of_the_creator_that_restores_it(creator: TileCreator) -> None:
    for name, value in (("plugin_type", "Other"), ("plugin_version", "3"), ("plugin_namespace", "else")):
        plugin = Tile()
        setattr(plugin, name, value)
        plan = build(plugin)
        assert plan is None or load(plan) is None, f"no creator has {name} {value!r}"
    other = Tile()
    other.plugin_type, other.plugin_version = "Other", "3"
    for _ in registered(TileCreator("Other", "3")):
        assert run(load(build(other)).create_execution_context(), 2)
    assert run(load(build(Tile())).create_execution_context(), 2), "found by its own type and version"


def test_namespaces_are_read_and_written(creator: TileCreator, journal: Journal) -> None:
    plugin = Tile()
    assert plugin.plugin_namespace == "seed"
    engine = load(build(plugin))
    assert engine is not None, "the namespace finds the creator"
    other = journal.make("CircPadV2DynamicExt")
    other.plugin_namespace = "five"
    assert other.plugin_namespace == other.clone().plugin_namespace == "five"


def test_sizes_are_those_of_what_is_serialized(creator: TileCreator, printed: Callable[[], str]) -> None:
    plugin = Tile()
    assert isinstance(plugin.serialize(), bytes)
    assert plugin.serialization_size == plugin.get_serialization_size() == len(plugin.serialize()) == 5
    with pytest.raises(AttributeError):
        plugin.serialization_size = 3

    class Saying(Tile):
        said = 5

        def get_serialization_size(self):
            self.note("get_serialization_size")
            return self.said

    assert run(load(build(Saying())).create_execution_context(), 2) and calls("get_serialization_size")
    Saying.said = 6
    assert build(Saying()) is None and "get_serialization_size" in printed()

    class Number(Tile):
        def serialize(self):
            return 5

    assert build(Number()) is None and "serialize answered with no bytes" in printed()


def test_clones_have_the_parameters_and_the_configuration(creator: TileCreator) -> None:
    for times in (2, 5):
        engine = load(build(Tile(times)))
        contexts = [engine.create_execution_context() for _ in range(2)]
        assert all(run(context, 2 + i, times) for i, context in enumerate(contexts))
    states = {entry[1]: False for entry in Tile.log}
    for entry in Tile.log:
        if entry[0] == "configure_plugin":
            states[entry[1]] = True
        elif entry[0] == "clone":
            states[entry[2]] = entry[3]
        elif entry[0] == "enqueue":
            assert states[entry[1]], "what runs is configured, or a clone of what is"


def test_clones_may_share_what_does_not_change(creator: TileCreator) -> None:
    shared = np.full(4, 3)

    class Sharing(Tile):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            self.weights = shared

    creator.made = Sharing
    engine = load(build(Sharing()))
    contexts = [engine.create_execution_context() for _ in range(2)]
    assert all(run(context, 2) for context in contexts)
    ran = calls("enqueue")
    assert len({entry[1] for entry in ran}) == 2 and all(entry[-1] is shared for entry in ran)


def test_configure_in_the_build_has_bounds_and_comes_before_initialize(creator: TileCreator) -> None:
    assert build(Tile()) is not None
    building = [entry for entry in calls("configure_plugin") if -1 in entry[2]]
    assert building, "extents that are known at run time only are -1"
    for entry in building:
        assert entry[2:5] == ((-1, 4), (1, 4), (5, 4)), "the network's dims, kMIN and kMAX of the profile"
        inputs, outputs = entry[5:]
        assert [type(each) for each in inputs + outputs] == [trt.DynamicPluginTensorDesc] * 3
        assert tuple(outputs[0].desc.dims) == (-1, 12) and tuple(outputs[0].max) == (5, 12)
        assert all(each.desc.format == trt.TensorFormat.LINEAR for each in inputs + outputs)
        assert outputs[1].desc.type == trt.int32 and outputs[0].desc.type == inputs[0].desc.type == trt.float32
    for who in {entry[1] for entry in building}:
        if any(entry[:2] == ("initialize", who) for entry in Tile.log):
            assert first("configure_plugin", who) < first("initialize", who)


def test_configure_for_a_run_has_the_extents_and_comes_after_initialize(creator: TileCreator) -> None:
    engine = load(build(Tile()))
    assert calls("initialize")
    context = engine.create_execution_context()
    Tile.log.clear()
    for rows in (2, 5, 1):
        assert run(context, rows)
    shapes = [entry[2] for entry in calls("configure_plugin")]
    assert shapes == [(2, 4), (5, 4), (1, 4)], "as often as shapes change"
    assert [entry[0] for entry in Tile.log if entry[0] in ("configure_plugin", "enqueue")] == [
        "configure_plugin",
        "enqueue",
    ] * 3
    assert run(context, 1) and len(calls("configure_plugin")) == 3, "not without a change"


def test_the_builder_configures_for_extents_too_when_it_times(creator: TileCreator) -> None:
    class Choosy(Tile):  # Two combinations to choose between.
        def supports_format_combination(self, pos, in_out, num_inputs):
            formats = (trt.TensorFormat.LINEAR, trt.TensorFormat.HWC)
            wanted = trt.int32 if pos == 2 else trt.float32
            return in_out[pos].type == wanted and in_out[pos].format in formats

    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    layer = network.add_plugin_v2([network.add_input("x", trt.float32, (-1, 3, 5, 4))], Choosy())
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    config.builder_optimization_level = 4
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 3, 5, 4), (2, 3, 5, 4), (5, 3, 5, 4))
    config.add_optimization_profile(profile)
    assert builder.build_serialized_network(network, config) is not None
    timed = {entry[1] for entry in calls("enqueue")}
    assert timed, "combinations are timed at this level"
    for who in timed:
        mine = [entry for entry in Tile.log if entry[1] == who]
        order = [entry[0] for entry in mine]
        run_phase = [i for i, entry in enumerate(mine) if entry[0] == "configure_plugin" and -1 not in entry[2]]
        assert run_phase and all(mine[i][2] == (2, 3, 5, 4) for i in run_phase), "kOPT of the profile"
        assert order.index("initialize") < run_phase[0] < order.index("enqueue")


def test_what_only_the_library_calls_is_refused_on_cpp_objects(journal: Journal) -> None:
    plugin = journal.make("CircPadV2DynamicExt")
    assert type(plugin) is trt.IPluginV2DynamicExt
    for name, arguments in {
        "configure_plugin": ([], []),
        "enqueue": ([], [], [], [], 0, 0),
        "get_output_dimensions": (0, [], None),
        "get_workspace_size": ([], []),
        "initialize": (),
        "supports_format_combination": (0, [], 1),
    }.items():
        with pytest.raises(RuntimeError, match=rf"IPluginV2DynamicExt\.{name} is not available .* C\+\+"):
            getattr(plugin, name)(*arguments)
    assert not journal.calls("configurePlugin", "enqueue", "getOutputDimensions", "initialize")


def test_what_cpp_objects_inherit_works(journal: Journal) -> None:
    plugin = journal.make("CircPadV2DynamicExt")
    assert plugin.num_outputs == 1
    assert (plugin.plugin_type, plugin.plugin_version, plugin.plugin_namespace) == ("CircPadV2DynamicExt", "1", "")
    assert plugin.tensorrt_version >> 24 == 3
    assert plugin.get_output_data_type(0, [trt.int32]) == plugin.get_output_datatype(0, [trt.int32]) == trt.int32
    stored = plugin.serialize()
    assert len(stored) == plugin.serialization_size == plugin.get_serialization_size() > 0
    plugin.attach_to_context(0, 0, None)
    plugin.detach_from_context()
    plugin.terminate()
    assert [call for _, call, _ in journal.entries()][-3:] == ["attachToContext", "detachFromContext", "terminate"]
    copy = plugin.clone()
    assert type(copy) is trt.IPluginV2DynamicExt and copy is not plugin and bytes(copy.serialize()) == bytes(stored)


def test_attributes_of_cpp_objects_are_read_only_but_the_namespace(journal: Journal) -> None:
    plugin = journal.make("CircPadV2DynamicExt")
    for name, value in (("num_outputs", 2), ("plugin_type", "x"), ("plugin_version", "2"), ("tensorrt_version", 3)):
        kept = getattr(plugin, name)
        with pytest.raises(AttributeError):
            setattr(plugin, name, value)
        assert getattr(plugin, name) == kept
    plugin.plugin_namespace = "written"
    assert plugin.plugin_namespace == "written"


def test_objects_are_destroyed_with_network_builder_engine_and_context(creator: TileCreator) -> None:
    builder = trt.Builder(LOGGER)
    own = Tile()
    network = definition(builder, own)
    config = settings(builder)
    plan = builder.build_serialized_network(network, config)
    before = len(calls("destroy"))
    del network, builder, config
    gc.collect()
    assert len(calls("destroy")) > before, "the network's"
    copies = {entry[2] for entry in calls("clone")}
    assert len(calls("destroy")) == len(copies), "each object of the library once"
    assert id(own) not in {entry[1] for entry in calls("destroy")}
    Tile.log.clear()
    engine = load(plan)
    context = engine.create_execution_context()
    assert run(context, 2)
    ran, main = calls("enqueue")[0][1], calls("initialize")[0][1]
    assert not calls("destroy")
    del context
    gc.collect()
    assert [entry[1] for entry in calls("destroy")] == [ran]
    assert not calls("terminate") or calls("terminate")[0][1] == ran
    del engine
    gc.collect()
    assert [entry[1] for entry in calls("destroy")] == [ran, main]
    assert (main in {entry[1] for entry in calls("terminate")}) and first("terminate", main) < first("destroy", main)
    assert len(calls("terminate")) == len(calls("initialize"))


def test_optional_methods_have_defaults(creator: TileCreator) -> None:
    alive: list[weakref.ref] = []

    class Least(trt.IPluginV2DynamicExt):
        """Only what must be there."""

        def __init__(self, times: int = 3, scratch: int = 0) -> None:
            trt.IPluginV2DynamicExt.__init__(self)
            self.times, self.scratch, self.configured, self.weights = times, scratch, True, None
            self.num_outputs = 2
            self.plugin_type, self.plugin_version, self.plugin_namespace = "Tile", "2", "seed"
            alive.append(weakref.ref(self))

        note = Tile.note
        get_output_datatype = Tile.get_output_datatype
        get_output_dimensions = Tile.get_output_dimensions
        supports_format_combination = Tile.supports_format_combination
        configure_plugin = Tile.configure_plugin
        enqueue = Tile.enqueue
        serialize = Tile.serialize
        clone = Tile.clone

    creator.made = Least
    plugin = Least()
    assert plugin.initialize() is None and plugin.terminate() is None and plugin.destroy() is None
    assert plugin.get_workspace_size([], []) == 0 and plugin.get_serialization_size() == 5
    engine = load(build(plugin))
    context = engine.create_execution_context()
    assert run(context, 2) and run(context, 4)
    del context, engine, plugin
    gc.collect()
    assert not any(each() for each in alive), "let go of without destroy(), too"


def test_the_type_of_an_output_is_the_first_inputs_by_default(creator: TileCreator) -> None:
    class Same(trt.IPluginV2DynamicExt):
        def __init__(self) -> None:
            trt.IPluginV2DynamicExt.__init__(self)

    assert Same().get_output_datatype(0, [trt.int32, trt.float32]) == trt.int32
    assert Same().get_output_datatype(0, []) == trt.float32 == trt.DataType.FLOAT

    class Half(Tile):
        def get_output_datatype(self, index, input_types):
            return trt.int32 if index else super().get_output_datatype(index, input_types)

    class Base(Tile):
        pass

    engine = load(build(Half()))
    assert engine.get_tensor_dtype("y0") == trt.float32
    assert run(engine.create_execution_context(), 3)


def test_the_type_of_an_output_must_have_a_supported_format(creator: TileCreator, capfd: pytest.CaptureFixture) -> None:
    class Wrong(Tile):
        def get_output_datatype(self, index, input_types):
            return trt.float32  # supports_format_combination takes int32 only for output 1.

        def supports_format_combination(self, pos, in_out, num_inputs):
            return super().supports_format_combination(pos, in_out, num_inputs)

    assert build(Wrong()) is None
    assert "Tile" in capfd.readouterr().err


def test_extents_are_asked_for_while_the_network_is_analysed(creator: TileCreator) -> None:
    builder = trt.Builder(LOGGER)
    network = definition(builder, Tile())
    assert builder.build_serialized_network(network, settings(builder)) is not None
    assert {entry[2] for entry in calls("get_output_dimensions")} == {0, 1}
    assert first("get_output_dimensions") < first("configure_plugin")
    loaded = first("serialize") if calls("serialize") else len(Tile.log)
    assert loaded and tuple(network.get_output(0).shape) == (-1, 12)


def test_enqueue_gets_descriptions_and_ints(creator: TileCreator) -> None:
    engine = load(build(Tile(scratch=640)))
    context = engine.create_execution_context()
    Tile.log.clear()
    assert run(context, 3) and run(context, 3, seed=2), "workspace, inputs and outputs do not overlap"
    for entry in calls("enqueue"):
        inputs_desc, outputs_desc, inputs, outputs, workspace, stream = entry[2:8]
        assert isinstance(inputs, list) and isinstance(outputs, list) and (len(inputs), len(outputs)) == (1, 2)
        assert all(type(each) is int and each > 0 for each in [*inputs, *outputs, workspace])
        assert type(stream) is int
        assert [type(each) for each in inputs_desc + outputs_desc] == [trt.PluginTensorDesc] * 3
        assert [tuple(each.dims) for each in inputs_desc + outputs_desc] == [(3, 4), (3, 12), (3, 4)]
        assert [each.type for each in inputs_desc + outputs_desc] == [trt.float32, trt.float32, trt.int32]
    assert len(calls("enqueue")) == 2


def test_memory_stays_the_librarys(creator: TileCreator) -> None:
    """Layers around the plugin: what it reads and writes then is the library's own, good for run after run."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (-1, 4))
    before = network.add_unary(x, trt.UnaryOperation.NEG).get_output(0)
    layer = network.add_plugin_v2([before], Tile(2, 256))
    y = network.add_unary(layer.get_output(0), trt.UnaryOperation.ABS).get_output(0)
    y.name = "y"
    network.mark_output(y)
    engine = load(builder.build_serialized_network(network, settings(builder)))
    context = engine.create_execution_context()
    del layer, network, builder
    seen = set()
    for rows in (5, 2, 5):
        x, y = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32), np.empty((rows, 8), "f")
        Tile.log.clear()
        assert context.set_input_shape("x", x.shape)
        assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
        assert context.execute_async_v3(0)
        np.testing.assert_array_equal(y, np.abs(np.tile(x, 2)))
        addresses = calls("enqueue")[0][4][0], calls("enqueue")[0][5][0]
        assert not {x.ctypes.data, y.ctypes.data} & set(addresses)
        seen.add(addresses)
        gc.collect()
    assert len(seen) <= 2, "nothing is freed that the plugin only looked at"


def test_errors_are_exceptions_not_codes(creator: TileCreator, printed: Callable[[], str]) -> None:
    class Coding(Tile):
        def enqueue(self, *arguments):
            super().enqueue(*arguments)
            return 7  # No code: it is not looked at.

        def initialize(self):
            super().initialize()
            return 7

    class Raising(Tile):
        def enqueue(self, *arguments):
            raise ValueError("this value is illegal")

    creator.made = Coding
    assert run(load(build(Coding())).create_execution_context(), 2)
    creator.made = Raising
    assert not run(load(build(Tile())).create_execution_context(), 2)
    errors = printed()
    assert "Traceback" in errors and "ValueError: this value is illegal" in errors


def test_initialize_readies_an_engine_or_raises(creator: TileCreator, printed: Callable[[], str]) -> None:
    plan = build(Tile())
    Tile.log.clear()
    engine = load(plan)
    assert len(calls("initialize")) == 1, "when the engine is created"
    assert run(engine.create_execution_context(), 2)
    assert first("initialize") < first("enqueue")

    class Failing(Tile):
        def initialize(self):
            raise RuntimeError("no room for tables")

    creator.made = Failing
    assert load(plan) is None
    assert "RuntimeError: no room for tables" in printed()


def test_workspace_is_asked_for_after_configuring_and_is_enough(creator: TileCreator) -> None:
    engine = load(build(Tile(scratch=96)))
    asked = calls("get_workspace_size")
    assert asked and first("configure_plugin") < first("get_workspace_size")
    for entry in asked:
        inputs, outputs = entry[3:]
        assert [type(each) for each in inputs + outputs] == [trt.PluginTensorDesc] * 3
        assert -1 not in entry[2]
    assert max(entry[2] for entry in asked) == (5, 4), "the largest size; it serves smaller ones"
    context = engine.create_execution_context()
    for rows in (5, 1, 3):
        assert run(context, rows)


def test_positions_number_inputs_then_outputs(creator: TileCreator) -> None:
    later: list[object] = []

    class Looking(Tile):
        def supports_format_combination(self, pos, in_out, num_inputs):
            for i, each in enumerate(in_out):
                try:
                    usable = each.type in (trt.float32, trt.int32)
                except ValueError:
                    usable = False
                if i > pos:
                    later.append(usable)
                elif i < pos:
                    assert usable, "what was accepted before stands there"
            return super().supports_format_combination(pos, in_out, num_inputs)

    assert build(Looking()) is not None
    asked = calls("supports_format_combination")
    assert {entry[2] for entry in asked} == {0, 1, 2} and {entry[3:] for entry in asked} == {(3, 1)}
    assert later and not any(later), "nothing behind the position can be used"

    class Never(Tile):
        def supports_format_combination(self, pos, in_out, num_inputs):
            return False

    assert build(Never()) is None


def test_terminate_comes_once_when_the_engine_goes(creator: TileCreator) -> None:
    engine = load(build(Tile()))
    Tile.log.clear()
    context = engine.create_execution_context()
    assert run(context, 2)
    del context
    gc.collect()
    assert not [entry for entry in calls("terminate") if any(e[:2] == ("initialize", entry[1]) for e in Tile.log)]
    before = len(calls("terminate"))
    del engine
    gc.collect()
    assert len(calls("terminate")) == before + 1


def test_descriptions_can_be_made_and_changed() -> None:
    desc = trt.PluginTensorDesc()
    desc.dims, desc.type, desc.format, desc.scale = (2, 3), trt.int8, trt.TensorFormat.CHW32, 0.25
    assert isinstance(desc.dims, trt.Dims) and tuple(desc.dims) == (2, 3)
    assert (desc.type, desc.format, desc.scale) == (trt.int8, trt.TensorFormat.CHW32, 0.25)
    wide = trt.DynamicPluginTensorDesc()
    wide.desc, wide.min, wide.max = desc, (1, 3), (7, 3)
    assert tuple(wide.desc.dims) == (2, 3) and wide.desc.type == trt.int8
    assert (tuple(wide.min), tuple(wide.max)) == ((1, 3), (7, 3)) and isinstance(wide.min, trt.Dims)


def test_scales_are_minus_one_unless_the_type_is_int8(creator: TileCreator) -> None:
    assert run(load(build(Tile())).create_execution_context(), 2)
    descs = [each for entry in calls("enqueue") for each in entry[2] + entry[3]]
    descs += [each.desc for entry in calls("configure_plugin") for each in entry[5] + entry[6]]
    assert len(descs) > 5 and all(each.scale == -1.0 for each in descs)

    class Bytes(Tile):
        def supports_format_combination(self, pos, in_out, num_inputs):
            wanted = trt.int32 if pos == 2 else trt.int8
            return in_out[pos].type == wanted and in_out[pos].format == trt.TensorFormat.LINEAR

    Tile.log.clear()
    creator.made = Bytes
    builder = trt.Builder(LOGGER)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    layer = network.add_plugin_v2([network.add_input("x", trt.int8, (2, 4))], Bytes())
    for i, name in enumerate(["y0", "y1"]):
        layer.get_output(i).name = name
        network.mark_output(layer.get_output(i))
    context = load(
        builder.build_serialized_network(network, builder.create_builder_config())
    ).create_execution_context()
    x = np.random.default_rng(9).integers(-100, 100, (2, 4)).astype(np.int8)
    y, signs = np.empty((2, 12), np.int8), np.empty((2, 4), np.int32)
    for name, array in (("x", x), ("y0", y), ("y1", signs)):
        assert context.set_tensor_address(name, array)
    assert context.execute_async_v3(0)
    np.testing.assert_array_equal(y, np.tile(x, 3))
    ((_, _, (given,), (tiled, sign), *_),) = calls("enqueue")
    assert given.type == tiled.type == trt.int8 and given.scale > 0 and tiled.scale > 0 and sign.scale == -1.0


def test_expressions_of_constants_and_inputs(creator: TileCreator) -> None:
    seen: dict[str, object] = {}

    class Asking(Tile):
        def get_output_dimensions(self, output_index, inputs, expr_builder):
            constants = [expr_builder.constant(value) for value in range(1000)]
            total = expr_builder.constant(0)
            for each in constants:
                total = expr_builder.operation(op=trt.DimensionOperation.SUM, first=total, second=each)
            seen["total"] = total.getConstantValue()
            seen["kind"] = {type(each) for each in [*inputs[0], total]}
            six, two = expr_builder.constant(value=6), expr_builder.constant(2)
            seen["values"] = [expr_builder.operation(op, six, two).getConstantValue() for op in trt.DimensionOperation]
            batch, width = inputs[0]
            seen["batch"] = (batch.isConstant(), batch.getConstantValue())
            seen["width"] = (width.isConstant(), width.getConstantValue())
            seen["sum"] = expr_builder.operation(trt.DimensionOperation.SUM, batch, width).isConstant()
            seen["bad"] = [expr_builder.operation(op, six, two) for op in (-1, 9, 1000)]
            listed = trt.DimsExprs([batch, six]), trt.DimsExprs((batch, six)), trt.DimsExprs()
            seen["lengths"] = [len(each) for each in listed]
            seen["list"] = [each.getConstantValue() for each in listed[0]]
            return super().get_output_dimensions(output_index, inputs, expr_builder)

    assert build(Asking()) is not None
    assert seen["total"] == sum(range(1000)) and seen["kind"] == {trt.IDimensionExpr}
    assert seen["values"] == [8, 12, 6, 2, 4, 0, 0, 3, 3]
    assert seen["batch"] == (False, INT32_MIN) and seen["width"] == (True, 4) and seen["sum"] is False
    assert seen["bad"] == [None] * 3
    assert seen["lengths"] == [2, 2, 0] and seen["list"] == [INT32_MIN, 6]
    with pytest.raises(TypeError):
        trt.IExprBuilder()
    with pytest.raises(TypeError):
        trt.IDimensionExpr()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SUM", lambda a, b: a + b),
        ("PROD", lambda a, b: a * b),
        ("MAX", max),
        ("MIN", min),
        ("SUB", lambda a, b: a - b),
        ("EQUAL", lambda a, b: int(a == b)),
        ("LESS", lambda a, b: int(a < b)),
        ("FLOOR_DIV", lambda a, b: a // b),
        ("CEIL_DIV", lambda a, b: -(-a // b)),
    ],
)
def test_operations_give_the_extents_of_each_run(
    name: str, value: Callable[[int, int], int], creator: TileCreator
) -> None:
    class Extent(Tile):
        """One axis of op(rows, 4) + 8 elements."""

        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            self.num_outputs = 1

        def get_output_dimensions(self, output_index, inputs, expr_builder):
            made = expr_builder.operation(getattr(trt.DimensionOperation, name), *inputs[0])
            return trt.DimsExprs([expr_builder.operation(trt.DimensionOperation.SUM, made, expr_builder.constant(8))])

        def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
            self.note("enqueue", tuple(output_desc[0].dims))

    creator.made = Extent
    context = load(build(Extent())).create_execution_context()
    x, y = np.ones((5, 4), np.float32), np.empty(40, np.float32)
    for rows in (1, 4, 5, 3):
        assert context.set_input_shape("x", (rows, 4))
        assert tuple(context.get_tensor_shape("y0")) == (value(rows, 4) + 8,)
        context.set_tensor_address("x", x.ctypes.data)
        context.set_tensor_address("y0", y.ctypes.data)
        assert context.execute_async_v3(0)
        assert calls("enqueue")[-1][2] == (value(rows, 4) + 8,)


def test_dimension_operations_are_made_from_ints_and_have_names() -> None:
    names = ["SUM", "PROD", "MAX", "MIN", "SUB", "EQUAL", "LESS", "FLOOR_DIV", "CEIL_DIV"]
    assert [trt.DimensionOperation(i) for i in range(9)] == [getattr(trt.DimensionOperation, name) for name in names]
    assert [trt.DimensionOperation(i).name for i in range(9)] == names and hasattr(trt.DimensionOperation, "name")
    assert trt.DimensionOperation(value=7) is trt.DimensionOperation.FLOOR_DIV
    with pytest.raises(ValueError):
        trt.DimensionOperation(9)


def test_the_profile_gives_minimum_and_maximum(creator: TileCreator) -> None:
    builder = trt.Builder(LOGGER)
    config = builder.create_builder_config()
    for low, high in ((1, 3), (2, 9)):
        profile = builder.create_optimization_profile()
        profile.set_shape("x", (low, 4), (low, 4), (high, 4))
        config.add_optimization_profile(profile)
    assert builder.build_serialized_network(definition(builder, Tile()), config) is not None
    bounds = {entry[3:5] for entry in calls("configure_plugin") if -1 in entry[2]}
    assert {((1, 4), (3, 4)), ((2, 4), (9, 4))} == bounds
