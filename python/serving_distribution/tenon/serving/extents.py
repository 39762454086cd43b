"""How many rows a run should have: what a row took in runs of few and of many, measured while requests waited."""

import collections
from collections.abc import Hashable

_SAMPLES = 3  # Of each size: the least of them counts, as other programs only make runs longer.
_LEARNING, _LEARNED = 2, 64  # One of so many runs tries another size, while samples are missing and afterwards.
_GAIN = 0.97  # A larger run must take less than this part of the time per row: its requests wait for each other.
_KINDS = 64  # Kinds of requests that are remembered.


class _Kind:
    """Requests that may share a run: seconds by their work, by the size's power of two."""

    def __init__(self) -> None:
        self.choices = 0
        self.samples: dict[int, collections.deque[float]] = {}

    def count(self, size: int) -> int:
        return len(self.samples.get(size.bit_length(), ()))

    def seconds(self, size: int) -> float:
        return min(self.samples[size.bit_length()])


class Extents:
    """Of one pool; whoever calls holds its lock."""

    def __init__(self) -> None:
        self._kinds: collections.OrderedDict[Hashable, _Kind] = collections.OrderedDict()

    def best(self, key: Hashable, most: int) -> int:
        """The size that takes least by the work in it, as far as is known; where nothing is, as many rows as may be."""
        kind = self._kinds.get(key)
        known = [size for size in _sizes(most) if kind is not None and kind.count(size)]
        if kind is None or not kind.count(most):
            return most
        best = known[0]
        for size in known[1:]:
            if kind.seconds(size) < _GAIN * kind.seconds(best):
                best = size
        return best

    def choice(self, key: Hashable, most: int) -> int:
        """The size of the next run, of which up to `most` rows are there: the best one, and now and then another."""
        kind = self._kinds.get(key)
        if kind is None or most < 2:
            return most
        kind.choices += 1
        rarest = min(_sizes(most), key=kind.count)
        is_learning = kind.count(rarest) < _SAMPLES
        if kind.choices % (_LEARNING if is_learning else _LEARNED):
            return self.best(key, most)
        if is_learning:
            return rarest
        sizes = _sizes(most)
        return sizes[kind.choices // _LEARNED % len(sizes)]

    def note(self, key: Hashable, rows: int, work: float, seconds: float) -> None:
        """A run of so many rows took so long. `work` is what callers sent: what padding adds is a loss."""
        kind = self._kinds.setdefault(key, _Kind())
        self._kinds.move_to_end(key)
        if len(self._kinds) > _KINDS:
            self._kinds.popitem(last=False)
        kind.samples.setdefault(rows.bit_length(), collections.deque(maxlen=_SAMPLES)).append(seconds / work)


def _sizes(most: int) -> list[int]:
    """Powers of two below, and `most` itself in the place of the last."""
    return [*(1 << power for power in range(most.bit_length() - 1)), most]
