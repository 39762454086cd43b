"""Nodes of ONNX models that stand for custom layers (rules W2 and W3)."""

import pathlib
import sys
import threading
from collections.abc import Callable, Iterator

import numpy as np
import onnx
import onnx.helper as oh
import pytest
import tensorrt as trt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))

import test_plugins as pads

LOGGER = trt.Logger(trt.Logger.ERROR)


class Creator(pads.CircPadV3Creator):
    """Makes CircPadV3 under any name and namespace."""

    def __init__(self, name: str, namespace: str = "", version: str = "1") -> None:
        super().__init__()
        self.name = name
        self.plugin_version = version
        self.plugin_namespace = namespace
        self.field_names = trt.PluginFieldCollection(
            [
                trt.PluginField("before", np.array([], np.int32), trt.PluginFieldType.INT32),
                trt.PluginField("after", np.array([], np.int32), trt.PluginFieldType.INT32),
            ]
        )

    def create_plugin(self, name, field_collection, phase):
        creator = self

        class Named(pads.CircPadV3):
            def __init__(self, *arguments) -> None:
                super().__init__(*arguments)
                self.plugin_name, self.plugin_version = creator.name, creator.plugin_version
                self.plugin_namespace = creator.plugin_namespace

        fields = {field.name: tuple(int(each) for each in field.data) for field in field_collection}
        return Named(fields.get("before", pads.BEFORE), fields.get("after", pads.AFTER))


@pytest.fixture
def registry() -> Iterator[trt.IPluginRegistry]:
    registry = trt.get_plugin_registry()
    before = list(registry.all_creators)
    yield registry
    for creator in registry.all_creators:
        if not any(creator is each for each in before):
            registry.deregister_creator(creator)


def model(op: str, domain: str = "", **attributes: object) -> bytes:
    node = oh.make_node(op, ["x"], ["y"], name="pad", domain=domain, **attributes)
    value = oh.make_tensor_value_info
    graph = oh.make_graph(
        [node],
        "g",
        [value("x", onnx.TensorProto.FLOAT, [1, 2, 5, 6])],
        [value("y", onnx.TensorProto.FLOAT, None)],
    )
    opsets = [oh.make_opsetid("", 17)] + ([oh.make_opsetid(domain, 1)] if domain else [])
    return oh.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def run(blob: bytes, flags: int = 0) -> np.ndarray:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    if flags:
        parser.set_flag(trt.OnnxParserFlag.ENABLE_PLUGIN_OVERRIDE)
    assert parser.parse(blob), [parser.get_error(i).desc() for i in range(parser.num_errors)]
    plan = builder.build_serialized_network(network, builder.create_builder_config())
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    x = np.random.default_rng(7).standard_normal((1, 2, 5, 6)).astype(np.float32)
    return x, pads.run(context, x)


def error_of(blob: bytes) -> str:
    """The first error of a model that cannot be read."""
    network = trt.Builder(LOGGER).create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    assert not parser.parse(blob)
    return parser.get_error(0).desc()


def test_W2_operator_version_and_namespace_name_the_creator(registry: trt.IPluginRegistry) -> None:
    for creator in [Creator("Pad2d"), Creator("Pad2d", version="3"), Creator("Pad2d", "mine")]:
        assert registry.register_creator(creator, creator.plugin_namespace)
    fields = {"before": [2, 1], "after": [0, 4]}
    for attributes in [{}, {"plugin_version": "3"}, {"plugin_namespace": "mine"}]:
        x, y = run(model("Pad2d", "anything", **fields, **attributes))
        np.testing.assert_array_equal(y, pads.circ_pad(x, (2, 1), (0, 4)))


def test_W2_the_version_may_be_an_integer(registry: trt.IPluginRegistry) -> None:
    assert registry.register_creator(Creator("Pad2d", version="3"), "")
    x, y = run(model("Pad2d", "anything", plugin_version=3))
    np.testing.assert_array_equal(y, pads.circ_pad(x))
    text = error_of(model("Pad2d", "anything", plugin_version=4))
    assert "no plugin of version '4' and namespace ''" in text
    assert "the closest is 'Pad2d' version '3' namespace ''" in text
    assert "attribute 'plugin_version' is neither a text nor an integer" in error_of(
        model("Pad2d", "anything", plugin_version=3.0)
    )


def test_W2_shape_inputs_are_integers(registry: trt.IPluginRegistry) -> None:
    assert registry.register_creator(Creator("Pad2d"), "")
    key = "tensorrt_plugin_shape_input_indices"
    one, list_of_one = (error_of(model("Pad2d", "anything", **{key: value})) for value in (0, [0]))
    assert one and one == list_of_one, "an integer is a list of one"
    for value in ("0", 0.0, [0.0]):
        assert f"attribute '{key}' is no list of integers" in error_of(model("Pad2d", "anything", **{key: value}))


def test_W2_attributes_whose_type_is_left_out_are_what_they_hold(registry: trt.IPluginRegistry) -> None:
    assert registry.register_creator(Creator("Pad2d", version="3"), "")
    untyped = onnx.load_from_string(model("Pad2d", "anything", plugin_version="3"))
    for attribute in untyped.graph.node[0].attribute:
        attribute.type = onnx.AttributeProto.UNDEFINED
    x, y = run(untyped.SerializeToString())
    np.testing.assert_array_equal(y, pads.circ_pad(x))


class Raising(Creator):
    def create_plugin(self, name, field_collection, phase):
        raise ValueError("the table has no row 7")


class Refusing(Creator):
    """Makes plugins whose shapes fail with a text that no error recorder has room for."""

    def create_plugin(self, name, field_collection, phase):
        creator = self

        class Shapeless(pads.CircPadV3):
            def __init__(self) -> None:
                super().__init__()
                self.plugin_name = creator.name

            def get_output_shapes(self, inputs, shape_inputs, expr_builder):
                raise ValueError(f"the beginning {'.' * 300} the end")

        return Shapeless()


def test_M3_exceptions_of_creators_and_plugins_are_in_the_error(registry: trt.IPluginRegistry) -> None:
    assert registry.register_creator(Raising("Raises"), "")
    error = error_of(model("Raises", "mine"))
    assert "createPlugin() of the creator of plugin 'Raises' returned null" in error
    assert error.endswith("ValueError: the table has no row 7")
    assert registry.register_creator(Refusing("Refuses"), "")
    error = error_of(model("Refuses", "mine"))
    assert f"ValueError: the beginning {'.' * 300} the end" in error


def test_W2_the_domain_is_a_namespace_too(registry: trt.IPluginRegistry) -> None:
    assert registry.register_creator(Creator("OfDomain", "my.domain"), "my.domain")
    x, y = run(model("OfDomain", "my.domain"))
    np.testing.assert_array_equal(y, pads.circ_pad(x))


def test_W3_known_operators_are_overridden_only_on_demand(registry: trt.IPluginRegistry) -> None:
    assert registry.register_creator(Creator("Relu"), "")
    x, y = run(model("Relu"))
    np.testing.assert_array_equal(y, np.maximum(x, 0))
    for blob, flags in [(model("Relu"), 1), (model("Relu", plugin_namespace=""), 0)]:
        x, y = run(blob, flags)
        np.testing.assert_array_equal(y, pads.circ_pad(x))


def said_of(blob: bytes) -> str:
    network = trt.Builder(LOGGER).create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    assert not parser.parse(blob)
    return parser.get_error(0).desc()


def test_unknown_operators_say_that_no_plugin_is_registered(registry: trt.IPluginRegistry) -> None:
    assert registry.register_creator(Creator("NobodyKnowsIt"), "")
    extra = [Creator(f"Far from any of these names {i}") for i in range(12)]
    assert all(registry.register_creator(each, "") for each in extra)
    text = said_of(model("NobodyKnewIt", "other", plugin_version="7"))
    assert "no plugin of version '7' and namespace '' or 'other' stands for it" in text
    more = len(registry.all_creators) - 1
    assert f"the closest is 'NobodyKnowsIt' version '1' namespace ''; {more} more are registered" in text
    assert len(said_of(model("Unheard", "other"))) < 400
    text = said_of(model("NobodyKnewIt", "other", plugin_namespace="there"))
    assert "no plugin of version '1' and namespace 'there' stands for it" in text
    assert "the closest is 'NobodyKnowsIt'" in text


def test_what_is_registered_is_told_as_it_is_registered_and_creators_are_not_asked(
    registry: trt.IPluginRegistry,
) -> None:
    asked: list[str] = []

    class Asked(Creator):
        def __getattribute__(self, name: str) -> object:
            asked.append(name)
            return super().__getattribute__(name)

    creator = Asked("ToldAsItIs", "says this")
    assert registry.register_creator(creator, "but is there")
    asked.clear()
    text = said_of(model("ToldAsItIs", "mine"))
    assert "the closest is 'ToldAsItIs' version '1' namespace 'but is there'" in text
    assert not asked


class FieldsCreator(trt.IPluginCreatorV3One):
    """Keeps the fields that it is called with, and makes pads."""

    def __init__(self, **types: trt.PluginFieldType) -> None:
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "TakesFields", "1", ""
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField(name, np.array([], np.int32), kind) for name, kind in types.items()]
        )
        self.seen: dict[str, tuple[trt.PluginFieldType, list]] = {}

    def create_plugin(self, name, field_collection, phase):
        for field in field_collection:
            data = field.data
            if field.type == trt.PluginFieldType.DIMS:  # A number of extents, and room for eight.
                data = np.frombuffer(bytes(data)[8:], np.int64)[: np.frombuffer(bytes(data)[:4], np.int32)[0]]
            elif field.type in (trt.PluginFieldType.FLOAT16, trt.PluginFieldType.BF16):
                data = np.frombuffer(bytes(data), np.uint16)
            elif not isinstance(data, bytes):
                data = np.array(data)
            self.seen[field.name] = (field.type, bytes(data) if isinstance(data, bytes) else list(data))
        plugin = pads.CircPadV3()
        plugin.plugin_name = self.name
        return plugin


def fields(registry: trt.IPluginRegistry, kind: trt.PluginFieldType, value: object) -> tuple[bool, str, list]:
    """Whether the model is read, its first error, and the value that the field "a" of that type got."""
    creator = FieldsCreator(a=kind)
    assert registry.register_creator(creator, "")
    network = trt.Builder(LOGGER).create_network(0)
    parser = trt.OnnxParser(network, LOGGER)
    isRead = parser.parse(model("TakesFields", "mine", a=value))
    registry.deregister_creator(creator)
    first = parser.get_error(0) if parser.num_errors else None
    error = f"node '{first.node_name()}': {first.desc()}" if first else ""
    return isRead, error, creator.seen.get("a", (None, None))[1]


def test_W2_attributes_become_fields_of_the_declared_type(registry: trt.IPluginRegistry) -> None:
    kinds, tensor = trt.PluginFieldType, oh.make_tensor
    floats = np.array([1.5, -2.0, 3.25], np.float32)
    typed = tensor("t", onnx.TensorProto.FLOAT, [3], floats.tolist())
    raw = tensor("t", onnx.TensorProto.FLOAT, [3], floats.tobytes(), raw=True)
    halves = floats.astype(np.float16).view(np.uint16).tolist()
    cases = [
        (kinds.INT8, [-128, 127], [-128, 127]),
        (kinds.INT16, [-32768, 32767], [-32768, 32767]),
        (kinds.INT32, [-(2**31), 2**31 - 1], [-(2**31), 2**31 - 1]),
        (kinds.INT64, 2**62 + 1, [2**62 + 1]),
        (kinds.INT64, tensor("t", onnx.TensorProto.INT64, [1], [2**62 + 1]), [2**62 + 1]),
        (kinds.INT32, tensor("t", onnx.TensorProto.INT64, [2], [7, -9]), [7, -9]),
        (kinds.INT32, -1.75, [-1]),
        (kinds.FLOAT32, typed, floats.tolist()),
        (kinds.UNKNOWN, typed, floats.tobytes()),
        (kinds.UNKNOWN, raw, floats.tobytes()),
        (kinds.FLOAT16, floats.tolist(), halves),
        (kinds.FLOAT16, typed, halves),
        (kinds.FLOAT16, tensor("t", onnx.TensorProto.FLOAT16, [3], floats.astype(np.float16).tolist()), halves),
        (kinds.BF16, floats.tolist(), (floats.view(np.uint32) >> 16).tolist()),
        (kinds.DIMS, [2, 3, 4], [2, 3, 4]),
        (kinds.DIMS, 5, [5]),
        (kinds.DIMS, tensor("t", onnx.TensorProto.INT64, [2], [6, 7]), [6, 7]),
    ]
    for kind, value, wanted in cases:
        isRead, error, got = fields(registry, kind, value)
        assert isRead, (kind, value, error)
        assert got == wanted, (kind, value)


def test_W2_attributes_that_do_not_fit_their_field_are_refused(registry: trt.IPluginRegistry) -> None:
    kinds = trt.PluginFieldType
    cases = [
        (kinds.INT32, 2**40, "the value 1099511627776"),
        (kinds.INT8, 300, "the value 300"),
        (kinds.INT8, [1, -129], "the value -129"),
        (kinds.INT16, 1e9, "the value 1000000000"),
        (kinds.INT64, 1e19, "within the 64 bits"),
        (kinds.INT32, float("nan"), "the value nan"),
        (kinds.DIMS, [1] * 9, "has 9 extents"),
        (kinds.DIMS, 1.5, "holds no integers"),
        (kinds.INT32, "text", "holds no numbers"),
    ]
    for kind, value, text in cases:
        isRead, error, got = fields(registry, kind, value)
        assert not isRead and got is None, (kind, value)
        for part in ["node 'pad'", "attribute 'a'", text]:
            assert part in error, (kind, value, error)


def in_threads(work: Callable[[], list], meanwhile: Callable[[int], None]) -> list:
    """What `work` returns in four threads that start it together; here `meanwhile` is called over and over."""
    together = threading.Barrier(5)
    answers: list = []

    def run() -> None:
        together.wait()
        answers.extend(work())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    together.wait()
    count = 0
    while any(thread.is_alive() for thread in threads):
        meanwhile(count)
        count += 1
    for thread in threads:
        thread.join()
    return answers


def errors_of(blob: bytes, times: int) -> list[str]:
    """The first error of a model that cannot be read, each time that it is."""
    builder = trt.Builder(LOGGER)
    errors = []
    for _ in range(times):
        parser = trt.OnnxParser(builder.create_network(0), LOGGER)
        assert not parser.parse(blob)
        errors.append(parser.get_error(0).desc())
    return errors


def test_threads_may_ask_creators_for_their_fields_at_once(registry: trt.IPluginRegistry) -> None:
    names = [
        f"a field whose name is rather long, of number {i}" for i in range(3000)
    ]  # To read them all takes a while.
    asked = names[::10]
    seen: set[tuple[str, ...]] = set()

    class Taking(Creator):
        def create_plugin(self, name, field_collection, phase):
            seen.add(tuple(field.name for field in field_collection))

    def fields_of(chosen: list[str]) -> trt.PluginFieldCollection:
        return trt.PluginFieldCollection(
            [trt.PluginField(name, np.array([2.0], np.float32), trt.PluginFieldType.FLOAT32) for name in chosen]
        )

    creator = Taking("Takes")
    choices = [fields_of(names), fields_of(names[::-1])]
    creator.field_names = choices[0]
    assert registry.register_creator(creator, "")
    blob = model("Takes", "mine", **dict.fromkeys(asked, 1.5))

    def meanwhile(count: int) -> None:
        creator.field_names = choices[count % 2]

    errors = in_threads(lambda: errors_of(blob, 25), meanwhile)
    assert len(errors) == 100 and all("an IPluginV3 is expected, not None" in each for each in errors)
    assert seen <= {tuple(asked), tuple(asked[::-1])}
