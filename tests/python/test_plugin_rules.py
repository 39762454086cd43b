"""Rules of plugin classes written in Python (M), each with all that it says; test_plugins.py has the contract."""

import ctypes
import gc
import pathlib
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import small
import tensorrt as trt
from journal_library import Journal, opened
from scaled_plugin import ScaledDynamic, ScaledDynamicCreator, ScaledV3, ScaledV3Creator, view
from tenon import testing

LOGGER = trt.Logger(trt.Logger.ERROR)
HERE = pathlib.Path(__file__).parent
BASES = {
    ScaledDynamic: (trt.IPluginV2DynamicExt,),
    ScaledV3: (trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime),
}
Printed = Callable[[], str]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Printed:
    """What programs see on stderr since the last call."""
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)
    return lambda: capfd.readouterr().err


@pytest.fixture
def journal() -> Iterator[Journal]:
    yield from opened()


class Creators:
    """What restores plugins while a test runs: objects of the class `made`, or of the sound one."""

    def __init__(self) -> None:
        self.made: type | None = None
        outer = self

        class V3(ScaledV3Creator):
            def create_plugin(self, name, field_collection, phase):
                return (outer.made or ScaledV3)(float(field_collection[0].data[0]))

        class Dynamic(ScaledDynamicCreator):
            def deserialize_plugin(self, name, data):
                return (outer.made or ScaledDynamic)(float(np.frombuffer(data, np.float32)[0]))

        self.all = [V3(), Dynamic()]


@pytest.fixture
def creators() -> Iterator[Creators]:
    gc.collect()
    made, registry = Creators(), trt.get_plugin_registry()
    for each in made.all:
        assert registry.register_creator(each, "")
    yield made
    for each in made.all:
        assert registry.deregister_creator(each)


def add(network: trt.INetworkDefinition, plugin: object, *inputs: trt.ITensor) -> trt.ILayer | None:
    if isinstance(plugin, trt.IPluginV3):
        return network.add_plugin_v3(list(inputs), [], plugin)
    return network.add_plugin_v2(list(inputs), plugin)


def build(plugin: object, level: int = 3) -> trt.IHostMemory | None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    layer = add(network, plugin, network.add_input("x", trt.float32, (-1, 4)))
    if layer is None:
        return None
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    config.builder_optimization_level = level
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 4), (2, 4), (5, 4))
    config.add_optimization_profile(profile)
    return builder.build_serialized_network(network, config)


def load(plan: object) -> trt.ICudaEngine | None:
    assert plan is not None
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


def run(context: trt.IExecutionContext, rows: int = 3, factor: float = 2.0) -> bool:
    x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
    y = np.empty_like(x)
    assert context.set_input_shape("x", x.shape)
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    if not context.execute_async_v3(0):
        return False
    np.testing.assert_array_equal(y, x * np.float32(factor))
    return True


def with_method(base: type, name: str, function: Callable) -> type:
    return type("Changed", (base,), {name: function})


def without(base: type, *names: str) -> type:
    """The class of `base`'s methods but those, derived from the bases of the API alone."""
    kept = {name: value for name, value in vars(base).items() if name not in ("__dict__", "__weakref__", *names)}
    return type("Lacking", BASES[base], kept)


@pytest.mark.parametrize("name", ["num_outputs", "plugin_type", "plugin_version", "plugin_namespace"])
def test_M1_what_reads_an_unset_attribute_fails_and_says_so(name: str, creators: Creators, printed: Printed) -> None:
    class Lacking(ScaledDynamic):
        def __init__(self, factor: float = 2.0) -> None:
            trt.IPluginV2DynamicExt.__init__(self)
            self.factor = factor
            values = {"num_outputs": 1, "plugin_type": "ScaledDynamic", "plugin_version": "1", "plugin_namespace": ""}
            for attribute, value in values.items():
                if attribute != name:
                    setattr(self, attribute, value)

    assert build(Lacking()) is None
    errors = printed()
    assert "AttributeError" in errors and f"{name} is not set" in errors and "Traceback" in errors
    if name == "num_outputs":
        return  # The plan knows how many there are.
    plan = build(ScaledDynamic())
    creators.made = Lacking
    assert load(plan) is None
    assert f"{name} is not set" in printed()
    creators.made = None
    assert run(load(plan).create_execution_context()), "nothing is broken by it"


def test_M2_optional_methods_have_defaults(creators: Creators) -> None:
    optional = ("initialize", "terminate", "destroy", "get_workspace_size", "get_serialization_size")
    assert not set(optional) & set(vars(ScaledDynamic)), "the class has none of them"
    plugin = ScaledDynamic()
    assert (plugin.initialize(), plugin.terminate(), plugin.destroy()) == (None, None, None)
    assert plugin.get_workspace_size([], []) == 0
    assert plugin.get_serialization_size() == len(plugin.serialize()) == 4
    assert run(load(build(plugin)).create_execution_context())


@pytest.mark.parametrize(
    "name",
    ["supports_format_combination", "clone", "get_output_dimensions", "serialize", "configure_plugin", "enqueue"],
)
def test_M2_required_methods_are_named_when_they_are_missing(name: str, creators: Creators, printed: Printed) -> None:
    lacking = without(ScaledDynamic, name)
    plan = build(lacking())
    if name == "enqueue":
        creators.made = lacking
        assert not run(load(plan).create_execution_context())
    elif name != "configure_plugin":  # It answers nothing, so nothing can fail (M3).
        assert plan is None
    assert f"does not implement {name}" in printed()


@pytest.mark.parametrize("name", ["configure_plugin", "get_output_data_types", "get_output_shapes", "enqueue"])
def test_M2_the_same_for_V3(name: str, creators: Creators, printed: Printed) -> None:
    lacking = without(ScaledV3, name)
    plan = build(lacking())
    if name == "enqueue":
        creators.made = lacking
        assert not run(load(plan).create_execution_context())
    else:
        assert plan is None
    assert f"does not implement {name}" in printed()


def failing(self, *arguments):
    raise ValueError("no, thank you")


@pytest.mark.parametrize(
    "name",
    [
        "get_output_datatype", "get_output_dimensions", "supports_format_combination", "get_workspace_size",
        "serialize", "get_serialization_size", "clone",
    ],
)  # fmt: skip
def test_M3_exceptions_while_building_give_no_plan(name: str, creators: Creators, printed: Printed) -> None:
    assert build(with_method(ScaledDynamic, name, failing)()) is None
    errors = printed()
    assert "Traceback" in errors and "in failing" in errors and "ValueError: no, thank you" in errors


@pytest.mark.parametrize(("name", "stage"), [("initialize", "engine"), ("clone", "context"), ("enqueue", "run")])
def test_M3_exceptions_at_run_time_fail_that_call(name: str, stage: str, creators: Creators, printed: Printed) -> None:
    plan = build(ScaledDynamic())
    creators.made = with_method(ScaledDynamic, name, failing)
    engine = load(plan)
    assert (engine is None) == (stage == "engine")
    context = engine.create_execution_context() if engine else None
    assert (context is None) == (stage in ("engine", "context"))
    assert context is None or not run(context)
    errors = printed()
    assert "Traceback" in errors and "ValueError: no, thank you" in errors


@pytest.mark.parametrize("name", ["configure_plugin", "terminate", "destroy"])
def test_M3_exceptions_where_nothing_is_answered_are_printed(name: str, creators: Creators, printed: Printed) -> None:
    raising = with_method(ScaledDynamic, name, failing)
    creators.made = raising
    plan = build(raising())
    context = load(plan).create_execution_context()
    assert run(context) and run(context, 4)
    del context
    gc.collect()
    errors = printed()
    assert "Traceback" in errors and "ValueError: no, thank you" in errors


@pytest.mark.parametrize(
    ("base", "name", "answer"),
    [
        (ScaledDynamic, "get_output_datatype", "float32"),
        (ScaledDynamic, "get_output_datatype", None),
        (ScaledDynamic, "get_output_dimensions", 7),
        (ScaledDynamic, "get_output_dimensions", None),
        (ScaledDynamic, "supports_format_combination", "yes"),
        (ScaledDynamic, "supports_format_combination", None),
        (ScaledDynamic, "get_workspace_size", "many"),
        (ScaledDynamic, "get_workspace_size", -1),
        (ScaledDynamic, "serialize", 7),
        (ScaledDynamic, "serialize", None),
        (ScaledDynamic, "get_serialization_size", "four"),
        (ScaledDynamic, "clone", 7),
        (ScaledDynamic, "clone", None),
        (ScaledV3, "get_output_data_types", 7),
        (ScaledV3, "get_output_data_types", ["float32"]),
        (ScaledV3, "get_output_shapes", None),
        (ScaledV3, "get_output_shapes", [7]),
        (ScaledV3, "supports_format_combination", "yes"),
        (ScaledV3, "get_workspace_size", "many"),
        (ScaledV3, "get_valid_tactics", 7),
        (ScaledV3, "get_valid_tactics", ["one"]),
        (ScaledV3, "get_fields_to_serialize", 7),
        (ScaledV3, "get_capability_interface", 7),
        (ScaledV3, "clone", 7),
    ],
)
def test_M4_answers_of_the_wrong_type_fail_that_call(
    base: type, name: str, answer: object, creators: Creators, capfd: pytest.CaptureFixture[str]
) -> None:
    assert build(with_method(base, name, lambda self, *arguments: answer)()) is None
    assert capfd.readouterr().err, "the reason is told"


def test_M4_the_message_about_fields_is_about_the_answer(creators: Creators, capfd: pytest.CaptureFixture[str]) -> None:
    assert build(with_method(ScaledV3, "get_fields_to_serialize", lambda self: 7)()) is None
    said = capfd.readouterr().err
    assert "getFieldsToSerialize() of plugin" in said and "field ''" not in said, said


def test_M4_wrong_answers_at_run_time(creators: Creators) -> None:
    plan = build(ScaledV3())
    creators.made = with_method(ScaledV3, "attach_to_context", lambda self, context: "attached")
    assert load(plan).create_execution_context() is None


@pytest.mark.parametrize("said", [3, 5, 1000])
def test_M5_the_size_is_that_of_the_bytes(said: int, creators: Creators, capfd: pytest.CaptureFixture[str]) -> None:
    assert build(with_method(ScaledDynamic, "get_serialization_size", lambda self: said)()) is None
    assert f"get_serialization_size answers {said}, but serialize gives 4 bytes" in capfd.readouterr().err
    assert build(with_method(ScaledDynamic, "get_serialization_size", lambda self: 4)()) is not None


@pytest.mark.parametrize("base", [ScaledDynamic, ScaledV3])
def test_M6_addresses_are_ints_and_every_clone_is_configured_first(base: type, creators: Creators) -> None:
    """Two inputs and three outputs: x + z, x - z and both factors of the class."""
    log: list[tuple] = []
    is_v3 = base is ScaledV3

    class Two(base):
        def __init__(self, factor: float = 2.0) -> None:
            super().__init__(factor)
            self.num_outputs = 3

        def get_output_data_types(self, input_types):
            return [input_types[0]] * 3

        def get_output_shapes(self, inputs, shape_inputs, expr_builder):
            return [inputs[0]] * 3

        def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
            log.append(("enqueue", id(self), len(input_desc), len(output_desc), inputs, outputs, workspace, stream))
            x, z = (view(*each) for each in zip(inputs, input_desc, strict=True))
            for y, made in zip(outputs, (x + z, x - z, x * 2), strict=True):
                view(y, output_desc[0])[...] = made

    def configured(self, inputs, outputs):
        log.append(("configured", id(self), len(inputs), len(outputs)))

    setattr(Two, "on_shape_change" if is_v3 else "configure_plugin", configured)
    creators.made = Two
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    layer = add(network, Two(), *[network.add_input(name, trt.float32, (2, 3)) for name in "xz"])
    for i in range(3):
        layer.get_output(i).name = f"y{i}"
        network.mark_output(layer.get_output(i))
    engine = load(builder.build_serialized_network(network, builder.create_builder_config()))
    log.clear()
    x, z = np.random.default_rng(6).standard_normal((2, 2, 3)).astype(np.float32)
    contexts = [engine.create_execution_context() for _ in range(3)]
    for context in contexts:
        made = np.empty((3, 2, 3), np.float32)
        for name, array in {"x": x, "z": z, "y0": made[0], "y1": made[1], "y2": made[2]}.items():
            assert context.set_tensor_address(name, array)
        assert context.execute_async_v3(0)
        np.testing.assert_array_equal(made, [x + z, x - z, 2 * x])
    ran = [entry for entry in log if entry[0] == "enqueue"]
    assert len({entry[1] for entry in ran}) == 3
    for entry in ran:
        assert entry[2:4] == (2, 3) and ("configured", entry[1], 2, 3) in log[: log.index(entry)]
        assert all(isinstance(each, list) for each in entry[4:6]) and (len(entry[4]), len(entry[5])) == (2, 3)
        assert [type(each) for each in [*entry[4], *entry[5], *entry[6:]]] == [int] * 7
        assert entry[4] == [x.ctypes.data, z.ctypes.data]


def test_M7_unset_attributes_of_V3(creators: Creators, printed: Printed) -> None:
    class Countless(ScaledV3):
        def __init__(self, factor: float = 2.0) -> None:
            for base in BASES[ScaledV3]:
                base.__init__(self)
            self.factor = factor
            self.plugin_name, self.plugin_version, self.plugin_namespace = "ScaledV3", "1", ""

    with pytest.raises(AttributeError, match="num_outputs is not set"):
        _ = Countless().num_outputs
    assert build(Countless()) is None
    errors = printed()
    assert "AttributeError" in errors and "num_outputs is not set" in errors
    plugin = Countless()
    assert plugin.format_combination_limit == 100
    assert plugin.timing_cache_id is None and plugin.metadata_string is None
    plugin.num_outputs = 1
    assert plugin.num_outputs == 1
    assert run(load(build(ScaledV3())).create_execution_context()), "with all three unset"


@pytest.mark.parametrize("name", ["plugin_name", "plugin_version", "plugin_namespace"])
def test_M7_a_V3_plugin_needs_its_names(name: str, creators: Creators, printed: Printed) -> None:
    class Nameless(ScaledV3):
        def __init__(self, factor: float = 2.0) -> None:
            for base in BASES[ScaledV3]:
                base.__init__(self)
            self.factor, self.num_outputs = factor, 1
            for attribute, value in {"plugin_name": "ScaledV3", "plugin_version": "1", "plugin_namespace": ""}.items():
                if attribute != name:
                    setattr(self, attribute, value)

    assert build(Nameless()) is None
    assert f"{name} is not set" in printed()


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("name", ["get_output_data_types", "get_output_shapes"])
def test_M8_lists_have_exactly_num_outputs(
    name: str, count: int, creators: Creators, capfd: pytest.CaptureFixture[str]
) -> None:
    class Two(ScaledV3):
        def __init__(self, factor: float = 2.0) -> None:
            super().__init__(factor)
            self.num_outputs = 2

        def get_output_data_types(self, input_types):
            return [trt.float32] * (count if name == "get_output_data_types" else 2)

        def get_output_shapes(self, inputs, shape_inputs, expr_builder):
            return [inputs[0]] * (count if name == "get_output_shapes" else 2)

    assert build(Two()) is None
    assert f"{name} answered with {count} values where num_outputs is 2" in capfd.readouterr().err


def test_M9_one_list_of_tactics_is_counted_and_delivered(creators: Creators) -> None:
    lists = iter([[5, 9], [6, 8, 10], [4], [3, 2, 1, 7]] * 10)
    given: list[list[int]] = []
    timed: list[int] = []

    class Changing(ScaledV3):
        def get_valid_tactics(self):
            given.append(next(lists))
            return given[-1]

        def set_tactic(self, tactic):
            timed.append(tactic)

    assert build(Changing()) is not None
    assert given, "asked"
    creators.made = Changing
    asked = len(given)
    load(build(Changing(), level=4)).create_execution_context()
    sets = [set(each) for each in given[asked:]]
    assert timed and all(any(tactic in each for each in sets) for tactic in timed if tactic)
    assert any(each <= set(timed) for each in sets), "all of one list are timed"


def test_M9_without_tactics_the_default_is_set(creators: Creators) -> None:
    tactics: list[int] = []
    assert "get_valid_tactics" not in vars(ScaledV3)
    creators.made = with_method(ScaledV3, "set_tactic", lambda self, tactic: tactics.append(tactic))
    assert run(load(build(creators.made(), level=4)).create_execution_context())
    assert set(tactics) == {0}


@pytest.mark.parametrize("fault", [None, "clone", "enqueue", "configure_plugin", "on_shape_change", "initialize"])
@pytest.mark.parametrize("base", [ScaledDynamic, ScaledV3])
def test_M10_destroyed_once_whatever_fails(base: type, fault: str | None, creators: Creators, printed: Printed) -> None:
    born: list[weakref.ref] = []
    destroyed: list[int] = []
    armed = []

    class Counted(base):
        def __init__(self, factor: float = 2.0) -> None:
            super().__init__(factor)
            self.number = len(born)
            born.append(weakref.ref(self))

        def clone(self):
            if armed and fault == "clone" and len(born) % 2:
                raise ValueError("not this one")
            return type(self)(self.factor)

        def destroy(self):
            destroyed.append(self.number)

    if fault not in (None, "clone"):
        kept = getattr(Counted, fault, None)

        def maybe(self, *arguments):
            if armed:
                raise ValueError("not now")
            return kept(self, *arguments) if kept else None

        setattr(Counted, fault, maybe)
    creators.made = Counted
    own = Counted()
    plan = build(own)
    for arm in ([], [True]):
        armed[:] = arm
        build(own)
        engine = load(plan)
        contexts = [engine.create_execution_context() for _ in range(2)] if engine else []
        for context in contexts:
            if context is not None:
                run(context)
        del engine, contexts
        context = None
    gc.collect()
    assert [each() for each in born if each() is not None] == [own], "weak references die with the library's"
    assert sorted(destroyed) == list(range(1, len(born))), "each once, and not the user's own"
    printed()


@pytest.mark.parametrize("base", [ScaledDynamic, ScaledV3])
def test_M11_a_context_holds_a_clone_of_its_own(base: type, creators: Creators) -> None:
    ran: set[int] = set()

    class Noting(base):
        def enqueue(self, *arguments):
            ran.add(id(self))
            super().enqueue(*arguments)

    creators.made = Noting
    engine = load(build(base()))
    contexts = [engine.create_execution_context() for _ in range(3)]
    assert all(run(context) for context in contexts) and len(ran) == 3


@pytest.mark.parametrize("answer", [7, None, "plugin", object()])
@pytest.mark.parametrize("base", [ScaledDynamic, ScaledV3])
def test_M11_what_is_no_plugin_is_null(
    base: type, answer: object, creators: Creators, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = build(base())
    creators.made = with_method(base, "clone", lambda self: answer)
    engine = load(plan)
    assert engine is None or engine.create_execution_context() is None
    assert capfd.readouterr().err
    other = ScaledV3() if base is ScaledDynamic else ScaledDynamic()
    creators.made = with_method(base, "clone", lambda self: other)
    engine = load(plan)
    assert engine is None or engine.create_execution_context() is None, "a plugin, but of another generation"


@pytest.mark.parametrize("base", [ScaledDynamic, ScaledV3])
def test_M12_a_process_without_the_creator_says_which_one(base: type, creators: Creators, tmp_path) -> None:
    path = tmp_path / "scaled.plan"
    path.write_bytes(build(base()))
    program = (
        "import sys, tensorrt as trt\n"
        "runtime = trt.Runtime(trt.Logger(trt.Logger.ERROR))\n"
        "plan = open(sys.argv[1], 'rb').read()\n"
        "assert runtime.deserialize_cuda_engine(plan) is None\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "import scaled_plugin\n"
        "assert runtime.deserialize_cuda_engine(plan) is None, 'classes alone are not registered'\n"
        f"creator = scaled_plugin.{base.__name__}Creator()\n"
        "assert trt.get_plugin_registry().register_creator(creator, '')\n"
        "assert runtime.deserialize_cuda_engine(plan) is not None\n"
    )
    here = str(__import__("pathlib").Path(__file__).parent)
    done = subprocess.run([sys.executable, "-c", program, str(path), here], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count(f"'{base.__name__}' version '1' namespace ''") >= 2


@pytest.mark.parametrize("make", [ScaledV3Creator, ScaledDynamicCreator])
def test_M13_the_registry_keeps_creators_until_they_are_deregistered(make: type) -> None:
    registry = trt.get_plugin_registry()
    creator = make()
    creator.name = "Kept"
    gone = weakref.ref(creator)
    assert registry.register_creator(creator, "")
    del creator
    gc.collect()
    assert gone() is not None and registry.get_creator("Kept", "1") is gone()
    assert registry.deregister_creator(gone())
    gc.collect()
    assert gone() is None and registry.get_creator("Kept", "1") is None


NUMPY = {
    "FLOAT16": np.float16, "FLOAT32": np.float32, "FLOAT64": np.float64, "INT8": np.int8, "INT16": np.int16,
    "INT32": np.int32, "INT64": np.int64,
}  # fmt: skip
RAW = {"CHAR": 1, "UNKNOWN": 1, "DIMS": 72, "BF16": 2, "FP8": 1, "INT4": 0.5, "FP4": 0.5}


@pytest.mark.parametrize("name", [*NUMPY, *RAW])
def test_M14_fields_of_every_type_from_arrays(name: str) -> None:
    kind = getattr(trt.PluginFieldType, name)
    random = np.random.default_rng(14)
    if name in NUMPY:
        array = (random.standard_normal(6) * 50).astype(NUMPY[name])
        field = trt.PluginField("x", array, kind)
        assert field.size == 6 and field.data.dtype == array.dtype
        np.testing.assert_array_equal(field.data, array)
        field = trt.PluginField("x", array.reshape(2, 3)[:, ::2], kind)
        np.testing.assert_array_equal(field.data, array[[0, 2, 3, 5]])
    else:
        array = random.integers(0, 256, 144, np.uint8)
        field = trt.PluginField("x", array, kind)
        assert field.size == 144 / RAW[name]
        assert isinstance(field.data, bytes) and field.data == array.tobytes()
    assert field.type == kind
    empty = trt.PluginField("x", array[:0], kind)
    assert empty.size == 0


def test_M14_float16_arrays_and_wider_numbers() -> None:
    half = np.array([0.5, -2], np.float16)
    assert trt.PluginField("x", half, trt.PluginFieldType.UNKNOWN).data == half.tobytes()
    np.testing.assert_array_equal(trt.PluginField("x", half, trt.PluginFieldType.FLOAT16).data, half)
    for name in ("FLOAT32", "FLOAT64", "INT16", "INT32", "BF16", "CHAR"):
        with pytest.raises(ValueError, match="PluginField 'x'.*float16"):
            trt.PluginField("x", half, getattr(trt.PluginFieldType, name))
    # NumPy's own widths are made to fit; values that do not fit are refused.
    field = trt.PluginField("x", np.array([3, -4]), trt.PluginFieldType.INT32)
    assert field.size == 2 and field.data.tolist() == [3, -4]
    assert trt.PluginField("x", np.array([0.25, 8.0]), trt.PluginFieldType.FLOAT32).data.tolist() == [0.25, 8.0]
    for array, kind in (
        (np.array([2**40]), trt.PluginFieldType.INT32),
        (np.array([0.5]), trt.PluginFieldType.INT32),
        (np.array([1.5], np.float32), trt.PluginFieldType.INT64),
    ):
        with pytest.raises(ValueError, match="PluginField 'x'"):
            trt.PluginField("x", array, kind)


@pytest.mark.parametrize("name", [*NUMPY, *RAW])
def test_M14_arrays_that_are_no_numbers_are_refused(name: str) -> None:
    kind = getattr(trt.PluginFieldType, name)
    record = np.zeros(2, [("a", np.int32), ("b", np.int32)])
    for array, dtype in (
        (np.array([1.5, None], object), "object"),
        (np.array(["ab", "cd"]), "<U2"),
        (np.array([b"ab", b"cd"]), r"\|S2"),
        (np.array([1 + 2j], np.complex64), "complex64"),
        (np.array(["2026-11-22"], "datetime64[D]"), "datetime64"),
        (record, r"\[\('a', '<i4'\)"),
    ):
        with pytest.raises(TypeError, match=f"PluginField 'x': it cannot hold an array of dtype {dtype}"):
            trt.PluginField("x", array, kind)
    with pytest.raises(TypeError, match="dtype object"):
        trt.PluginField("x", {"a": 1}, kind)


@pytest.mark.parametrize("name", ["BF16", "FP8", "INT4", "FP4", "CHAR", "DIMS"])
def test_M14_types_that_numpy_lacks_take_bytes_or_bits_of_their_width(name: str) -> None:
    kind = getattr(trt.PluginFieldType, name)
    for numbers in (
        [1.0, 2.0],
        [1, 2, 3],
        np.arange(36, dtype=np.int64),
        np.array([1.0, 2.0], np.float32),
        np.array([1, 2], np.int16),
        np.array([1, 2], np.uint32),
    ):
        with pytest.raises(TypeError, match="PluginField 'x': it cannot hold an array of dtype"):
            trt.PluginField("x", numbers, kind)
    raw = bytes(range(144))
    for data in (raw, bytearray(raw), memoryview(raw), np.frombuffer(raw, np.uint8)):
        assert trt.PluginField("x", data, kind).data == raw
    assert trt.PluginField("x", [], kind).size == 0


def test_M14_bits_and_characters() -> None:
    bits = np.array([0x3F80, 0x4000], np.uint16)
    field = trt.PluginField("x", bits, trt.PluginFieldType.BF16)
    assert field.size == 2 and field.data == bits.tobytes()
    for array in (np.array([65, -1], np.int8), np.array([True, False])):
        field = trt.PluginField("x", array, trt.PluginFieldType.CHAR)
        assert field.size == 2 and field.data == array.tobytes()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("array", "name"),
    [
        ([1e300], "FLOAT32"),
        ([70000.0], "FLOAT16"),
        (np.array([-1e30], np.float32), "FLOAT16"),
        (np.array([2**63], np.uint64), "INT64"),
        (np.array([4_000_000_000], np.uint32), "INT32"),
        (np.array([40_000], np.uint16), "INT16"),
        (np.array([2**60 + 1]), "FLOAT64"),
        (np.array([2**63 - 1]), "FLOAT64"),
        (np.array([2**24 + 1], np.int32), "FLOAT32"),
    ],
)
def test_M14_values_that_do_not_fit_are_refused(array: object, name: str) -> None:
    with pytest.raises(ValueError, match="its type cannot hold the values"):
        trt.PluginField("x", array, getattr(trt.PluginFieldType, name))


def test_M14_unsigned_and_infinite_values_that_fit() -> None:
    T = trt.PluginFieldType
    assert trt.PluginField("x", np.array([7], np.uint64), T.INT64).data.tolist() == [7]
    assert trt.PluginField("x", np.array([7], np.uint32), T.INT32).data.tolist() == [7]
    assert trt.PluginField("x", [np.inf, 3.4028235e38], T.FLOAT32).data.tolist() == [np.inf, np.finfo(np.float32).max]
    assert np.isnan(trt.PluginField("x", [np.nan], T.FLOAT16).data[0])


def test_M14_texts() -> None:
    for name in ("CHAR", "UNKNOWN"):
        kind = getattr(trt.PluginFieldType, name)
        for text in (
            "blå",
            b"bl\xc3\xa5",
            np.str_("blå"),
            np.bytes_("blå".encode()),
            np.array("blå"),
            np.array(["blå"]),
        ):
            field = trt.PluginField("x", text, kind)
            assert field.data == "blå".encode() and field.size == 4, repr(text)
    with pytest.raises(TypeError, match="PluginField 'x': .*FLOAT32.* cannot hold a str"):
        trt.PluginField("x", "blue", trt.PluginFieldType.FLOAT32)
    with pytest.raises(TypeError, match="dtype <U4"):
        trt.PluginField("x", np.array(["blue"]), trt.PluginFieldType.FLOAT32)


@pytest.mark.parametrize("name", NUMPY)
def test_M14_big_endian_arrays_and_booleans_are_converted(name: str) -> None:
    kind = getattr(trt.PluginFieldType, name)
    array = (np.random.default_rng(141).standard_normal(6) * 50).astype(NUMPY[name])
    big = array.astype(array.dtype.newbyteorder(">"))
    np.testing.assert_array_equal(trt.PluginField("x", big, kind).data, array)
    flags = np.array([True, False, True, True])
    np.testing.assert_array_equal(trt.PluginField("x", flags, kind).data, flags.astype(NUMPY[name]))
    small = np.array([-3, 4, 5, -6], np.int8)
    np.testing.assert_array_equal(trt.PluginField("x", small, kind).data, small.astype(NUMPY[name]))


def test_M14_big_endian_arrays_of_unknown_type_are_in_native_order() -> None:
    array = np.array([1.5, -2.0], ">f4")
    assert trt.PluginField("x", array).data == array.astype("<f4").tobytes()


def test_M15_the_array_lives_as_long_as_the_field() -> None:
    array = np.random.default_rng(15).standard_normal(1000).astype(np.float32)
    wanted, address = array.copy(), array.ctypes.data
    gone = weakref.ref(array)
    field = trt.PluginField("x", array, trt.PluginFieldType.FLOAT32)
    fields = trt.PluginFieldCollection([field])
    del array, field
    gc.collect()
    assert gone() is not None, "kept"
    held = fields[0].data
    assert held.ctypes.data == address, "shared, not copied"
    del fields
    gc.collect()
    np.testing.assert_array_equal(held, wanted)
    del held
    gc.collect()
    assert gone() is None, "and let go of"


@pytest.mark.parametrize("name", [*NUMPY, *RAW])
def test_L4_fields_of_every_type_come_back_from_a_plan(name: str) -> None:
    kind, got = getattr(trt.PluginFieldType, name), []
    data = np.random.default_rng(4).integers(0, 100, 144).astype(np.uint8)

    class Storing(ScaledV3):
        def get_fields_to_serialize(self):
            fields = super().get_fields_to_serialize()
            fields.append(trt.PluginField("some", data, kind))
            fields.append(trt.PluginField("none", data[:0], kind))
            return fields

    class Restoring(ScaledV3Creator):
        make = Storing

        def create_plugin(self, name, field_collection, phase):
            got.extend((field.name, field.type, field.size, _raw(field)) for field in field_collection)
            return super().create_plugin(name, field_collection, phase)

    registry, creator = trt.get_plugin_registry(), Restoring()
    assert registry.register_creator(creator, "")
    try:
        assert run(load(build(Storing())).create_execution_context())
    finally:
        assert registry.deregister_creator(creator)
    size = trt.PluginField("some", data, kind).size
    assert got[1:] == [("some", kind, size, data.tobytes()), ("none", kind, 0, b"")]


def _raw(field: trt.PluginField) -> bytes:
    return b"" if field.data is None else bytes(field.data)


def test_I13_objects_of_python_classes_come_back_themselves(creators: Creators, journal: Journal) -> None:
    registry = trt.get_plugin_registry()
    for creator in creators.all:
        assert registry.get_creator(creator.name, "1") is creator
        assert sum(each is creator for each in registry.all_creators) == 1
        assert sum(each is creator for each in registry.all_creators_recursive) == 1
    assert registry.get_plugin_creator("ScaledDynamic", "1") is creators.all[1]
    local = trt.Builder(LOGGER).get_plugin_registry()
    assert local.get_creator("ScaledV3", "1") is creators.all[0], "through the parent"
    network = trt.Builder(LOGGER).create_network()
    layers = [add(network, plugin(), network.add_input(plugin.__name__, trt.float32, (2, 4))) for plugin in BASES]
    assert [type(layer.plugin) for layer in layers] == list(BASES)
    assert [network.get_layer(i).type for i in range(2)] == [trt.LayerType.PLUGIN_V2, trt.LayerType.PLUGIN_V3]


def test_calls_of_cpp_capabilities_are_refused_by_name(journal: Journal) -> None:
    creator = trt.get_plugin_registry().get_creator("CircPadV3", "1", "five")
    plugin = creator.create_plugin("x", trt.PluginFieldCollection([]), trt.TensorRTPhase.BUILD)
    build_part, run_part = (
        plugin.get_capability_interface(kind)
        for kind in (trt.PluginCapabilityType.BUILD, trt.PluginCapabilityType.RUNTIME)
    )
    assert build_part.num_outputs == 1 and build_part.format_combination_limit == 100
    journal.library.journalClear()
    for part, class_name, names in (
        (
            build_part,
            "IPluginV3OneBuild",
            "configure_plugin get_output_data_types get_output_shapes supports_format_combination get_valid_tactics "
            "get_workspace_size",
        ),
        (
            run_part,
            "IPluginV3OneRuntime",
            "on_shape_change set_tactic enqueue attach_to_context get_fields_to_serialize",
        ),
    ):
        for name in names.split():
            for arguments in ((), ([], []), (0, 0, 0, 0)):
                with pytest.raises(RuntimeError, match=rf"{class_name}\.{name} is not available .* C\+\+-based"):
                    getattr(part, name)(*arguments)
    assert journal.entries() == []
    copy = plugin.clone()
    assert type(copy) is trt.IPluginV3 and copy is not plugin


def during(call: Callable[[], object]) -> int:
    """How far another thread comes while `call` runs: it gets the interpreter only when `call` gives it away.

    The farthest of several calls: other programs may hold up that thread during some.
    """
    ticks, going = [0], threading.Event()

    def tick() -> None:
        while going.is_set():
            ticks[0] += 1
            time.sleep(1e-4)

    going.set()
    thread = threading.Thread(target=tick)
    thread.start()
    interval = sys.getswitchinterval()
    try:
        while ticks[0] == 0:
            time.sleep(1e-3)
        sys.setswitchinterval(100)  # Python code of this thread goes on without a break.
        most = 0
        for _ in range(100):
            before = ticks[0]
            assert call() in (0, True)
            most = max(most, ticks[0] - before)
            if most > 10:
                break
        return most
    finally:
        sys.setswitchinterval(interval)
        going.clear()
        thread.join()


def test_the_gil_is_free_while_cpp_plugins_run(journal: Journal) -> None:
    shape = (1, 1000, 3000)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    y = np.empty((1, 1004, 3003), np.float32)
    scratch = np.empty(128, np.uint8)
    want = np.pad(x, [(0, 0), (1, 3), (2, 1)], mode="wrap")
    # Called directly,
    plugin = journal.make("CircPadV2")
    made = plugin.get_output_shape(0, [shape[1:]])
    plugin.configure_with_format([shape[1:]], [made], trt.float32, trt.TensorFormat.LINEAR, 1)
    arguments = (1, [x.ctypes.data], [y.ctypes.data], scratch.ctypes.data, 0)
    assert during(lambda: plugin.execute_async(*arguments)) > 10
    np.testing.assert_array_equal(y, want)
    # and in an engine.
    creator = trt.get_plugin_registry().get_creator("CircPadV3", "1", "five")
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    plugin = creator.create_plugin("x", trt.PluginFieldCollection([]), trt.TensorRTPhase.BUILD)
    layer = add(network, plugin, network.add_input("x", trt.float32, shape))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    context = load(
        builder.build_serialized_network(network, builder.create_builder_config())
    ).create_execution_context()
    y[...] = 0
    assert context.set_tensor_address("x", x) and context.set_tensor_address("y", y)
    assert during(lambda: context.execute_async_v3(0)) > 10
    np.testing.assert_array_equal(y, want)


def test_the_gil_is_held_in_callbacks_of_python(creators: Creators) -> None:
    held: list[int] = []

    class Asking(ScaledV3):
        def enqueue(self, *arguments):
            held.append(ctypes.pythonapi.PyGILState_Check())
            super().enqueue(*arguments)

    creators.made = Asking
    context = load(build(Asking())).create_execution_context()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for rows in (1, 5, 3):
                assert run(context, rows)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)  # Not the thread that built it.
    thread.start()
    thread.join()
    assert not failures and held == [1, 1, 1]


INTERRUPTED = """
import numpy as np, tensorrt as trt, test_plugin_rules as here

BASE, NAME, ANSWER = here.{base}, "{name}", {answer}
struck = []

def strike(self, *arguments):
    if not struck:
        struck.append(1)
        raise KeyboardInterrupt
    original = getattr(BASE, NAME, None)
    return ANSWER if ANSWER is not None else original(self, *arguments)

class Struck(BASE):
    pass

setattr(Struck, NAME, strike)
made = here.Creators()
made.made = Struck
for each in made.all:
    trt.get_plugin_registry().register_creator(each, "")
try:
    context = here.load(here.build(Struck())).create_execution_context()
    here.run(context)
    here.run(context, 4)
    del context
    for _ in range(100):
        pass
    print("not interrupted")
except (KeyboardInterrupt, AssertionError) as error:
    try:
        print("interrupted" if struck else error)
    except KeyboardInterrupt:
        print("interrupted")
"""


@pytest.mark.parametrize(
    ("base", "name", "answer"),
    [
        *[("ScaledV3", name, None) for name in ("configure_plugin", "on_shape_change", "set_tactic", "clone")],
        ("ScaledV3", "get_workspace_size", 16),
        ("ScaledV3", "get_valid_tactics", [1]),
        *[("ScaledV3", name, None) for name in ("get_fields_to_serialize", "get_capability_interface", "enqueue")],
        *[("ScaledDynamic", name, None) for name in ("configure_plugin", "serialize", "clone", "enqueue")],
        *[("ScaledDynamic", name, 0) for name in ("initialize", "terminate", "destroy")],
        *[("ScaledDynamic", name, 4) for name in ("get_workspace_size", "get_serialization_size")],
    ],
)
def test_X3_control_c_in_any_callback_ends_no_process(base: str, name: str, answer: object) -> None:
    script = INTERRUPTED.format(base=base, name=name, answer=answer)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=HERE, capture_output=True, text=True, timeout=small.PATIENCE, check=False
    )
    assert done.returncode in (0, 1, -2, 130), done.stderr
    assert "terminate called" not in done.stderr
    assert "interrupted" in done.stdout.split("\n") or "KeyboardInterrupt" in done.stderr, (done.stdout, done.stderr)


def test_L7_a_plugin_that_returns_itself_is_refused(creators: Creators, printed: Printed) -> None:
    assert build(with_method(ScaledV3, "clone", lambda self: self)()) is None
    assert "returned the plugin itself: it must be a new object" in printed()
    plan = build(ScaledV3())
    creators.made = with_method(ScaledV3, "attach_to_context", lambda self, context: self)
    assert load(plan).create_execution_context() is None
    assert "attach_to_context returned the plugin itself: it must be a new object" in printed()


def raising(*arguments: object) -> None:
    raise ValueError("no, thank you")


@pytest.mark.parametrize(
    ("base", "name"),
    [
        *[(ScaledDynamic, each) for each in ("get_output_datatype", "get_output_dimensions", "serialize")],
        *[(ScaledDynamic, each) for each in ("get_serialization_size", "supports_format_combination")],
        *[(ScaledV3, each) for each in ("get_capability_interface", "get_valid_tactics", "get_fields_to_serialize")],
        (ScaledV3, "supports_format_combination"),
    ],
)
@pytest.mark.parametrize("function", [raising, lambda *arguments: "seven"])
def test_M3_the_engines_own_message_says_what_a_callback_did(
    base: type, name: str, function: Callable, creators: Creators, printed: Printed
) -> None:
    if function is not raising and name == "serialize":
        return  # Text counts as bytes.
    assert build(with_method(base, name, function)()) is None
    errors = [line for line in printed().splitlines() if "[E]" in line]
    wanted = "no, thank you" if function is raising else "'seven'"
    assert any(wanted in line for line in errors), errors


def test_M3_messages_about_creators_say_what_they_raised(creators: Creators, printed: Printed) -> None:
    plans = [build(ScaledDynamic()), build(ScaledV3())]
    creators.made = raising
    for plan in plans:
        assert load(plan) is None
        assert any("no, thank you" in line for line in printed().splitlines() if "[E]" in line)


def test_M3_a_reason_belongs_to_its_own_callback(creators: Creators, printed: Printed) -> None:
    def terminate(self) -> None:
        raise ValueError("A's terminate")

    def asked(self) -> None:
        raise ValueError("A's identifier")

    class Named(ScaledV3):
        timing_cache_id = property(asked, lambda self, value: None)

    for first in (with_method(ScaledDynamic, "terminate", terminate)(), Named()):
        builder = trt.Builder(LOGGER)
        network = builder.create_network()
        layer = add(network, first, network.add_input("x", trt.float32, (4,)))
        refusing = with_method(ScaledV3, "supports_format_combination", lambda *arguments: False)()
        layer = add(network, refusing, layer.get_output(0))
        network.mark_output(layer.get_output(0))
        assert builder.build_serialized_network(network, builder.create_builder_config()) is None
        errors = [line for line in printed().splitlines() if "[E]" in line]
        assert any("accepts no type and format" in line for line in errors)
        assert not any("A's" in line for line in errors), errors


def test_L1_parts_may_be_made_whenever_they_are_asked_for(printed: Printed) -> None:
    class Core(trt.IPluginV3OneCore):
        def __init__(self) -> None:
            trt.IPluginV3OneCore.__init__(self)
            self.plugin_name, self.plugin_version, self.plugin_namespace = "Parts", "1", ""

    class Build(trt.IPluginV3OneBuild):
        configure_plugin, get_output_data_types = ScaledV3.configure_plugin, ScaledV3.get_output_data_types
        get_output_shapes = ScaledV3.get_output_shapes
        supports_format_combination = ScaledV3.supports_format_combination

        def __init__(self) -> None:
            trt.IPluginV3OneBuild.__init__(self)
            self.num_outputs = 1

    class Run(trt.IPluginV3OneRuntime):
        factor = 2.0
        on_shape_change, set_tactic, enqueue = ScaledV3.on_shape_change, ScaledV3.set_tactic, ScaledV3.enqueue

        def __init__(self) -> None:
            trt.IPluginV3OneRuntime.__init__(self)

        def attach_to_context(self, context):
            return Parts()

        def get_fields_to_serialize(self):
            return trt.PluginFieldCollection()

    class Parts(trt.IPluginV3):
        def __init__(self) -> None:
            trt.IPluginV3.__init__(self)

        def get_capability_interface(self, type):
            kinds = trt.PluginCapabilityType
            return {kinds.CORE: Core, kinds.BUILD: Build, kinds.RUNTIME: Run}[type]()

        def clone(self):
            return Parts()

    class Creator(trt.IPluginCreatorV3One):
        def __init__(self) -> None:
            trt.IPluginCreatorV3One.__init__(self)
            self.name, self.plugin_version, self.plugin_namespace = "Parts", "1", ""
            self.field_names = trt.PluginFieldCollection()

        def create_plugin(self, name, field_collection, phase):
            return Parts()

    registry, creator = trt.get_plugin_registry(), Creator()
    assert registry.register_creator(creator, "")
    try:
        assert run(load(build(Parts())).create_execution_context()), printed()
        report = testing.check_plugin(creator, shapes=[(2, 3)])
        assert [(each.check, each.callback) for each in report.findings] == [
            ("stable-answers", "get_capability_interface")
        ], report
    finally:
        assert registry.deregister_creator(creator)


def test_I8_a_clone_without_its_base_is_null(printed: Printed) -> None:
    class Bare(trt.IPluginResource):
        def __init__(self) -> None:
            trt.IPluginResource.__init__(self)

        def clone(self):
            return type(self).__new__(type(self))

    assert trt.get_plugin_registry().acquire_plugin_resource("bare", Bare()) is None
    assert "clone" in printed()


def test_I_a_creator_without_a_name_is_refused(printed: Printed) -> None:
    class Nameless(trt.IPluginCreatorV3One):
        def __init__(self) -> None:
            trt.IPluginCreatorV3One.__init__(self)

    assert not trt.get_plugin_registry().register_creator(Nameless(), "")
    assert "the creator has no name" in printed()


def test_J9_without_an_override_outputs_have_the_type_of_the_first_input() -> None:
    class Plain(trt.IPluginV2Ext):
        def __init__(self) -> None:
            trt.IPluginV2Ext.__init__(self)
            self.num_outputs = 2

    plugin = Plain()
    for index in range(2):
        assert plugin.get_output_data_type(index, [trt.int32, trt.float16]) == trt.int32
        assert plugin.get_output_data_type(index, []) == trt.float32
    for index in (-1, 2, 1000):
        assert plugin.get_output_data_type(index, [trt.int32]) == trt.float32, "no output"
