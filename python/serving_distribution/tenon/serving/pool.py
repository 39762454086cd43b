"""The pool: a bounded queue in front of one engine, lanes that empty it, batches of requests that fit together."""

import asyncio
import concurrent.futures
import dataclasses
import math
import os
import threading
import time
from collections.abc import Mapping
from typing import Self

import numpy as np
import tenon

from .answers import Answer, LoopAnswer, Outputs
from .errors import BadRequest, Closed, DeadlineExceeded, PoolError, QueueFull, RunFailed
from .extents import Extents
from .fitting import contexts_that_fit
from .lane import Lane
from .own_time import OwnTime
from .ports import Padding, Profile, Shapes, checked, element, nearest, ports_of, profiles_of
from .waiting import Request, Waiting, gathered

SIZES = 12  #: How many kinds of sizes are counted; the last has what is beyond the others.
_MOST_CONTEXTS = 1024  # Each is a thread.


@dataclasses.dataclass
class Counts:
    """What a pool has done since it began; times in seconds."""

    requests: int = 0  #: Accepted.
    answered: int = 0
    failed: int = 0
    refused: int = 0  #: As the queue was full.
    given_up: int = 0  #: Cancelled, or late.
    runs: int = 0
    rows: int = 0
    queue_seconds: float = 0.0
    run_seconds: float = 0.0
    sizes: list[int] = dataclasses.field(default_factory=lambda: [0] * SIZES)  #: Runs of 1, 2, 3 to 4, 5 to 8 … rows.


class Pool:
    """Runs requests on one engine, from any thread and from asyncio.

    `contexts` lanes run at once, each with a thread and an execution context per profile in use; 0: as many as fit.
    With `max_batch` above 1 requests are joined along axis 0 of all inputs and outputs, in the order of their arrival;
    one that is alone waits at most `max_wait` seconds for company, and not where none came lately. `padding` names the
    inputs that may be filled up for that. At most `queue` requests wait. An output whose shape depends on values has at
    most `max_output` bytes. Outputs are arrays of the caller's; rows of a batch are views of it.
    """

    def __init__(
        self,
        engine: tenon.ICudaEngine,
        *,
        contexts: int = 1,
        max_batch: int = 1,
        max_wait: float = 0.0,
        queue: int = 256,
        padding: Mapping[str, Padding] | None = None,
        max_output: int = 1 << 30,
    ) -> None:
        numbers = (("contexts", contexts, 0), ("max_batch", max_batch, 1), ("queue", queue, 1))
        for name, value, least in (*numbers, ("max_output", max_output, 1)):
            if value < least:
                raise ValueError(f"{name} is {value}, but at least {least} is needed")
        if contexts > _MOST_CONTEXTS:
            raise ValueError(f"contexts is {contexts}, but at most {_MOST_CONTEXTS} are")
        if not 0 <= max_wait <= threading.TIMEOUT_MAX:
            raise ValueError(f"max_wait is {max_wait}, but must be a number of seconds")
        self.engine = engine
        self.inputs, self.outputs = (
            ports_of(engine, mode) for mode in (tenon.TensorIOMode.INPUT, tenon.TensorIOMode.OUTPUT)
        )
        self.profiles = profiles_of(engine, self.inputs)
        self.counts = Counts()
        self._max_batch, self._max_wait, self._room = max_batch, max_wait, queue
        self._padding = dict(padding or {})
        self._fills = self._checked_padding()
        self._process = os.getpid()
        self._lock = threading.Condition()
        self._extents = Extents()
        lanes = [Lane(engine, self.outputs, max_output) for _ in range(contexts or contexts_that_fit(engine))]
        self._waiting, self._is_closing, self._busy = Waiting(self._extents, len(lanes)), False, 0
        lanes[0].prepare(self.profiles[0])
        if max_batch > 1:
            self._check_batching(lanes[0])
        self._threads = [
            threading.Thread(target=self._work, args=(lane,), name=f"tenon-lane-{number}", daemon=True)
            for number, lane in enumerate(lanes)
        ]
        for number, thread in enumerate(self._threads):
            try:
                thread.start()
            except RuntimeError as error:  # The system has no room for another one.
                self._threads = self._threads[:number]
                self.close()
                raise RunFailed(f"lane {number + 1} of {len(lanes)} has no thread: {error}") from None

    def submit(
        self, inputs: Mapping[str, np.ndarray], *, timeout: float | None = None
    ) -> concurrent.futures.Future[Outputs]:
        """Queues a request and returns at once; its arrays must stay as they are until the answer.

        BadRequest, QueueFull and Closed are raised here; the future gives the outputs, DeadlineExceeded when `timeout`
        seconds pass before the run begins, or RunFailed. Cancelling it takes the request out of the queue.
        """
        answer: concurrent.futures.Future[Outputs] = concurrent.futures.Future()
        self._queue(inputs, timeout, answer)
        return answer

    def _queue(self, inputs: Mapping[str, np.ndarray], timeout: float | None, answer: Answer) -> None:
        if os.getpid() != self._process:
            raise Closed("the pool is another process's: what a fork has made has none of its threads")
        if timeout is not None and math.isnan(timeout):
            raise BadRequest("the timeout is no number of seconds")
        now = time.monotonic()
        request = self._request(inputs, now, None if timeout is None else now + timeout, answer)
        with self._lock:
            if self._is_closing:
                raise Closed("the pool is closed")
            if self._waiting.count >= self._room:
                self.counts.given_up += self._waiting.drop_given_up(now)
            if self._waiting.count >= self._room:
                self.counts.refused += 1
                raise QueueFull(f"{self._room} requests wait already, as many as may", self._retry_after())
            self.counts.requests += 1
            self._waiting.add(request)
            self._lock.notify()

    def infer(self, inputs: Mapping[str, np.ndarray], *, timeout: float | None = None) -> Outputs:
        """The outputs, waited for in this thread: `timeout` seconds at most, the run included."""
        answer = self.submit(inputs, timeout=timeout)
        try:
            return answer.result(None if timeout is None else min(timeout, threading.TIMEOUT_MAX))
        except concurrent.futures.TimeoutError as late:
            if isinstance(late, PoolError):
                raise
            answer.cancel()
            raise DeadlineExceeded(f"no answer within {timeout:g} s") from None
        except BaseException:  # Ctrl-C, for one: nobody waits for this any more.
            answer.cancel()
            raise

    async def ainfer(self, inputs: Mapping[str, np.ndarray], *, timeout: float | None = None) -> Outputs:
        """The same for asyncio; a task that is cancelled takes its request out of the queue."""
        answer = LoopAnswer()
        self._queue(inputs, timeout, answer)
        try:
            if timeout is None:
                return await answer.future
            return await asyncio.wait_for(answer.future, timeout)
        except TimeoutError as late:
            if isinstance(late, PoolError):
                raise
            answer.cancel()
            raise DeadlineExceeded(f"no answer within {timeout:g} s") from None
        except asyncio.CancelledError:
            answer.cancel()
            raise

    def close(self, *, drain: bool = True) -> None:
        """Takes no more requests, answers those that wait (`drain=False`: with Closed) and ends the threads."""
        if os.getpid() != self._process:
            return  # Its threads are not here, and whoever held the lock at the fork does so for ever.
        with self._lock:
            self._is_closing = True
            dropped = [] if drain else self._waiting.all()
            self._lock.notify_all()
        for request in dropped:
            if request.answer.set_running_or_notify_cancel():
                request.answer.set_exception(Closed("the pool was closed before the request's turn"))
        for thread in self._threads:
            if thread is not threading.current_thread():  # Whom a lane's answer has called back cannot wait for it.
                thread.join()

    @property
    def waiting(self) -> int:
        """How many requests are in the queue."""
        return self._waiting.count

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close(drain=exception[0] is None)

    def _request(self, inputs: Mapping[str, np.ndarray], now: float, deadline: float | None, answer: Answer) -> Request:
        arrays = checked(self.inputs, inputs)
        shapes = {name: value.shape for name, value in arrays.items()}
        profile = nearest(self.profiles, shapes, arrays)
        if self._max_batch == 1:
            return Request(arrays, shapes, 1, 1, profile, None, now, deadline, answer)
        rows = {name: shape[0] for name, shape in shapes.items()}
        if len(set(rows.values())) > 1:
            raise BadRequest(f"the inputs differ in their first extent, which is the batch: {rows}")
        count = next(iter(rows.values()))
        grouped = {name: self._rounded(name, shape) for name, shape in shapes.items()}
        most = min(self._max_batch, max(each.most_rows(grouped) for each in self.profiles))
        return Request(arrays, shapes, count, max(most, count), profile, tuple(grouped.values()), now, deadline, answer)

    def _rounded(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """What of an input's shape requests must have in common, with 1 for the batch."""
        padding = self._padding.get(name)
        if padding is None:
            return (1, *shape[1:])
        known = self.inputs[name].shape
        most = [max(extents) for extents in zip(*(each.most[name] for each in self.profiles), strict=True)]
        return (
            1,
            *(
                shape[axis] if known[axis] >= 0 else min(-(-shape[axis] // padding.step) * padding.step, most[axis])
                for axis in range(1, len(shape))
            ),
        )

    def _checked_padding(self) -> dict[str, np.ndarray]:
        """What inputs are filled up with."""
        for name in self._padding:
            if name not in self.inputs:
                raise ValueError(f"padding names '{name}', which is no input")
        return {name: element(self.engine, name, padding.value) for name, padding in self._padding.items()}

    def _check_batching(self, lane: Lane) -> None:
        """ValueError unless axis 0 is the batch of all inputs and outputs, as far as shapes tell."""
        if not self.inputs:
            raise ValueError("an engine without inputs has no batch")
        for name, port in self.inputs.items():
            if self.engine.is_shape_inference_io(name):
                raise ValueError(f"input '{name}' holds a shape: its values cannot be joined; use max_batch=1")
            if not port.shape or port.shape[0] >= 0:
                raise ValueError(f"input '{name}' has no dynamic axis 0 for a batch; use max_batch=1")
        for profile in self.profiles:
            for shapes in _extremes(profile):
                self._check_rows(lane, profile, shapes)

    def _check_rows(self, lane: Lane, profile: Profile, shapes: Shapes) -> None:
        rows = next(iter(shapes.values()))[0]
        for name, shape in lane.output_shapes(profile, shapes).items():
            what = f"output '{name}' has shape {list(shape)} for a batch of {rows}"
            if not shape or shape[0] != rows:
                raise ValueError(f"{what}: axis 0 is not the batch; use max_batch=1")
            if min(shape) < 0:
                raise ValueError(f"{what}: the values of all rows decide on it; use max_batch=1")

    def _retry_after(self) -> float:
        """Seconds until the queue has been worked off, by what runs took so far."""
        counts = self.counts
        if not counts.runs:
            return 1.0
        each = counts.run_seconds / max(1, counts.answered + counts.failed)
        return max(0.001, self._waiting.count * each / len(self._threads))

    def _work(self, lane: Lane) -> None:
        with OwnTime() as clock:
            while batch := self._next():
                begun = time.monotonic()
                alive = [request for request in batch if request.begins(begun)]
                with self._lock:
                    self.counts.given_up += len(batch) - len(alive)
                if alive:
                    self._answer(lane, alive, begun, clock)
                with self._lock:
                    self._busy -= 1

    def _next(self) -> list[Request]:
        """The next batch; empty when the pool is closed and all is done."""
        with self._lock:
            while True:
                wait = 0.0 if self._is_closing else self._max_wait
                before = self._waiting.cancelled
                batch, delay = self._waiting.ready(time.monotonic(), wait)
                self.counts.given_up += self._waiting.cancelled - before
                if batch:
                    self._busy += 1
                    if self._waiting.count:
                        self._lock.notify()  # What is left may be due as well, for another lane.
                    return batch
                if delay is None and self._is_closing:
                    return []
                self._lock.wait(delay)

    def _answer(self, lane: Lane, batch: list[Request], begun: float, clock: OwnTime) -> None:
        """Whatever goes wrong, the callers hear of it, and the lane goes on."""
        was_pressed = self._max_batch > 1 and self._is_pressed
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
            if isinstance(answer, Exception):
                request.answer.set_exception(answer)
            else:
                request.answer.set_result(answer)

    @property
    def _is_pressed(self) -> bool:
        """Whether all lanes are at work: runs that have the machine for themselves say little about load."""
        return self._busy == len(self._threads)

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
            for name in self.inputs
        }
        profile = nearest(self.profiles, shapes)
        whole = lane.run(profile, gathered(batch, shapes, self._fills))
        answers, row = [], 0
        for request in batch:
            own = lane.output_shapes(request.profile, request.shapes)
            answers.append({name: _part(value, row, own[name]) for name, value in whole.items()})
            row += request.rows
        return answers


def _extremes(profile: Profile) -> list[Shapes]:
    """What a profile takes with the most rows and with the fewest, of the largest and of the smallest other extents.

    An extent that is that of the batch in all of these is so by more than chance. ValueError where batches differ.
    """
    most, least = min(each[0] for each in profile.most.values()), max(each[0] for each in profile.least.values())
    found = [
        {name: (rows, *shape[1:]) for name, shape in others.items()}
        for rows in dict.fromkeys((most, least))
        for others in (profile.most, profile.least)
    ]
    for shapes in found:
        if profile.misfit(shapes):
            raise ValueError(f"the batches of profile {profile.index} differ: {profile.misfit(shapes)}")
    return found


def _alone(lane: Lane, request: Request) -> Outputs | Exception:
    try:
        return lane.run(request.profile, request.inputs)
    except PoolError as error:
        return error
    except Exception as error:
        return RunFailed(f"{type(error).__name__}: {error}")


def _part(whole: np.ndarray, row: int, shape: tuple[int, ...]) -> np.ndarray:
    """A request's own rows, without what padding added: a view."""
    return whole[(slice(row, row + shape[0]), *(slice(extent) for extent in shape[1:]))]
