"""Tenon as a contestant: plan built and loaded through the public API, and what that cost."""

import json
import os
import pathlib
import subprocess
import time

import numpy as np
import plans
from zoo import Model, Shapes

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build" / "bin" / "tenon"
MIB = 1 << 20


class Tenon:
    """A mapped plan at one shape."""

    label = "tenon"

    def __init__(self, path: pathlib.Path, feed: dict[str, np.ndarray], threads: int) -> None:
        self._session = plans.Session(path, threads)
        self._outputs = self._session.bind(feed)

    def run(self) -> list[np.ndarray]:
        self._session.run()
        return list(self._outputs.values())


def build(model: Model, path: pathlib.Path, threads: int) -> float:
    """Writes the plan; seconds from the ONNX file to the plan in memory."""
    start = time.perf_counter()
    plan = plans.build(model, threads)
    seconds = time.perf_counter() - start
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(plan)
    return seconds


def load_seconds(path: pathlib.Path, threads: int, times: int = 3) -> float:
    """Seconds from the mapped file to an engine, the page cache being warm; the best of a few."""
    path.read_bytes()
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        session = plans.Session(path, threads)
        best = min(best, time.perf_counter() - start)
        del session
    return best


def largest_plan(onnx_bytes: int) -> float:
    return 1.1 * onnx_bytes + (256 << 10)


def shapes_argument(shapes: Shapes) -> str:
    return ",".join(f"{name}={'x'.join(map(str, shape))}" for name, shape in shapes.items())


def resident_bytes(command: list[str], threads: int) -> int:
    """Peak resident memory of one run of the program."""
    environment = os.environ | {"TENON_THREADS": str(threads)}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment) as process:
        errors = process.stderr.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}\n{errors}")
    return usage.ru_maxrss << 10


def memory(model: Model, path: pathlib.Path, threads: int) -> tuple[int, float]:
    """Resident bytes of `tenon bench` above `tenon --version`, and the bound of what they may be."""
    if not PROGRAM.exists():
        raise FileNotFoundError(f"{PROGRAM} does not exist: run make build")
    shapes = shapes_argument(model.timed)
    bench = [str(PROGRAM), "bench", str(path), "--shapes", shapes]
    used = resident_bytes(bench, threads) - resident_bytes([str(PROGRAM), "--version"], threads)
    return used, 1.3 * sum(plan_memory(path, shapes)) + 24 * MIB


def plan_memory(path: pathlib.Path, shapes: str) -> tuple[int, int]:
    """Bytes of weights, and the largest sum of tensors alive at one step, as `tenon inspect` states them."""
    command = [str(PROGRAM), "inspect", str(path), "--json", "--shapes", shapes]
    facts = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    try:
        return facts["memory"]["weights"], facts["memory"]["largestAlive"]
    except KeyError as missing:
        raise RuntimeError(f"{' '.join(command)}: no memory.{missing.args[0]} in the answer") from None


def version() -> str:
    import tenon
    import tensorrt

    return f"{tenon.__version__} (API {tensorrt.__version__})"
