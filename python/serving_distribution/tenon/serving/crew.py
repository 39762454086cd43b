"""The threads of a pool and the queue that they empty: batches of requests that fit together, each in a lane."""

import dataclasses
import os
import threading
import time
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from .answers import Answer, Outputs
from .errors import Closed, PoolError, QueueFull, RunFailed
from .extents import Extents
from .lane import Lane
from .own_time import OwnTime
from .ports import Profile, nearest
from .waiting import Request, Waiting, gathered

SIZES = 12  #: How many kinds of sizes are counted; the last has what is beyond the others.


@dataclasses.dataclass(eq=False)
class Counts:
    """What a pool has done since it began; times in seconds."""

    requests: int = 0  #: Accepted.
    answered: int = 0
    failed: int = 0
    refused: int = 0  #: As the queue was full.
    given_up: int = 0  #: Cancelled, late, or in the queue of a pool that was closed without draining.
    runs: int = 0
    rows: int = 0
    queue_seconds: float = 0.0
    run_seconds: float = 0.0
    sizes: list[int] = dataclasses.field(default_factory=lambda: [0] * SIZES)  #: Runs of 1, 2, 3 to 4, 5 to 8 … rows.

    def add(self, other: "Counts") -> None:
        for name, value in vars(other).items():
            own = getattr(self, name)
            is_list = isinstance(own, list)
            setattr(self, name, [a + b for a, b in zip(own, value, strict=True)] if is_list else own + value)


class Crew:
    """Knows nothing of the pool: threads that had it would keep one that nobody else has any more."""

    def __init__(
        self,
        lanes: Sequence[Lane],
        profiles: Sequence[Profile],
        fills: Mapping[str, np.ndarray],
        *,
        is_batching: bool,
        max_wait: float,
        room: int,
    ) -> None:
        self.counts = Counts()
        self.is_closing = False
        self._process = os.getpid()
        self._profiles, self._fills = profiles, fills
        self._is_batching, self._max_wait, self._room = is_batching, max_wait, room
        self._lock = threading.Condition()
        self._extents = Extents()
        self._waiting, self._busy = Waiting(self._extents, len(lanes)), 0
        self.threads = [
            threading.Thread(target=self._work, args=(lane,), name=f"tenon-lane-{number}", daemon=True)
            for number, lane in enumerate(lanes)
        ]

    def start(self) -> None:
        """RunFailed when the system has no room for so many threads; those that it gave have ended then."""
        for number, thread in enumerate(self.threads):
            try:
                thread.start()
            except RuntimeError as error:
                count, self.threads = len(self.threads), self.threads[:number]
                self.end()
                self.join()
                raise RunFailed(f"lane {number + 1} of {count} has no thread: {error}") from None

    @property
    def is_here(self) -> bool:
        """False behind a fork: its threads are not here, and whoever held the lock does so for ever."""
        return os.getpid() == self._process

    @property
    def waiting(self) -> int:
        """How many requests are in the queue."""
        return self._waiting.count

    def add(self, request: Request, now: float) -> None:
        """Closed, or QueueFull, where it is not accepted."""
        with self._lock:
            if self.is_closing:
                raise Closed("the pool is closed")
            late = self._waiting.given_up(now) if self._waiting.count >= self._room else []
            self.counts.given_up += len(late)
            is_full, retry_after = self._waiting.count >= self._room, 0.0
            if is_full:
                self.counts.refused += 1
                retry_after = self._retry_after()
            else:
                self.counts.requests += 1
                self._waiting.add(request)
                self._lock.notify()
        for each in late:
            each.give_up(now)
        if is_full:
            raise QueueFull(f"{self._room} requests wait already, as many as may", retry_after)

    def drop(self, key: Hashable, answer: Answer) -> None:
        """Whoever waited for it has cancelled it: it leaves the queue, and its arrays are its caller's again."""
        if not self.is_here:
            return
        with self._lock:
            if not self._waiting.drop(key, answer):
                return
            self.counts.given_up += 1
        answer.set_running_or_notify_cancel()

    def end(self, *, drain: bool = True) -> None:
        """Takes no more requests; threads end when those that wait are answered (`drain=False`: with Closed)."""
        with self._lock:
            self.is_closing = True
            dropped = [] if drain else self._waiting.all()
            self.counts.given_up += len(dropped)
            self._lock.notify_all()
        for request in dropped:
            if request.answer.set_running_or_notify_cancel():
                request.end(Closed("the pool was closed before the request's turn"))

    def join(self) -> None:
        for thread in self.threads:
            if thread is not threading.current_thread():  # Whom a lane's answer has called back cannot wait for it.
                thread.join()

    def _retry_after(self) -> float:
        """Seconds until the queue has been worked off, by what runs took so far."""
        counts = self.counts
        if not counts.runs:
            return 1.0
        each = counts.run_seconds / max(1, counts.answered + counts.failed)
        return max(0.001, self._waiting.count * each / len(self.threads))

    def _work(self, lane: Lane) -> None:
        with OwnTime() as clock:
            while self._run_next(lane, clock):
                pass

    def _run_next(self, lane: Lane, clock: OwnTime) -> bool:
        """False at the end. A method of its own: a lane that waits keeps nothing of the requests before."""
        batch = self._next()
        if not batch:
            return False
        begun = time.monotonic()
        count = len(batch)
        batch = [request for request in batch if request.begins(begun)]
        with self._lock:
            self.counts.given_up += count - len(batch)
        if batch:
            self._answer(lane, batch, begun, clock)
        with self._lock:
            self._busy -= 1
        return True

    def _next(self) -> list[Request]:
        """The next batch; empty when the pool is closed and all is done."""
        with self._lock:
            while True:
                wait = 0.0 if self.is_closing else self._max_wait
                batch, delay = self._waiting.ready(time.monotonic(), wait)
                if batch:
                    self._busy += 1
                    if self._waiting.count:
                        self._lock.notify()  # What is left may be due as well, for another lane.
                    return batch
                if delay is None and self.is_closing:
                    return []
                self._lock.wait(delay)

    def _answer(self, lane: Lane, batch: list[Request], begun: float, clock: OwnTime) -> None:
        """Whatever goes wrong, the callers hear of it, and the lane goes on."""
        was_pressed = self._is_batching and self._is_pressed
        start = clock.now() if was_pressed else 0.0
        try:
            answers: list[Outputs | Exception] = list(self._joined(lane, batch)) if len(batch) > 1 else []
        except Exception:  # The mistake of one of them, or of no profile for all: it is not that of the others.
            answers = []
        runs = 1 if answers else len(batch)
        if not answers:
            answers = [_alone(lane, request) for request in batch]
        failed = sum(isinstance(answer, Exception) for answer in answers)
        if was_pressed and runs == 1 and not failed:
            self._learn(batch, clock.now() - start)
        self._count(batch, begun, runs, failed)
        for request, answer in zip(batch, answers, strict=True):
            request.end(answer)

    @property
    def _is_pressed(self) -> bool:
        """Whether all lanes are at work: runs that have the machine for themselves say little about load."""
        return self._busy == len(self.threads)

    def _learn(self, batch: list[Request], seconds: float) -> None:
        """What a run of this size took, which all lanes were at work in the beginning and the end of."""
        if self._is_pressed:
            rows, work = (sum(each) for each in zip(*((one.rows, one.work) for one in batch), strict=True))
            with self._lock:
                self._extents.note(batch[0].key, rows, max(1, work), seconds)

    def _count(self, batch: list[Request], begun: float, runs: int, failed: int) -> None:
        took = time.monotonic() - begun
        with self._lock:
            counts = self.counts
            rows = [request.rows for request in batch]
            counts.runs += runs
            counts.rows += sum(rows)
            for size in rows if runs > 1 else [sum(rows)]:
                counts.sizes[min(max(0, size - 1).bit_length(), SIZES - 1)] += 1
            counts.failed += failed
            counts.answered += len(batch) - failed
            counts.run_seconds += took
            counts.queue_seconds += sum(begun - request.arrived for request in batch)

    def _joined(self, lane: Lane, batch: list[Request]) -> list[Outputs]:
        """One run for all of them."""
        rows = sum(request.rows for request in batch)
        shapes = {
            name: (rows, *(max(extents) for extents in zip(*(each.shapes[name][1:] for each in batch), strict=True)))
            for name in batch[0].inputs
        }
        profile = nearest(self._profiles, shapes)
        whole = lane.run(profile, gathered(batch, shapes, self._fills))
        answers, row = [], 0
        for request in batch:
            own = lane.output_shapes(request.profile, request.shapes)
            answers.append({name: _part(value, row, own[name]) for name, value in whole.items()})
            row += request.rows
        return answers


def _alone(lane: Lane, request: Request) -> Outputs | Exception:
    try:
        return lane.run(request.profile, request.inputs)
    except PoolError as error:
        return error.with_traceback(None)  # Which would keep the request, and that its answer, and so on in a ring.
    except Exception as error:
        return RunFailed(f"{type(error).__name__}: {error}")


def _part(whole: np.ndarray, row: int, shape: tuple[int, ...]) -> np.ndarray:
    """A request's own rows, without what padding added: a view."""
    return whole[(slice(row, row + shape[0]), *(slice(extent) for extent in shape[1:]))]
