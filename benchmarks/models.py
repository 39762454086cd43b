#!/usr/bin/env python3
"""Tenon, ONNX Runtime and OpenVINO side by side on the real models, in float32.

Per model: milliseconds of each engine, the median of the round-by-round ratios to the better peer, and what the
plan costs (build, load, size, resident memory). A ratio above the limit is measured twice more; the median counts.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import platform
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "models"))

import peers
import references
import rounds
from zoo import MODELS, TIMED, Model

PLANS = pathlib.Path(__file__).resolve().parents[1] / "build" / "plans"
LIMIT, MEAN_LIMIT = 1.03, 0.95
BUILD_LIMIT, LOAD_LIMIT, LOAD_LIMITS = 5.0, 0.3, {"resnet50": 0.1}


@dataclasses.dataclass
class Row:
    """One model's numbers; what was not measured stays None."""

    model: str
    shape: str
    milliseconds: dict[str, float]
    ratios: list[float]
    build_seconds: float | None = None
    load_seconds: float | None = None
    plan_bytes: int | None = None
    onnx_bytes: int | None = None
    resident_bytes: int | None = None
    resident_limit: float | None = None
    failures: list[str] = dataclasses.field(default_factory=list)

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios) if self.ratios else math.nan


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"default: all of {', '.join(TIMED)}")
    parser.add_argument("--rounds", type=int, default=15, help="rounds per measurement (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each engine (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, metavar="OUT", help="write all numbers there too")
    parser.add_argument("--peers-only", action="store_true", help="leave Tenon out")
    parser.add_argument("--no-memory", action="store_true", help="leave resident memory out")
    labels = [peer.label for peer in peers.PEERS]
    parser.add_argument(
        "--peers", nargs="+", choices=labels, default=labels, metavar="PEER", help=f"default: {' '.join(labels)}"
    )
    options = parser.parse_args()
    options.peers = [peer for peer in peers.PEERS if peer.label in options.peers]
    unknown = [name for name in options.models if name not in TIMED]
    if unknown:
        parser.error(f"no such model: {', '.join(unknown)}; there are {', '.join(TIMED)}")
    return options


def measure(model: Model, options: argparse.Namespace) -> Row:
    feed = references.inputs(model, model.timed, 0)
    shape = " ".join("x".join(map(str, s)) for s in dict.fromkeys(model.timed.values()))
    row = Row(model.name, shape, {}, [])
    engines = {peer.label: peer(model.path, feed, options.threads) for peer in options.peers}
    names = list(engines)
    if not options.peers_only:
        engines = {"tenon": tenon_engine(model, feed, row, options)} | engines
    result = rounds.measure(engines, options.rounds)
    row.milliseconds = {label: result.milliseconds(label) for label in engines}
    if options.peers_only:
        return row
    row.ratios.append(result.ratio("tenon", names))
    if row.ratio > LIMIT:
        row.ratios += [rounds.measure(engines, options.rounds).ratio("tenon", names) for _ in range(2)]
    if not row.ratio <= LIMIT:
        row.failures.append(f"ratio {row.ratio:.3f} is above {LIMIT}")
    return row


def tenon_engine(model: Model, feed: dict, row: Row, options: argparse.Namespace):
    """Tenon on a freshly built plan, with the costs of that plan written into the row."""
    import contestant

    path = PLANS / f"{model.name}.plan"
    row.build_seconds = contestant.build(model, path, options.threads)
    row.load_seconds = contestant.load_seconds(path, options.threads)
    row.plan_bytes, row.onnx_bytes = path.stat().st_size, model.path.stat().st_size
    check(row, "build", row.build_seconds, BUILD_LIMIT, "s")
    check(row, "load", row.load_seconds, LOAD_LIMITS.get(model.name, LOAD_LIMIT), "s")
    check(row, "plan size", row.plan_bytes, contestant.largest_plan(row.onnx_bytes), "bytes")
    if not options.no_memory:
        try:
            row.resident_bytes, row.resident_limit = contestant.memory(model, path, options.threads)
            check(row, "resident memory", row.resident_bytes, row.resident_limit, "bytes")
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            row.failures.append(f"resident memory: {error}")
    return contestant.Tenon(path, feed, options.threads)


def check(row: Row, what: str, value: float, limit: float, unit: str) -> None:
    if value > limit:
        row.failures.append(f"{what} {value:.4g} {unit} is above {limit:.4g} {unit}")


def cell(value: float | None, form: str, scale: float = 1) -> str:
    return "-".rjust(int(form.split(".")[0])) if value is None or math.isnan(value) else f"{value * scale:{form}}"


HEAD = (
    f"{'model':21}{'shape':>14}{'tenon':>9}{'ort':>9}{'openvino':>9}{'ratio':>7}{'times':>6}"
    f"{'build s':>8}{'load ms':>8}{'plan/onnx':>10}{'RSS MB':>8}{'bound':>7}"
)


def line(row: Row) -> str:
    times = "".join(cell(row.milliseconds.get(label), "9.2f") for label in ("tenon", "onnxruntime", "openvino"))
    size = row.plan_bytes / row.onnx_bytes if row.plan_bytes else None
    return (
        f"{row.model:21}{row.shape:>14}{times}{cell(row.ratio, '7.3f')}{len(row.ratios):6}"
        f"{cell(row.build_seconds, '8.2f')}{cell(row.load_seconds, '8.1f', 1e3)}{cell(size, '10.3f')}"
        f"{cell(row.resident_bytes, '8.0f', 1e-6)}{cell(row.resident_limit, '7.0f', 1e-6)}"
    )


def cpu_model() -> str:
    with open("/proc/cpuinfo") as file:
        names = [text.partition(":")[2].strip() for text in file if text.startswith("model name")]
    return f"{names[0] if names else platform.processor()}, {len(names)} CPUs"


def versions(options: argparse.Namespace) -> str:
    known = [f"{peer.label} {peer.version()}" for peer in options.peers]
    if not options.peers_only:
        import contestant

        known.insert(0, f"tenon {contestant.version()}")
    return ", ".join(known)


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def main() -> int:
    options = arguments()
    print(f"{cpu_model()}; {options.threads} threads; {versions(options)}; milliseconds, float32\n{HEAD}", flush=True)
    rows = []
    for name in options.models or TIMED:
        rows.append(measure(MODELS[name], options))
        print(line(rows[-1]), flush=True)
    mean = geometric_mean([row.ratio for row in rows]) if not options.peers_only else math.nan
    failures = [f"{row.model}: {failure}" for row in rows for failure in row.failures]
    if not options.peers_only:
        print(f"geometric mean of the ratios: {mean:.3f} (at most {MEAN_LIMIT})")
        if len(rows) == len(TIMED) and mean > MEAN_LIMIT:
            failures.append(f"geometric mean {mean:.3f} is above {MEAN_LIMIT}")
    print("\n".join(failures))
    if options.json:
        options.json.write_text(
            json.dumps(
                {
                    "cpu": cpu_model(),
                    "versions": versions(options),
                    "mean": mean,
                    "rows": [dataclasses.asdict(row) for row in rows],
                },
                indent=2,
            )
            + "\n"
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
