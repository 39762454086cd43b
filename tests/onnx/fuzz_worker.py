"""Parses one model, builds it and runs it, within limits: what must never crash, hang or take memory beyond a bound."""

import argparse
import mmap
import os
import pathlib
import pickle
import random
import resource
import signal
import struct
import sys

import numpy as np
import onnx
import tensorrt as trt
from mutations import Mutator, with_noise
from running import Elements

ADDRESS_SPACE = 3 << 30  # Bytes of the whole process, of which Python and NumPy take half a gigabyte.
WORKSPACE = 256 << 20  # What the builder may plan for.
LARGEST_RUN = 64 << 20  # Bytes of inputs, outputs and a context beyond which a plan is not run.
CPU_SECONDS = 10  # Of one model. The clock of the processor, as others may share it.
WALL_SECONDS = 200  # For one that sleeps: many processes may share the machine.
BATCH = 500

NUMBER, PARSED, BUILT, RAN, SILENT, INTERNAL = range(6)  # Places in the record that the parent reads.


class Record:
    """Counts in a file that outlives the process."""

    def __init__(self, path: pathlib.Path):
        if not path.exists() or path.stat().st_size < 64:
            path.write_bytes(bytes(64))
        self.file = open(path, "r+b")  # It lives as long as the record.
        self.map = mmap.mmap(self.file.fileno(), 64)

    def __getitem__(self, place: int) -> int:
        return struct.unpack_from("<q", self.map, 8 * place)[0]

    def __setitem__(self, place: int, value: int) -> None:
        struct.pack_into("<q", self.map, 8 * place, value)


class Listener(trt.ILogger):
    """Keeps what was said of mistakes: the engine's own are findings."""

    def __init__(self):
        trt.ILogger.__init__(self)
        self.errors: list[str] = []
        self.internal: list[str] = []

    def log(self, severity, message):
        if severity == trt.ILogger.Severity.INTERNAL_ERROR:
            self.internal.append(message)
        if severity in (trt.ILogger.Severity.INTERNAL_ERROR, trt.ILogger.Severity.ERROR):
            self.errors.append(message)


class Outputs(trt.IOutputAllocator):
    def __init__(self):
        trt.IOutputAllocator.__init__(self)
        self.memory = []

    def reallocate_output(self, tensor_name, memory, size, alignment):
        if size > LARGEST_RUN:
            return 0
        self.memory.append(np.empty(max(size, 1), np.uint8))
        return self.memory[-1].ctypes.data

    def notify_shape(self, tensor_name, shape):
        pass


class Finding(RuntimeError):
    """What is no crash and yet wrong: a refusal without a word, or a mistake that the engine calls its own."""


def bounded(dims, scale: int) -> tuple[int, ...]:
    return tuple(scale if dim < 0 else dim for dim in dims)


def profiled(builder, network, config) -> bool:
    profile = builder.create_optimization_profile()
    for i in range(network.num_inputs):
        tensor = network.get_input(i)
        try:
            if -1 in tuple(tensor.shape):
                profile.set_shape(tensor.name, *(bounded(tensor.shape, scale) for scale in (1, 2, 4)))
            if tensor.is_shape_tensor:
                count = int(np.prod([max(dim, 0) for dim in tensor.shape], dtype=np.float64))
                if count > 64:
                    return False
                profile.set_shape_input(tensor.name, *([value] * count for value in (1, 2, 4)))
        except (ValueError, TypeError):
            return False  # Bindings refuse what no profile may say.
    return config.add_optimization_profile(profile) >= 0


def built(model: bytes, listener: Listener, record: Record) -> bytes | None:
    builder = trt.Builder(listener)
    network = builder.create_network(0)
    parser = trt.OnnxParser(network, listener)
    if not parser.parse(model):
        if parser.num_errors == 0:
            raise Finding("the parser refuses without an error")
        for i in range(parser.num_errors):
            if parser.get_error(i).code() == trt.ErrorCode.INTERNAL_ERROR:
                raise Finding(f"the parser calls a mistake its own: {parser.get_error(i).desc()}")
        return None
    record[PARSED] += 1
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, WORKSPACE)
    if not profiled(builder, network, config):
        return None
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        if not listener.errors:
            raise Finding("the builder refuses without an error")
        return None
    record[BUILT] += 1
    return bytes(plan)


def bytes_of(shape) -> int:
    return int(np.prod([float(max(dim, 0)) for dim in shape])) * 8


def operand(engine, name: str, shape, numbers) -> np.ndarray:
    dtype = engine.get_tensor_dtype(name)
    if engine.is_shape_inference_io(name):
        return Elements(dtype).encoded(np.full(shape, 2))
    if dtype in (trt.DataType.FLOAT, trt.DataType.HALF, trt.DataType.BF16, trt.DataType.FP8):
        return Elements(dtype).encoded(numbers.normal(0, 2, shape))
    if dtype in (trt.DataType.INT4, trt.DataType.FP4):
        return numbers.integers(0, 255, bytes_of(shape) // 16 + 1).astype(np.uint8)
    return Elements(dtype).encoded(numbers.integers(0, 2 if dtype == trt.DataType.BOOL else 4, shape))


def run_once(engine, context, scale: int, numbers) -> bool:
    outputs, kept = Outputs(), []
    try:
        names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
    except UnicodeDecodeError:
        return False  # Python has no such name.
    for name in names:
        if engine.get_tensor_mode(name) == trt.TensorIOMode.OUTPUT:
            context.set_output_allocator(name, outputs)
            continue
        shape = bounded(engine.get_tensor_shape(name), scale)
        if bytes_of([max(dim, 1) for dim in shape]) > LARGEST_RUN:  # NumPy refuses empty arrays of huge extents.
            return False
        kept.append(np.asarray(operand(engine, name, shape, numbers)))
        if not context.set_input_shape(name, shape):
            return False
        context.set_tensor_address(name, kept[-1].ctypes.data)
    return context.execute_async_v3(0)


def work(model: bytes, record: Record) -> None:
    listener = Listener()
    plan = built(model, listener, record)
    ran = False
    if plan is not None:
        engine = trt.Runtime(listener).deserialize_cuda_engine(plan)
        if engine is None:
            raise Finding(f"the runtime refuses the builder's plan: {listener.errors}")
        if engine.device_memory_size_v2 <= LARGEST_RUN:
            context = engine.create_execution_context()
            numbers = np.random.default_rng(1)
            for scale in (2, 4, 1):
                if context is not None and run_once(engine, context, scale, numbers):
                    ran = True
    record[RAN] += ran
    if listener.internal:
        raise Finding(f"the engine calls a mistake its own: {listener.internal[0]}")


def limited(worker) -> None:
    """Runs it with clocks whose ends kill the process, so that the parent sees which model it was."""
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    worker()
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def model_of(number: int, seeds: list[tuple[str, bytes]]) -> bytes:
    """The model of that number: always the same for the same seeds."""
    source = random.Random(number)
    _, seed = source.choice(seeds)
    mutator = Mutator(source.getrandbits(64), [bytes_ for _, bytes_ in seeds])
    changed = mutator.mutated(onnx.ModelProto.FromString(seed)).SerializeToString()
    return with_noise(changed, source) if source.random() < 0.03 else changed


def try_model(model: bytes, record: Record, keep: pathlib.Path, number: int) -> None:
    try:
        limited(lambda: work(model, record))
    except Finding as finding:
        record[SILENT] += 1
        (keep / f"finding_{number}.onnx").write_bytes(model)
        (keep / f"finding_{number}.txt").write_text(str(finding))
    except MemoryError:
        pass  # Python's own arrays.


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("record", type=pathlib.Path)
    options.add_argument("--seeds", type=pathlib.Path, help="pickled models to change")
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--last", type=int, default=0)
    options.add_argument("--file", type=pathlib.Path, nargs="*", help="models to try as they are")
    given = options.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    trt.init_libnvinfer_plugins(trt.Logger(trt.Logger.INTERNAL_ERROR), "")
    record = Record(given.record)
    keep = given.record.parent
    for number, file in enumerate(given.file or []):
        record[NUMBER] = number
        limited(lambda file=file: work(file.read_bytes(), record))
    if given.seeds:
        seeds = pickle.loads(given.seeds.read_bytes())
        for number in range(given.first, given.last):
            record[NUMBER] = number
            try_model(model_of(number, seeds), record, keep, number)
    sys.stdout.flush()
    os._exit(0)  # What is left is released with the process.


if __name__ == "__main__":
    main()
