"""What waits for a run: requests in the order of their arrival, those that may share a run side by side."""

import collections
import dataclasses
from collections.abc import Hashable, Mapping

import numpy as np

from .answers import Answer
from .company import Company
from .errors import DeadlineExceeded
from .extents import Extents
from .ports import Profile, Shapes


@dataclasses.dataclass(eq=False)
class Request:
    """One caller's inputs, and where the outputs go."""

    inputs: dict[str, np.ndarray]
    shapes: Shapes
    rows: int  #: Extent of the batch axis.
    most_rows: int  #: That a run with it may have.
    profile: Profile  #: One that fits the request alone.
    key: Hashable  #: Equal keys may share a run.
    arrived: float
    deadline: float | None
    answer: Answer

    @property
    def work(self) -> int:
        """Elements of the inputs."""
        return sum(value.size for value in self.inputs.values())

    def is_given_up(self, now: float) -> bool:
        """Whether it was cancelled or its deadline has passed, which is answered here."""
        if self.answer.cancelled():
            return not self.answer.set_running_or_notify_cancel()
        if self.deadline is None or now < self.deadline:
            return False
        if self.answer.set_running_or_notify_cancel():
            waited = (now - self.arrived) * 1e3
            self.answer.set_exception(DeadlineExceeded(f"the deadline passed after {waited:.1f} ms in the queue"))
        return True

    def begins(self, now: float) -> bool:
        """Whether somebody waits for it when its run begins; from then on it cannot be cancelled."""
        return not self.is_given_up(now) and self.answer.set_running_or_notify_cancel()


class _Group(collections.deque[Request]):
    """Requests that may share a run."""

    alone: int | None = None  #: How many there were when a lane was free and they began to wait for company.
    goes_alone = False  #: They do not wait: nobody came lately, or they have waited already.


class Waiting:
    """The requests of a pool of so many lanes; whoever calls holds the pool's lock.

    What runs next is said here, by these rules:
    - Whoever is due and has waited longest goes first.
    - A request is due when a lane is free, unless company would make its run cheaper (Extents), came in time when
      others waited for it lately (Company), and the longest wait is not over.
    - A run takes as many rows as are cheapest, but no more than the lane's part of those that wait: the other lanes
      will be free soon, and requests of a long run have their answers last. What it leaves is due.
    """

    def __init__(self, extents: Extents, lanes: int) -> None:
        self._groups: collections.OrderedDict[Hashable, _Group] = collections.OrderedDict()
        self._extents, self._company, self._lanes = extents, Company(), lanes
        self.cancelled = 0  #: Requests that went as their callers did, so far.
        self.count = 0

    def add(self, request: Request) -> None:
        self._groups.setdefault(request.key, _Group()).append(request)
        self.count += 1

    def ready(self, now: float, longest_wait: float) -> tuple[list[Request], float | None]:
        """A batch that is to run now, else how long until there is one (None: nothing waits). A lane is free."""
        self._drop_cancelled()
        oldest: _Group | None = None
        for group in self._groups.values():
            if oldest is not None and oldest[0].arrived <= group[0].arrived:
                continue
            if now - group[0].arrived >= longest_wait or self._is_full(group) or self._goes_alone(group):
                oldest = group
        if oldest is not None:
            return self._taken(oldest), 0.0
        if not self._groups:
            return [], None
        return [], min(group[0].arrived for group in self._groups.values()) + longest_wait - now

    def all(self) -> list[Request]:
        """Takes everything away."""
        found = [request for group in self._groups.values() for request in group]
        self._groups.clear()
        self.count = 0
        return found

    def _goes_alone(self, group: _Group) -> bool:
        if group.alone is None and not group.goes_alone:
            group.goes_alone = not self._company.is_worth_waiting_for(group[0].key)
            group.alone = None if group.goes_alone else len(group)
        return group.goes_alone

    def _taken(self, group: _Group) -> list[Request]:
        first = group[0]
        if group.alone is not None:
            self._company.ended(first.key, len(group) > group.alone)
        part = -(-sum(each.rows for each in group) // self._lanes)
        most = self._extents.choice(first.key, max(1, min(first.most_rows, part)))
        batch = [group.popleft()]
        rows = first.rows
        while group and rows + group[0].rows <= most:
            rows += group[0].rows
            batch.append(group.popleft())
        group.alone, group.goes_alone = None, True
        self.count -= len(batch)
        if not group:
            del self._groups[first.key]
        return batch

    def _is_full(self, group: _Group) -> bool:
        """Whether company is there, or is not worth waiting for."""
        most, rows = self._extents.best(group[0].key, group[0].most_rows), 0
        for request in group:
            rows += request.rows
            if rows >= most:
                return True
        return False

    def _drop_cancelled(self) -> None:
        for key in list(self._groups):
            group = self._groups[key]
            while group and group[0].answer.cancelled():
                group.popleft().answer.set_running_or_notify_cancel()
                self.count -= 1
                self.cancelled += 1
            if not group:
                del self._groups[key]

    def drop_given_up(self, now: float) -> int:
        """Makes room: takes away what nobody waits for any more, wherever it stands; how many these were."""
        before = self.count
        for key in list(self._groups):
            group = self._groups[key]
            kept = [each for each in group if not each.is_given_up(now)]
            self.count -= len(group) - len(kept)
            group.clear()
            group.extend(kept)  # Who has waited already, or need not, is as due as before.
            if not group:
                del self._groups[key]
        return before - self.count


def gathered(
    batch: list[Request], shapes: Mapping[str, tuple[int, ...]], fills: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The inputs of a run for all of them, padded to these shapes."""
    found = {}
    for name, shape in shapes.items():
        parts = [request.inputs[name] for request in batch]
        if all(part.shape[1:] == shape[1:] for part in parts):
            found[name] = np.concatenate(parts)
            continue
        whole = np.full(shape, fills[name], parts[0].dtype)
        row = 0
        for part in parts:
            whole[(slice(row, row + len(part)), *(slice(extent) for extent in part.shape[1:]))] = part
            row += len(part)
        found[name] = whole
    return found
