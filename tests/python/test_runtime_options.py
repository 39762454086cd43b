"""Rules O3, O5, O8, G10, Q24 and X2 in Python: streams of plans, temporary files, DLA, configurations."""

import sys

import numpy as np
import pytest
import small
import tensorrt as trt

LOGGER = trt.Logger(trt.Logger.INTERNAL_ERROR)


@pytest.fixture(autouse=True)
def print_what_callbacks_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    """As outside of pytest, which would make warnings of them."""
    monkeypatch.setattr(sys, "unraisablehook", sys.__unraisablehook__)


class Reader(trt.IStreamReaderV2):
    """Gives a plan in pieces; `answer` replaces what it would give."""

    def __init__(self, data: bytes, piece: int = 1 << 30) -> None:
        trt.IStreamReaderV2.__init__(self)
        self.data, self.piece, self.at, self.streams = data, piece, 0, set()

    def read(self, num_bytes: int, stream: int) -> bytes:
        self.streams.add(stream)
        given = self.data[self.at : self.at + min(num_bytes, self.piece)]
        self.at += len(given)
        return given

    def seek(self, offset: int, where: trt.SeekPosition) -> bool:
        return False


@pytest.mark.parametrize("piece", [11, 1 << 30])
def test_O3_readers_of_the_second_generation(piece: int) -> None:
    plan = bytes(small.plan(LOGGER))
    reader = Reader(plan + b"what else the stream holds", piece)
    engine = trt.Runtime(LOGGER).deserialize_cuda_engine(reader)
    x = small.inputs()
    np.testing.assert_allclose(small.run(engine, x), small.want(x), 1e-4, 1e-5)
    assert reader.at == len(plan) and reader.streams == {0}


def test_O3_readers_that_end_early_or_lie_give_none() -> None:
    plan = bytes(small.plan(LOGGER))
    runtime = trt.Runtime(LOGGER)
    assert runtime.deserialize_cuda_engine(Reader(plan[: len(plan) // 2])) is None
    assert runtime.deserialize_cuda_engine(Reader(b"")) is None
    assert runtime.deserialize_cuda_engine(Reader(b"something else, and long enough for a header" * 3)) is None
    assert runtime.deserialize_cuda_engine(Reader(plan)) is not None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda self, n: None, "NoneType"),
        (lambda self, n: 7, "int"),
        (lambda self, n: b"x" * (n + 1), "were asked for"),
        (lambda self, n: memoryview(bytearray(2 * n))[::-2], "contiguous"),
        (lambda self, n: 1 // 0, "ZeroDivisionError"),
    ],
)
def test_X2_readers_that_raise_or_answer_nonsense_give_none(answer, said: str, capfd: pytest.CaptureFixture) -> None:
    class Bad(Reader):
        def read(self, num_bytes: int, stream: int) -> bytes:
            return answer(self, num_bytes)

    assert trt.Runtime(LOGGER).deserialize_cuda_engine(Bad(b"")) is None
    assert said in capfd.readouterr().err


def test_X2_a_reader_without_read_is_named(capfd: pytest.CaptureFixture) -> None:
    class Empty(trt.IStreamReaderV2):
        def __init__(self) -> None:
            trt.IStreamReaderV2.__init__(self)

    assert trt.Runtime(LOGGER).deserialize_cuda_engine(Empty()) is None
    assert "read" in capfd.readouterr().err


class Writer(trt.IStreamWriter):
    def __init__(self, answer=len) -> None:
        trt.IStreamWriter.__init__(self)
        self.data, self.answer = b"", answer

    def write(self, data: bytes) -> int:
        self.data += bytes(data)
        return self.answer(data)


def test_G10_a_writer_gets_the_whole_plan_or_the_build_fails(capfd: pytest.CaptureFixture) -> None:
    builder = trt.Builder(LOGGER)
    network, config = small.network(builder), small.config(builder)
    writer = Writer()
    assert builder.build_serialized_network_to_stream(network, config, writer)
    assert writer.data == bytes(builder.build_serialized_network(network, config))
    for answer in (lambda data: len(data) - 1, lambda data: -1, lambda data: None, lambda data: 1 // 0):
        assert not builder.build_serialized_network_to_stream(network, config, Writer(answer))
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_O5_temporary_files() -> None:
    runtime = trt.Runtime(LOGGER)
    both = (1 << int(trt.TempfileControlFlag.ALLOW_IN_MEMORY_FILES)) | (
        1 << int(trt.TempfileControlFlag.ALLOW_TEMPORARY_FILES)
    )
    assert runtime.tempfile_control_flags == both
    runtime.tempfile_control_flags = 1 << int(trt.TempfileControlFlag.ALLOW_TEMPORARY_FILES)
    assert runtime.tempfile_control_flags == 1 << int(trt.TempfileControlFlag.ALLOW_TEMPORARY_FILES)
    assert runtime.temporary_directory is None
    runtime.temporary_directory = "/tmp/elsewhere"
    assert runtime.temporary_directory == "/tmp/elsewhere"
    runtime.temporary_directory = None
    assert runtime.temporary_directory is None


def test_B8_there_are_no_dla_cores() -> None:
    logger = small.Recorder()
    runtime, builder = trt.Runtime(logger), trt.Builder(logger)
    assert runtime.num_DLA_cores == 0 and runtime.DLA_core == -1
    assert builder.num_DLA_cores == 0 and builder.max_DLA_batch_size == 0
    network, config = small.network(builder), builder.create_builder_config()
    assert config.DLA_core == -1
    assert not any(config.can_run_on_DLA(layer) for layer in network)
    assert not logger.errors()
    for number, owner in enumerate((runtime, config), 1):
        owner.DLA_core = 0
        assert owner.DLA_core == -1
        assert logger.errors().count("there is no DLA core 0") == number


def test_O8_flags_of_a_serialization() -> None:
    logger = small.Recorder()
    engine = small.engine(logger)
    config = engine.create_serialization_config()
    assert config.flags == 0
    assert config.set_flag(trt.SerializationFlag.EXCLUDE_WEIGHTS) and config.get_flag(
        trt.SerializationFlag.EXCLUDE_WEIGHTS
    )
    assert engine.serialize_with_config(config) is None
    assert "EXCLUDE_WEIGHTS" in logger.errors()
    assert config.clear_flag(trt.SerializationFlag.EXCLUDE_WEIGHTS) and config.flags == 0
    config.flags = 1 << int(trt.SerializationFlag.EXCLUDE_LEAN_RUNTIME)
    assert bytes(engine.serialize_with_config(config)) == bytes(engine.serialize())


def test_Q24_a_context_has_the_runtime_config_that_it_was_made_with() -> None:
    engine = small.engine(LOGGER)
    assert engine.create_execution_context().get_runtime_config() is None
    config = engine.create_runtime_config()
    config.set_execution_context_allocation_strategy(trt.ExecutionContextAllocationStrategy.USER_MANAGED)
    context = engine.create_execution_context(config)
    assert context.get_runtime_config() is config
    assert config.get_execution_context_allocation_strategy() == trt.ExecutionContextAllocationStrategy.USER_MANAGED


def test_P9_engine_statistics() -> None:
    engine = small.engine(LOGGER)
    assert engine.get_engine_stat(trt.EngineStat.TOTAL_WEIGHTS_SIZE) >= small.WEIGHTS.nbytes
    assert engine.get_engine_stat(trt.EngineStat.STRIPPED_WEIGHTS_SIZE) == -1


def test_a_runtime_config_says_for_how_long_threads_spin() -> None:
    """Tenon's own; tests/api measures that contexts keep to it."""
    logger = small.Recorder()
    engine = small.engine(logger)
    config = engine.create_runtime_config()
    assert config.spin_microseconds == -1  # What TENON_SPIN says.
    for microseconds in (0, 250, -1):
        config.spin_microseconds = microseconds
        assert config.spin_microseconds == microseconds
    assert engine.create_execution_context(config) is not None and not logger.errors()
    with pytest.raises(ValueError, match="-2 microseconds"):
        config.spin_microseconds = -2
    assert config.spin_microseconds == -1 and logger.errors().count("tenonSetSpin") == 1


def test_Y1_no_engine_has_collective_layers_for_a_communicator() -> None:
    recorder = small.Recorder()
    context = small.engine(recorder).create_execution_context()
    assert context.set_communicator(0) is False
    assert context.set_communicator(None) is False
    assert recorder.errors().count("setCommunicator: the engine has no collective layers") == 2


def test_a_standard_engine_has_no_text_of_kernels() -> None:
    builder = trt.Builder(LOGGER)
    network, config = small.network(builder), small.config(builder)
    text: list[trt.IHostMemory] = []
    plan = builder.build_serialized_network(network, config, text)
    assert bytes(plan) == bytes(builder.build_serialized_network(network, config)) and text == []
