"""A detector's tail over thousands of shapes and counts: right every time, memory within the cache's limit, no slower.

Run by `make soak`, not by `make test`. TENON_SOAK_ROUNDS sets the number of runs (4,000).
"""

import ctypes
import gc
import os
import time

import numpy as np
import tensorrt as trt

ROUNDS = int(os.environ.get("TENON_SOAK_ROUNDS", "4000"))
ROWS = 3000
DEPTH = 16
CACHE = 64 << 20  # What an engine keeps for shapes that it has seen.
LOGGER = trt.Logger(trt.Logger.WARNING)


WEIGHTS = np.random.default_rng(7).standard_normal((DEPTH, DEPTH)).astype(np.float32)


def engine_of_tail() -> trt.ICudaEngine:
    """Rows of positive score, through a product with weights, ReLU and a sum over each row; and their positions."""
    builder = trt.Builder(LOGGER)
    network = builder.create_network(0)
    x = network.add_input("x", trt.float32, (-1, DEPTH))
    score = network.add_input("score", trt.float32, (-1,))
    zero = network.add_constant((1,), np.zeros(1, np.float32)).get_output(0)
    keep = network.add_elementwise(score, zero, trt.ElementWiseOperation.GREATER).get_output(0)
    found = network.add_shuffle(network.add_non_zero(keep).get_output(0))
    found.reshape_dims = (-1,)
    rows = network.add_gather(x, found.get_output(0), 0).get_output(0)
    fixed = network.add_constant(WEIGHTS.shape, WEIGHTS).get_output(0)
    product = network.add_matrix_multiply(rows, trt.MatrixOperation.NONE, fixed, trt.MatrixOperation.NONE)
    positive = network.add_activation(product.get_output(0), trt.ActivationType.RELU).get_output(0)
    total = network.add_reduce(positive, trt.ReduceOperation.SUM, 2, False).get_output(0)
    for name, tensor in (("total", total), ("found", found.get_output(0))):
        tensor.name = name
        network.mark_output(tensor)
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (0, DEPTH), (100, DEPTH), (ROWS, DEPTH))
    profile.set_shape("score", (0,), (100,), (ROWS,))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    return trt.Runtime(LOGGER).deserialize_cuda_engine(plan)


class Rows(trt.IOutputAllocator):
    """Memory for the largest output, and the shape that the run had."""

    def __init__(self, kind: type) -> None:
        trt.IOutputAllocator.__init__(self)
        self.memory = np.empty(ROWS, kind)
        self.count = -1

    def reallocate_output(self, tensor_name: str, memory: int, size: int, alignment: int) -> int:
        return self.memory.ctypes.data if size <= self.memory.nbytes else 0

    def notify_shape(self, tensor_name: str, shape: trt.Dims) -> None:
        (self.count,) = shape


class Tail:
    def __init__(self, engine: trt.ICudaEngine) -> None:
        self.context = engine.create_execution_context()
        self.total = Rows(np.float32)
        self.found = Rows(np.int32)
        assert self.context.set_output_allocator("total", self.total)
        assert self.context.set_output_allocator("found", self.found)

    def run(self, x: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        for name, data in (("x", x), ("score", score)):
            assert self.context.set_input_shape(name, data.shape)
            assert self.context.set_tensor_address(name, data.ctypes.data)
        assert self.context.execute_async_v3(0)
        return self.total.memory[: self.total.count], self.found.memory[: self.found.count]


def written() -> int:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(("Anonymous:", "Swap:"))) << 10


def test_thousands_of_shapes_and_counts() -> None:
    tail = Tail(engine_of_tail())
    random = np.random.default_rng(int(os.environ.get("TENON_SOAK_SEED", "1")))
    x = random.standard_normal((ROWS, DEPTH)).astype(np.float32)
    score = random.standard_normal(ROWS).astype(np.float32)
    want = np.maximum(x @ WEIGHTS, 0).sum(1)
    counts: set[tuple[int, int]] = set()
    seconds: list[float] = []
    after: list[int] = []
    for number in range(ROUNDS):
        first = int(random.integers(0, ROWS))
        rows = slice(first, int(random.integers(first, ROWS + 1)))
        shifted = score[rows] - np.float32(random.normal())
        start = time.thread_time()
        total, found = tail.run(x[rows], shifted)
        seconds.append(time.thread_time() - start)
        at = np.flatnonzero(shifted > 0)
        np.testing.assert_array_equal(found, at, err_msg=f"round {number}")
        np.testing.assert_allclose(total, want[rows][at], rtol=1e-4, atol=1e-4, err_msg=f"round {number}")
        counts.add((shifted.size, at.size))
        if number + 1 in (ROUNDS // 4, ROUNDS):
            after.append(written())
    assert len(counts) > ROUNDS // 2
    assert after[1] - after[0] < CACHE + (8 << 20)
    assert np.median(seconds[-ROUNDS // 4 :]) < 2 * np.median(seconds[: ROUNDS // 4]) + 1e-4
