"""Whether a request that is alone waits for company: as often as that was worth it lately."""

import collections
from collections.abc import Hashable

_MOST_SKIPPED = 256  # Behind a wait in vain 2, 4 … so many requests do not wait.
_KINDS = 64  # Kinds of requests that are remembered.


class _Kind:
    after_failure = 0  #: How many did not wait behind the last wait in vain.
    skips = 0  #: How many of these are still to come.


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
        kind.skips = kind.after_failure = 0 if has_come else min(max(2, 2 * kind.after_failure), _MOST_SKIPPED)
