#!/usr/bin/env python3
"""`tenon serve` beside the same server around ONNX Runtime, on the loopback, in turns (figures: docs/SERVING.md).

Per model, with and without batching: answers per second when as many requests wait as fit four batches, and processor
time per answer, which tells on a busy machine, too; the 99th percentile of the delay at half of what ONNX Runtime's
better server gives; what a request costs beside the engine's run. ONNX Runtime's server comes in two arrangements: one
session with all threads, which is what it makes by itself, and a lane of one thread for each.
`--soak SECONDS`: mixed shapes for so long instead, with the memory of the server.
Needs the environment of `make serving-test`: PYTHONPATH=build/python build/serving-env/bin/python benchmarks/serving.py
"""

import argparse
import asyncio
import contextlib
import dataclasses
import functools
import os
import pathlib
import statistics
import sys
from collections.abc import Callable, Iterator

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(ROOT / "tests" / "models"), str(ROOT / "tests" / "serving" / "server")]

import hosted  # noqa: E402
import load  # noqa: E402
import numpy as np  # noqa: E402
import plans  # noqa: E402
import references  # noqa: E402
import zoo  # noqa: E402

BATCH, CONNECTIONS = 8, 32
LEAST_ANSWERS = 200  # Of which 99 % are not all.
SESSION, LANES = "onnxruntime", "onnxruntime in lanes"
PEER = (sys.executable, str(ROOT / "benchmarks" / "serving_peer.py"))


Numbers = dict[str, float]


@dataclasses.dataclass(frozen=True)
class Case:
    """A model with the shapes that requests have, and what may be padded."""

    model: zoo.Model
    shapes: tuple[zoo.Shapes, ...]
    config: str = ""

    @property
    def types(self) -> dict[str, str]:
        return dict.fromkeys(self.shapes[0], "INT64" if self.model.kind == "text" else "FP32")

    def requests(self) -> list[bytes]:
        feeds = [references.inputs(self.model, shapes, 0) for shapes in self.shapes]
        return [load.request("small", feed, self.types) for feed in feeds]


def show(line: str) -> None:
    print(line, flush=True)


def text(length: int) -> zoo.Shapes:
    return {"input_ids": (1, length), "attention_mask": (1, length)}


def cases() -> dict[str, Case]:
    bert = dataclasses.replace(
        zoo.MODELS["bert_base"],
        profile=tuple({name: (rows, length) for name in text(1)} for rows, length in ((1, 16), (4, 64), (BATCH, 128))),
    )
    lengths = np.random.default_rng(3).integers(16, 129, 64)
    padded = "".join(f"[padding.{name}]\nvalue = 0\nstep = 16\n" for name in text(1))
    image = zoo.MODELS["mobilenet_v2"]
    return {
        "mobilenet_v2": Case(image, (image.timed,)),
        "bert_base": Case(bert, tuple(text(int(length)) for length in lengths), padded),
    }


def folder(name: str, case: Case, batch: int) -> pathlib.Path:
    """What `tenon serve` gets; the plan is built once."""
    place = ROOT / "build" / "serving" / f"{name}-{batch}"
    place.mkdir(parents=True, exist_ok=True)
    plan = place.parent / f"{name}.plan"
    if not plan.exists():
        plan.write_bytes(plans.build(case.model))
    if not (place / "model.plan").exists():
        os.link(plan, place / "model.plan")
    wait = 2 if batch > 1 else 0
    padding = case.config if batch > 1 else ""
    (place / "config.toml").write_text(f"max_batch = {batch}\nmax_wait_ms = {wait}\n{padding}")
    return place


@contextlib.contextmanager
def servers(name: str, case: Case, threads: int, batch: int) -> Iterator[dict[str, hosted.Running]]:
    """Tenon's as it starts by itself, and ONNX Runtime's in both arrangements: threads of a session, lanes."""
    os.environ["TENON_THREADS"] = str(threads)
    place = folder(name, case, batch)
    arrangements = {"tenon": hosted.SERVER, SESSION: peer(case, threads), LANES: peer(case, 1)}
    lanes = {"tenon": 0, SESSION: 1, LANES: threads}
    with contextlib.ExitStack() as stack:
        yield {
            label: stack.enter_context(
                hosted.Running(place, "--contexts", str(lanes[label]), program=program, log=place / f"log {label}")
            )
            for label, program in arrangements.items()
        }


def peer(case: Case, threads: int) -> tuple[str, ...]:
    return (*PEER, str(case.model.path), str(threads))


def in_turns(
    found: dict[str, hosted.Running], rounds: int, measure: Callable[[hosted.Running], Numbers]
) -> dict[str, list[Numbers]]:
    numbers: dict[str, list[Numbers]] = {label: [] for label in found}
    for turn in range(rounds):
        for label in list(found)[:: 1 if turn % 2 else -1]:
            numbers[label].append(measure(found[label]))
    return numbers


def saturated(requests: list[bytes], seconds: float, server: hosted.Running) -> Numbers:
    """Answers per second; processor time of one, of all threads of the server; rows of a run."""

    def now() -> np.ndarray:
        names = ("process_cpu_seconds_total", "tenon_answered_total", "tenon_rows_total", "tenon_runs_total")
        return np.array([server.metric(name) for name in names])

    before = now()
    rate = load.run(load.saturated(server.port, requests, CONNECTIONS, seconds))
    time, answers, rows, runs = now() - before
    return {"answers/s": rate, "ms of processor time an answer": 1e3 * time / answers, "rows a run": rows / runs}


def late(requests: list[bytes], seconds: float, rate: float, server: hosted.Running) -> Numbers:
    """Milliseconds that 1 in 100 answers takes longer than, one that was refused for ever; how many were refused."""
    delays = load.run(load.delays(server.port, requests, rate, max(seconds, LEAST_ANSWERS / rate), 5))
    within = 1e3 * float(np.quantile(delays, 0.99, method="higher"))
    return {"99 % within ms": within, "refused": float(np.isinf(delays).sum())}


def told(numbers: dict[str, list[Numbers]], what: str, best: Callable[[list[float]], float]) -> str:
    """The best of the rounds, and ratios to the peers: medians over the rounds, above 1 where Tenon is better."""
    each = {label: [one[what] for one in rounds] for label, rounds in numbers.items()}
    words = ", ".join(f"{label} {best(values):.1f}" for label, values in each.items())
    ratios = []
    for label in (SESSION, LANES):
        pairs = [ours / theirs for ours, theirs in zip(each["tenon"], each[label], strict=True)]
        ratio = statistics.median(pairs)
        ratios.append(f"{ratio if best is max else 1 / ratio:.2f}")
    return f"{what}: {words} (ratios {', '.join(ratios)})"


def refusals(numbers: dict[str, list[Numbers]]) -> str:
    """Which server refused how many, where one did."""
    counts = {label: sum(one["refused"] for one in rounds) for label, rounds in numbers.items()}
    words = ", ".join(f"{label} {count:.0f}" for label, count in counts.items() if count)
    return f"; refused: {words}" if words else ""


def measured(name: str, case: Case, asked: argparse.Namespace) -> None:
    requests, throughput = case.requests(), {}
    for batch in (1, BATCH):
        about = f"{name}, batches of {batch}:" if batch > 1 else f"{name}, no batches:"
        with servers(name, case, asked.threads, batch) as found:
            full = functools.partial(saturated, requests, asked.seconds)
            in_turns(found, 1, full)  # Pools learn meanwhile what batches are worth.
            numbers = in_turns(found, asked.rounds, full)
            show(f"{about} {told(numbers, 'answers/s', max)}")
            show(f"{about} {told(numbers, 'ms of processor time an answer', min)}")
            throughput[batch] = {label: max(one["answers/s"] for one in rounds) for label, rounds in numbers.items()}
            if batch == 1:
                show(f"{name}, one connection: {alone(found['tenon'], requests)}")
            else:
                rows = ", ".join(f"{label} {rounds[-1]['rows a run']:.1f}" for label, rounds in numbers.items())
                show(f"{about} rows a run: {rows}")
            rate = max(throughput[batch][SESSION], throughput[batch][LANES]) / 2
            delays = in_turns(found, asked.rounds, functools.partial(late, requests, asked.seconds, rate))
            show(f"{about} at {rate:.1f}/s {told(delays, '99 % within ms', min)}{refusals(delays)}")
    for label in throughput[1]:
        show(f"{name}, {label}: batching gives {throughput[BATCH][label] / throughput[1][label]:.2f} times the answers")


def alone(server: hosted.Running, requests: list[bytes], count: int = 100) -> str:
    """What of a request's time is not the engine's run."""

    async def asking() -> list[float]:
        connection, clock, found = await load.Connection.to(server.port), asyncio.get_running_loop().time, []
        for index in range(count):
            begun = clock()
            await connection.ask(requests[index % len(requests)])
            found.append(clock() - begun)
        return found

    before = server.metric("tenon_run_seconds_total")
    took = statistics.mean(load.run(asking()))
    run = (server.metric("tenon_run_seconds_total") - before) / count
    return f"{1e3 * took:.2f} ms a request, {1e3 * run:.2f} ms of it the run"


def soaked(seconds: float, threads: int) -> None:
    """Pictures of all widths and batches the whole time; the server's memory, each tenth of it."""
    case, requests, rng = Case(zoo.MODELS["ocr_recognizer"], ({"x": (1, 3, 48, 320)},)), [], np.random.default_rng(7)
    for _ in range(300):
        shape = (int(rng.integers(1, 7)), 3, 48, int(rng.integers(48, 401)))
        requests.append(load.request("small", {"x": rng.standard_normal(shape, np.float32)}, case.types))
    os.environ["TENON_THREADS"] = str(threads)
    place, answers = folder("ocr_recognizer", case, 6), 0.0
    with hosted.Running(place, log=place / "log") as server:
        for part in range(1, 11):
            load.run(load.saturated(server.port, requests, 8, seconds / 10))
            answers, memory = server.metric("tenon_answered_total"), server.metric("process_resident_memory_bytes")
            show(f"after {seconds / 10 * part:.0f} s: {answers:.0f} answers, {memory / 2**20:.1f} MiB")
        failed = server.metric("tenon_failed_total") + server.metric("tenon_refused_total")
        show(f"{failed:.0f} requests failed or were refused")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help="default: all of mobilenet_v2, bert_base")
    parser.add_argument("--seconds", type=float, default=5, help="of one measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="of each engine")
    parser.add_argument("--soak", type=float, metavar="SECONDS")
    asked = parser.parse_args()
    if asked.soak:
        soaked(asked.soak, asked.threads)
        return
    for name in asked.models or cases():
        measured(name, cases()[name], asked)


if __name__ == "__main__":
    main()
