"""Parts that are tests of a GoogleTest program: all of a filter's, shared out among processes.

The tests are listed by the program, so that a new one is run without being named here. Where a process ends before its
tests have, another goes on behind the one that ended it.
"""

import pathlib
import re
import subprocess

from cuda_parts.jobs import KILLED, Job, Missing
from cuda_parts.outcome import Outcome, verdict_of
from cuda_parts.place import Place

EVENT = re.compile(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] ([^\s,]+)", re.M)
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) ")
REPORT = re.compile(
    r"^========= ((?:Error|Warning|Invalid|Program hit|Barrier|Fatal).*(?:\n========= {3,}at .*)?)", re.M
)
LIBRARY = re.compile(r"nvjet|cudnn|cublas|cutlass|xmma")  # What kernels of cuBLASLt and cuDNN do is not ours.
NO_KERNEL = "before first instrumented API call"


def listed(program: pathlib.Path, only: str, environment: dict[str, str]) -> list[str]:
    """Names of the tests that fit, in the program's order."""
    done = subprocess.run(
        [str(program), "--gtest_list_tests", f"--gtest_filter={only}"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if done.returncode != 0:
        raise Missing(f"{program} does not start: {done.stderr.strip()[-300:]}")
    names, suite = [], ""
    for line in done.stdout.splitlines():
        word = line.split("#")[0].rstrip()
        if word.startswith("  "):
            names.append(suite + word.strip())
        elif word.endswith("."):
            suite = word
    return [name for name in names if "DISABLED_" not in name]


def first_message(text: str) -> str:
    """The first failure's place and what it says."""
    found = re.search(r"^(\S+?:\d+): Failure\n((?:.*\n){1,5})", text, re.M)
    if not found:
        return " ".join(text.split())[-250:]
    return f"{pathlib.Path(found[1]).name}: " + " ".join(found[2].split())[:300]


class GtestPart:
    """`long`: patterns of tests that get a process each, before all others. `prefix`: a sanitizer's command."""

    def __init__(
        self,
        name: str,
        place: Place,
        program: str,
        only: str = "*",
        *,
        limit: float,
        extra: dict[str, str] | None = None,
        processes: int = 1,
        long: str = "",
        is_alone: bool = False,
        prefix: tuple[str, ...] = (),
    ):
        self.name, self.limit, self.is_alone = name, limit, is_alone
        self._place, self._program, self._only = place, place.program(program), only
        self._environment = place.environment | (extra or {})
        self._processes, self._long, self._prefix = processes, long, prefix
        self._count = 0
        self._notes: list[str] = []
        self._results: dict[str, tuple[str, str]] = {}  # Of each test, how it ended and what it said.

    def jobs(self) -> list[Job]:
        if not self._program.exists():
            raise Missing(f"{self._program} is not built")
        names = listed(self._program, self._only, self._environment)
        if not names:
            raise Missing(f"{self._program} has no test {self._only}")
        self._results = {name: ("FORGOTTEN", "did not run") for name in names}
        alone = set(listed(self._program, self._long, self._environment)) if self._long else set()
        rest = [name for name in names if name not in alone]
        shares = [[name] for name in names if name in alone]
        shares += [rest[i :: self._processes] for i in range(min(self._processes, len(rest)))]
        return [self._job(share) for share in shares]

    def _job(self, tests: list[str]) -> Job:
        self._count += 1
        command = [*self._prefix, str(self._program), f"--gtest_filter={':'.join(tests)}"]
        log = self._place.logs / f"{self.name}.{self._count}.log"
        return Job(command, self._environment, log, tests=tuple(tests))

    def ended(self, job: Job, status: int) -> list[Job]:
        text = job.log.read_text(errors="replace")
        open_test, begun = self._read(text)
        rest = [name for name in job.tests if self._results[name][0] == "FORGOTTEN"]
        if status == KILLED:
            for name in rest:
                self._results[name] = ("LATE", "")
            if open_test:
                self._results[open_test] = ("LATE", "")
            return []
        if open_test:
            said = first_message(text[begun:])
            self._results[open_test] = ("FAILED", f"the process ended with status {status}: {said}")
            return [self._job(rest)] if rest else []
        if self._prefix:
            self._read_sanitizer(job, text)
        for name in rest:
            self._results[name] = ("FAILED", f"did not run; status {status}: {text[-200:]}")
        return []

    def _read(self, text: str) -> tuple[str, int]:
        """Notes how tests ended; the test that did not, and where in the text it began."""
        open_test, begun = "", 0
        for event in EVENT.finditer(text):
            word, name = event[1], event[2]
            if word == "RUN":
                open_test, begun = name, event.end()
            elif name == open_test:
                said = first_message(text[begun : event.start()]) if word == "FAILED" else ""
                self._results[name] = (word, said)
                open_test = ""
        return open_test, begun

    def _read_sanitizer(self, job: Job, text: str) -> None:
        summary = SUMMARY.search(text)
        reports = REPORT.findall(text)
        own = [each for each in reports if not LIBRARY.search(each)]
        if summary and (summary[1] == "0" or (reports and not own)):
            if reports:
                self._notes.append(
                    f"{', '.join(job.tests)}: in libraries' kernels alone, {' '.join(reports[0].split())[:150]}"
                )
            return
        if NO_KERNEL in text:  # Nothing of the GPU's was called.
            said = ("SKIPPED", "")
        else:
            told = " ".join((own or [text[-250:]])[0].split())
            said = ("FAILED", f"{summary[0] if summary else 'no summary'}: {told} ({job.log.name})")
        for name in job.tests:
            if self._results[name][0] in ("OK", "FORGOTTEN"):
                self._results[name] = said

    def outcome(self) -> Outcome:
        failures = [
            (name, said) for name, (word, said) in self._results.items() if word not in ("OK", "SKIPPED", "LATE")
        ]
        late = [name for name, (word, _) in self._results.items() if word == "LATE"]
        passed = sum(word == "OK" for word, _ in self._results.values())
        skipped = sum(word == "SKIPPED" for word, _ in self._results.values())
        verdict = verdict_of(passed, failures, late)
        ran = len(self._results) - skipped
        return Outcome(self.name, verdict, passed, ran, skipped, failures=failures, late=late, notes=self._notes)
