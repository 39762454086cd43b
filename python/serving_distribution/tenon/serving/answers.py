"""Where the outputs of a request go: a future of any thread's, or one that a task of an event loop awaits."""

import asyncio
import contextlib
import threading
from typing import Protocol

import numpy as np

Outputs = dict[str, np.ndarray]


class Answer(Protocol):
    """As lanes see it: what concurrent.futures.Future has."""

    def cancelled(self) -> bool: ...

    def set_running_or_notify_cancel(self) -> bool: ...

    def set_result(self, result: Outputs, /) -> None: ...

    def set_exception(self, exception: Exception, /) -> None: ...


class LoopAnswer:
    """Made in an event loop, set by a lane's thread: one future, and no lock that anybody waits for."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._claim = threading.Lock()  # Taken by who comes first: the lane, or a caller who gives up.
        self._is_cancelled = False
        self.future: asyncio.Future[Outputs] = self._loop.create_future()

    def cancel(self) -> bool:
        """True: the request is not run any more."""
        if self._claim.acquire(blocking=False):
            self._is_cancelled = True
        return self._is_cancelled

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
        if self.future.done():  # Its task was cancelled meanwhile.
            return
        if exception is None:
            self.future.set_result(result)  # type: ignore[arg-type]
        else:
            self.future.set_exception(exception)
