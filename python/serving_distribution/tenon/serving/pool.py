"""The pool: a bounded queue in front of one engine, and lanes that empty it (crew.py)."""

import _thread
import asyncio
import concurrent.futures
import contextlib
import functools
import math
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Self

import numpy as np
import tenon

from .answers import Answer, LoopAnswer, Outputs, ThreadAnswer
from .crew import Counts as Counts
from .crew import Crew
from .errors import BadRequest, Closed, DeadlineExceeded, PoolError
from .fitting import contexts_that_fit
from .lane import Lane
from .ports import Padding, Profile, Shapes, checked, element, nearest, ports_of, profiles_of
from .waiting import Request

_MOST_CONTEXTS = 1024  # Each is a thread.


class Pool:
    """Runs requests on one engine, from any thread and from asyncio.

    `contexts` lanes run at once, each with a thread and an execution context per profile in use; 0: as many as fit.
    With `max_batch` above 1 requests are joined along axis 0 of all inputs and outputs, in the order of their arrival;
    one that is alone waits at most `max_wait` seconds for company, and not where none came lately. `padding` names the
    inputs that may be filled up for that. At most `queue` requests wait. An output whose shape depends on values has at
    most `max_output` bytes. Outputs are arrays of the caller's; rows of a batch are views of it. A pool that nobody has
    any more answers what it has accepted, and its threads end.
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
        if hasattr(tenon.DeviceArray(engine, (1,), np.uint8), "__cuda_array_interface__"):
            raise ValueError("the engine is on a GPU, but requests and answers are arrays: set TENON_DEVICE=cpu")
        self.engine = engine
        self.inputs, self.outputs = (
            ports_of(engine, mode) for mode in (tenon.TensorIOMode.INPUT, tenon.TensorIOMode.OUTPUT)
        )
        self.profiles = profiles_of(engine, self.inputs)
        self._max_batch = max_batch
        self._padding = dict(padding or {})
        fills = self._checked_padding()
        lanes = [Lane(engine, self.outputs, max_output) for _ in range(contexts or contexts_that_fit(engine))]
        lanes[0].prepare(self.profiles[0])
        if max_batch > 1:
            self._check_batching(lanes[0])
        self._crew = Crew(lanes, self.profiles, fills, is_batching=max_batch > 1, max_wait=max_wait, room=queue)
        self.counts = self._crew.counts
        self._crew.start()
        weakref.finalize(self, _let_go, self._crew).atexit = False

    def submit(
        self, inputs: Mapping[str, np.ndarray], *, timeout: float | None = None
    ) -> concurrent.futures.Future[Outputs]:
        """Queues a request and returns at once; its arrays must stay as they are until the answer.

        BadRequest, QueueFull and Closed are raised here; the future gives the outputs, DeadlineExceeded when `timeout`
        seconds pass before the run begins, or RunFailed. Cancelling it takes the request out of the queue.
        """
        answer = ThreadAnswer()
        self._queue(inputs, timeout, answer)
        return answer

    def _queue(self, inputs: Mapping[str, np.ndarray], timeout: float | None, answer: Answer) -> None:
        if not self._crew.is_here:
            raise Closed("the pool is another process's: what a fork has made has none of its threads")
        if timeout is not None and math.isnan(timeout):
            raise BadRequest("the timeout is no number of seconds")
        now = time.monotonic()
        request = self._request(inputs, now, None if timeout is None else now + timeout, answer)
        answer.left = functools.partial(self._crew.drop, request.key)
        self._crew.add(request, now)

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
        finally:
            del answer  # Which has the error that is raised, and that this frame: a ring, and the inputs in it.

    async def ainfer(
        self,
        inputs: Mapping[str, np.ndarray],
        *,
        timeout: float | None = None,
        lend: Callable[[], Callable[[], None]] | None = None,
    ) -> Outputs:
        """The same for asyncio; a task that is cancelled takes its request out of the queue.

        Where it was given up while it ran, `lend` is called, and what that gives when nobody reads the inputs any more.
        """
        answer = LoopAnswer()
        self._queue(inputs, timeout, answer)
        try:
            if timeout is None:
                return await answer.future
            async with asyncio.timeout(timeout):
                return await answer.future
        except TimeoutError as late:
            if isinstance(late, PoolError):
                raise
            answer.give_up(lend)
            raise DeadlineExceeded(f"no answer within {timeout:g} s") from None
        except asyncio.CancelledError:
            answer.give_up(lend)
            raise
        finally:
            del answer  # As above.

    def close(self, *, drain: bool = True) -> None:
        """Takes no more requests, answers those that wait (`drain=False`: with Closed) and ends the threads."""
        if self._crew.is_here:
            self._crew.end(drain=drain)
            self._crew.join()

    @property
    def waiting(self) -> int:
        """How many requests are in the queue."""
        return self._crew.waiting

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


def _let_go(crew: Crew) -> None:
    """Of a pool that nobody has any more, in whichever thread that happens, and whatever lock it holds: so the crew's
    own is taken in another one."""
    if crew.is_here and not crew.is_closing:
        with contextlib.suppress(RuntimeError):  # Where the interpreter ends its threads do so, too.
            _thread.start_new_thread(crew.end, ())
