"""Processes that fork after a run: multiprocessing's default start method on Linux until Python 3.14."""

import multiprocessing

import numpy as np
import small
import tensorrt as trt


def many_threads() -> trt.ICudaEngine:
    logger = small.Recorder()
    runtime = trt.Runtime(logger)
    runtime.max_threads = 2
    loaded = runtime.deserialize_cuda_engine(small.plan(logger))
    assert loaded is not None
    return loaded


ENGINES: list[trt.ICudaEngine] = []


def answer(seed: int) -> np.ndarray:
    return small.run(ENGINES[-1], small.inputs(16, seed))


def test_a_forked_pool_runs_what_its_parent_ran() -> None:
    ENGINES.append(many_threads())
    try:
        np.testing.assert_allclose(answer(0), small.want(small.inputs(16, 0)), atol=1e-5)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            answers = pool.map_async(answer, range(6)).get(timeout=small.PATIENCE)
        for seed, y in enumerate(answers):
            np.testing.assert_allclose(y, small.want(small.inputs(16, seed)), atol=1e-5)
        np.testing.assert_allclose(answer(7), small.want(small.inputs(16, 7)), atol=1e-5)
    finally:
        ENGINES.clear()
