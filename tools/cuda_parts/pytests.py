"""Parts that are files of pytest, read by the report that it writes for machines."""

import os
import xml.etree.ElementTree as ElementTree

from cuda_parts.jobs import KILLED, Job, Missing
from cuda_parts.outcome import Outcome, verdict_of
from cuda_parts.place import ROOT, Place


class PytestPart:
    is_alone = False

    def __init__(self, name: str, place: Place, files: tuple[str, ...], *, limit: float, modules: tuple[str, ...]):
        self.name, self.limit = name, limit
        self._place, self._files = place, files
        self._modules = ("pytest", "numpy", "tensorrt", *modules)
        self._report = place.logs / f"{name}.xml"
        self._status = 0

    def jobs(self) -> list[Job]:
        for file in self._files:
            if not (ROOT / file).exists():
                raise Missing(f"{file} is not there")
        python = self._place.python(*self._modules)
        if python is None:
            raise Missing(f"no Python here has all of {', '.join(self._modules)}")
        self._report.unlink(missing_ok=True)
        width = 1
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={self._report}", "--tb=short"]
        if self._place.python("xdist", *self._modules) == python:
            width = min(8, os.cpu_count() or 1)
            command += ["-n", str(width), "--dist", "worksteal"]
        command += [
            f"--rootdir={ROOT}",
            "-c",
            str(ROOT / "pyproject.toml"),
            *(str(ROOT / file) for file in self._files),
        ]
        environment = self._place.environment | {"TENON_DEVICE": "cuda"}
        return [Job(command, environment, self._place.logs / f"{self.name}.log", width)]

    def ended(self, job: Job, status: int) -> list[Job]:
        self._status, self._log = status, job.log
        return []

    def outcome(self) -> Outcome:
        failures, passed, skipped = [], 0, 0
        cases = ElementTree.parse(self._report).iter("testcase") if self._report.exists() else ()
        for case in cases:
            wrong = [each for each in case if each.tag in ("failure", "error")]
            if wrong:
                failures.append((case.get("name", ""), " ".join((wrong[0].get("message") or "").split())[:300]))
            elif any(each.tag == "skipped" for each in case):
                skipped += 1
            else:
                passed += 1
        if self._status not in (0, 1) or (self._status == 1 and not failures):
            why = "TOO LONG" if self._status == KILLED else f"pytest ended with status {self._status}"
            tail = " ".join(self._log.read_text(errors="replace").split())[-300:]
            failures.insert(0, (self.name, f"{why}: {tail}"))
        ran = passed + len(failures)
        return Outcome(self.name, verdict_of(passed, failures), passed, ran, skipped, failures=failures)
