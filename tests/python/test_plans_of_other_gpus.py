"""Plans of one GPU model on another, on the fake driver: planned again where their kernels are not for it."""

import pathlib

import pytest
from fake_gpu import needs_fake_gpu, on_fake_gpu

pytestmark = needs_fake_gpu

COMMON = """
import numpy as np
import tensorrt as trt

LINES = []

class Recorder(trt.ILogger):
    def log(self, severity, message):
        LINES.append(message)

LOGGER = Recorder()
RANDOM = np.random.default_rng(3)
WEIGHTS = RANDOM.integers(-4, 5, (32, 48)).astype(np.float32)
X = RANDOM.integers(-4, 5, (8, 32)).astype(np.float32)
"""

BUILD = (
    COMMON
    + """
builder = trt.Builder(LOGGER)
network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
half = {half}
dtype = trt.float16 if half else trt.float32
weights = WEIGHTS.astype(np.float16) if half else WEIGHTS
x = network.add_input("x", dtype, (8, 32))
right = network.add_constant((32, 48), weights).get_output(0)
if not half:
    one = network.add_constant((), np.ones((), np.float32)).get_output(0)
    def rounded(tensor):
        numbers = network.add_quantize(tensor, one, trt.int8).get_output(0)
        return network.add_dequantize(numbers, one, trt.float32).get_output(0)
    x, right = rounded(x), rounded(right)
product = network.add_matrix_multiply(x, trt.MatrixOperation.NONE, right, trt.MatrixOperation.NONE)
y = network.add_activation(product.get_output(0), trt.ActivationType.RELU).get_output(0)
y.name = "y"
network.mark_output(y)
config = builder.create_builder_config()
config.hardware_compatibility_level = trt.HardwareCompatibilityLevel.{level}
plan = builder.build_serialized_network(network, config)
if plan is None:
    print("\\n".join(LINES))
else:
    open({path!r}, "wb").write(bytes(plan))
"""
)

LOAD = (
    COMMON
    + """
import tenon

engine = trt.Runtime(LOGGER).deserialize_cuda_engine(open({path!r}, "rb").read())
context = engine.create_execution_context()
dtype = np.float16 if engine.get_tensor_dtype("x") == trt.float16 else np.float32
x = tenon.DeviceArray.of(engine, X.astype(dtype))
y = tenon.DeviceArray(engine, (8, 48), dtype)
context.set_tensor_address("x", x)
context.set_tensor_address("y", y)
assert context.execute_async_v3(0)
assert np.array_equal(y.numpy().astype(np.float32), np.maximum(X @ WEIGHTS, 0))
print("\\n".join(line for line in LINES if "planned again" in line))
print(engine.hardware_compatibility_level.name)
saved = bytes(engine.serialize())
LINES.clear()
assert trt.Runtime(LOGGER).deserialize_cuda_engine(saved) is not None
assert not any("planned again" in line for line in LINES), LINES
"""
)


def built(path: pathlib.Path, capability: int, level: str = "NONE", half: bool = True) -> str:
    return on_fake_gpu(BUILD.format(path=str(path), level=level, half=half), capability)


def loaded(path: pathlib.Path, capability: int) -> str:
    return on_fake_gpu(LOAD.format(path=str(path)), capability)


@pytest.mark.parametrize("level", ("NONE", "SAME_COMPUTE_CAPABILITY"))
def test_a_plan_of_the_same_capability_runs_as_it_is(tmp_path: pathlib.Path, level: str) -> None:
    built(tmp_path / "plan", 90, level)
    assert loaded(tmp_path / "plan", 90).split() == [level]


@pytest.mark.parametrize("half", (True, False), ids=("half", "int8"))
@pytest.mark.parametrize("made,here", ((90, 86), (90, 75), (86, 90)))
def test_one_of_another_capability_is_planned_again(tmp_path: pathlib.Path, made: int, here: int, half: bool) -> None:
    """Products by warpgroups and in int8 among them, which another GPU may not have."""
    built(tmp_path / "plan", made, half=half)
    said = loaded(tmp_path / "plan", here)
    assert f"the plan was made for sm_{made}, and device 'cuda' is of sm_{here}: it is planned again" in said
    assert said.split()[-1] == "NONE"


def test_one_for_ampere_and_newer_runs_there_as_it_is(tmp_path: pathlib.Path) -> None:
    built(tmp_path / "plan", 90, "AMPERE_PLUS")
    for here in (80, 86, 90):
        assert loaded(tmp_path / "plan", here).split() == ["AMPERE_PLUS"]
    said = loaded(tmp_path / "plan", 75)
    assert "the plan was made for sm_80 and newer, and device 'cuda' is of sm_75: it is planned again" in said


def test_an_older_gpu_builds_none_for_ampere_and_newer(tmp_path: pathlib.Path) -> None:
    said = built(tmp_path / "plan", 75, "AMPERE_PLUS")
    assert "HardwareCompatibilityLevel::kAMPERE_PLUS: this GPU is of sm_75, which is older" in said
    assert not (tmp_path / "plan").exists()


def test_one_built_with_another_release_of_a_library_is_told(tmp_path: pathlib.Path) -> None:
    build = BUILD.format(path=str(tmp_path / "plan"), level="NONE", half=True)
    estimated = 'import os\nos.environ["TENON_TACTICS"] = "estimate"\n'  # By which cuBLASLt is the fastest.
    on_fake_gpu(estimated + build, 90)
    load = (
        COMMON
        + f"""
import tenon

plan = open({str(tmp_path / "plan")!r}, "rb").read()
assert trt.Runtime(LOGGER).deserialize_cuda_engine(plan) is not None
print("\\n".join(line for line in LINES if "chose kernels" in line))
"""
    )
    assert on_fake_gpu(load, 90).strip() == ""
    said = on_fake_gpu('import os\nos.environ["TENON_FAKE_CUBLASLT"] = "120803"\n' + load, 90)
    assert "the plan chose kernels of cuBLASLt 13.2.0, and of these there is cuBLASLt 12.8.3 here" in said


def loading(numbers: str, inputs: list[tuple[str, str]], like: str, agrees: str) -> str:
    """A program that runs the plan at {path!r}, whose result y is as large as `like`, and prints its layers."""
    tensors = ", ".join(f'("{name}", tenon.DeviceArray.of(engine, {array}))' for name, array in inputs)
    return (
        COMMON
        + numbers
        + f"""
import tenon

engine = trt.Runtime(LOGGER).deserialize_cuda_engine(open({{path!r}}, "rb").read())
context = engine.create_execution_context()
y = tenon.DeviceArray(engine, {like}.shape, np.float16)
tensors = [{tensors}, ("y", y)]
for name, tensor in tensors:
    context.set_tensor_address(name, tensor)
assert context.execute_async_v3(0)
found = y.numpy()
assert {agrees}
print(engine.create_engine_inspector().get_engine_information(trt.LayerInformationFormat.JSON))
"""
    )


BLOCK = """
X = RANDOM.integers(-1, 2, (1, 64, 4, 4)).astype(np.float16)
SHORTCUT = RANDOM.integers(-1, 2, (1, 64, 8, 8)).astype(np.float16)
OWN, OTHER = (RANDOM.integers(-1, 2, (64, 64, 1, 1)).astype(np.float16) for _ in range(2))
EXPECTED = np.einsum("nchw,mc->nmhw", X, OWN[:, :, 0, 0]) + np.einsum(
    "nchw,mc->nmhw", SHORTCUT[:, :, ::2, ::2], OTHER[:, :, 0, 0])
"""

BUILD_BLOCK = (
    COMMON
    + BLOCK
    + """
builder = trt.Builder(LOGGER)
network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
own = network.add_convolution_nd(network.add_input("x", trt.float16, X.shape), 64, (1, 1), OWN)
shortcut = network.add_convolution_nd(network.add_input("s", trt.float16, SHORTCUT.shape), 64, (1, 1), OTHER)
shortcut.stride_nd = (2, 2)
y = network.add_elementwise(own.get_output(0), shortcut.get_output(0), trt.ElementWiseOperation.SUM).get_output(0)
y.name = "y"
network.mark_output(y)
config = builder.create_builder_config()
config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
open({path!r}, "wb").write(bytes(builder.build_serialized_network(network, config)))
"""
)

LOAD_BLOCK = loading(BLOCK, [("x", "X"), ("s", "SHORTCUT")], "EXPECTED", "np.array_equal(found, EXPECTED)")


def test_what_is_one_product_on_hopper_is_two_convolutions_elsewhere(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "plan")
    on_fake_gpu(BUILD_BLOCK.format(path=path), 90)
    assert '"ConvolutionSum"' in on_fake_gpu(LOAD_BLOCK.format(path=path), 90)
    for here in (86, 75):
        said = on_fake_gpu(LOAD_BLOCK.format(path=path), here)
        assert said.count('"Convolution"') == 2 and "ConvolutionSum" not in said


NORMS = """
ROWS = RANDOM.integers(-2, 3, (20, 64)).astype(np.float16)
FIRST, SECOND = (RANDOM.integers(-2, 3, (64, 64)).astype(np.float16) for _ in range(2))
SUM = ROWS.astype(np.float64) @ FIRST
NORMAL = (SUM - SUM.mean(1, keepdims=True)) / np.sqrt(SUM.var(1, keepdims=True) + 1e-5)
WANTED = NORMAL @ SECOND
"""

BUILD_NORMS = (
    COMMON
    + NORMS
    + """
builder = trt.Builder(LOGGER)
network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))

def times(tensor, weights):
    right = network.add_constant((64, 64), weights).get_output(0)
    return network.add_matrix_multiply(tensor, trt.MatrixOperation.NONE, right, trt.MatrixOperation.NONE).get_output(0)

first = times(network.add_input("x", trt.float16, ROWS.shape), FIRST)
one = network.add_constant((1, 64), np.ones((1, 64), np.float16)).get_output(0)
zero = network.add_constant((1, 64), np.zeros((1, 64), np.float16)).get_output(0)
y = times(network.add_normalization(first, one, zero, 1 << 1).get_output(0), SECOND)
y.name = "y"
network.mark_output(y)
config = builder.create_builder_config()
config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
open({path!r}, "wb").write(bytes(builder.build_serialized_network(network, config)))
"""
)

LOAD_NORMS = loading(NORMS, [("x", "ROWS")], "ROWS", "np.allclose(found, WANTED, atol=0.05, rtol=0.01)")


def test_norms_by_moments_on_hopper_are_norms_elsewhere(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "plan")
    on_fake_gpu(BUILD_NORMS.format(path=path), 90)
    assert on_fake_gpu(LOAD_NORMS.format(path=path), 90).count('"MeasuredProduct"') == 2
    for here in (86, 75):
        said = on_fake_gpu(LOAD_NORMS.format(path=path), here)
        assert said.count('"Normalization"') == 1 and "MeasuredProduct" not in said


PATCHES = """
IMAGES = RANDOM.integers(-1, 2, (2, 3, 16, 24)).astype(np.float32)
KERNEL = RANDOM.integers(-1, 2, (16, 3, 8, 8)).astype(np.float16)
BIAS, FRONT, TABLE = (RANDOM.integers(-4, 5, shape).astype(np.float16) for shape in ((16,), (2, 1, 16), (1, 7, 16)))
FRONT[1] = FRONT[0]
WINDOWS = IMAGES.reshape(2, 3, 2, 8, 3, 8)
OWN = np.einsum("ncyhxw,mchw->nyxm", WINDOWS, KERNEL.astype(np.float32)).reshape(2, 6, 16) + BIAS
EMBEDDED = np.concatenate([FRONT, OWN], axis=1) + TABLE
"""

BUILD_PATCHES = (
    COMMON
    + PATCHES
    + """
builder = trt.Builder(LOGGER)
network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
image = network.add_cast(network.add_input("x", trt.float32, IMAGES.shape), trt.float16).get_output(0)
conv = network.add_convolution_nd(image, 16, (8, 8), KERNEL, BIAS)
conv.stride_nd = (8, 8)
rows = network.add_shuffle(conv.get_output(0))
rows.reshape_dims = (2, 16, 6)
rows.second_transpose = (0, 2, 1)
front = network.add_constant(FRONT.shape, FRONT).get_output(0)
joined = network.add_concatenation([front, rows.get_output(0)])
joined.axis = 1
table = network.add_constant(TABLE.shape, TABLE).get_output(0)
y = network.add_elementwise(joined.get_output(0), table, trt.ElementWiseOperation.SUM).get_output(0)
y.name = "y"
network.mark_output(y)
config = builder.create_builder_config()
config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
open({path!r}, "wb").write(bytes(builder.build_serialized_network(network, config)))
"""
)

LOAD_PATCHES = loading(PATCHES, [("x", "IMAGES")], "EMBEDDED", "np.array_equal(found.astype(np.float32), EMBEDDED)")


def test_rows_of_patches_are_one_layer_on_gpus_and_several_on_the_host(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "plan")
    on_fake_gpu(BUILD_PATCHES.format(path=path), 90)
    for here in (90, 86, 75):
        assert on_fake_gpu(LOAD_PATCHES.format(path=path), here).count('"PatchEmbedding"') == 1
    on_host = 'import os\nos.environ["TENON_DEVICE"] = "cpu"\n'
    said = on_fake_gpu(on_host + LOAD_PATCHES.format(path=path))
    assert said.count('"Convolution"') == 1 and "PatchEmbedding" not in said


EMBEDDINGS = """
IDS = np.array([[0, 4, -1, 3], [9, -5, 2, 1]], np.int64)
SEGMENTS = np.array([[0, 1, 2, 1]], np.int32)
TABLES = [RANDOM.integers(-4, 5, shape).astype(np.float16) for shape in ((5, 24), (2, 24), (1, 4, 24))]
SCALE, SHIFT = (RANDOM.integers(-4, 5, (1, 1, 24)).astype(np.float16) for _ in range(2))


def picked(table, indices):
    at = np.where(indices < 0, indices + len(table), indices)
    is_inside = (at >= 0) & (at < len(table))
    return np.where(is_inside[..., None], table[np.where(is_inside, at, 0)], 0).astype(np.float64)


SUM = picked(TABLES[0], IDS) + picked(TABLES[1], SEGMENTS) + TABLES[2]
NORMAL = (SUM - SUM.mean(2, keepdims=True)) / np.sqrt(SUM.var(2, keepdims=True) + 1e-5) * SCALE + SHIFT
"""

BUILD_EMBEDDINGS = (
    COMMON
    + EMBEDDINGS
    + """
builder = trt.Builder(LOGGER)
network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))

def constant(values):
    return network.add_constant(values.shape, values).get_output(0)

def added(left, right):
    return network.add_elementwise(left, right, trt.ElementWiseOperation.SUM).get_output(0)

words = network.add_gather(constant(TABLES[0]), network.add_input("ids", trt.int64, IDS.shape), 0).get_output(0)
kinds = network.add_gather(constant(TABLES[1]), network.add_input("segments", trt.int32, SEGMENTS.shape), 0)
x = added(added(words, kinds.get_output(0)), constant(TABLES[2]))
y = network.add_normalization(x, constant(SCALE), constant(SHIFT), 1 << 2).get_output(0)
y.name = "y"
network.mark_output(y)
config = builder.create_builder_config()
config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
open({path!r}, "wb").write(bytes(builder.build_serialized_network(network, config)))
"""
)

LOAD_EMBEDDINGS = loading(
    EMBEDDINGS,
    [("ids", "IDS"), ("segments", "SEGMENTS")],
    "NORMAL",
    "np.allclose(found, NORMAL, atol=0.02, rtol=0.004)",
)


def test_norms_of_embeddings_are_one_layer_on_gpus_and_several_on_the_host(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "plan")
    on_fake_gpu(BUILD_EMBEDDINGS.format(path=path), 90)
    for here in (90, 86, 75):
        assert on_fake_gpu(LOAD_EMBEDDINGS.format(path=path), here).count('"EmbeddingNorm"') == 1
    on_host = 'import os\nos.environ["TENON_DEVICE"] = "cpu"\n'
    said = on_fake_gpu(on_host + LOAD_EMBEDDINGS.format(path=path))
    assert said.count('"Gather"') == 2 and said.count('"Normalization"') == 1 and "EmbeddingNorm" not in said
