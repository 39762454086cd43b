"""Where messages of gRPC arrive: as many at once as there is room for, were each as large as one may be.

Nobody knows the size of a message, nor how much of it has come, before all of it is there.
"""

import asyncio
import collections
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from .held import Held
from .http import TooSlow

_LEAST_STAY = 1.0  # Seconds that a message may take to arrive while others wait for its place.


class Places:
    """While calls wait for a place, whoever has taken longest, and more than a second, makes room.

    A stream has a place as long as it lasts, since nobody can tell a pause from half a message.
    """

    def __init__(self, held: Held, largest: int, patience: float) -> None:
        count = held.most // largest
        self._held = held
        self._streams = max(1, count // 2)
        self._free = max(1, count - self._streams)
        self._patience = patience
        self._arriving: dict[asyncio.Timeout, float] = {}  # When each began, the oldest first.
        self._waiting: collections.deque[asyncio.Future[None]] = collections.deque()

    @contextlib.contextmanager
    def stream(self) -> Iterator[None]:
        if not self._streams:
            raise self._held.refusal("there are as many streams as there is room for (--max-held-mb)")
        self._streams -= 1
        try:
            yield
        finally:
            self._streams += 1

    async def receive(self, read: Callable[[], Awaitable[Any]]) -> Any:
        """What `read` gives; TooSlow when it takes too long."""
        await self._enter()
        try:
            async with asyncio.timeout(self._patience) as limit:
                self._arriving[limit] = asyncio.get_running_loop().time()
                self._hurry()
                try:
                    return await read()
                finally:
                    del self._arriving[limit]
        except TimeoutError:
            raise TooSlow(
                f"the request did not come within {self._patience:g} s (--patience), or while others waited for its "
                f"place within {_LEAST_STAY:g}"
            ) from None
        finally:
            self._leave()

    async def _enter(self) -> None:
        if self._free:
            self._free -= 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._hurry()
        try:
            async with asyncio.timeout(self._patience):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():
                self._leave()  # The place came too late.
            if isinstance(error, TimeoutError):
                why = f"there was no room for a message within {self._patience:g} s (--max-held-mb)"
                raise self._held.refusal(why) from None
            raise

    def _leave(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _hurry(self) -> None:
        """Those who arrive for longest have a second in all, as many of them as others wait."""
        now, waiting = asyncio.get_running_loop().time(), sum(not turn.done() for turn in self._waiting)
        for limit, begun in list(self._arriving.items())[:waiting]:
            if not limit.expired():
                limit.reschedule(min(begun + self._patience, max(now, begun + _LEAST_STAY)))
