"""What a pool costs per request beside a bare run of the same small network, on one thread: benchmarks/pool.py"""

import os

os.environ.setdefault("TENON_THREADS", "1")

import time  # noqa: E402
from collections.abc import Callable  # noqa: E402

import numpy as np  # noqa: E402
import tensorrt as trt  # noqa: E402
from tenon.serving import Pool  # noqa: E402

ROUNDS, CALLS = 9, 2000


def small_engine() -> trt.ICudaEngine:
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    x = network.add_input("x", trt.float32, (-1, 8))
    y = network.add_activation(x, trt.ActivationType.RELU).get_output(0)
    y.name = "y"
    network.mark_output(y)
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 8), (1, 8), (16, 8))
    config.add_optimization_profile(profile)
    return trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))


def microseconds(calls: Callable[[], object]) -> float:
    begun = time.perf_counter()
    calls()
    return (time.perf_counter() - begun) / CALLS * 1e6


def main() -> None:
    engine = small_engine()
    context = engine.create_execution_context()
    x, y = np.ones((1, 8), np.float32), np.empty((1, 8), np.float32)
    context.set_input_shape("x", x.shape)
    context.set_tensor_address("x", x.ctypes.data)
    context.set_tensor_address("y", y.ctypes.data)
    with Pool(engine) as single, Pool(engine, max_batch=16, queue=CALLS) as batching:
        contestants = {
            "enqueueV3 by itself": lambda: [context.execute_async_v3(0) for _ in range(CALLS)],
            "Pool.infer, one caller": lambda: [single.infer({"x": x}) for _ in range(CALLS)],
            "Pool.submit, a burst in batches of 16": lambda: [
                answer.result() for answer in [batching.submit({"x": x}) for _ in range(CALLS)]
            ],
        }
        best = dict.fromkeys(contestants, float("inf"))
        for _ in range(ROUNDS):  # In turns: the machine's moods are the same for all.
            for name, calls in contestants.items():
                best[name] = min(best[name], microseconds(calls))
    for name, each in best.items():
        print(f"{name:40} {each:8.1f} us a request")


if __name__ == "__main__":
    main()
