"""Long runs on real models: memory stays flat over changes of shape, contexts in threads agree with one alone.

Run by `make soak`, not by `make test`. TENON_SOAK_ROUNDS sets the number of changes (4,000).
"""

import ctypes
import gc
import os
import pathlib
import sys
import threading

import numpy as np
import pytest
import tensorrt as trt

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))

import plans
import references
from zoo import MODELS

ROUNDS = int(os.environ.get("TENON_SOAK_ROUNDS", "4000"))
NAMES = ["ocr_classifier", "ocr_recognizer", "magika"]
PR_SET_THP_DISABLE = 41


@pytest.fixture(scope="module", autouse=True)
def no_huge_pages() -> None:
    """They come when the kernel finds the time."""
    assert ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0


@pytest.fixture(scope="module", params=NAMES)
def plan(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, pathlib.Path]:
    path = tmp_path_factory.mktemp("soak") / f"{request.param}.plan"
    path.write_bytes(plans.build(MODELS[request.param]))
    return request.param, path


def written() -> int:
    """Bytes that this process has written to and keeps, in memory or swapped out.

    Not what is mapped from files: the kernel drops and reads that as it likes.
    """
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/smaps_rollup") as file:
        return sum(int(line.split()[1]) for line in file if line.startswith(("Anonymous:", "Swap:"))) << 10


def test_memory_is_flat_over_changes_of_shape(plan: tuple[str, pathlib.Path]) -> None:
    name, path = plan
    model = MODELS[name]
    session = plans.Session(path, 2)
    feeds = [references.inputs(model, shapes, 0) for shapes in model.shapes]
    first = [session(feed) for feed in feeds]

    def rounds(count: int) -> None:
        for number in range(count):
            which = number % len(feeds)
            outputs = session(feeds[which])
            if number % 97 == 0:
                for output, array in outputs.items():
                    np.testing.assert_array_equal(array, first[which][output])

    rounds(3 * len(feeds))
    before = written()
    # To the same shape as before: the session keeps what the last run was given and what it gave.
    rounds(-(-ROUNDS // len(NAMES) // len(feeds)) * len(feeds))
    assert written() - before < (4 << 20)


def test_engines_come_and_go_without_a_trace(plan: tuple[str, pathlib.Path]) -> None:
    name, path = plan
    model = MODELS[name]
    feed = references.inputs(model, model.shapes[0], 0)
    for _ in range(3):
        plans.Session(path, 2)(feed)
    before = written()
    for _ in range(max(ROUNDS // 40, 10)):
        plans.Session(path, 2)(feed)
    assert written() - before < (8 << 20)
    assert str(path) not in pathlib.Path("/proc/self/maps").read_text()


def test_contexts_in_threads_agree_with_one_alone(plan: tuple[str, pathlib.Path]) -> None:
    name, path = plan
    model = MODELS[name]
    runtime = trt.Runtime(plans.LOGGER)
    runtime.max_threads = 1
    engine = runtime.deserialize_cuda_engine(path.read_bytes())
    feeds = [references.inputs(model, shapes, 1) for shapes in model.shapes]

    def run(context: trt.IExecutionContext, feed: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        outputs = {}
        for input_name, data in feed.items():
            assert context.set_input_shape(input_name, data.shape)
            context.set_tensor_address(input_name, np.ascontiguousarray(data))
        for tensor in engine:
            if engine.get_tensor_mode(tensor) == trt.TensorIOMode.OUTPUT:
                kind = trt.nptype(engine.get_tensor_dtype(tensor))
                outputs[tensor] = np.empty(tuple(context.get_tensor_shape(tensor)), kind)
                context.set_tensor_address(tensor, outputs[tensor])
        assert context.execute_async_v3(0)
        return outputs

    alone = engine.create_execution_context()
    want = [run(alone, feed) for feed in feeds]
    failures: list[str] = []

    def worker(seed: int) -> None:
        context = engine.create_execution_context()
        for which in np.random.default_rng(seed).integers(0, len(feeds), max(ROUNDS // 40, 10)):
            for output, array in run(context, feeds[which]).items():
                if not np.array_equal(array, want[which][output]):
                    failures.append(f"thread {seed}, shape {which}, output {output}")

    threads = [threading.Thread(target=worker, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:5]
