"""Who keeps what alive around custom layers of Python, and which calls let other threads run."""

import gc
import weakref

import numpy as np
import pytest
import small
import tensorrt as trt
from scaled_plugin import ScaledDynamic, ScaledDynamicCreator, ScaledV3, ScaledV3Creator

LOGGER = trt.Logger(trt.Logger.ERROR)


def build(plugin: object) -> trt.IHostMemory | None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (4,))
    layer = (
        network.add_plugin_v3([x], [], plugin)
        if isinstance(plugin, trt.IPluginV3)
        else network.add_plugin_v2([x], plugin)
    )
    network.mark_output(layer.get_output(0))
    return builder.build_serialized_network(network, builder.create_builder_config())


# ---- the GIL

TWO_CONTEXTS = """
import faulthandler, threading, time
import numpy as np, tensorrt as trt
from scaled_plugin import ScaledV3, ScaledV3Creator
import test_plugin_lifetimes as here

faulthandler.dump_traceback_later(300, exit=True)

class Slow(ScaledV3):
    def attach_to_context(self, context):
        time.sleep(0.3)
        return self.clone()

class SlowCreator(ScaledV3Creator):
    make = Slow

trt.get_plugin_registry().register_creator(SlowCreator(), "")
plan = here.build(Slow())
engine = trt.Runtime(here.LOGGER).deserialize_cuda_engine(plan)
strategy = trt.ExecutionContextAllocationStrategy.USER_MANAGED
contexts = [engine.create_execution_context(strategy) for _ in range(2)]
memory = np.empty(1 << 16, np.uint8)
address = (memory.ctypes.data + 255) // 256 * 256
size = engine.device_memory_size_v2

def give(context):
    {call}

threads = [threading.Thread(target=give, args=(context,)) for context in contexts]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
"""


@pytest.mark.parametrize(
    "call",
    [
        "context.device_memory = address",
        "context.set_device_memory(address, size)",
        "context.device_memory = memory",
    ],
)
def test_X3_giving_memory_to_two_contexts_at_once(call: str) -> None:
    text = TWO_CONTEXTS.replace("{call}", call)
    done = small.script(text)
    assert done.stdout.strip() == "done", done.stderr


NESTED = """
import faulthandler
import tensorrt as trt
from scaled_plugin import ScaledDynamic, ScaledDynamicCreator, ScaledV3, ScaledV3Creator
import test_plugin_lifetimes as here

faulthandler.dump_traceback_later(300, exit=True)

class Outer(ScaledDynamicCreator):
    def deserialize_plugin(self, name, data):
        assert trt.Runtime(here.LOGGER).deserialize_cuda_engine(inner) is not None
        return super().deserialize_plugin(name, data)

for creator in (ScaledV3Creator(), Outer()):
    trt.get_plugin_registry().register_creator(creator, "")
inner = here.build(ScaledV3())
assert trt.Runtime(here.LOGGER).deserialize_cuda_engine(here.build(ScaledDynamic())) is not None
print("done")
"""


def test_J15_a_creator_may_load_an_engine_with_a_plugin() -> None:
    done = small.script(NESTED)
    assert done.stdout.strip() == "done", done.stderr


# ---- creators and registries


def test_M13_a_creator_in_two_registries_lives_until_both_let_go() -> None:
    everywhere = trt.get_plugin_registry()
    builder = trt.Builder(LOGGER)
    here = builder.get_plugin_registry()
    creator = ScaledV3Creator()
    gone = weakref.ref(creator)
    assert everywhere.register_creator(creator, "") and here.register_creator(creator, "")
    assert here.deregister_creator(creator)
    del creator
    gc.collect()
    assert gone() is not None and everywhere.get_creator("ScaledV3", "1", "") is gone()
    assert everywhere.deregister_creator(gone())
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("make", [trt.Builder, trt.Runtime])
def test_M13_creators_go_with_the_registry_of_a_builder_or_runtime(make: type) -> None:
    for _ in range(3):  # Later registries may have the addresses of earlier ones.
        owner, creator = make(LOGGER), ScaledDynamicCreator()
        gone = weakref.ref(creator)
        assert owner.get_plugin_registry().register_creator(creator, "")
        del creator
        gc.collect()
        assert owner.get_plugin_registry().get_creator("ScaledDynamic", "1", "") is gone()
        registry = owner.get_plugin_registry()
        del owner  # The registry keeps it.
        gc.collect()
        assert registry.get_creator("ScaledDynamic", "1", "") is gone() is not None
        del registry
        gc.collect()
        assert gone() is None


def test_M13_one_creator_under_two_namespaces() -> None:
    registry, creator = trt.get_plugin_registry(), ScaledV3Creator()
    gone = weakref.ref(creator)
    assert registry.register_creator(creator, "one") and registry.register_creator(creator, "two")
    del creator
    gc.collect()
    assert registry.get_creator("ScaledV3", "1", "one") is registry.get_creator("ScaledV3", "1", "two") is gone()
    assert registry.deregister_creator(gone())
    assert registry.get_creator("ScaledV3", "1", "one") is registry.get_creator("ScaledV3", "1", "two") is None
    gc.collect()
    assert gone() is None


class Recorder(trt.IErrorRecorder):
    def __init__(self) -> None:
        trt.IErrorRecorder.__init__(self)
        self.told = []

    def report_error(self, code, description):
        self.told.append(description)
        return False


def test_B2_each_registry_keeps_its_own_recorder() -> None:
    builder = trt.Builder(LOGGER)
    here, everywhere = builder.get_plugin_registry(), trt.get_plugin_registry()
    here.error_recorder, everywhere.error_recorder = Recorder(), Recorder()
    gc.collect()
    assert here.load_library("/no/such/library.so") is None
    assert len(here.error_recorder.told) == 1 and everywhere.error_recorder.told == []
    gone = weakref.ref(here.error_recorder)
    everywhere.error_recorder = None
    del here, builder
    gc.collect()
    assert gone() is None


# ---- plugins of layers


def layer_of_stock_plugin(version: str) -> trt.ILayer:
    trt.init_libnvinfer_plugins(LOGGER, "")
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    kinds = {"data": trt.float32, "indices": trt.int64, "updates": trt.float32}
    inputs = [network.add_input(name, kind, (4, 5)) for name, kind in kinds.items()]
    fields = trt.PluginFieldCollection(
        [
            trt.PluginField("reduction", b"add", trt.PluginFieldType.CHAR),
            trt.PluginField("axis", np.array([0], np.int32), trt.PluginFieldType.INT32),
        ]
    )
    creator = trt.get_plugin_registry().get_creator("ScatterElements", version, "")
    if version == "2":
        return network.add_plugin_v3(inputs, [], creator.create_plugin("s", fields, trt.TensorRTPhase.BUILD))
    return network.add_plugin_v2(inputs, creator.create_plugin("s", fields))


@pytest.mark.parametrize("version", ["1", "2"])
def test_B_a_plugin_of_a_layer_keeps_the_network(version: str) -> None:
    layer = layer_of_stock_plugin(version)
    watched = weakref.ref(layer)
    plugin = layer.plugin
    del layer
    gc.collect()
    assert watched() is not None  # And with it the network, which owns the plugin.
    if version == "2":
        assert plugin.get_capability_interface(trt.PluginCapabilityType.CORE).plugin_name == "ScatterElements"
    else:
        assert plugin.plugin_type == "ScatterElements" and plugin.num_outputs == 1
    del plugin
    gc.collect()
    assert watched() is None


@pytest.mark.parametrize("make", [ScaledDynamic, ScaledV3])
def test_B_a_python_plugin_does_not_keep_the_network_that_owns_it(make: type) -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (4,))
    plugin = make()
    layer = network.add_plugin_v3([x], [], plugin) if make is ScaledV3 else network.add_plugin_v2([x], plugin)
    owned = layer.plugin
    assert isinstance(owned, make) and owned is not plugin
    watched = weakref.ref(network)
    del network, layer, x, builder
    gc.collect()
    assert watched() is None
    assert owned.factor == 2.0


class Resource(trt.IPluginResource):
    def release(self):
        pass

    def clone(self):
        return Resource()


def test_I8_a_clone_of_a_resource_belongs_to_python() -> None:
    copy = trt.IPluginResource.clone(Resource())
    assert type(copy) is Resource
    gone = weakref.ref(copy)
    del copy
    gc.collect()
    assert gone() is None


# ---- clones of the V2 family


class Forgetful(ScaledDynamic):
    """Its clones have what `__dict__` has, and what the base class keeps is left unset."""

    def clone(self):
        copy = Forgetful.__new__(Forgetful)
        trt.IPluginV2DynamicExt.__init__(copy)
        copy.__dict__.update(self.__dict__)
        return copy


def test_M11_a_clone_has_the_attributes_that_it_does_not_set() -> None:
    plugin = Forgetful(3.0)
    plugin.plugin_namespace = "ours"
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    layer = network.add_plugin_v2([network.add_input("x", trt.float32, (4,))], plugin)
    copy = layer.plugin
    assert copy is not plugin and copy.factor == 3.0
    assert (copy.plugin_type, copy.plugin_version, copy.plugin_namespace) == ("ScaledDynamic", "1", "ours")
    assert copy.num_outputs == 1


def test_J16_clones_have_the_namespace_that_the_library_set() -> None:
    seen = []

    class Named(ScaledDynamic):
        carries = True

        def clone(self):
            copy = super().clone()  # Its __init__ sets "".
            if Named.carries:
                copy.plugin_namespace = self.plugin_namespace
            return copy

        def enqueue(self, *arguments):
            seen.append(self.plugin_namespace)
            super().enqueue(*arguments)

    class NamedCreator(ScaledDynamicCreator):
        make = Named

    registry, creator = trt.get_plugin_registry(), NamedCreator()
    assert registry.register_creator(creator, "space")
    try:
        plugin = Named(3.0)
        plugin.plugin_namespace = "space"
        plan = build(plugin)
        Named.carries = False  # The library gives the restored object its namespace, and that must reach its clones.
        context = trt.Runtime(LOGGER).deserialize_cuda_engine(plan).create_execution_context()
        x = np.random.default_rng(3).standard_normal(4).astype(np.float32)
        y = np.empty_like(x)
        assert context.execute_v2([x.ctypes.data, y.ctypes.data])
        np.testing.assert_array_equal(y, x * np.float32(3))
        assert seen[-1] == "space"
    finally:
        registry.deregister_creator(creator)


def test_J16_a_namespace_that_python_sets_later_wins() -> None:
    class Own(ScaledDynamic):
        def clone(self):
            copy = super().clone()
            copy.plugin_namespace = "its own"
            return copy

    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    layer = network.add_plugin_v2([network.add_input("x", trt.float32, (4,))], Own())
    assert layer.plugin.plugin_namespace == "its own"


# ---- what callbacks and users hand over


class Gone(ScaledDynamic):
    def serialize(self):
        view = memoryview(b"abcd")
        view.release()
        return view


def test_M4_a_released_buffer_fails_the_build(capfd: pytest.CaptureFixture[str]) -> None:
    assert build(Gone()) is None
    with pytest.raises(RuntimeError, match="cannot be serialized"):
        Gone().get_serialization_size()


def test_M15_sizes_and_types_stay_within_the_data() -> None:
    kinds = trt.PluginFieldType
    field = trt.PluginField("a", np.array([1, -2, 3, 4], np.int8), kinds.INT8)
    with pytest.raises(ValueError, match="'a'.*no whole number"):
        field.type = kinds.FLOAT64
    assert (field.type, field.size) == (kinds.INT8, 4)
    for size in (5, 1 << 28, -1):
        with pytest.raises(ValueError, match=f"'a'.*{size} elements"):
            field.size = size
    np.testing.assert_array_equal(field.data, [1, -2, 3, 4])
    field.type = kinds.INT16
    np.testing.assert_array_equal(field.data, np.array([1, -2, 3, 4], np.int8).view(np.int16))
    field.size = 1
    np.testing.assert_array_equal(field.data, np.array([1, -2], np.int8).view(np.int16))
    field.size = 2
    field.data = None
    field.type, field.size = kinds.FLOAT64, 7  # What a creator says of a field without values.
    assert (field.type, field.size, field.data) == (kinds.FLOAT64, 7, None)
    with pytest.raises(ValueError, match="elements"):
        field.data = np.arange(3.0)
        field.size = 4


def test_M15_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(UnicodeEncodeError):
        trt.PluginField("a", "\udc80", trt.PluginFieldType.CHAR)


@pytest.mark.parametrize(
    ("base", "attribute"),
    [
        ("IPluginV2DynamicExt", "num_outputs"),
        ("IPluginV2Ext", "plugin_type"),
        ("IPluginV3OneCore", "plugin_name"),
        ("IPluginV3OneBuild", "num_outputs"),
        ("IPluginCreator", "name"),
        ("IPluginCreatorV3One", "plugin_namespace"),
        ("Logger", "min_severity"),
    ],
)
def test_objects_whose_base_has_no_init_yet_are_refused(base: str, attribute: str) -> None:
    def early(self: object) -> None:
        setattr(self, attribute, 1)

    def reading(self: object) -> None:
        getattr(self, attribute)

    for init in (early, reading):
        with pytest.raises(TypeError, match=rf"{base}.__init__\(\) has not run on this object of class Early"):
            type("Early", (getattr(trt, base),), {"__init__": init})()


def test_super_init_alone_of_four_bases_is_refused_by_name() -> None:
    class OnlyFirst(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
        def __init__(self) -> None:
            super().__init__()
            self.plugin_name = "x"

    with pytest.raises(TypeError, match=r"IPluginV3OneCore.__init__\(\) has not run .* class OnlyFirst"):
        OnlyFirst()
