"""Device times as medians over replays of CUDA graphs, and the check against a reference."""

import statistics
from collections.abc import Callable

import torch

FLOPS = 790e12  # What a large FP16 matrix product reaches on an H200, random data.
BYTES = 4.26e12  # What a large copy on the device reaches, read and written bytes together.

Run = Callable[[], object]


def microseconds_at_least(flops: float, size: float) -> float:
    return max(flops / FLOPS, size / BYTES) * 1e6


def captured(run: Run, copies: int) -> torch.cuda.CUDAGraph:
    """A graph of so many calls one after the other."""
    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(copies):
            run()
    return graph


def once(graph: torch.cuda.CUDAGraph) -> float:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3


def side_by_side(runs: dict[str, Run], copies: int, rounds: int) -> dict[str, float]:
    """Microseconds of one call of each, the graphs replayed in turn."""
    graphs = {name: captured(run, copies) for name, run in runs.items()}
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(rounds + 3):
        for name, graph in graphs.items():
            time = once(graph)
            if turn >= 3:
                times[name].append(time / copies)
    return {name: statistics.median(taken) for name, taken in times.items()}


def quick(run: Run, copies: int, rounds: int = 7) -> float:
    return side_by_side({"": run}, copies, rounds)[""]


def wrong(got: torch.Tensor, expected: torch.Tensor) -> str:
    """Empty if every element is within the tolerance of halves, else what is wrong."""
    off = (got.float() - expected.float()).abs() - (2.5e-3 + 1e-3 * expected.float().abs())
    share = (got.float() - expected.float()).norm() / expected.float().norm()
    if not bool((off <= 0).all()) or not share < 1e-3:  # NaN fails both.
        return f"WRONG: {int((~(off <= 0)).sum())} of {off.numel()} elements, norm {float(share):.2e}"
    return ""
