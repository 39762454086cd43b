"""Weight streaming in Python: properties, plans in files that are written over, and memory."""

import gc
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tenon
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.ERROR)
SIDE, LAYERS = 1024, 6
MATRIX = SIDE * SIDE * 4


@pytest.fixture(scope="module")
def plan() -> bytes:
    builder = trt.Builder(LOGGER)
    network = builder.create_network()
    random = np.random.default_rng(7)
    x = network.add_input("x", trt.float32, (3, SIDE))
    none = trt.MatrixOperation.NONE
    matrices = [random.standard_normal((SIDE, SIDE)).astype(np.float32) for _ in range(LAYERS)]
    for matrix in matrices:
        weights = network.add_constant((SIDE, SIDE), matrix).get_output(0)
        product = network.add_matrix_multiply(x, none, weights, none).get_output(0)
        x = network.add_activation(product, trt.ActivationType.TANH).get_output(0)
    x.name = "y"
    network.mark_output(x)
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.WEIGHT_STREAMING)
    return bytes(builder.build_serialized_network(network, config))


def run(engine: trt.ICudaEngine) -> np.ndarray:
    context = engine.create_execution_context()
    x = np.random.default_rng(8).standard_normal((3, SIDE)).astype(np.float32)
    y = np.empty_like(x)
    context.set_tensor_address("x", x)
    context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    return y


def test_properties(plan: bytes) -> None:
    """Rules V1, V3."""
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    size = engine.streamable_weights_size
    assert size == LAYERS * MATRIX and engine.weight_streaming_budget_v2 == size
    assert 0 <= engine.get_weight_streaming_automatic_budget() <= size
    expected = run(engine)
    engine.weight_streaming_budget_v2 = size // 4
    assert engine.weight_streaming_budget_v2 == size // 4
    assert engine.weight_streaming_scratch_memory_size == MATRIX
    np.testing.assert_array_equal(run(engine), expected)
    with pytest.raises(RuntimeError):  # The older calls do not mix with the newer.
        engine.weight_streaming_budget = MATRIX
    assert engine.weight_streaming_budget_v2 == size // 4
    other = trt.Runtime(LOGGER).deserialize_cuda_engine(plan)
    assert other.minimum_weight_streaming_budget == MATRIX and other.weight_streaming_budget == 0
    other.weight_streaming_budget = MATRIX
    assert other.weight_streaming_budget == MATRIX
    np.testing.assert_array_equal(run(other), expected)


def test_the_file_may_be_written_over(plan: bytes, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "streamed.plan"
    path.write_bytes(plan)
    engine = tenon.load(trt.Runtime(LOGGER), path)
    engine.weight_streaming_budget_v2 = 0
    expected = run(engine)
    path.write_bytes(b"\xff" * len(plan))
    np.testing.assert_array_equal(run(engine), expected)
    path.write_bytes(b"")
    np.testing.assert_array_equal(run(engine), expected)
    path.unlink()
    np.testing.assert_array_equal(run(engine), expected)


class Reader(trt.IStreamReader):
    def __init__(self, path: str) -> None:
        trt.IStreamReader.__init__(self)
        self.file = open(path, "rb")  # noqa: SIM115

    def read(self, size: int) -> bytes:
        return self.file.read(size)


class Reader2(trt.IStreamReaderV2):
    def __init__(self, path: str) -> None:
        trt.IStreamReaderV2.__init__(self)
        self.file = open(path, "rb")  # noqa: SIM115

    def read(self, num_bytes: int, stream: int) -> bytes:
        return self.file.read(num_bytes)

    def seek(self, offset: int, where: trt.SeekPosition) -> bool:
        return False


LOADS = {
    "file": tenon.load,
    "reader": lambda runtime, path: runtime.deserialize_cuda_engine(Reader(path)),
    "reader2": lambda runtime, path: runtime.deserialize_cuda_engine(Reader2(path)),
}


@pytest.mark.parametrize("load", LOADS)
def test_damaged_plans_are_refused(
    plan: bytes, tmp_path: pathlib.Path, load: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "damaged.plan"
    path.write_bytes(plan[:-1] + bytes([plan[-1] ^ 1]))
    assert LOADS[load](trt.Runtime(LOGGER), path) is None
    assert "the checksum of its weights is wrong" in capfd.readouterr().err
    path.write_bytes(plan[: len(plan) // 2])
    assert LOADS[load](trt.Runtime(LOGGER), path) is None


@pytest.mark.parametrize("load", [*LOADS, "bytes"])
def test_a_temporary_file_must_be_allowed(
    plan: bytes, tmp_path: pathlib.Path, load: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "streamed.plan"
    path.write_bytes(plan)
    runtime = trt.Runtime(LOGGER)
    runtime.tempfile_control_flags = 1 << int(trt.TempfileControlFlag.ALLOW_IN_MEMORY_FILES)
    from_where = LOADS | {"bytes": lambda runtime, path: runtime.deserialize_cuda_engine(path.read_bytes())}
    assert from_where[load](runtime, path) is None
    assert "setTempfileControlFlags does not allow one" in capfd.readouterr().err
    runtime.tempfile_control_flags |= 1 << int(trt.TempfileControlFlag.ALLOW_TEMPORARY_FILES)
    assert from_where[load](runtime, path) is not None


SCRIPT = """
import sys
import numpy as np
import tenon, tensorrt as trt
sys.path.insert(0, {folder!r})
import test_weight_streaming as t

def memory():
    lines = open("/proc/self/status").read().splitlines()
    return {{name: int(rest.split()[0]) * 1024 for name, _, rest in (line.partition(":") for line in lines)
             if name in ("VmRSS", "VmHWM")}}

engine = t.LOADS[sys.argv[3]](trt.Runtime(t.LOGGER), sys.argv[1])
engine.weight_streaming_budget_v2 = int(sys.argv[2])
np.random.default_rng(8).standard_normal(1)  # NumPy loads its generators at their first use: not what is measured.
before = memory()["VmRSS"]
y = t.run(engine)
t.run(engine)
print(before, memory()["VmRSS"], memory()["VmHWM"], y.tobytes().hex())
"""


@pytest.mark.parametrize("load", LOADS)
def test_memory_follows_the_budget(plan: bytes, tmp_path: pathlib.Path, load: str) -> None:
    """Rule V1: what is resident is bounded, from the load on."""
    path = tmp_path / "streamed.plan"
    path.write_bytes(plan)
    results = {}
    for budget in (0, 3 * MATRIX, LAYERS * MATRIX):
        code = SCRIPT.format(folder=str(pathlib.Path(__file__).parent))
        done = subprocess.run(
            [sys.executable, "-c", code, str(path), str(budget), load], capture_output=True, text=True, check=True
        )
        before, after, most, y = done.stdout.split()
        results[budget] = int(before), int(after), int(most), y
    gc.collect()
    slack = MATRIX
    for before, after, _, _ in [results[0]]:
        assert after - before < slack
    kept = results[3 * MATRIX][1] - results[3 * MATRIX][0]
    assert MATRIX < kept < 3 * MATRIX
    everything = results[LAYERS * MATRIX][1] - results[LAYERS * MATRIX][0]
    assert everything > (LAYERS - 1) * MATRIX
    assert results[0][2] < results[LAYERS * MATRIX][2] - (LAYERS - 3) * MATRIX  # The load took no more, either.
    assert len({y for *_, y in results.values()}) == 1
