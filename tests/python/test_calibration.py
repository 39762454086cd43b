"""Calibrators written in Python."""

import struct

import numpy as np
import pytest
import small
import tensorrt as trt

DATA = [np.random.default_rng(seed).standard_normal((2, 8)).astype(np.float32) for seed in range(3)]


class Batches:
    """What calibrators of all algorithms share here."""

    def start(self, cache: bytes | None = None) -> None:
        self.left = list(DATA)
        self.names: list[str] = []
        self.cache = cache
        self.written = b""

    def get_batch_size(self) -> int:
        return 2

    def get_batch(self, names: list[str]) -> list[int] | None:
        self.names = names
        if not self.left:
            return None
        self.now = self.left.pop(0)
        return [self.now.ctypes.data]

    def read_calibration_cache(self) -> bytes | None:
        return self.cache

    def write_calibration_cache(self, cache: memoryview) -> None:
        self.written = cache.tobytes()


class MinMax(Batches, trt.IInt8MinMaxCalibrator):
    def __init__(self, cache: bytes | None = None) -> None:
        trt.IInt8MinMaxCalibrator.__init__(self)
        self.start(cache)


class Entropy(Batches, trt.IInt8EntropyCalibrator):
    def __init__(self) -> None:
        trt.IInt8EntropyCalibrator.__init__(self)
        self.start()


class Entropy2(Batches, trt.IInt8EntropyCalibrator2):
    def __init__(self) -> None:
        trt.IInt8EntropyCalibrator2.__init__(self)
        self.start()


class Legacy(Batches, trt.IInt8LegacyCalibrator):
    def __init__(self) -> None:
        trt.IInt8LegacyCalibrator.__init__(self)
        self.start()

    def get_quantile(self) -> float:
        return 0.5

    def get_regression_cutoff(self) -> float:
        return 0.25

    def read_histogram_cache(self, length: int) -> bytes | None:
        self.asked = getattr(self, "asked", 0) + 1
        return getattr(self, "histograms", None)

    def write_histogram_cache(self, ptr: memoryview, length: int) -> None:
        self.histograms = bytes(ptr)
        assert len(self.histograms) == length


def network(builder: trt.Builder) -> trt.INetworkDefinition:
    definition = builder.create_network()
    x = definition.add_input("x", trt.float32, (2, 8))
    weights = definition.add_constant((8, 4), small.WEIGHTS).get_output(0)
    none = trt.MatrixOperation.NONE
    product = definition.add_matrix_multiply(x, none, weights, none).get_output(0)
    product.name = "y"
    definition.mark_output(product)
    return definition


def build(calibrator: object, log: small.Recorder) -> trt.IHostMemory | None:
    builder = trt.Builder(log)
    config = builder.create_builder_config()
    config.set_flag(trt.BuilderFlag.INT8)
    config.int8_calibrator = calibrator
    assert config.int8_calibrator is calibrator
    return builder.build_serialized_network(network(builder), config)


def run(plan: trt.IHostMemory, log: small.Recorder) -> np.ndarray:
    engine = trt.Runtime(log).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    y = np.empty((2, 4), np.float32)
    context.set_tensor_address("x", DATA[0])
    context.set_tensor_address("y", y)
    assert context.execute_async_v3(0)
    return y


def scale(cache: bytes, name: str) -> float:
    lines = dict(line.rsplit(": ", 1) for line in cache.decode().splitlines()[1:])
    return struct.unpack("!f", bytes.fromhex(lines[name]))[0]


def in_steps(step: float) -> np.ndarray:
    per_map = np.abs(small.WEIGHTS).max(axis=0) / np.float32(127)
    weights = np.rint(small.WEIGHTS / per_map) * per_map
    return np.clip(np.rint(DATA[0] / np.float32(step)), -128, 127) * np.float32(step) @ weights


@pytest.fixture(autouse=True)
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What callbacks raised, which is printed and goes no further."""
    seen: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda raised: seen.append(str(raised.exc_value)))
    return seen


@pytest.fixture
def log() -> small.Recorder:
    return small.Recorder()


def test_x2_ranges_come_from_batches(log: small.Recorder) -> None:
    """X2"""
    calibrator = MinMax()
    plan = build(calibrator, log)
    assert plan is not None, log.errors()
    assert calibrator.names == ["x"] and not calibrator.left
    step = scale(calibrator.written, "x")
    assert step == pytest.approx(max(np.abs(data).max() for data in DATA) / 127, rel=1e-6)
    y = run(plan, log)
    np.testing.assert_allclose(y, in_steps(step), atol=1e-3)
    assert not np.allclose(y, DATA[0] @ small.WEIGHTS, atol=1e-5)


@pytest.mark.parametrize("kind", [Entropy, Entropy2, Legacy])
def test_every_algorithm_finds_ranges(kind: type, log: small.Recorder) -> None:
    calibrator = kind()
    plan = build(calibrator, log)
    assert plan is not None, log.errors()
    largest = max(np.abs(data).max() for data in DATA)
    assert 0.2 * largest <= scale(calibrator.written, "x") * 127 <= largest * 1.0001
    algorithm = {Entropy: b"EntropyCalibration", Entropy2: b"EntropyCalibration2", Legacy: b"LegacyCalibration"}[kind]
    assert calibrator.written.splitlines()[0].endswith(b"-" + algorithm)
    np.testing.assert_allclose(run(plan, log), DATA[0] @ small.WEIGHTS, atol=12)
    if kind is Legacy:
        assert len(calibrator.histograms) > 4096 and calibrator.asked == 1


def test_a_legacy_calibrator_gives_back_its_histograms(log: small.Recorder) -> None:
    first = Legacy()
    plan = build(first, log)
    second = Legacy()
    second.histograms = first.histograms
    assert bytes(build(second, log)) == bytes(plan) and second.asked == 1, log.errors()
    assert len(second.left) == len(DATA), "nothing was run"


def test_a_cache_is_read(log: small.Recorder) -> None:
    first = MinMax()
    assert build(first, log) is not None
    second = MinMax(first.written)
    plan = build(second, log)
    assert plan is not None and len(second.left) == len(DATA) and second.written == b""
    np.testing.assert_allclose(run(plan, log), in_steps(scale(first.written, "x")), atol=1e-3)


def test_x2_an_exception_ends_the_batches(log: small.Recorder, unraisable: list[str]) -> None:
    """X2"""

    class Raising(MinMax):
        def get_batch(self, names: list[str]) -> list[int]:
            raise ValueError("no such file")

    assert build(Raising(), log) is None
    assert "neither a cache nor a batch" in log.errors()
    assert unraisable == ["no such file"]


def test_x2_a_missing_method_is_named(log: small.Recorder, capfd: pytest.CaptureFixture) -> None:
    """X2"""

    class Bare(trt.IInt8EntropyCalibrator2):
        def __init__(self) -> None:
            trt.IInt8EntropyCalibrator2.__init__(self)

    assert build(Bare(), log) is None
    assert "does not implement get_batch" in capfd.readouterr().err


def test_the_algorithm_is_that_of_the_class() -> None:
    assert MinMax().get_algorithm() == trt.CalibrationAlgoType.MINMAX_CALIBRATION
    assert Entropy2().get_algorithm() == trt.CalibrationAlgoType.ENTROPY_CALIBRATION_2
    assert Legacy().get_algorithm() == trt.CalibrationAlgoType.LEGACY_CALIBRATION
