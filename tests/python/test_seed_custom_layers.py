"""Class-based plugins and the registry as the seed document about custom layers in Python states them.

The table tests/seeds.toml says which row each test is for.
"""

import gc
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import tensorrt as trt
from journal_library import Journal, opened
from scaled_plugin import ScaledDynamicCreator, ScaledV3, ScaledV3Creator, view
from small import Recorder

LOGGER = trt.Logger(trt.Logger.ERROR)
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Noted(ScaledV3):
    """y = factor · x; writes down what it is called for."""

    log: list[tuple] = []
    scratch = 0

    def __init__(self, factor: float = 2.0) -> None:
        super().__init__(factor)
        self.state = "new"

    def note(self, call: str, *what: object) -> None:
        Noted.log.append((call, id(self), *what))

    def configure_plugin(self, inputs, outputs):
        self.note("configure_plugin", inputs, outputs)
        self.state = "configured"

    def get_workspace_size(self, inputs, outputs):
        self.note("get_workspace_size", inputs, outputs)
        return self.scratch

    def on_shape_change(self, inputs, outputs):
        self.note("on_shape_change", inputs, outputs)
        self.state = "shaped"

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        self.note("enqueue", self.state, input_desc, output_desc, inputs, outputs, workspace, stream)
        if self.scratch:
            view(workspace, _bytes(self.scratch))[...] = -91
        super().enqueue(input_desc, output_desc, inputs, outputs, workspace, stream)

    def attach_to_context(self, context):
        self.note("attach_to_context", context.gpu_allocator, context.error_recorder)
        return self.clone()

    def clone(self):
        copy = super().clone()
        for name in ("plugin_name", "plugin_version", "plugin_namespace", "metadata_string", "timing_cache_id"):
            if name not in vars(type(self)):
                setattr(copy, name, getattr(self, name))
        copy.format_combination_limit = self.format_combination_limit
        return copy


def _bytes(count: int) -> trt.PluginTensorDesc:
    desc = trt.PluginTensorDesc()
    desc.type, desc.dims = trt.int8, (count,)
    return desc


class NotedCreator(ScaledV3Creator):
    make: type = Noted

    def create_plugin(self, name, field_collection, phase):
        Noted.log.append(("create_plugin", 0, name, [(field.name, field.data) for field in field_collection], phase))
        return self.make(*[float(field.data[0]) for field in field_collection if field.name == "factor"])


@pytest.fixture
def creator() -> Iterator[NotedCreator]:
    gc.collect()
    Noted.log.clear()
    made, registry = NotedCreator(), trt.get_plugin_registry()
    made.make = Noted
    assert registry.register_creator(made, "")
    yield made
    assert registry.deregister_creator(made)


@pytest.fixture
def journal() -> Iterator[Journal]:
    yield from opened()


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    return lambda: capfd.readouterr().err


def calls(name: str) -> list[tuple]:
    return [entry for entry in Noted.log if entry[0] == name]


def build(plugin: trt.IPluginV3, logger: trt.ILogger = LOGGER, level: int = 3) -> trt.IHostMemory | None:
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (-1, 4))
    layer = network.add_plugin_v3([x], [], plugin)
    if layer is None:
        return None
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    config.builder_optimization_level = level
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 4), (2, 4), (5, 4))
    config.add_optimization_profile(profile)
    return builder.build_serialized_network(network, config)


def load(plan: object, logger: trt.ILogger = LOGGER) -> trt.ICudaEngine | None:
    assert plan is not None
    return trt.Runtime(logger).deserialize_cuda_engine(plan)


def run(context: trt.IExecutionContext, rows: int = 3, factor: float = 2.0) -> bool:
    x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
    y = np.empty_like(x)
    assert context.set_input_shape("x", x.shape)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    if not context.execute_async_v3(0):
        return False
    np.testing.assert_array_equal(y, x * np.float32(factor))
    return True


def test_class_based_plugins_have_state(creator: NotedCreator) -> None:
    assert build(Noted()) is not None
    configured = calls("configure_plugin")
    assert configured and calls("get_workspace_size"), "each property is asked for by a call of its own"
    context = load(build(Noted())).create_execution_context()
    assert run(context) and run(context, 5) and run(context, 5)
    assert [entry[2] for entry in calls("enqueue")] == ["shaped"] * 3
    assert len({entry[1] for entry in calls("enqueue")}) == 1, "one object for the context keeps its state"


def test_the_creator_says_what_is_made_while_loading(creator: NotedCreator) -> None:
    class Loaded(Noted):
        pass

    plan = build(Noted(3.0))
    Noted.log.clear()
    creator.make = Loaded
    context = load(plan).create_execution_context()
    ((_, _, name, fields, phase),) = calls("create_plugin")
    assert name == "ScaledV3" or isinstance(name, str)
    assert phase == trt.TensorRTPhase.RUNTIME
    assert [field for field, _ in fields] == ["factor"] and fields[0][1].tolist() == [3.0], "exactly what was stored"
    made: list[type] = []
    Loaded.enqueue = lambda self, *arguments: (made.append(type(self)), Noted.enqueue(self, *arguments))[1]
    assert run(context, 3, 3.0) and made == [Loaded]


def test_fields_are_stored_and_restored_by_hand(creator: NotedCreator) -> None:
    class TwoFields(Noted):
        shift = (0.0,)

        def get_fields_to_serialize(self):
            fields = super().get_fields_to_serialize()
            fields.append(trt.PluginField("shift", np.array(self.shift, np.float64), trt.PluginFieldType.FLOAT64))
            fields.append(trt.PluginField("raw", b"\x00\x01", trt.PluginFieldType.UNKNOWN))
            return fields

    plugin = TwoFields(4.0)
    plugin.shift = (0.1, 0.2)
    plan = build(plugin)
    Noted.log.clear()
    assert run(load(plan).create_execution_context(), 2, 4.0)
    fields = dict(calls("create_plugin")[0][3])
    assert list(fields) == ["factor", "shift", "raw"]
    assert fields["shift"].tolist() == [0.1, 0.2] and bytes(fields["raw"]) == b"\x00\x01"


def test_workspace_is_memory_beside_inputs_and_outputs(creator: NotedCreator) -> None:
    class Scratching(Noted):
        scratch = 4096

    creator.make = Scratching
    engine = load(build(Scratching()))
    (asked, *_) = calls("get_workspace_size")
    assert [type(each) for each in asked[2] + asked[3]] == [trt.DynamicPluginTensorDesc] * 2, "before any run"
    context = engine.create_execution_context()
    Noted.log.clear()
    assert run(context, 5) and run(context, 2), "filling it changes no tensor"
    assert not calls("get_workspace_size")
    assert all(entry[7] > 0 and entry[7] not in entry[5] + entry[6] for entry in calls("enqueue"))


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def test_python_classes_get_the_calls_that_cpp_classes_get(journal: Journal) -> None:
    """The same life for a C++ plugin and a Python class: the same methods in the same order."""
    import test_plugins as pads

    recorded: list[str] = []

    def recording(name: str) -> Callable:
        def method(self, *arguments):
            recorded.append(name)
            return getattr(pads.CircPadV3, name)(self, *arguments)

        return method

    Recorded = type("Recorded", (pads.CircPadV3,), {name: recording(name) for name in METHODS})

    class RecordedCreator(pads.CircPadV3Creator):
        def create_plugin(self, name, field_collection, phase):
            recorded.append("create_plugin")
            return Recorded()

    registry = trt.get_plugin_registry()
    creator = registry.get_creator("CircPadV3", "1", "five")
    native = creator.create_plugin("pad", trt.PluginFieldCollection([]), trt.TensorRTPhase.BUILD)
    core = native.get_capability_interface(trt.PluginCapabilityType.CORE)
    assert isinstance(core, trt.IPluginV3OneCore) and core.plugin_name == "CircPadV3"
    python_creator = RecordedCreator()
    assert registry.register_creator(python_creator, "")
    try:
        x = np.random.default_rng(8).standard_normal((2, 2, 5, 6)).astype(np.float32)
        journal.library.journalClear()
        want = pads.run(load(pads.build(native)).create_execution_context(), x)
        gc.collect()
        in_cpp = [name for _, call, _ in journal.entries() if (name := snake(call)) in METHODS]
        plugin = Recorded()
        recorded.clear()
        got = pads.run(load(pads.build(plugin)).create_execution_context(), x)
        np.testing.assert_array_equal(got, want)
        assert [name for name in recorded if name in METHODS] == in_cpp
        assert {"configure_plugin", "on_shape_change", "enqueue", "attach_to_context", "set_tactic"} <= set(in_cpp)
    finally:
        assert registry.deregister_creator(python_creator)


METHODS = {
    "get_output_data_types", "get_output_shapes", "supports_format_combination", "configure_plugin",
    "get_fields_to_serialize", "attach_to_context", "set_tactic", "on_shape_change", "enqueue",
}  # fmt: skip


def test_the_number_of_outputs_is_an_attribute(creator: NotedCreator, printed: Callable[[], str]) -> None:
    class Two(Noted):
        def __init__(self, factor: float = 2.0) -> None:
            super().__init__(factor)
            self.num_outputs = 2

        def get_output_data_types(self, input_types):
            return input_types * 2

        def get_output_shapes(self, inputs, shape_inputs, expr_builder):
            return [inputs[0], inputs[0]]

    network = trt.Builder(LOGGER).create_network()
    layer = network.add_plugin_v3([network.add_input("x", trt.float32, (3, 4))], [], Two())
    assert layer.num_outputs == 2 and Two().num_outputs == 2
    assert not hasattr(trt.IPluginV3OneBuild, "get_nb_outputs")


def test_the_format_combination_limit_is_an_attribute(creator: NotedCreator) -> None:
    """Three combinations are possible; the limit says how many of them are timed."""

    class Choosy(Noted):
        def supports_format_combination(self, pos, in_out, num_inputs):
            desc = in_out[pos].desc
            return desc.type == trt.float32 and desc.format in (trt.TensorFormat.LINEAR, trt.TensorFormat.HWC)

    configured = []
    for limit in (1, 2, 100):
        Noted.log.clear()
        plugin = Choosy()
        assert plugin.format_combination_limit == 100
        plugin.format_combination_limit = limit
        assert plugin.format_combination_limit == limit
        builder = trt.Builder(LOGGER)
        network = builder.create_network()
        layer = network.add_plugin_v3([network.add_input("x", trt.float32, (2, 3, 5, 4))], [], plugin)
        network.mark_output(layer.get_output(0))
        config = builder.create_builder_config()
        config.builder_optimization_level = 4
        assert builder.build_serialized_network(network, config) is not None
        formats = {tuple(each.desc.format for each in entry[2] + entry[3]) for entry in calls("configure_plugin")}
        configured.append(len(formats))
    assert configured[0] == 1 and configured[1] == 2 and configured[2] > 2


def test_metadata_and_timing_cache_id_are_attributes(creator: NotedCreator) -> None:
    asked = []

    class Told(Noted):
        @property
        def timing_cache_id(self):
            asked.append("timing_cache_id")
            return "told"

    plugin = Noted()
    assert plugin.metadata_string is None and plugin.timing_cache_id is None
    plugin.metadata_string, plugin.timing_cache_id = "seen by the inspector", "id"
    assert (plugin.metadata_string, plugin.timing_cache_id) == ("seen by the inspector", "id")
    creator.make = lambda factor: _with_metadata(factor)
    engine = load(build(plugin))
    import tenon

    told = str(tenon.inspect(engine)) + engine.create_engine_inspector().get_engine_information(
        trt.LayerInformationFormat.JSON
    )
    assert "seen by the inspector" in told
    creator.make = Told
    assert build(Told(), level=4) is not None and asked == asked[:1] * len(asked) and asked


def _with_metadata(factor: float) -> Noted:
    plugin = Noted(factor)
    plugin.metadata_string = "seen by the inspector"
    return plugin


@pytest.mark.parametrize("name", ["plugin_name", "plugin_version", "plugin_namespace"])
def test_name_version_and_namespace_are_attributes(name: str, creator: NotedCreator, journal: Journal) -> None:
    plugin = Noted()
    assert getattr(plugin, name) == {"plugin_name": "ScaledV3", "plugin_version": "1", "plugin_namespace": ""}[name]
    setattr(plugin, name, "else")
    recorder = Recorder()
    plan = build(plugin, recorder)
    assert plan is None or load(plan, recorder) is None, "no creator has these"
    assert "else" in recorder.errors()
    native = (
        trt.get_plugin_registry()
        .get_creator("CircPadV3", "1", "five")
        .create_plugin("x", trt.PluginFieldCollection([]), trt.TensorRTPhase.BUILD)
    )
    core = native.get_capability_interface(trt.PluginCapabilityType.CORE)
    assert getattr(core, name) == {"plugin_name": "CircPadV3", "plugin_version": "1", "plugin_namespace": "five"}[name]
    with pytest.raises(AttributeError, match="read-only"):
        setattr(core, name, "x")


def test_creators_have_attributes(journal: Journal) -> None:
    creator = NotedCreator()
    for name in ("name", "plugin_version", "plugin_namespace", "field_names"):
        with pytest.raises(AttributeError, match=f"{name} is not set"):
            getattr(trt.IPluginCreatorV3One(), name)
    assert (creator.name, creator.plugin_version, creator.plugin_namespace) == ("ScaledV3", "1", "")
    assert [field.name for field in creator.field_names] == ["factor"]
    registry = trt.get_plugin_registry()
    assert registry.register_creator(creator, "")
    assert registry.get_creator("ScaledV3", "1", "") is creator
    assert registry.deregister_creator(creator)
    creator.name, creator.plugin_version, creator.plugin_namespace = "Other", "7", "space"
    assert registry.register_creator(creator, "space")
    assert registry.get_creator("Other", "7", "space") is creator and registry.get_creator("ScaledV3", "1", "") is None
    assert registry.deregister_creator(creator)
    native = registry.get_creator("CircPadV3", "1", "five")
    assert (native.name, native.plugin_version, native.plugin_namespace) == ("CircPadV3", "1", "five")
    assert [(field.name, field.type) for field in native.field_names] == [
        ("before", trt.PluginFieldType.INT32),
        ("after", trt.PluginFieldType.INT32),
    ]


def test_a_context_offers_allocator_and_recorder(creator: NotedCreator) -> None:
    class Errors(trt.IErrorRecorder):
        def __init__(self) -> None:
            trt.IErrorRecorder.__init__(self)

    engine = load(build(Noted()))
    errors = Errors()
    engine.error_recorder = errors
    Noted.log.clear()
    context = engine.create_execution_context()
    ((_, _, allocator, recorder),) = calls("attach_to_context")
    assert isinstance(allocator, trt.IGpuAllocator) and recorder is errors
    assert run(context)


@pytest.mark.parametrize("has_destroy", [True, False])
def test_destroy_is_optional_and_ends_the_librarys_objects(has_destroy: bool, creator: NotedCreator) -> None:
    class Ending(Noted):
        def destroy(self):
            self.note("destroy")

    make = Ending if has_destroy else Noted
    creator.make = make
    assert Noted().destroy() is None
    engine = load(build(make()))
    context = engine.create_execution_context()
    assert run(context)
    Noted.log.clear()
    del context
    gc.collect()
    after_context = len(calls("destroy"))
    del engine
    gc.collect()
    assert (after_context, len(calls("destroy"))) == ((1, 2) if has_destroy else (0, 0))
    assert not hasattr(trt.IPluginV2DynamicExt, "__destroy__") and len({e[1] for e in calls("destroy")}) in (0, 2)


def test_tactics_and_workspace_have_defaults(creator: NotedCreator) -> None:
    plugin = ScaledV3()
    assert plugin.get_valid_tactics() == [] and plugin.get_workspace_size([], []) == 0
    tactics: list[int] = []

    class Least(ScaledV3):
        def set_tactic(self, tactic):
            tactics.append(tactic)

        def get_valid_tactics(self):
            return super().get_valid_tactics()

    creator.make = Least
    assert run(load(build(Least(), level=4)).create_execution_context())
    assert set(tactics) == {0}, "the default tactic"


@pytest.mark.parametrize(
    "name",
    ["configure_plugin", "get_output_data_types", "get_output_shapes", "get_valid_tactics", "get_workspace_size"],
)
def test_calls_of_the_build_raise(name: str, creator: NotedCreator, printed: Callable[[], str]) -> None:
    def failing(self, *arguments):
        raise ValueError(f"{name} does not like this")

    assert build(type("Failing", (Noted,), {name: failing})()) is None
    errors = printed()
    assert "Traceback" in errors and "in failing" in errors and f"ValueError: {name} does not like this" in errors
    assert build(type("Coding", (Noted,), {"configure_plugin": lambda self, *arguments: 9})()) is not None


@pytest.mark.parametrize("name", ["enqueue", "on_shape_change", "set_tactic", "attach_to_context"])
def test_calls_of_runs_raise(name: str, creator: NotedCreator, printed: Callable[[], str]) -> None:
    def failing(self, *arguments):
        raise ValueError(f"{name} does not like this")

    plan = build(Noted())
    creator.make = type("Failing", (Noted,), {name: failing})
    engine = load(plan)
    context = engine.create_execution_context() if engine else None
    assert context is None or not run(context)
    errors = printed()
    assert "Traceback" in errors and f"ValueError: {name} does not like this" in errors
    coding = {each: lambda self, *arguments: 9 for each in ("on_shape_change", "set_tactic")}
    creator.make = type("Coding", (Noted,), coding | {"state": "shaped"})
    assert run(load(plan).create_execution_context()), "what they return is no code"


def test_only_register_creator_registers(creator: NotedCreator) -> None:
    registry = trt.get_plugin_registry()

    class Fresh(NotedCreator):
        def __init__(self) -> None:
            super().__init__()
            self.name = "Fresh"

    fresh = Fresh()
    assert registry.get_creator("Fresh", "1", "") is None, "neither the class nor the object registers itself"
    assert registry.register_creator(creator=fresh, plugin_namespace="") is True
    assert registry.get_creator("Fresh", "1", "") is fresh
    assert registry.register_creator(Fresh(), "") is False, "the first one stays"
    assert registry.get_creator("Fresh", "1", "") is fresh
    assert registry.deregister_creator(fresh) is True and registry.deregister_creator(fresh) is False
    assert not [name for name in dir(trt) if name.upper().startswith("REGISTER")]


def test_enqueue_gets_ints(creator: NotedCreator) -> None:
    context = load(build(Noted())).create_execution_context()
    Noted.log.clear()
    assert run(context, 4)
    ((_, _, _, input_desc, output_desc, inputs, outputs, workspace, stream),) = calls("enqueue")
    assert [type(each) for each in input_desc + output_desc] == [trt.PluginTensorDesc] * 2
    assert [tuple(each.dims) for each in input_desc + output_desc] == [(4, 4)] * 2
    assert isinstance(inputs, list) and isinstance(outputs, list) and (len(inputs), len(outputs)) == (1, 1)
    assert [type(each) for each in [*inputs, *outputs, workspace, stream]] == [int] * 4
    assert np.dtype(trt.nptype(input_desc[0].type)).itemsize == 4


def test_look_up_by_either_set_of_names(creator: NotedCreator) -> None:
    registry = trt.get_plugin_registry()
    assert registry.get_creator("ScaledV3", "1") is registry.get_creator("ScaledV3", "1", "") is creator
    assert registry.get_creator(name="ScaledV3", version="1", namespace="") is creator
    assert registry.get_creator(type="ScaledV3", version="1", plugin_namespace="") is creator
    assert registry.get_creator("ScaledV3", "2") is None and registry.get_creator("ScaledV3", "1", "else") is None
    assert registry.get_creator("nobody", "1") is None


def test_creators_come_back_as_what_they_are(creator: NotedCreator, journal: Journal) -> None:
    registry = trt.get_plugin_registry()
    older = ScaledDynamicCreator()
    assert registry.register_creator(older, "")
    try:
        found = registry.get_creator("ScaledV3", "1"), registry.get_creator("ScaledDynamic", "1")
        assert [type(each) for each in found] == [NotedCreator, ScaledDynamicCreator]
        everyone = registry.all_creators
        assert isinstance(everyone, list)
        assert all(isinstance(each, trt.IPluginCreatorInterface) for each in everyone)
        kinds = {type(each) for each in everyone}
        assert {NotedCreator, ScaledDynamicCreator, trt.IPluginCreator, trt.IPluginCreatorV3One} <= kinds
        natives = [registry.get_creator(name, "1", "five") for name in ("CircPadV2", "CircPadV3")]
        assert [type(each) for each in natives] == [trt.IPluginCreator, trt.IPluginCreatorV3One]
        kinds = [each.interface_info.kind for each in [*found, *natives]]
        assert kinds == ["PLUGIN CREATOR_V3ONE", "PLUGIN CREATOR_V1", "PLUGIN CREATOR_V1", "PLUGIN CREATOR_V3ONE"]
        assert (found[0].interface_info.major, found[0].interface_info.minor) == (1, 0)
        assert [each.api_language for each in [found[0], natives[1]]] == [trt.APILanguage.PYTHON, trt.APILanguage.CPP]
    finally:
        assert registry.deregister_creator(older)
    for derived in (trt.IPluginCreator, trt.IPluginCreatorV3One):
        assert issubclass(derived, trt.IPluginCreatorInterface)


def test_resources_come_back_as_their_own_type() -> None:
    class Table(trt.IPluginResource):
        def __init__(self, rows: int = 0) -> None:
            trt.IPluginResource.__init__(self)
            self.rows, self.released = rows, 0

        def clone(self):
            return Table(self.rows)

        def release(self):
            self.released += 1

    registry = trt.get_plugin_registry()
    given = Table(7)
    kept = registry.acquire_plugin_resource("a table", given)
    assert type(kept) is Table and kept is not given and kept.rows == 7
    assert registry.acquire_plugin_resource("a table", Table(8)) is kept
    registry.release_plugin_resource("a table")
    assert kept.released == 0
    registry.release_plugin_resource("a table")
    assert (kept.released, given.released) == (1, 0)


def test_library_plugins_are_registered_by_a_call() -> None:
    assert trt.init_libnvinfer_plugins(trt.Logger(), "")
    registry = trt.get_plugin_registry()
    assert registry is not None and isinstance(registry, trt.IPluginRegistry)
    assert registry.get_plugin_creator("EfficientNMS_TRT", "1", "") is not None
    count = len(registry.all_creators)
    assert trt.init_libnvinfer_plugins(LOGGER, namespace="") and len(trt.get_plugin_registry().all_creators) == count


def test_every_call_of_the_example_in_its_order(creator: NotedCreator) -> None:
    """Look-up, fields, creation with keywords, builder, network, config with both names of a limit, layer, output."""
    logger = trt.Logger()
    trt.init_libnvinfer_plugins(logger, "")

    def layer_of(name: str, version: str, namespace: str) -> trt.IPluginV3 | None:
        creator = trt.get_plugin_registry().get_creator(name, version, namespace)
        if creator is None:
            return None
        factor = trt.PluginField("factor", np.array([0.25], dtype=np.float32), trt.PluginFieldType.FLOAT32)
        fields = trt.PluginFieldCollection([factor])
        return creator.create_plugin(name=name, field_collection=fields, phase=trt.TensorRTPhase.BUILD)

    builder = trt.Builder(logger)
    network = builder.create_network()
    config = builder.create_builder_config()
    config.max_workspace_size = 2**21
    assert config.max_workspace_size == config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == 2**21
    given = network.add_input(name="given", dtype=trt.float32, shape=(3, 1))
    layer = network.add_plugin_v3(inputs=[given], shape_inputs=[], plugin=layer_of("ScaledV3", "1", ""))
    assert isinstance(layer, trt.IPluginV3Layer)
    assert layer.get_output(0).name and isinstance(layer.get_output(0), trt.ITensor)
    layer.get_output(0).name = "made"
    network.mark_output(layer.get_output(0))
    ((_, _, name, fields, phase),) = calls("create_plugin")
    assert (name, phase) == ("ScaledV3", trt.TensorRTPhase.BUILD) and fields[0][1].tolist() == [0.25]
    engine = load(builder.build_serialized_network(network, config))
    assert [engine.get_tensor_name(i) for i in range(2)] == ["given", "made"]
    context = engine.create_execution_context()
    x, y = np.array([[1], [-2], [8]], np.float32), np.empty((3, 1), np.float32)
    assert context.set_tensor_address("given", x) and context.set_tensor_address("made", y)
    assert context.execute_async_v3(0) and y.ravel().tolist() == [0.25, -0.5, 2.0]
    assert layer_of("nobody", "1", "") is None
    with pytest.raises(TypeError):
        network.add_plugin_v3(inputs=[given], shape_inputs=[], plugin=None)


def test_the_workspace_limit_by_its_older_name_is_the_pool_limit() -> None:
    config = trt.Builder(LOGGER).create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 3 << 20)
    assert config.max_workspace_size == 3 << 20
    config.max_workspace_size = 1 << 19
    assert config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == 1 << 19
    with pytest.raises(TypeError):
        config.max_workspace_size = -1


def test_fields_are_made_of_name_array_and_type() -> None:
    field = trt.PluginField("epsilon", np.array([0.5, 2.5], np.float32), trt.PluginFieldType.FLOAT32)
    assert (field.name, field.type, field.size) == ("epsilon", trt.PluginFieldType.FLOAT32, 2)
    assert field.data.dtype == np.float32 and field.data.tolist() == [0.5, 2.5]
    fields = trt.PluginFieldCollection(
        [field, trt.PluginField("empty", np.array([], np.int32), trt.PluginFieldType.INT32)]
    )
    assert len(fields) == 2 and [each.name for each in fields] == ["epsilon", "empty"]
    assert fields[0].data.tolist() == [0.5, 2.5] and fields[1].size == 0


def test_the_example_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "python" / "custom_layer.py")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    want = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5)
    got = np.array(re.findall(r"[\d.]+(?:e-?\d+)?", done.stdout), np.float32).reshape(2, 4)
    np.testing.assert_allclose(got, want, rtol=1e-5)
