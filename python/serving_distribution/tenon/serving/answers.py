"""Where the outputs of a request go: a future of any thread's, or one that a task of an event loop awaits."""

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable
from typing import Protocol

import numpy as np

Outputs = dict[str, np.ndarray]


class Answer(Protocol):
    """As lanes see it: what concurrent.futures.Future has, and who is told when it is cancelled."""

    left: Callable[["Answer"], None] | None  #: Called when it is cancelled, in the thread that did so.

    def cancelled(self) -> bool: ...

    def set_running_or_notify_cancel(self) -> bool: ...

    def set_result(self, result: Outputs, /) -> None: ...

    def set_exception(self, exception: Exception, /) -> None: ...


def _leave(answer: Answer) -> None:
    left, answer.left = answer.left, None
    if left is not None:
        left(answer)


class ThreadAnswer(concurrent.futures.Future[Outputs]):
    """What any thread may wait for."""

    left: Callable[[Answer], None] | None = None

    def cancel(self) -> bool:
        is_cancelled = super().cancel()
        if is_cancelled:
            _leave(self)
        return is_cancelled


class LoopAnswer:
    """Made in an event loop, set by a lane's thread: one future, and no lock that anybody holds for long."""

    left: Callable[[Answer], None] | None = None

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._claim = threading.Lock()  # Taken by who comes first: the lane, or a caller who gives up.
        self._is_cancelled = self._is_over = False
        self._returned: Callable[[], None] | None = None
        self.future: asyncio.Future[Outputs] = self._loop.create_future()

    def cancel(self) -> bool:
        """True: the request is not run any more."""
        if self._claim.acquire(blocking=False):
            self._is_cancelled = True
            _leave(self)
        return self._is_cancelled

    def give_up(self, lend: Callable[[], Callable[[], None]] | None) -> None:
        """Nobody awaits it any more. A run under way goes on with what it is lent, and returns it."""
        if not self.cancel() and lend is not None and not self._is_over:
            self._returned = lend()

    def cancelled(self) -> bool:
        return self._is_cancelled

    def set_running_or_notify_cancel(self) -> bool:
        return self._claim.acquire(blocking=False)

    def set_result(self, result: Outputs, /) -> None:
        self._tell(result, None)

    def set_exception(self, exception: Exception, /) -> None:
        self._tell(None, exception)

    def _tell(self, result: Outputs | None, exception: Exception | None) -> None:
        with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits.
            self._loop.call_soon_threadsafe(self._set, result, exception)

    def _set(self, result: Outputs | None, exception: Exception | None) -> None:
        self._is_over = True
        if self._returned is not None:
            self._returned()
        if self.future.done():  # Its task was cancelled meanwhile.
            return
        if exception is None:
            self.future.set_result(result)  # type: ignore[arg-type]
        else:
            self.future.set_exception(exception)
