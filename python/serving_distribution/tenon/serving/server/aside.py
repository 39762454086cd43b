"""Calls that read files, aside from the event loop: a folder of another machine may take for ever to answer."""

import asyncio
import contextlib
import errno
import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import PoolError

log = logging.getLogger("tenon.serving")
PATIENCE = 30.0  #: Seconds, in which a disk answers beside any load, and a network folder that is there.
_T = TypeVar("_T")


class Unanswered(PoolError, OSError):
    """A place whose files cannot be read, and not because they are not there."""


class Aside:
    """Each call has a thread of its own, which the end of the process does not wait for; of a place one at a time."""

    def __init__(self) -> None:
        self._under_way: dict[str, asyncio.Future[Any]] = {}
        self._late: set[str] = set()

    async def ask(self, place: str, call: Callable[[], _T]) -> _T:
        """What the call gives; Unanswered when that takes longer than PATIENCE, and at once as long as it lasts."""
        said = f"{place} has not answered for {PATIENCE:g} s"
        if place in self._late:
            raise Unanswered(f"{said}, and still does not")
        try:
            async with asyncio.timeout(PATIENCE) as limit:
                while place in self._under_way:
                    await asyncio.wait({self._under_way[place]})
                self._under_way[place] = answer = begun(call)
                answer.add_done_callback(lambda _: self._answered(place))
                return await asyncio.shield(answer)
        except TimeoutError:
            if not limit.expired():
                raise  # The call's own: a file system may say so, too.
            if place in self._under_way and place not in self._late:
                self._late.add(place)
                log.error("%s; what was read before stays", said)
            raise Unanswered(said) from None

    def _answered(self, place: str) -> None:
        del self._under_way[place]
        if place in self._late:
            self._late.discard(place)
            log.info("%s answers again", place)


def begun(call: Callable[[], _T]) -> asyncio.Future[_T]:
    """What a call in a thread of its own gives; OSError when the system has no room for one."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[_T] = loop.create_future()
    answer.add_done_callback(lambda done: done.cancelled() or done.exception())  # Where nobody waits any more.

    def tell(result: _T | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(result)  # type: ignore[arg-type]
        else:
            answer.set_exception(error)

    def work() -> None:
        result, error = None, None
        try:
            result = call()
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # The loop is closed: the server has ended.
            loop.call_soon_threadsafe(tell, result, error)

    try:
        threading.Thread(target=work, name="tenon-files", daemon=True).start()
    except RuntimeError as full:
        raise OSError(errno.EAGAIN, str(full)) from None
    return answer
