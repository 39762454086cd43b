"""Tenon as a contestant: plan built and loaded through the public API, and what that cost."""

import os
import pathlib
import subprocess
import sys
import time

import numpy as np
import plans
from live_memory import live_memory
from zoo import Model, Shapes

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "build" / "bin" / "tenon"
MIB = 1 << 20


class Tenon:
    """A plan file at one shape."""

    label = "tenon"

    def __init__(self, path: pathlib.Path, feed: dict[str, np.ndarray], threads: int) -> None:
        self._session = plans.Session(path, threads)
        self._outputs = [np.asarray(output) for output in self._session.bind(feed).values()]

    def run(self) -> list[np.ndarray]:
        self._session.run()
        return self._outputs


def build(model: Model, path: pathlib.Path, threads: int) -> float:
    """Writes the plan; seconds from the ONNX file to the plan in memory."""
    start = time.perf_counter()
    plan = plans.build(model, threads)
    seconds = time.perf_counter() - start
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(plan)
    return seconds


def load_seconds(path: pathlib.Path, threads: int, times: int = 3) -> float:
    """Seconds from the file, in the page cache, to an engine with a context; the best of a few."""
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


# The kernel counts a parent's memory towards its child's peak until the child has called exec: a large parent spoils
# the number, a bare interpreter in between does not.
MEASURE = """
import os, sys
null = os.open(os.devnull, os.O_WRONLY)
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null, 1)])
_, status, usage = os.wait4(pid, 0)
print(usage.ru_maxrss << 10)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def resident_bytes(command: list[str], threads: int) -> int:
    """Peak resident memory of one run of the program."""
    environment = os.environ | {"TENON_THREADS": str(threads)}
    measured = [sys.executable, "-I", "-S", "-c", MEASURE, *command]
    done = subprocess.run(measured, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return int(done.stdout)


def memory(model: Model, path: pathlib.Path, threads: int) -> tuple[int, float]:
    """Resident bytes of `tenon bench` above `tenon --version`, and the bound of what they may be."""
    if not PROGRAM.exists():
        raise FileNotFoundError(f"{PROGRAM} does not exist: run make build")
    bench = [str(PROGRAM), "bench", str(path), "--shapes", shapes_argument(model.timed), "--seconds", "0.5"]
    used = resident_bytes(bench, threads) - resident_bytes([str(PROGRAM), "--version"], threads)
    return used, 1.3 * sum(live_memory(model.path, model.timed)) + 24 * MIB


def version() -> str:
    import tenon
    import tensorrt

    return f"{tenon.__version__} (API {tensorrt.__version__})"
