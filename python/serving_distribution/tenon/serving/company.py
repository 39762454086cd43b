"""Whether a request that is alone waits for company: as often as that was worth it lately."""

import collections
from collections.abc import Hashable

_MOST_SKIPPED = 256  # Behind a wait in vain 2, 4 … so many requests do not wait.
_KINDS = 64  # Kinds of requests that are remembered.


class _Kind:
    failures = 0
    skips = 0


class Company:
    """Of one pool; whoever calls holds its lock."""

    def __init__(self) -> None:
        self._kinds: collections.OrderedDict[Hashable, _Kind] = collections.OrderedDict()

    def is_worth_waiting_for(self, key: Hashable) -> bool:
        """For one request, once: it waits, and ended() is told how that ended, or it does not."""
        kind = self._kinds.get(key)
        if kind is None or not kind.skips:
            return True
        kind.skips -= 1
        return False

    def ended(self, key: Hashable, has_come: bool) -> None:
        kind = self._kinds.setdefault(key, _Kind())
        self._kinds.move_to_end(key)
        if len(self._kinds) > _KINDS:
            self._kinds.popitem(last=False)
        kind.failures = 0 if has_come else kind.failures + 1
        kind.skips = 0 if has_come else min(1 << kind.failures, _MOST_SKIPPED)
