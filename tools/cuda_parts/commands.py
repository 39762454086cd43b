"""Parts that are programs which measure, or compare in their own way, each read by what it prints."""

import json
import pathlib
import re
from collections.abc import Callable

from cuda_parts.jobs import KILLED, Job, Missing
from cuda_parts.outcome import OK, Outcome, verdict_of
from cuda_parts.place import ROOT, Place

Reader = Callable[[str, Outcome], None]  # Reads a command's text into what the part says.


class CommandPart:
    """`commands`: each a name, its arguments, and what the environment has more. One that fails is a failure."""

    is_alone = True

    def __init__(
        self, name: str, place: Place, make: Callable[[], list[tuple[str, list[str], dict[str, str]]]], read: Reader,
        *, limit: float,
    ):  # fmt: skip
        self.name, self.limit = name, limit
        self._place, self._make, self._read = place, make, read
        self._outcome = Outcome(name, OK)
        self._next: list[Job] = []
        self._names: dict[pathlib.Path, str] = {}

    def jobs(self) -> list[Job]:
        """One after the other: they measure."""
        for i, (name, command, extra) in enumerate(self._make()):
            log = self._place.logs / f"{self.name}.{i + 1}.log"
            self._names[log] = name
            self._next.append(Job(command, self._place.environment | {"TENON_DEVICE": "cuda"} | extra, log))
        return [self._next.pop(0)]

    def ended(self, job: Job, status: int) -> list[Job]:
        text = job.log.read_text(errors="replace")
        name = self._names[job.log]
        before = self._outcome.ran
        self._read(text, self._outcome)
        if status != 0:
            why = "TOO LONG" if status == KILLED else f"status {status}"
            self._outcome.failures.append((name, f"{why}: {' '.join(text.split())[-300:]}"))
        if self._outcome.ran == before:
            self._outcome.ran += 1
            self._outcome.passed += status == 0
        return [self._next.pop(0)] if self._next else []

    def outcome(self) -> Outcome:
        self._outcome.verdict = verdict_of(self._outcome.passed, self._outcome.failures)
        return self._outcome


def _python(place: Place, *modules: str) -> str:
    found = place.python(*modules)
    if found is None:
        raise Missing(f"no Python here has all of {', '.join(modules)}")
    return found


def _program(place: Place, name: str) -> str:
    if not place.program(name).exists():
        raise Missing(f"{place.program(name)} is not built")
    return str(place.program(name))


def overhead(place: Place, limit: float) -> CommandPart:
    """What one enqueueV3 costs the host, in microseconds, with graphs and without."""

    def make():
        program = _program(place, "tenon_bench_cuda_overhead")
        return [(f"graphs {word}", [program], {"TENON_GRAPHS": word}) for word in ("on", "off")]

    def read(text: str, outcome: Outcome) -> None:
        found = re.findall(r"^HOST (\{.*\})$", text, re.M)
        outcome.notes += [f"microseconds: {each}" for each in found]
        if not found:
            outcome.failures.append(("figures", "none were printed"))

    return CommandPart("overhead", place, make, read, limit=limit)


def table(place: Place, limit: float, more: list[str]) -> CommandPart:
    """Whole networks beside PyTorch: each row of ours is to be faster than the best of theirs."""
    kept = place.logs / "table.json"

    def make():
        python = _python(place, "torch", "onnx", "tensorrt")
        _program(place, "trtexec")
        kept.unlink(missing_ok=True)
        script = str(ROOT / "benchmarks/cuda_models.py")
        command = [python, script, str(place.build), str(place.models), "--json", str(kept), *more]
        return [("cuda_models.py", command, {})]

    def read(text: str, outcome: Outcome) -> None:
        outcome.notes += text.splitlines()[-60:]
        for row in json.loads(kept.read_text()) if kept.exists() else ():
            theirs = [
                value for name, value in row.items() if name in ("eager_ms", "compile_ms", "autotune_ms") and value
            ]
            outcome.ran += 1
            if "ms" not in row:
                outcome.failures.append((row["row"], str(row.get("error", "no time"))))
            elif theirs and row["ms"] >= min(theirs):
                outcome.failures.append((row["row"], f"{row['ms']:.3f} ms, PyTorch {min(theirs):.3f} ms"))
            else:
                outcome.passed += 1

    return CommandPart("table", place, make, read, limit=limit)


def quantized(place: Place, limit: float, more: list[str]) -> CommandPart:
    """Networks in int8 and fp8 beside the same in float16: figures, and a failure where one does not build or run."""

    def make():
        python = _python(place, "onnx", "onnxruntime", "tensorrt")
        _program(place, "trtexec")
        script = str(ROOT / "benchmarks/cuda_quantized.py")
        return [("cuda_quantized.py", [python, script, str(place.build), str(place.models), *more], {})]

    def read(text: str, outcome: Outcome) -> None:
        outcome.notes += text.splitlines()[-30:]
        for name, kind, rest in re.findall(r"^(\S+:\S+) +(fp16|int8|fp8) +(.*)$", text, re.M):
            outcome.ran += 1
            if re.match(r"[0-9.]+ ", rest):
                outcome.passed += 1
            else:
                outcome.failures.append((f"{name} {kind}", rest))

    return CommandPart("quantized", place, make, read, limit=limit)


def demo(place: Place, limit: float) -> CommandPart:
    """RapidOCR's networks on the GPU read the same text as ONNX Runtime's on the CPU."""

    def make():
        python = _python(place, "rapidocr_onnxruntime", "skimage", "onnx", "tensorrt")
        script, out = str(ROOT / "examples/ocr/read_page.py"), str(place.logs / "demo")
        return [("read_page.py", [python, script, "--rounds", "3", "--out", out], {})]

    def read(text: str, outcome: Outcome) -> None:
        outcome.notes += [line for line in text.splitlines() if re.search(r"\bms\b|same text|different text", line)][
            -12:
        ]

    return CommandPart("demo", place, make, read, limit=limit)


def kernel_times(name: str, suite: str, of_torch: str, place: Place, limit: float) -> CommandPart:
    """Device times of single kernels, beside PyTorch's where that is installed."""

    def make():
        commands = [(suite, [_program(place, "test_cuda_networks"), f"--gtest_filter={suite}"], {})]
        if python := place.python("torch"):
            commands.insert(0, ("torch", [python, str(ROOT / "tools/cuda_parts/torch_kernels.py"), of_torch], {}))
        return commands

    theirs: dict[str, float] = {}

    def read(text: str, outcome: Outcome) -> None:
        if text.startswith("{"):
            theirs.update(json.loads(text))
        for row in map(json.loads, re.findall(r"^BENCHMARK (\{.*\})$", text, re.M)):
            outcome.notes.append(_kernel_line(row, theirs.get(row["name"])))

    return CommandPart(name, place, make, read, limit=limit)


def _kernel_line(row: dict[str, object], theirs: float | None) -> str:
    beside = f"{theirs:.2f}" if theirs else "-"
    share = f"   limit {row['limit']:.2f}, {row['limit'] / row['us']:.2f}   {row['how']}" if "limit" in row else ""
    others = ", ".join(f"{key} {value}" for key, value in row.items() if key not in ("name", "us", "limit", "how"))
    return f"{row['name']:<42} {row['us']:>9.2f} us   torch {beside:>7}{share}   {others}"
