"""The memory that callers hold: requests that have come, answers that have not gone, counted and bounded."""

from collections.abc import Callable
from typing import Self

from ..errors import QueueFull

_AGAIN_AFTER = 1.0  # Seconds: nobody knows who lets go when.


class Held:
    """The bytes of all callers together.

    Requests are taken as far as `most` goes. Answers are counted only, as their runs are done; whoever does not take
    his is sent away.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.now = 0
        self.refused = 0  #: Requests there was no room for.
        self.sent_away = 0  #: Connections that did not take their answers.

    def add(self, count: int) -> None:
        self.now += count

    def drop(self, count: int) -> None:
        self.now -= count

    def refusal(self, why: str) -> QueueFull:
        """Counted; for the caller to raise."""
        self.refused += 1
        return QueueFull(why, _AGAIN_AFTER)


class Share:
    """What one request holds, until it is closed."""

    def __init__(self, held: Held) -> None:
        self._held, self._count = held, 0

    def check(self, count: int) -> None:
        """QueueFull where so many bytes more are too many; not for a caller whom nobody is in the way of."""
        held = self._held
        if held.now + count > held.most and held.now > self._count:
            raise held.refusal(
                f"requests and answers of {held.now} bytes are held already, {count} more would be beyond "
                f"{held.most} (--max-held-mb)"
            )

    def take(self, count: int) -> None:
        self.check(count)
        self._held.add(count)
        self._count += count

    def lend(self) -> Callable[[], None]:
        """To a run that goes on when its caller has gone; what this gives is called at its end."""
        held, count = self._held, self._count
        self._count = 0
        return lambda: held.drop(count)

    def close(self) -> None:
        self._held.drop(self._count)
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
