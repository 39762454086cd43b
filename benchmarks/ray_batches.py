#!/usr/bin/env python3
"""`map_batches` over pictures with one worker and with two, each an engine of mobilenet_v2 on one thread.

Needs the environment of `make serving-test`, as benchmarks/serving.py does.
"""

import argparse
import os
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tests" / "models"))

import numpy as np  # noqa: E402
import plans  # noqa: E402
import ray  # noqa: E402
import ray.data  # noqa: E402
import zoo  # noqa: E402
from tenon.serving.ray import Batches  # noqa: E402

Columns = dict[str, np.ndarray]


class Timed(Batches):
    """Makes the pictures, too, and says what the engine took of the processor."""

    def __init__(self, plan: str) -> None:
        super().__init__(plan)
        self._bank = np.random.default_rng(3).standard_normal((64, 3, 224, 224), np.float32)

    def __call__(self, batch: Columns) -> Columns:
        batch["input"] = self._bank[batch["id"] % len(self._bank)]
        begun = time.process_time()
        found = super().__call__(batch)
        spent = (time.process_time() - begun) / len(batch["id"])
        return {"id": found["id"], "best": found["output"].argmax(1), "spent": np.full(len(batch["id"]), spent)}


def run(plan: pathlib.Path, count: int, workers: int) -> tuple[float, float, np.ndarray]:
    """Seconds, the engines' processor time in seconds, and the best class of each picture."""
    begun = time.perf_counter()
    found = (
        ray.data.range(count, override_num_blocks=64)
        .map_batches(
            Timed,
            fn_constructor_args=(str(plan),),
            batch_size=4,
            num_cpus=1,
            compute=ray.data.ActorPoolStrategy(size=workers),
        )
        .to_pandas()
        .sort_values("id")
    )
    assert list(found["id"]) == list(range(count))
    return time.perf_counter() - begun, float(found["spent"].sum()), found["best"].to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    asked = parser.parse_args()
    count = asked.count
    plan = ROOT / "build" / "serving" / "mobilenet_v2.plan"
    if not plan.exists():
        plan.parent.mkdir(parents=True, exist_ok=True)
        plan.write_bytes(plans.build(zoo.MODELS["mobilenet_v2"]))
    ray.init(num_cpus=4, include_dashboard=False, logging_level="error", log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    run(plan, 64, 1)  # Starts Ray's own processes.
    answers = {}
    for workers in asked.workers:
        seconds, spent, answers[workers] = run(plan, count, workers)
        load = os.getloadavg()[0]
        print(
            f"{workers} workers: {count} pictures in {seconds:.1f} s, {count / seconds:.1f}/s; the engines' processor "
            f"time {spent:.1f} s, {1e3 * spent / count:.2f} ms a picture, {spent / seconds:.2f} processors; "
            f"the machine's load {load:.1f} on {len(os.sched_getaffinity(0))} processors",
            flush=True,
        )
    assert all(np.array_equal(each, answers[asked.workers[0]]) for each in answers.values())
    ray.shutdown()


if __name__ == "__main__":
    main()
