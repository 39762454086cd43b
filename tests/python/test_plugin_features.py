"""What plugins can do beyond shapes and numbers, class-based and decorated: outputs whose extents only running tells
(non-zero with a size tensor), outputs that take over an input's memory (a scatter in place), and tactics of their own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest
import tensorrt as trt
import tensorrt.plugin as trtp
import test_plugins as pads

LOGGER = trt.Logger(trt.Logger.ERROR)


class Base(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuildV2, trt.IPluginV3OneRuntime):
    """What the class-based plugins of this file share."""

    name = ""
    outputs = 1

    def __init__(self) -> None:
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuildV2.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace = self.name, "1", "features"
        self.num_outputs = self.outputs
        self.tactic = 0

    def get_capability_interface(self, type):
        return self

    def clone(self):
        copy = type(self)()
        copy.__dict__.update(self.__dict__)
        return copy

    def get_output_data_types(self, input_types):
        return [input_types[0]] * self.outputs

    def supports_format_combination(self, pos, in_out, num_inputs):
        desc = in_out[pos].desc
        return desc.format == trt.TensorFormat.LINEAR and desc.type == self.type_of(pos)

    def type_of(self, pos: int) -> trt.DataType:
        return trt.float32

    def configure_plugin(self, inputs, outputs):
        pass

    def on_shape_change(self, inputs, outputs):
        pass

    def attach_to_context(self, context):
        return self.clone()

    def set_tactic(self, tactic):
        self.tactic = tactic

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([])


def creator_of(plugin: type) -> trt.IPluginCreatorV3One:
    class Creator(trt.IPluginCreatorV3One):
        def __init__(self) -> None:
            trt.IPluginCreatorV3One.__init__(self)
            self.name, self.plugin_version, self.plugin_namespace = plugin.name, "1", "features"
            self.field_names = trt.PluginFieldCollection([])

        def create_plugin(self, name, fields, phase):
            return plugin()

    return Creator()


class NonZero(Base):
    """Indices of the elements of a matrix that are not zero, one row per axis; and how many."""

    name, outputs = "NonZero", 2
    seen: list[tuple] = []

    def get_output_data_types(self, input_types):
        return [trt.int32, trt.int32]

    def get_output_shapes(self, inputs, shape_inputs, builder):
        most = builder.operation(trt.DimensionOperation.PROD, inputs[0][0], inputs[0][1])
        typical = builder.operation(trt.DimensionOperation.FLOOR_DIV, most, builder.constant(2))
        count = builder.declare_size_tensor(1, typical, most)
        return [trt.DimsExprs([builder.constant(2), count]), trt.DimsExprs(0)]

    def type_of(self, pos: int) -> trt.DataType:
        return trt.float32 if pos == 0 else trt.int32

    def on_shape_change(self, inputs, outputs):
        NonZero.seen.append((tuple(inputs[0].dims), tuple(outputs[0].dims)))

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        found = np.argwhere(pads.view(inputs[0], input_desc[0])).T.astype(np.int32)
        at = trt.PluginTensorDesc()
        at.type, at.dims = trt.int32, found.shape
        if found.size:
            pads.view(outputs[0], at)[...] = found
        at.dims = (1,)
        pads.view(outputs[1], at)[0] = found.shape[1]


@trtp.register("features::non_zero")
def non_zero(x: trtp.TensorDesc) -> tuple[trtp.TensorDesc, trtp.TensorDesc]:
    most = x.shape_expr.numel()
    count = trtp.size_tensor(opt=most // 2, upper_bound=most)
    return trtp.from_shape_expr((2, count.expr()), trt.int32), count


@trtp.impl("features::non_zero")
def non_zero_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor, trtp.Tensor], stream: int) -> None:
    found = np.argwhere(np.asarray(x)).T
    assert outputs[0].is_data_dependent and tuple(outputs[0].shape) == (2, -1)
    with pytest.raises(ValueError):
        outputs[0].numel()
    with pytest.raises(ValueError, match="aliased"):
        np.asarray(outputs[0])
    np.asarray(outputs[0].aliased(found.shape))[...] = found
    np.asarray(outputs[1])[...] = found.shape[1]


NON_ZERO_SOURCE = """
void non_zero(struct tenon_launch const* launch, void const* const* inputs, void* const* outputs, int32_t const* sizes)
{
    float const* x = inputs[0];
    int32_t* found = outputs[0];
    int32_t count = 0, at = 0;
    (void) launch;
    for (int32_t i = 0; i < sizes[0] * sizes[1]; ++i)
        count += x[i] != 0;
    for (int32_t i = 0; i < sizes[0] * sizes[1]; ++i)
        if (x[i] != 0)
        {
            found[at] = i / sizes[1];
            found[count + at++] = i % sizes[1];
        }
    *(int32_t*) outputs[1] = count;
}
"""


@trtp.register("features::non_zero_compiled")
def non_zero_compiled(x: trtp.TensorDesc) -> tuple[trtp.TensorDesc, trtp.TensorDesc]:
    return non_zero(x)


@trtp.aot_impl("features::non_zero_compiled")
def non_zero_kernel(
    x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc, trtp.TensorDesc], tactic: int
) -> tuple[str | bytes, str | bytes, trtp.KernelLaunchParams, trtp.SymIntExprs]:
    sizes = trtp.SymIntExprs.from_tuple([trtp.SymInt32(each) for each in x.shape_expr])
    return "non_zero", NON_ZERO_SOURCE, trtp.KernelLaunchParams(), sizes


class ScatterInPlace(Base):
    """Rows of `data` at `rows` replaced, in the memory of `data`."""

    name = "ScatterInPlace"

    def get_output_shapes(self, inputs, shape_inputs, builder):
        return [trt.DimsExprs(inputs[0])]

    def get_aliased_input(self, output_index):
        return 0

    def type_of(self, pos: int) -> trt.DataType:
        return trt.int32 if pos == 1 else trt.float32

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        assert inputs[0] == outputs[0]
        rows = pads.view(inputs[1], input_desc[1])
        pads.view(outputs[0], output_desc[0])[rows] = pads.view(inputs[2], input_desc[2])


@trtp.register("features::scatter")
def scatter(data: trtp.TensorDesc, rows: trtp.TensorDesc, updates: trtp.TensorDesc) -> trtp.TensorDesc:
    return data.aliased()


@trtp.impl("features::scatter")
def scatter_impl(
    data: trtp.Tensor, rows: trtp.Tensor, updates: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int
) -> None:
    assert outputs[0].is_aliased and outputs[0].get_aliased() is data and outputs[0].data_ptr == data.data_ptr
    assert np.asarray(data).flags.writeable and not np.asarray(updates).flags.writeable
    np.asarray(outputs[0])[np.asarray(rows)] = np.asarray(updates)


class TwoTactics(Base):
    """Doubles; tactic 7 takes its time, tactic 3 does not."""

    name = "TwoTactics"
    ran: list[int] = []

    def get_output_shapes(self, inputs, shape_inputs, builder):
        return [trt.DimsExprs(inputs[0])]

    def get_valid_tactics(self):
        return [7, 3]

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        TwoTactics.ran.append(self.tactic)
        double(self.tactic, pads.view(inputs[0], input_desc[0]), pads.view(outputs[0], output_desc[0]))


def double(tactic: int, x: np.ndarray, y: np.ndarray) -> None:
    assert tactic in (3, 7)
    if tactic == 7:
        time.sleep(0.01)
    y[...] = 2 * x


@trtp.register("features::two_tactics")
def two_tactics(x: trtp.TensorDesc) -> trtp.TensorDesc:
    return x.like()


@trtp.autotune("features::two_tactics")
def two_tactics_autotune(x: trtp.TensorDesc, outputs: tuple[trtp.TensorDesc]) -> list[trtp.AutoTuneCombination]:
    return [trtp.AutoTuneCombination("FP32, FP32", "LINEAR", [7, 3])]


@trtp.impl("features::two_tactics")
def two_tactics_impl(x: trtp.Tensor, outputs: tuple[trtp.Tensor], stream: int, tactic: int) -> None:
    TwoTactics.ran.append(tactic)
    double(tactic, np.asarray(x), np.asarray(outputs[0]))


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    registry = trt.get_plugin_registry()
    creators = [creator_of(plugin) for plugin in (NonZero, ScatterInPlace, TwoTactics)]
    for creator in creators:
        assert registry.register_creator(creator, "features")
    TwoTactics.ran.clear()
    NonZero.seen.clear()
    yield
    for creator in creators:
        assert registry.deregister_creator(creator)


def add(network: trt.INetworkDefinition, plugin: object, *inputs: trt.ITensor) -> trt.IPluginV3Layer:
    """A class-based plugin, or a decorated one by its name."""
    if isinstance(plugin, type):
        return network.add_plugin_v3(list(inputs), [], plugin())
    return network.add_plugin(getattr(trtp.op.features, plugin)(*inputs))


def engine_of(plan: object) -> trt.ICudaEngine:
    """Saved and loaded."""
    assert plan is not None
    runtime = trt.Runtime(LOGGER)
    runtime.engine_host_code_allowed = True
    return runtime.deserialize_cuda_engine(bytes(runtime.deserialize_cuda_engine(plan).serialize()))


class Growing(trt.IOutputAllocator):
    def __init__(self) -> None:
        trt.IOutputAllocator.__init__(self)
        self.memory = np.empty(0, np.uint8)
        self.shape: tuple[int, ...] = ()

    def reallocate_output(self, tensor_name, memory, size, alignment):
        self.memory = np.empty(max(size, 1), np.uint8)
        return self.memory.ctypes.data

    def notify_shape(self, tensor_name, shape):
        self.shape = tuple(shape)


@pytest.mark.parametrize("plugin", [NonZero, "non_zero", "non_zero_compiled"])
def test_L10_L12_non_zero_with_a_size_tensor_and_an_output_allocator(plugin: object) -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    layer = add(network, plugin, network.add_input("x", trt.float32, (-1, 6)))
    assert tuple(layer.get_output(0).shape) == (2, -1) and tuple(layer.get_output(1).shape) == ()
    for i, name in enumerate(["y", "count"]):
        layer.get_output(i).name = name
        network.mark_output(layer.get_output(i))
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 6), (4, 6), (9, 6))
    config.add_optimization_profile(profile)
    engine = engine_of(builder.build_serialized_network(network, config))
    contexts = [engine.create_execution_context() for _ in range(2)]
    random = np.random.default_rng(4)
    for number, (rows, share) in enumerate([(4, 0.5), (9, 1.0), (1, 0.0), (7, 0.2), (9, 0.7)]):
        x = random.standard_normal((rows, 6)).astype(np.float32) * (random.random((rows, 6)) < share)
        context, allocator, count = contexts[number % 2], Growing(), np.full((), -1, np.int32)
        assert context.set_input_shape("x", x.shape)
        assert context.set_tensor_address("x", x) and context.set_tensor_address("count", count)
        assert context.set_output_allocator("y", allocator)
        assert context.execute_async_v3(0)
        wanted = np.argwhere(x).T
        assert allocator.shape == wanted.shape and int(count) == wanted.shape[1]
        made = allocator.memory.view(np.int32)[: wanted.size] if wanted.size else np.empty(0, np.int32)
        np.testing.assert_array_equal(made.reshape(wanted.shape), wanted)
    if plugin is NonZero:
        assert ((9, 6), (2, -1)) in NonZero.seen, "extents that only running tells are -1 (L12)"


@pytest.mark.parametrize("plugin", [NonZero, "non_zero", "non_zero_compiled"])
def test_layers_behind_a_data_dependent_plugin_see_its_extent(plugin: object) -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    layer = add(network, plugin, network.add_input("x", trt.float32, (5, 6)))
    doubled = network.add_elementwise(layer.get_output(0), layer.get_output(0), trt.ElementWiseOperation.SUM)
    doubled.get_output(0).name = "y"
    network.mark_output(doubled.get_output(0))
    engine = engine_of(builder.build_serialized_network(network, builder.create_builder_config()))
    context, allocator = engine.create_execution_context(), Growing()
    x = (np.random.default_rng(5).random((5, 6)) < 0.4).astype(np.float32)
    assert context.set_tensor_address("x", x) and context.set_output_allocator("y", allocator)
    assert context.execute_async_v3(0)
    wanted = 2 * np.argwhere(x).T
    assert allocator.shape == wanted.shape
    np.testing.assert_array_equal(allocator.memory.view(np.int32)[: wanted.size].reshape(wanted.shape), wanted)


@pytest.mark.parametrize("has_other_reader", [False, True])
@pytest.mark.parametrize("is_own", [False, True], ids=["input", "activation"])
@pytest.mark.parametrize("plugin", [ScatterInPlace, "scatter"])
def test_L18_scatter_in_place(plugin: object, is_own: bool, has_other_reader: bool) -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    data = network.add_input("data", trt.float32, (6, 4))
    rows = network.add_input("rows", trt.int32, (3,))
    updates = network.add_input("updates", trt.float32, (3, 4))
    source = network.add_unary(data, trt.UnaryOperation.NEG).get_output(0) if is_own else data
    outputs = {"y": add(network, plugin, source, rows, updates).get_output(0)}
    if has_other_reader:
        outputs["z"] = network.add_unary(source, trt.UnaryOperation.ABS).get_output(0)
    for name, tensor in outputs.items():
        tensor.name = name
        network.mark_output(tensor)
    config = builder.create_builder_config()
    config.set_preview_feature(trt.PreviewFeature.ALIASED_PLUGIN_IO_10_03, True)
    engine = engine_of(builder.build_serialized_network(network, config))
    random = np.random.default_rng(6)
    for context in [engine.create_execution_context() for _ in range(2)]:
        given = {
            "data": random.standard_normal((6, 4)).astype(np.float32),
            "rows": random.permutation(6)[:3].astype(np.int32),
            "updates": random.standard_normal((3, 4)).astype(np.float32),
        }
        kept = {name: array.copy() for name, array in given.items()}
        made = {name: np.empty((6, 4), np.float32) for name in outputs}
        for name, array in {**given, **made}.items():
            assert context.set_tensor_address(name, array)
        assert context.execute_async_v3(0)
        base = -kept["data"] if is_own else kept["data"]
        wanted = base.copy()
        wanted[kept["rows"]] = kept["updates"]
        np.testing.assert_array_equal(made["y"], wanted)
        if has_other_reader:
            np.testing.assert_array_equal(made["z"], np.abs(base))
        for name, array in given.items():  # The network's inputs are the caller's.
            np.testing.assert_array_equal(array, kept[name])


@pytest.mark.parametrize(("level", "tactic"), [(3, 7), (4, 3)], ids=["first", "fastest"])
@pytest.mark.parametrize("plugin", [TwoTactics, "two_tactics"])
def test_L14_two_tactics(plugin: object, level: int, tactic: int) -> None:
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    layer = add(network, plugin, network.add_input("x", trt.float32, (3, 4)))
    layer.get_output(0).name = "y"
    network.mark_output(layer.get_output(0))
    config = builder.create_builder_config()
    config.builder_optimization_level = level
    config.min_timing_iterations = 10  # The shortest counts: other programs hold up some runs, hardly all.
    plan = builder.build_serialized_network(network, config)
    assert set(TwoTactics.ran) == (set() if level == 3 else {3, 7}), "tactics are timed where that is asked for"
    engine = engine_of(plan)
    TwoTactics.ran.clear()
    x = np.random.default_rng(7).standard_normal((3, 4)).astype(np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(pads.run(engine.create_execution_context(), x), 2 * x)
    assert TwoTactics.ran == [tactic, tactic]


def test_L18_a_refusal_leaves_what_is_changed_in_place() -> None:
    """Outputs of failed runs are made unusable; one in an input's memory is the caller's only copy of it."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    inputs = [
        network.add_input("data", trt.float32, (6, 4)),
        network.add_input("rows", trt.int32, (3,)),
        network.add_input("updates", trt.float32, (3, 4)),
    ]
    output = add(network, ScatterInPlace, *inputs).get_output(0)
    output.name = "y"
    network.mark_output(output)
    config = builder.create_builder_config()
    config.set_preview_feature(trt.PreviewFeature.ALIASED_PLUGIN_IO_10_03, True)
    context = engine_of(builder.build_serialized_network(network, config)).create_execution_context()
    random = np.random.default_rng(7)
    data, updates = (random.standard_normal(shape).astype(np.float32) for shape in ((6, 4), (3, 4)))
    rows, kept, apart = np.array([99, 0, 1], np.int32), data.copy(), np.zeros((6, 4), np.float32)
    for name, array in {"data": data, "rows": rows, "updates": updates, "y": data}.items():
        context.set_tensor_address(name, array)
    assert not context.execute_async_v3(0)
    np.testing.assert_array_equal(data, kept)
    context.set_tensor_address("y", apart)
    assert not context.execute_async_v3(0)
    assert np.isnan(apart).all()
