"""Changed ONNX models, parsed, built and run in processes that may die: `make fuzz` for 30 minutes and 100,000 models.

A model that kills its process, by a signal or by the clock, stays in the folder of findings with the last lines of what
the process said; `--file` tries such a model again.
"""

import argparse
import dataclasses
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import time

from fuzz_seeds import all_seeds
from fuzz_worker import BATCH, BUILT, NUMBER, PARSED, RAN, SILENT, Record, model_of

HERE = pathlib.Path(__file__).parent
SIGNALS = {
    -11: "crash",
    -6: "abort",
    -8: "division",
    -4: "instruction",
    -7: "bus",
    -27: "hang",
    -14: "sleep",
    -9: "kill",
}


@dataclasses.dataclass
class Tally:
    models: int = 0
    parsed: int = 0
    built: int = 0
    ran: int = 0
    findings: list[str] = dataclasses.field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.models} models: {self.parsed} parsed, {self.built} built, {self.ran} ran; "
            f"{len(self.findings)} findings"
        )


def environment() -> dict[str, str]:
    return {**os.environ, "TENON_THREADS": "1", "TENON_SPIN": "0", "OPENBLAS_NUM_THREADS": "1"}


def worker(record: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(HERE / "fuzz_worker.py"), str(record), *arguments]
    return subprocess.run(command, env=environment(), capture_output=True, text=True, errors="replace", check=False)


def what(code: int) -> str:
    return SIGNALS.get(code, f"exit {code}")


class Fuzzer:
    """Takes batches of numbers until time or numbers are at an end."""

    def __init__(self, first: int, models: int, seconds: float, keep: pathlib.Path, says=print):
        self.next, self.last = first, first + models
        self.end = time.monotonic() + seconds
        self.keep = keep
        self.says = says
        self.tally = Tally()
        self.lock = threading.Lock()
        self.seeds = all_seeds()
        keep.mkdir(parents=True, exist_ok=True)
        self.seed_file = keep / "seeds.pickle"
        self.seed_file.write_bytes(pickle.dumps(self.seeds))

    def run(self, workers: int, batch: int = BATCH) -> Tally:
        lanes = [threading.Thread(target=self.lane, args=(i, batch)) for i in range(workers)]
        for lane in lanes:
            lane.start()
        for lane in lanes:
            lane.join()
        return self.tally

    def lane(self, index: int, batch: int) -> None:
        while time.monotonic() < self.end:
            with self.lock:
                first, last = self.next, min(self.next + batch, self.last)
                self.next = last
            if first == last:
                return
            while first < last:
                first = self.round(index, first, last)

    def round(self, index: int, first: int, last: int) -> int:
        """Up to the first model that ends the process; the number behind it."""
        place = self.keep / f"record{index}"
        place.unlink(missing_ok=True)
        done = worker(place, "--seeds", str(self.seed_file), "--first", str(first), "--last", str(last))
        record = Record(place)
        at = last if done.returncode == 0 else record[NUMBER] + 1
        with self.lock:
            self.tally.models += at - first
            self.tally.parsed += record[PARSED]
            self.tally.built += record[BUILT]
            self.tally.ran += record[RAN]
            self.tally.findings += [f"finding in {first}..{at}"] * record[SILENT]
            if done.returncode != 0:
                self.keep_case(at - 1, what(done.returncode), done.stderr)
        self.says(str(self.tally))
        return at

    def keep_case(self, number: int, kind: str, said: str) -> None:
        self.tally.findings.append(f"{kind} {number}")
        (self.keep / f"{kind}_{number}.onnx").write_bytes(model_of(number, self.seeds))
        (self.keep / f"{kind}_{number}.txt").write_text(said[-3000:])
        self.says(f"{kind}: model {number}")


def try_files(files: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            done = worker(pathlib.Path(folder) / "record", "--file", file)
            print(f"{file}: {'fine' if done.returncode == 0 else what(done.returncode)}\n{done.stderr[-2000:]}")
    return 0


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--models", type=int, default=100_000)
    options.add_argument("--minutes", type=float, default=30)
    options.add_argument("--first", type=int, default=int(time.time()) << 20, help="the first model's number")
    options.add_argument("--workers", type=int, default=os.cpu_count())
    options.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("build/fuzz"))
    options.add_argument("--file", nargs="*", help="models to try as they are")
    given = options.parse_args()
    if given.file:
        return try_files(given.file)
    print(f"models from {given.first} on; findings go to {given.keep}")
    tally = Fuzzer(given.first, given.models, given.minutes * 60, given.keep).run(given.workers)
    print(tally, *tally.findings, sep="\n")
    return 1 if tally.findings else 0


if __name__ == "__main__":
    sys.exit(main())
