"""What `make demo` builds: the library without kernels that its machine cannot run, build/narrow."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).parents[2]
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build"))
NARROW = BUILD / "narrow"

NETWORK = """
import sys
import numpy as np
import tensorrt as trt
import tenon

dtype = {"half": trt.float16, "bfloat": trt.bfloat16}.get(sys.argv[1], trt.float32)
builder = trt.Builder(trt.Logger(trt.Logger.WARNING))
network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
random = np.random.default_rng(4)
x = network.add_input("x", trt.float32, (2, 32, 24, 24))
kernel = network.add_constant((64, 32, 3, 3), random.standard_normal((64, 32, 3, 3), np.float32)).get_output(0)

def cast(tensor):
    return tensor if tensor.dtype == dtype else network.add_cast(tensor, dtype).get_output(0)

def rounded(tensor, scale):
    factor = network.add_constant((), np.full((), scale, np.float32)).get_output(0)
    return network.add_dequantize(network.add_quantize(tensor, factor, trt.int8).get_output(0), factor,
                                  trt.float32).get_output(0)

def pair(x, kernel):
    return (rounded(x, 0.03), rounded(kernel, 0.03)) if sys.argv[1] == "int8" else (cast(x), cast(kernel))

x, kernel = pair(x, kernel)
y = network.add_convolution_nd(x, 64, (3, 3), trt.Weights(dtype))
y.set_input(1, kernel)
y.padding_nd = (1, 1)
y = network.add_activation(y.get_output(0), trt.ActivationType.RELU).get_output(0)
y = network.add_softmax(y).get_output(0)
y = network.add_cast(y, trt.float32).get_output(0)
y.name = "y"
network.mark_output(y)
engine = trt.Runtime(trt.Logger(trt.Logger.WARNING)).deserialize_cuda_engine(
    builder.build_serialized_network(network, builder.create_builder_config()))
context = engine.create_execution_context()
given = random.standard_normal((2, 32, 24, 24), np.float32)
result = np.empty((2, 64, 24, 24), np.float32)
context.set_tensor_address("x", given)
context.set_tensor_address("y", result)
assert context.execute_async_v3(0)
np.save(sys.argv[2], result)
"""

pytestmark = pytest.mark.skipif(not (NARROW / "libtenon.so.0").exists(), reason="a build that is narrow itself")


def environment(narrow: bool, **more: str) -> dict[str, str]:
    path = f"{NARROW}:{os.environ.get('LD_LIBRARY_PATH', '')}" if narrow else os.environ.get("LD_LIBRARY_PATH", "")
    return os.environ | {"LD_LIBRARY_PATH": path} | more


def devices(**more: str) -> str:
    command = [BUILD / "bin" / "tenon", "devices"]
    return subprocess.run(command, capture_output=True, text=True, env=environment(True, **more), check=False).stdout


def test_it_says_what_it_lacks() -> None:
    said = devices()
    assert "this build has no kernels for GPUs, as `make demo` leaves them out where there is none" in said
    assert "avx2" in said and "avx512" not in said.split("cuda")[0]
    assert "avx512" not in devices(TENON_ISA="avx512_vnni").split("cuda")[0]


@pytest.mark.parametrize("kind", ("float", "half", "bfloat", "int8"))
def test_it_computes_as_the_whole_one_under_avx2(tmp_path: pathlib.Path, kind: str) -> None:
    results = []
    for name, chosen in (("narrow", environment(True)), ("whole", environment(False, TENON_ISA="avx2"))):
        path = tmp_path / f"{name}.npy"
        command = [sys.executable, "-c", NETWORK, kind, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, env=chosen, check=False)
        assert done.returncode == 0, done.stderr
        results.append(np.load(path))
    assert results[0].std() > 0
    assert np.array_equal(*results)


def test_only_the_demo_is_narrow(tmp_path: pathlib.Path) -> None:
    """Of a fresh folder; and whatever else is made in a narrow one completes it."""

    def made(target: str, folder: pathlib.Path) -> str:
        command = ["make", "-n", target, f"BUILD={folder}"]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert "-DTENON_WHOLE=OFF" in made("demo", tmp_path / "fresh")
    assert "-DTENON_WHOLE=OFF" not in made("libraries", tmp_path / "fresh")
    assert "-DTENON_WHOLE=OFF" not in made("test", tmp_path / "fresh")
    recipe = [line for line in made("libraries", tmp_path / "fresh").splitlines() if "TENON_WHOLE:BOOL=OFF" in line]
    assert recipe and '[ -z "" ]' in recipe[0]
