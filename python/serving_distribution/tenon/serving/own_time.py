"""The clock of a thread, without what other programs took of its processor."""

import os
import time
from typing import Self

_WAITED = "/proc/thread-self/schedstat"  # Nanoseconds: on a processor, waiting for one; how often.


class OwnTime:
    """Seconds, for the differences between two readings in the thread that has made this."""

    def __init__(self) -> None:
        try:
            self._file = os.open(_WAITED, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # A kernel that does not count: the plain clock.
            self._file = -1

    def now(self) -> float:
        return time.monotonic() - self._waited()

    def _waited(self) -> float:
        return int(os.pread(self._file, 99, 0).split()[1]) / 1e9 if self._file >= 0 else 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self._file >= 0:
            os.close(self._file)
