"""Names of 8.x and 9.x that 10.x took away, in programs as they were written then."""

import gc
import warnings

import numpy as np
import pytest
import small
import tensorrt as trt
from numpy.lib.stride_tricks import sliding_window_view

EXPLICIT = 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_BATCH)
MOST = 4
DIGITS = 10
generator = np.random.default_rng(20)


def random(*shape: int) -> np.ndarray:
    return (generator.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


LENET = {
    "conv1": (random(20, 1, 5, 5), random(20)),
    "conv2": (random(50, 20, 5, 5), random(50)),
    "fc1": (random(500, 800), random(500)),
    "fc2": (random(DIGITS, 500), random(DIGITS)),
}


def lenet(network: trt.INetworkDefinition) -> None:
    tensor = network.add_input(name="data", dtype=trt.float32, shape=(1, 28, 28))
    for name, maps in (("conv1", 20), ("conv2", 50)):
        kernel, bias = LENET[name]
        conv = network.add_convolution(
            input=tensor, num_output_maps=maps, kernel_shape=(5, 5), kernel=kernel, bias=bias
        )
        conv.stride = (1, 1)
        pool = network.add_pooling(input=conv.get_output(0), type=trt.PoolingType.MAX, window_size=(2, 2))
        pool.stride = (2, 2)
        tensor = pool.get_output(0)
    fc1 = network.add_fully_connected(tensor, num_outputs=500, kernel=LENET["fc1"][0], bias=LENET["fc1"][1])
    assert fc1.type == trt.LayerType.FULLY_CONNECTED
    relu = network.add_activation(input=fc1.get_output(0), type=trt.ActivationType.RELU)
    fc2 = network.add_fully_connected(relu.get_output(0), DIGITS, LENET["fc2"][0], LENET["fc2"][1])
    fc2.get_output(0).name = "prob"
    network.mark_output(tensor=fc2.get_output(0))


def convolved(x: np.ndarray, kernel: np.ndarray, bias: np.ndarray) -> np.ndarray:
    windows = sliding_window_view(x, kernel.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, kernel, optimize=True) + bias[:, None, None]


def pooled(x: np.ndarray) -> np.ndarray:
    count, maps, height, width = x.shape
    return x.reshape(count, maps, height // 2, 2, width // 2, 2).max(axis=(3, 5))


def want(x: np.ndarray) -> np.ndarray:
    for name in ("conv1", "conv2"):
        x = pooled(convolved(x, *LENET[name]))
    hidden = np.maximum(x.reshape(len(x), -1) @ LENET["fc1"][0].T + LENET["fc1"][1], 0)
    return hidden @ LENET["fc2"][0].T + LENET["fc2"][1]


@pytest.mark.parametrize("is_late", [False, True], ids=["size first", "size last"])
def test_a_lenet_of_8(is_late: bool) -> None:
    logger = small.Recorder()
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    if not is_late:
        builder.max_batch_size = MOST
    config.max_workspace_size = 1 << 20
    config.min_timing_iterations = 3
    assert config.min_timing_iterations == 3
    lenet(network)
    if is_late:
        builder.max_batch_size = MOST
    engine = builder.build_engine(network, config)
    assert isinstance(engine, trt.ICudaEngine), logger.errors()
    assert engine.max_batch_size == MOST and engine.has_implicit_batch_dimension
    context = engine.create_execution_context()
    assert [engine.get_binding_name(i) for i in range(len(engine))] == ["data", "prob"]
    for batch in (1, 3, MOST):
        x = generator.standard_normal((batch, 1, 28, 28)).astype(np.float32)
        y = np.full((batch, DIGITS), np.nan, np.float32)
        assert context.execute(batch, [x.ctypes.data, y.ctypes.data])
        np.testing.assert_allclose(y, want(x), rtol=1e-4, atol=1e-4)


def explicit(shape: tuple[int, ...]) -> tuple[trt.Builder, trt.INetworkDefinition, trt.ITensor]:
    builder = trt.Builder(small.Recorder())
    network = builder.create_network(EXPLICIT)
    return builder, network, network.add_input("x", trt.float32, shape)


def result(builder: trt.Builder, network: trt.INetworkDefinition, layer: trt.ILayer, x: np.ndarray) -> np.ndarray:
    network.mark_output(layer.get_output(0))
    y = np.full(tuple(layer.get_output(0).shape), np.nan, np.float32)
    engine = builder.build_engine(network, builder.create_builder_config())
    assert engine.create_execution_context().execute_v2([x, y])
    return y


def test_convolution_with_stride_padding_and_dilation() -> None:
    x, kernel, bias = random(2, 3, 11, 12), random(4, 3, 3, 2), random(4)
    builder, network, tensor = explicit(x.shape)
    layer = network.add_convolution(tensor, 4, trt.DimsHW(3, 2), kernel)
    layer.bias = bias
    layer.stride, layer.padding, layer.dilation = trt.DimsHW(2, 1), [1, 0], (2, 3)
    for name, pair in (("kernel_size", (3, 2)), ("stride", (2, 1)), ("padding", (1, 0)), ("dilation", (2, 3))):
        value = getattr(layer, name)
        assert isinstance(value, trt.DimsHW) and (value.h, value.w) == pair
        assert tuple(getattr(layer, name + "_nd")) == pair
    windows = sliding_window_view(np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 0))), (5, 4), axis=(2, 3))
    windows = windows[:, :, ::2, :, ::2, ::3]
    expected = np.einsum("nchwij,ocij->nohw", windows, kernel) + bias[:, None, None]
    np.testing.assert_allclose(result(builder, network, layer, x), expected, rtol=1e-4, atol=1e-5)


def test_deconvolution() -> None:
    x, kernel, bias = random(2, 3, 4, 5), random(3, 2, 2, 2), random(2)
    builder, network, tensor = explicit(x.shape)
    layer = network.add_deconvolution(tensor, 2, (2, 2), kernel, bias)
    assert layer.kernel_size == (2, 2) and layer.stride == (1, 1)
    layer.stride = (2, 2)
    layer.padding = (1, 0)
    assert layer.padding == (1, 0) and tuple(layer.pre_padding) == tuple(layer.post_padding) == (1, 0)
    expected = np.einsum("nchw,coij->nohiwj", x, kernel).reshape(2, 2, 8, 10) + bias[:, None, None]
    np.testing.assert_allclose(result(builder, network, layer, x), expected[:, :, 1:-1], rtol=1e-4, atol=1e-5)


def test_pooling_and_its_modes_of_caffe() -> None:
    x = random(1, 2, 5, 7)
    for mode, extents in ((trt.PaddingMode.CAFFE_ROUND_DOWN, (2, 3)), (trt.PaddingMode.CAFFE_ROUND_UP, (3, 4))):
        builder, network, tensor = explicit(x.shape)
        layer = network.add_pooling(tensor, trt.PoolingType.MAX, (2, 2))
        layer.stride, layer.padding_mode = (2, 2), mode
        assert layer.window_size == layer.stride == (2, 2) and layer.padding == (0, 0) and layer.padding_mode == mode
        room = ((0, 0), (0, 0), (0, 1), (0, 1))
        whole = pooled(np.pad(x, room, constant_values=-np.inf))[:, :, : extents[0], : extents[1]]
        np.testing.assert_array_equal(result(builder, network, layer, x), whole)


def test_padding_adds_zeros_and_cuts_off() -> None:
    x = random(1, 2, 4, 5)
    builder, network, tensor = explicit(x.shape)
    layer = network.add_padding(tensor, pre_padding=(1, 0), post_padding=(2, 3))
    assert layer.pre_padding == (1, 0) and layer.post_padding == (2, 3)
    layer.post_padding = (0, -2)
    np.testing.assert_array_equal(
        result(builder, network, layer, x), np.pad(x, ((0, 0), (0, 0), (1, 0), (0, 0)))[:, :, :, :-2]
    )


def test_pairs_are_of_two_axes() -> None:
    _, network, tensor = explicit((1, 3, 6, 6, 6))
    layer = network.add_convolution_nd(tensor, 2, (3, 3, 3), random(2, 3, 3, 3, 3))
    for name in ("kernel_size", "stride", "padding", "dilation"):
        with pytest.raises(RuntimeError, match=f"has 3: use {name}_nd"):
            getattr(layer, name)
    for wrong in ((1, 1, 1), (1,), 2, None):
        with pytest.raises(TypeError):
            layer.stride = wrong
        with pytest.raises(TypeError):
            network.add_pooling(tensor, trt.PoolingType.MAX, wrong)
    assert tuple(layer.stride_nd) == (1, 1, 1)


def test_weights_live_as_long_as_the_network() -> None:
    _, network, tensor = explicit((1, 3, 8, 8))
    kernel, bias = random(4, 3, 3, 3), random(4)
    network.add_convolution(tensor, 4, (3, 3), kernel.copy(), bias.copy())
    gc.collect()
    generator.standard_normal(1 << 16)  # Would take the freed memory.
    np.testing.assert_array_equal(small.layer(network, 0, trt.IConvolutionLayer).kernel, kernel.reshape(-1))
    np.testing.assert_array_equal(small.layer(network, 0, trt.IConvolutionLayer).bias, bias)


def test_enumerations_have_the_members_of_8() -> None:
    same = (
        (trt.EngineCapability, "DEFAULT", "STANDARD"),
        (trt.EngineCapability, "SAFE_GPU", "SAFETY"),
        (trt.EngineCapability, "SAFE_DLA", "DLA_STANDALONE"),
        (trt.ProfilingVerbosity, "DEFAULT", "LAYER_NAMES_ONLY"),
        (trt.ProfilingVerbosity, "VERBOSE", "DETAILED"),
        (trt.SampleMode, "DEFAULT", "STRICT_BOUNDS"),
    )
    for kind, old, new in same:
        assert kind[old] is kind[new] and kind[old].name == new
    assert int(trt.PaddingMode.CAFFE_ROUND_DOWN) == 4 and int(trt.PaddingMode.CAFFE_ROUND_UP) == 5
    assert trt.ResizeMode is trt.InterpolationMode and trt.SliceMode is trt.SampleMode
    assert trt.ResizeMode.LINEAR == trt.InterpolationMode.LINEAR
    own = (
        (trt.BuilderFlag, "STRICT_TYPES", "ENABLE_TACTIC_HEURISTIC"),
        (trt.LayerType, "FULLY_CONNECTED", "RNN_V2"),
        (trt.NetworkDefinitionCreationFlag, "EXPLICIT_PRECISION"),
        (trt.PreviewFeature, "FASTER_DYNAMIC_SHAPES_0805", "DISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805"),
    )
    for kind, *names in own:  # No number of 10.x gets a second meaning.
        others = {int(member) for name, member in kind.__members__.items() if name not in names}
        assert len(others | {int(kind[name]) for name in names}) == len(others) + len(names)


def test_flags_and_features_of_8_are_accepted() -> None:
    logger = small.Recorder()
    builder = trt.Builder(logger)
    config = builder.create_builder_config()
    before = config.flags
    for flag in (trt.BuilderFlag.STRICT_TYPES, trt.BuilderFlag.ENABLE_TACTIC_HEURISTIC):
        assert not config.get_flag(flag)
        config.set_flag(flag)
        assert config.get_flag(flag) and config.flags == before | 1 << int(flag)
        config.clear_flag(flag)
    for name in ("FASTER_DYNAMIC_SHAPES_0805", "DISABLE_EXTERNAL_TACTIC_SOURCES_FOR_CORE_0805"):
        feature = trt.PreviewFeature[name]
        config.set_preview_feature(feature, True)
        assert config.get_preview_feature(feature)
    network = builder.create_network(EXPLICIT | 1 << int(trt.NetworkDefinitionCreationFlag.EXPLICIT_PRECISION))
    assert not network.has_explicit_precision and not logger.errors()


class FreeingAllocator(trt.IGpuAllocator):
    """As 8.x had it: no deallocate()."""

    def __init__(self) -> None:
        trt.IGpuAllocator.__init__(self)
        self.held: dict[int, np.ndarray] = {}
        self.given, self.freed = 0, []

    def allocate(self, size: int, alignment: int, flags: int) -> int:
        memory = np.empty(size + alignment, np.uint8)
        address = -(-memory.ctypes.data // alignment) * alignment
        self.held[address] = memory
        self.given += 1
        return address

    def free(self, memory: int) -> None:
        del self.held[memory]
        self.freed.append(memory)


def test_an_allocator_may_have_free_alone() -> None:
    logger, allocator = small.Recorder(), FreeingAllocator()
    plan = small.plan(logger)
    runtime = trt.Runtime(logger)
    runtime.gpu_allocator = allocator
    engine = runtime.deserialize_cuda_engine(plan)
    x = small.inputs()
    np.testing.assert_allclose(small.run(engine, x), small.want(x), atol=1e-5)
    del engine
    gc.collect()
    assert allocator.given == len(allocator.freed) and not allocator.held


def test_free_of_the_base_is_deallocate(capfd: pytest.CaptureFixture) -> None:
    class Own(FreeingAllocator):
        def deallocate(self, memory: int) -> bool:
            self.freed.append(memory)
            return True

    allocator = Own()
    assert trt.IGpuAllocator.free(allocator, 4096) is None
    assert trt.IGpuAllocator.free(allocator, memory=8192) is None
    assert allocator.freed == [4096, 8192]

    class Up(trt.IGpuAllocator):
        def free(self, memory: int) -> None:
            super().free(memory)  # Ends, though the base would call this in its place.

    Up().free(4096)
    assert "does not implement deallocate" in capfd.readouterr().err


def test_versions_of_interfaces() -> None:
    assert trt.IOutputAllocator().tensorrt_version == 1
    creator = trt.IPluginCreator()
    assert creator.tensorrt_version // 10000 == 10
    with pytest.raises(AttributeError):
        creator.tensorrt_version = 3


def test_a_build_that_fails_gives_none() -> None:
    logger = small.Recorder()
    builder = trt.Builder(logger)
    network = builder.create_network(EXPLICIT)
    network.add_input("x", trt.float32, (2, 3))
    assert builder.build_engine(network, builder.create_builder_config()) is None and logger.errors()


def test_old_names_warn_no_more_than_the_others() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, network, tensor = explicit((1, 3, 8, 8))
        network.add_pooling(tensor, trt.PoolingType.AVERAGE, (2, 2)).stride = (2, 2)
