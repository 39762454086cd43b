"""Rule G16: with DISTRIBUTIVE_INDEPENDENCE an entry of a batch has the bits that it has when it runs alone."""

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
import tensorrt as trt
from small import Recorder

LOGGER = trt.Logger(trt.Logger.ERROR)
RANDOM = np.random.default_rng(16)
MOST = 9
Make = Callable[[trt.INetworkDefinition, trt.ITensor], trt.ITensor]


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def constant(network: trt.INetworkDefinition, *shape: int) -> trt.ITensor:
    return network.add_constant(shape, normal(*shape)).get_output(0)


def convolution(channels: int, maps: int, side: int, groups: int = 1, stride: int = 1) -> Make:
    def make(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:
        kernel = normal(maps, channels // groups, side, side)
        layer = network.add_convolution_nd(x, maps, (side, side), kernel, normal(maps))
        layer.padding_nd, layer.stride_nd, layer.num_groups = (side // 2, side // 2), (stride, stride), groups
        return layer.get_output(0)

    return make


def deconvolution(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:
    layer = network.add_deconvolution_nd(x, 5, (2, 2), normal(8, 5, 2, 2))
    layer.stride_nd = (2, 2)
    return layer.get_output(0)


def product(*shape: int) -> Make:
    none = trt.MatrixOperation.NONE
    return lambda network, x: network.add_matrix_multiply(x, none, constant(network, *shape), none).get_output(0)


def scores(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:
    turned = network.add_matrix_multiply(x, trt.MatrixOperation.NONE, x, trt.MatrixOperation.TRANSPOSE).get_output(0)
    layer = network.add_softmax(turned)
    layer.axes = 1 << 3
    none = trt.MatrixOperation.NONE
    return network.add_matrix_multiply(layer.get_output(0), none, x, none).get_output(0)


def soft_max(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:
    layer = network.add_softmax(x)
    layer.axes = 2
    return layer.get_output(0)


def layer_norm(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:
    scale, bias = constant(network, 1, 1, 300), constant(network, 1, 1, 300)
    return network.add_normalization(x, scale, bias, 1 << 2).get_output(0)


def mean(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:
    return network.add_reduce(x, trt.ReduceOperation.AVG, 1 << 2, False).get_output(0)


def pooling(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:
    return network.add_pooling_nd(x, trt.PoolingType.AVERAGE, (3, 3)).get_output(0)


def chain(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:
    for kind in (trt.ActivationType.TANH, trt.ActivationType.GELU_ERF, trt.ActivationType.SIGMOID):
        x = network.add_activation(x, kind).get_output(0)
    return x


def quantized(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:
    def both(tensor: trt.ITensor, scale: float) -> trt.ITensor:
        factor = network.add_constant((), np.float32([scale])).get_output(0)
        small = network.add_quantize(tensor, factor, trt.int8).get_output(0)
        return network.add_dequantize(small, factor, trt.float32).get_output(0)

    kernel = both(constant(network, 24, 16, 3, 3), 0.02)
    layer = network.add_convolution_nd(both(x, 0.03), 24, (3, 3), trt.Weights(trt.float32))
    layer.set_input(1, kernel)
    return layer.get_output(0)


def few_bits(network: trt.INetworkDefinition, x: trt.ITensor) -> trt.ITensor:
    weights = RANDOM.integers(-128, 128, (300, 100)).astype(np.int8)
    factor = network.add_constant((), np.float32([0.01])).get_output(0)
    stored = network.add_constant(weights.shape, weights).get_output(0)
    read = network.add_dequantize(stored, factor, trt.float32).get_output(0)
    none = trt.MatrixOperation.NONE
    return network.add_matrix_multiply(x, none, read, none).get_output(0)


CASES: dict[str, tuple[Make, tuple[int, ...]]] = {
    "convolution of an image": (convolution(3, 16, 3), (3, 32, 32)),
    "convolution in tiles": (convolution(64, 64, 3), (64, 28, 28)),
    "convolution of few rows": (convolution(32, 40, 3), (32, 7, 5)),
    "convolution of points": (convolution(128, 72, 1), (128, 7, 7)),
    "convolution with strides": (convolution(8, 24, 5, stride=2), (8, 11, 9)),
    "convolution in groups": (convolution(32, 64, 3, groups=4), (32, 10, 10)),
    "depthwise convolution": (convolution(48, 48, 3, groups=48), (48, 15, 15)),
    "deconvolution": (deconvolution, (8, 6, 7)),
    "product of a row": (product(768, 768), (768,)),
    "product with one column": (product(2048, 1), (2048,)),
    "product with few columns": (product(1000, 7), (1000,)),
    "products": (product(1, 300, 100), (5, 300)),
    "long products": (product(1, 33, 65), (67, 33)),
    "attention": (scores, (4, 33, 64)),
    "softmax": (soft_max, (1000,)),
    "layer normalization": (layer_norm, (7, 300)),
    "mean": (mean, (5, 777)),
    "pooling": (pooling, (16, 13, 13)),
    "activations": (chain, (777,)),
    "int8 convolution": (quantized, (16, 12, 12)),
    "product with weights of 8 bits": (few_bits, (300,)),
}


def plan_of(make: Make, shape: tuple[int, ...], level: int) -> trt.IHostMemory:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    y = make(network, network.add_input("x", trt.float32, (-1, *shape)))
    y.name = "y"
    network.mark_output(y)
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    config.set_flag(trt.BuilderFlag.DISTRIBUTIVE_INDEPENDENCE)
    config.builder_optimization_level = level
    profile.set_shape("x", (1, *shape), (4, *shape), (MOST, *shape))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None
    return plan


def run(context: trt.IExecutionContext, x: np.ndarray) -> np.ndarray:
    assert context.set_input_shape("x", x.shape)
    y = np.empty(tuple(context.get_tensor_shape("y")), np.float32)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    return y


def check(name: str, level: int) -> None:
    make, shape = CASES[name]
    check_plan(plan_of(make, shape, level), shape)


def check_plan(plan: trt.IHostMemory | bytes, shape: tuple[int, ...]) -> None:
    context = trt.Runtime(LOGGER).deserialize_cuda_engine(plan).create_execution_context()
    for batch in (2, 3, 4, 7, MOST):
        x = normal(batch, *shape)
        together = run(context, x)
        for i in range(batch):
            alone = run(context, np.ascontiguousarray(x[i : i + 1]))
            np.testing.assert_array_equal(alone[0], together[i], f"entry {i} of {batch}")


@pytest.mark.parametrize("level", [3, 4])
@pytest.mark.parametrize("name", CASES)
def test_an_entry_does_not_depend_on_the_others(name: str, level: int) -> None:
    """Rule G16, with kernels chosen by estimate and by time."""
    check(name, level)


@pytest.mark.parametrize("isa", ["avx2", "avx512"])
@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_on_other_machines(isa: str, threads: int) -> None:
    """Rule G16: each instruction set, and threads that share the entries otherwise."""
    code = "import test_batch_independence as t\nfor name in t.CASES: t.check(name, 3)"
    environment = os.environ | {"TENON_ISA": isa, "TENON_THREADS": str(threads)}
    folder = os.path.dirname(__file__)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


AGAIN = ("convolution in tiles", "product with weights of 8 bits")


def plan_for(device: str, name: str, path: pathlib.Path, **more: str) -> bytes:
    """Made in another process, which has another device."""
    code = (
        "import sys, test_batch_independence as t\nopen(sys.argv[1], 'wb').write(t.plan_of(*t.CASES[sys.argv[2]], 3))"
    )
    environment = os.environ | {"TENON_DEVICE": device} | more
    command = [sys.executable, "-c", code, str(path), name]
    done = subprocess.run(command, cwd=os.path.dirname(__file__), env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path.read_bytes()


@pytest.mark.parametrize("name", AGAIN)
def test_a_plan_that_is_planned_again_keeps_it(tmp_path: pathlib.Path, name: str) -> None:
    """Rule G16: for the CPU, of a plan for the reference, which has other kernels."""
    check_plan(plan_for("ref", name, tmp_path / "plan"), CASES[name][1])


def test_a_device_that_cannot_keep_it_refuses_the_plan(tmp_path: pathlib.Path) -> None:
    """Rule G16."""
    build = pathlib.Path(os.environ.get("TENON_BUILD", pathlib.Path(__file__).parents[2] / "build")).resolve()
    fake = build / "fake_cuda"
    if not (fake / "libcuda.so.1").exists():
        pytest.skip("this build has no fake driver")
    (tmp_path / "plan").write_bytes(bytes(plan_of(*CASES[AGAIN[1]], 3)))
    code = (
        "import sys, tensorrt as trt\ntrt.Runtime(trt.Logger()).deserialize_cuda_engine(open(sys.argv[1], 'rb').read())"
    )
    environment = os.environ | {
        "TENON_DEVICE": "cuda",
        "LD_LIBRARY_PATH": f"{fake}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":"),
        "TENON_CACHE_DIR": str(tmp_path / "cache"),
    }
    command = [sys.executable, "-c", code, str(tmp_path / "plan")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert "the plan was built with BuilderFlag::kDISTRIBUTIVE_INDEPENDENCE, which device 'cuda" in said, said


@pytest.mark.parametrize("dtype", (trt.float16, trt.bfloat16))
def test_products_of_short_floats_are_refused(dtype: trt.DataType) -> None:
    """Rule G16: AMX takes those of many rows, and other kernels those of few."""
    logger = Recorder()
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    x, weights = network.add_input("x", dtype, (-1, 64)), network.add_input("w", dtype, (64, 32))
    product = network.add_matrix_multiply(x, trt.MatrixOperation.NONE, weights, trt.MatrixOperation.NONE)
    network.mark_output(product.get_output(0))
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    config.set_flag(trt.BuilderFlag.DISTRIBUTIVE_INDEPENDENCE)
    profile.set_shape("x", (1, 64), (4, 64), (MOST, 64))
    config.add_optimization_profile(profile)
    assert builder.build_serialized_network(network, config) is None
    assert "is not for products of float16 and bfloat16" in logger.errors(), logger.lines
