"""Processes of parts, side by side on so many slots, each part within its limit and all within theirs."""

import dataclasses
import os
import pathlib
import signal
import subprocess
import time
from typing import Protocol

from cuda_parts.outcome import FAULT, LEFT_OUT, Outcome

KILLED = -999  # The status of a process that was ended because its part's time was over.
PATIENCE = 8.0  # Seconds that a process has to say what it knows after it was interrupted.


@dataclasses.dataclass
class Job:
    command: list[str]
    environment: dict[str, str]
    log: pathlib.Path
    width: int = 1  # Slots that it takes.
    tests: tuple[str, ...] = ()


class Part(Protocol):
    name: str
    limit: float
    is_alone: bool  # It measures, or counts what is everybody's.

    def jobs(self) -> list[Job]:
        """Raises Missing where something that the part needs is not there."""

    def ended(self, job: Job, status: int) -> list[Job]:
        """Reads what it said; jobs that are to follow."""

    def outcome(self) -> Outcome: ...


class Missing(Exception):
    """What a part needs and the machine does not have."""


@dataclasses.dataclass
class _Running:
    part: Part
    job: Job
    process: subprocess.Popen
    interrupted: float = 0.0

    def interrupt(self) -> None:
        """First by a word to the process itself, so that pytest still writes its report; later to all of its group."""
        if self.interrupted == 0.0:
            self.interrupted = time.time()
            self.process.send_signal(signal.SIGINT)
        elif time.time() - self.interrupted > PATIENCE:
            os.killpg(self.process.pid, signal.SIGKILL)


class Schedule:
    def __init__(self, slots: int, deadline: float, must_run: bool):
        self._slots, self._deadline, self._must_run = slots, deadline, must_run
        self._began: dict[str, float] = {}
        self.outcomes: list[Outcome] = []

    def run(self, parts: list[Part]) -> list[Outcome]:
        """What measures goes first: of the others, some may have no end."""
        for part in parts:
            if part.is_alone:
                self._run([part])
        self._run([part for part in parts if not part.is_alone])
        return self.outcomes

    def _run(self, parts: list[Part]) -> None:
        queue = [(part, job) for part in parts for job in self._jobs_of(part)]
        left = {part.name: sum(each is part for each, _ in queue) for part, _ in queue}
        running: list[_Running] = []
        while queue or running:
            free = self._slots - sum(each.job.width for each in running)
            while queue and (free >= queue[0][1].width or not running):
                part, job = queue.pop(0)
                running.append(_Running(part, job, self._start(part, job)))
                free -= job.width
            time.sleep(0.02)
            for each in [each for each in running if each.process.poll() is not None]:
                running.remove(each)
                more = each.part.ended(each.job, KILLED if each.interrupted else each.process.returncode)
                left[each.part.name] += len(more) - 1
                queue[:0] = [(each.part, job) for job in more]
                if left[each.part.name] == 0:
                    self._say(each.part.outcome(), time.time() - self._began[each.part.name])
            for each in running:
                if time.time() > min(self._deadline, self._began[each.part.name] + each.part.limit):
                    each.interrupt()

    def _jobs_of(self, part: Part) -> list[Job]:
        try:
            return part.jobs()
        except Missing as missing:
            verdict = FAULT if self._must_run else LEFT_OUT
            self._say(Outcome(part.name, verdict, notes=[str(missing)]), 0)
            return []

    def _start(self, part: Part, job: Job) -> subprocess.Popen:
        self._began.setdefault(part.name, time.time())
        job.log.parent.mkdir(parents=True, exist_ok=True)
        with job.log.open("w") as out:
            return subprocess.Popen(
                job.command, stdout=out, stderr=subprocess.STDOUT, env=job.environment, start_new_session=True
            )

    def _say(self, outcome: Outcome, seconds: float) -> None:
        outcome.seconds = seconds
        self.outcomes.append(outcome)
        print(outcome.line(), flush=True)
