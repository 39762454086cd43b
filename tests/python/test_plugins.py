"""Custom layers written in Python: classes of IPluginV2DynamicExt, IPluginV3 and the older generations.

Rules M of the API, and the contract that the C++ generations have, too.
"""

import gc
import json
import os
import pathlib
import subprocess
import sys
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)
BEFORE = (1, 2)
AFTER = (3, 1)


def circ_pad(x: np.ndarray, before: tuple[int, int] = BEFORE, after: tuple[int, int] = AFTER) -> np.ndarray:
    widths = [(0, 0)] * (x.ndim - 2) + list(zip(before, after, strict=True))
    return np.pad(x, widths, mode="wrap")


def view(address: int, desc: trt.PluginTensorDesc) -> np.ndarray:
    """The memory of a tensor as a NumPy array."""
    import ctypes

    kind = np.dtype(trt.nptype(desc.type))
    shape = tuple(desc.dims)
    size = int(np.prod(shape)) * kind.itemsize
    return np.frombuffer((ctypes.c_char * size).from_address(address), kind).reshape(shape)


class Journal:
    calls: list[str] = []
    destroyed = 0


class CircPadDynamic(trt.IPluginV2DynamicExt):
    def __init__(self, before: tuple[int, int] = BEFORE, after: tuple[int, int] = AFTER) -> None:
        trt.IPluginV2DynamicExt.__init__(self)
        self.before = before
        self.after = after
        self.num_outputs = 1
        self.plugin_namespace = ""
        self.plugin_type = "PyCircPadDynamic"
        self.plugin_version = "1"

    def get_output_datatype(self, index, input_types):
        Journal.calls.append("get_output_datatype")
        return input_types[0]

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        out = trt.DimsExprs(inputs[0])
        rank = len(out)
        for i in range(2):
            more = expr_builder.constant(self.before[i] + self.after[i])
            out[rank - 2 + i] = expr_builder.operation(trt.DimensionOperation.SUM, inputs[0][rank - 2 + i], more)
        return out

    def serialize(self):
        return json.dumps([self.before, self.after]).encode()

    def configure_plugin(self, inputs, outputs):
        Journal.calls.append("configure_plugin")
        assert isinstance(inputs[0], trt.DynamicPluginTensorDesc)

    def supports_format_combination(self, pos, in_out, num_inputs):
        assert num_inputs == 1
        desc = in_out[pos]
        return (
            desc.format == trt.TensorFormat.LINEAR
            and desc.type in (trt.float32, trt.int32)
            and (desc.type == in_out[0].type)
        )

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        Journal.calls.append("enqueue")
        assert isinstance(workspace, int) and isinstance(stream, int)
        view(outputs[0], output_desc[0])[...] = circ_pad(view(inputs[0], input_desc[0]), self.before, self.after)

    def clone(self):
        Journal.calls.append("clone")
        copy = type(self)()
        copy.__dict__.update(self.__dict__)
        return copy

    def destroy(self):
        Journal.destroyed += 1


class CircPadDynamicCreator(trt.IPluginCreator):
    def __init__(self) -> None:
        trt.IPluginCreator.__init__(self)
        self.name = "PyCircPadDynamic"
        self.plugin_version = "1"
        self.plugin_namespace = ""
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField("before", np.array([], np.int32), trt.PluginFieldType.INT32)]
        )

    def create_plugin(self, name, field_collection):
        fields = {field.name: tuple(int(each) for each in field.data) for field in field_collection}
        return CircPadDynamic(fields.get("before", BEFORE), fields.get("after", AFTER))

    def deserialize_plugin(self, name, data):
        before, after = json.loads(bytes(data))
        return CircPadDynamic(tuple(before), tuple(after))


class CircPadV3(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    def __init__(self, before: tuple[int, int] = BEFORE, after: tuple[int, int] = AFTER) -> None:
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuild.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.before = before
        self.after = after
        self.num_outputs = 1
        self.plugin_namespace = ""
        self.plugin_name = "PyCircPadV3"
        self.plugin_version = "1"

    def get_capability_interface(self, type):
        return self

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        out = trt.DimsExprs(inputs[0])
        rank = len(out)
        for i in range(2):
            extent = expr_builder.operation(
                trt.DimensionOperation.SUM, inputs[0][rank - 2 + i], expr_builder.constant(self.before[i])
            )
            more = shape_inputs[0][i] if shape_inputs else expr_builder.constant(self.after[i])
            out[rank - 2 + i] = expr_builder.operation(trt.DimensionOperation.SUM, extent, more)
        return [out]

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection(
            [
                trt.PluginField("before", np.array(self.before, np.int32), trt.PluginFieldType.INT32),
                trt.PluginField("after", np.array(self.after, np.int32), trt.PluginFieldType.INT32),
            ]
        )

    def configure_plugin(self, inputs, outputs):
        Journal.calls.append("configure_plugin")

    def on_shape_change(self, inputs, outputs):
        Journal.calls.append("on_shape_change")
        assert isinstance(inputs[0], trt.PluginTensorDesc)

    def supports_format_combination(self, pos, in_out, num_inputs):
        desc = in_out[pos].desc
        return (
            desc.format == trt.TensorFormat.LINEAR
            and desc.type in (trt.float32, trt.int32)
            and (desc.type == in_out[0].desc.type)
        )

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        Journal.calls.append("enqueue")
        x = view(inputs[0], input_desc[0])
        y = view(outputs[0], output_desc[0])
        after = tuple(y.shape[-2 + i] - x.shape[-2 + i] - self.before[i] for i in range(2))
        y[...] = circ_pad(x, self.before, after)

    def attach_to_context(self, context):
        assert isinstance(context, trt.IPluginResourceContext)
        return self.clone()

    def set_tactic(self, tactic):
        Journal.calls.append(f"set_tactic {tactic}")

    def clone(self):
        copy = type(self)()
        copy.__dict__.update(self.__dict__)
        return copy

    def destroy(self):
        Journal.destroyed += 1


class CircPadV3Creator(trt.IPluginCreatorV3One):
    def __init__(self) -> None:
        trt.IPluginCreatorV3One.__init__(self)
        self.name = "PyCircPadV3"
        self.plugin_version = "1"
        self.plugin_namespace = ""
        self.field_names = trt.PluginFieldCollection([trt.PluginField("before"), trt.PluginField("after")])

    def create_plugin(self, name, field_collection, phase):
        Journal.calls.append(f"create_plugin {name} {phase.name}")
        fields = {field.name: tuple(int(each) for each in field.data) for field in field_collection}
        return CircPadV3(fields.get("before", BEFORE), fields.get("after", AFTER))


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    gc.collect()  # What earlier tests left does not count.
    Journal.calls.clear()
    Journal.destroyed = 0
    registry = trt.get_plugin_registry()
    creators = [CircPadDynamicCreator(), CircPadV3Creator()]
    for creator in creators:
        assert registry.register_creator(creator, "")
    yield
    for creator in creators:
        assert registry.deregister_creator(creator)


def add(network: trt.INetworkDefinition, x: trt.ITensor, plugin: object) -> trt.ILayer:
    if isinstance(plugin, trt.IPluginV3):
        return network.add_plugin_v3([x], [], plugin)
    return network.add_plugin_v2([x], plugin)


def build(plugin: object, kind: trt.DataType = trt.float32) -> trt.IHostMemory | None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", kind, (-1, 2, -1, 6))
    layer = add(network, x, plugin)
    if layer is None:
        return None
    layer.name = "pad"
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 2, 5, 6), (2, 2, 5, 6), (4, 2, 9, 6))
    config.add_optimization_profile(profile)
    return builder.build_serialized_network(network, config)


def run(context: trt.IExecutionContext, x: np.ndarray) -> np.ndarray:
    assert context.set_input_shape("x", x.shape)
    y = np.empty(tuple(context.get_tensor_shape("y")), x.dtype)
    context.set_tensor_address("x", x.ctypes.data)
    context.set_tensor_address("y", y.ctypes.data)
    assert context.execute_async_v3(0)
    return y


@pytest.mark.parametrize("make", [CircPadDynamic, CircPadV3])
@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_contract_of_class_based_plugins(make: type, kind: type) -> None:
    plan = build(make((2, 0), (1, 3)), trt.float32 if kind is np.float32 else trt.int32)
    assert plan is not None
    runtime = trt.Runtime(LOGGER)
    engine = runtime.deserialize_cuda_engine(plan)
    contexts = [engine.create_execution_context() for _ in range(2)]
    random = np.random.default_rng(1)
    for number, shape in enumerate([(1, 2, 5, 6), (4, 2, 9, 6), (3, 2, 7, 6), (1, 2, 5, 6)]):
        x = random.integers(-100, 100, shape).astype(kind)
        np.testing.assert_array_equal(run(contexts[number % 2], x), circ_pad(x, (2, 0), (1, 3)))


def test_shape_inputs_reach_python() -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (2, 5, 6))
    more = network.add_input("more", trt.int32, (2,))
    layer = network.add_plugin_v3([x], [more], CircPadV3())
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape_input("more", (0, 0), (2, 2), (5, 5))
    config.add_optimization_profile(profile)
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    context = engine.create_execution_context()
    data = np.random.default_rng(2).standard_normal((2, 5, 6)).astype(np.float32)
    for after in [(0, 0), (4, 5)]:
        values = np.array(after, np.int32)
        context.set_tensor_address("more", values.ctypes.data)
        y = np.empty((2, 5 + 1 + after[0], 6 + 2 + after[1]), np.float32)
        context.set_tensor_address("x", data.ctypes.data)
        context.set_tensor_address("y", y.ctypes.data)
        assert context.execute_async_v3(0)
        np.testing.assert_array_equal(y, circ_pad(data, BEFORE, after))


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """What programs see on stderr: pytest's own hook for exceptions in callbacks is put aside."""
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    return capfd


def test_M1_unset_attributes_fail_the_call(printed: pytest.CaptureFixture[str]) -> None:
    class Unset(CircPadDynamic):
        def __init__(self) -> None:
            trt.IPluginV2DynamicExt.__init__(self)
            self.before, self.after = BEFORE, AFTER

    with pytest.raises(AttributeError, match="num_outputs is not set"):
        _ = Unset().num_outputs
    assert build(Unset()) is None
    errors = printed.readouterr().err
    assert "AttributeError" in errors and "plugin_type is not set" in errors

    class Uncounted(Unset):
        def __init__(self) -> None:
            super().__init__()
            self.plugin_type, self.plugin_version, self.plugin_namespace = "PyCircPadDynamic", "1", ""

    assert build(Uncounted()) is None
    errors = printed.readouterr().err
    assert "AttributeError" in errors and "num_outputs is not set" in errors


def test_M2_M5_sizes_follow_what_is_serialized(capfd: pytest.CaptureFixture[str]) -> None:
    plugin = CircPadDynamic()
    assert plugin.serialization_size == len(plugin.serialize())

    class Larger(CircPadDynamic):
        def get_serialization_size(self):
            return 1000

    assert build(Larger()) is None
    assert "get_serialization_size answers 1000" in capfd.readouterr().err


@pytest.mark.parametrize("make", [CircPadDynamic, CircPadV3])
def test_M3_exceptions_fail_the_run_and_are_printed(make: type, printed: pytest.CaptureFixture[str]) -> None:
    def failing(self, *arguments):
        raise ValueError("an illegal value")

    plan = build(make())
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    x = np.ones((1, 2, 5, 6), np.float32)
    kept = make.enqueue
    make.enqueue = failing
    try:
        context.set_input_shape("x", x.shape)
        y = np.empty((1, 2, 9, 9), np.float32)
        context.set_tensor_address("x", x.ctypes.data)
        context.set_tensor_address("y", y.ctypes.data)
        assert not context.execute_async_v3(0)
        errors = printed.readouterr().err
        assert "returned -1: ValueError: an illegal value" in errors, "the engine's own message says why, too"
        assert "Traceback" in errors and "in failing" in errors and "ValueError: an illegal value" in errors
    finally:
        make.enqueue = kept
    np.testing.assert_array_equal(run(context, x), circ_pad(x))


def test_M4_M8_wrong_answers_fail_the_build(capfd: pytest.CaptureFixture[str]) -> None:
    class Wrong(CircPadV3):
        def get_output_data_types(self, input_types):
            return "float"

    class TooMany(CircPadV3):
        def get_output_data_types(self, input_types):
            return [input_types[0]] * 2

    assert build(Wrong()) is None
    assert "get_output_data_types answered with a value of the wrong type" in capfd.readouterr().err
    assert build(TooMany()) is None
    assert "answered with 2 values where num_outputs is 1" in capfd.readouterr().err


def test_M7_defaults_of_the_build_capability() -> None:
    plugin = CircPadV3()
    assert plugin.format_combination_limit == trt.IPluginV3OneBuild.DEFAULT_FORMAT_COMBINATION_LIMIT == 100
    assert plugin.timing_cache_id is None
    assert plugin.metadata_string is None


def test_M9_tactics_are_asked_once_and_set() -> None:
    class Tactics(CircPadV3):
        def get_valid_tactics(self):
            Journal.calls.append("get_valid_tactics")
            return [5, 9]

    plan = build(Tactics())
    asked = Journal.calls.count("get_valid_tactics")
    assert asked == Journal.calls.count("configure_plugin")
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    engine.create_execution_context()
    assert "set_tactic 5" in Journal.calls


@pytest.mark.parametrize("make", [CircPadDynamic, CircPadV3])
def test_M10_objects_of_the_library_are_destroyed_once(make: type) -> None:
    alive: list[weakref.ref] = []

    class Counted(make):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            alive.append(weakref.ref(self))

    own = Counted()
    plan = build(own)
    assert plan is not None
    gc.collect()
    assert sum(each() is not None for each in alive) == 1, "only the user's own object is left"
    assert Journal.destroyed == len(alive) - 1
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    before = Journal.destroyed
    del context, engine
    gc.collect()
    assert Journal.destroyed == before + 2, "the engine's and the context's"


@pytest.mark.parametrize("make", [CircPadDynamic, CircPadV3])
def test_M11_a_clone_that_is_no_plugin_is_refused(make: type, capfd: pytest.CaptureFixture[str]) -> None:
    class Bad(make):
        def clone(self):
            return 7

    assert build(Bad()) is None
    assert "clone" in capfd.readouterr().err


def test_M12_missing_creators_are_named(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "pad.plan"
    path.write_bytes(build(CircPadV3()))
    program = (
        "import sys, tensorrt as trt\n"
        "engine = trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(open(sys.argv[1], 'rb').read())\n"
        "assert engine is None\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert "'PyCircPadV3' version '1' namespace ''" in done.stderr


def test_I13_M13_creators_come_back_as_their_own_objects() -> None:
    class Named(CircPadV3Creator):
        def __init__(self) -> None:
            super().__init__()
            self.name = "Named"

    registry = trt.get_plugin_registry()
    creator = Named()
    gone = weakref.ref(creator)
    assert registry.register_creator(creator, "")
    del creator
    gc.collect()
    found = registry.get_creator("Named", "1", "")
    assert type(found) is Named
    assert any(each is found for each in registry.all_creators)
    assert registry.deregister_creator(found)
    del found
    gc.collect()
    assert gone() is None


def test_M14_M15_fields_keep_their_data() -> None:
    for kind, name in [
        (np.float32, "FLOAT32"), (np.float64, "FLOAT64"), (np.int8, "INT8"), (np.int16, "INT16"),
        (np.int32, "INT32"), (np.int64, "INT64"), (np.float16, "FLOAT16"),
    ]:  # fmt: skip
        data = (np.random.default_rng(3).standard_normal(5) * 50).astype(kind)
        field = trt.PluginField("x", data, getattr(trt.PluginFieldType, name))
        wanted = data.copy()
        del data
        gc.collect()
        assert field.size == 5
        np.testing.assert_array_equal(field.data, wanted)
    for name in ["CHAR", "UNKNOWN"]:
        field = trt.PluginField("x", b"some bytes", getattr(trt.PluginFieldType, name))
        assert bytes(field.data) == b"some bytes"
    assert trt.PluginField("empty", np.array([], np.int32), trt.PluginFieldType.INT32).size == 0


def test_K13_K14_K15_expressions_and_both_spellings() -> None:
    found = {}

    class Asking(CircPadDynamic):
        def get_output_dimensions(self, output_index, inputs, expr_builder):
            batch, channels = inputs[0][0], inputs[0][1]
            found["now"] = [(each.is_constant(), each.get_constant_value()) for each in (batch, channels)]
            found["in 9"] = [(each.isConstant(), each.getConstantValue()) for each in (batch, channels)]
            found["bad"] = expr_builder.operation(99, inputs[0][0], inputs[0][1])
            return super().get_output_dimensions(output_index, inputs, expr_builder)

    assert build(Asking()) is not None
    wanted = [(False, -(2**31)), (True, 2)]
    assert found == {"now": wanted, "in 9": wanted, "bad": None}


class OlderPad(trt.IPluginV2Ext):
    """Fixed shapes: the batch is not among the dims."""

    def __init__(self) -> None:
        trt.IPluginV2Ext.__init__(self)
        self.num_outputs = 1
        self.plugin_namespace = ""
        self.plugin_type = "PyOlderPad"
        self.plugin_version = "1"
        self.shape = ()

    def get_output_shape(self, index, input_shapes):
        dims = list(input_shapes[0])
        return trt.Dims(dims[:-2] + [dims[-2] + 4, dims[-1] + 3])

    def supports_format(self, dtype, format):
        return dtype == trt.float32 and format == trt.TensorFormat.LINEAR

    def configure_plugin(
        self, input_shapes, output_shapes, input_types, output_types, in_broadcast, out_broadcast, format, batch
    ):
        self.shape = tuple(input_shapes[0])

    def execute_async(self, batch_size, inputs, outputs, workspace, stream_handle):
        desc = trt.PluginTensorDesc()
        desc.type = trt.float32
        desc.dims = (batch_size, *self.shape)
        x = view(inputs[0], desc)
        y = circ_pad(x)
        desc.dims = y.shape
        view(outputs[0], desc)[...] = y

    def serialize(self):
        return json.dumps(self.shape).encode()

    def clone(self):
        copy = OlderPad()
        copy.__dict__.update(self.__dict__)
        return copy


class OlderPadCreator(trt.IPluginCreator):
    def __init__(self) -> None:
        trt.IPluginCreator.__init__(self)
        self.name = "PyOlderPad"
        self.plugin_version = "1"
        self.plugin_namespace = ""
        self.field_names = trt.PluginFieldCollection()

    def deserialize_plugin(self, name, data):
        plugin = OlderPad()
        plugin.shape = tuple(json.loads(bytes(data)))
        return plugin


def test_older_generations_in_python() -> None:
    registry = trt.get_plugin_registry()
    creator = OlderPadCreator()
    assert registry.register_creator(creator, "")
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (3, 2, 5, 6))
    layer = network.add_plugin_v2([x], OlderPad())
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    data = np.random.default_rng(4).standard_normal((3, 2, 5, 6)).astype(np.float32)
    np.testing.assert_array_equal(run(context, data), circ_pad(data))
    assert registry.deregister_creator(creator)


def test_the_trace_names_every_call(tmp_path: pathlib.Path) -> None:
    trace = tmp_path / "calls.txt"
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, tensorrt as trt, test_plugins as pads\n"
        "trt.get_plugin_registry().register_creator(pads.CircPadV3Creator(), '')\n"
        "plan = pads.build(pads.CircPadV3())\n"
        "context = trt.Runtime(pads.LOGGER).deserialize_cuda_engine(plan).create_execution_context()\n"
        "pads.run(context, np.ones((1, 2, 5, 6), np.float32))\n"
    )
    folder = str(pathlib.Path(__file__).parent)
    environment = {**os.environ, "TENON_PLUGIN_TRACE": str(trace)}
    subprocess.run([sys.executable, "-c", program, folder], check=True, env=environment)
    lines = trace.read_text().splitlines()
    for call in [
        "made by INetworkDefinition::addPluginV3",
        "accepts port 0?",
        "configure, building",
        "store",
        "made by createPlugin(kRUNTIME)",
        "attach to a context",
        "tactic 0",
        "shapes, before running",
        "run on",
        "gone",
    ]:
        assert any(call in line for line in lines), call
    assert all("'PyCircPadV3' version '1'" in line or "gone" in line for line in lines)


def test_fields_take_empty_arrays_and_numbers_of_another_kind() -> None:
    for kind in (trt.PluginFieldType.INT32, trt.PluginFieldType.FLOAT32, trt.PluginFieldType.INT64):
        field = trt.PluginField("none", np.array([]), kind)
        assert field.size == 0 and field.type == kind
    ones = trt.PluginField("ones", np.array([1, -2, 3], np.int32), trt.PluginFieldType.FLOAT32)
    np.testing.assert_array_equal(np.frombuffer(ones.data, np.float32), [1.0, -2.0, 3.0])
    with pytest.raises(ValueError, match="'half'.* float32 array"):
        trt.PluginField("half", np.array([0.5], np.float32), trt.PluginFieldType.INT32)


def test_serialize_may_answer_with_a_text() -> None:
    class Texts(CircPadDynamic):
        def serialize(self):
            return json.dumps([self.before, self.after])

    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(build(Texts((2, 0), (1, 3))))
    x = np.random.default_rng(5).standard_normal((1, 2, 5, 6)).astype(np.float32)
    np.testing.assert_array_equal(run(engine.create_execution_context(), x), circ_pad(x, (2, 0), (1, 3)))
