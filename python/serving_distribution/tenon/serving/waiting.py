"""What waits for a run: requests in the order of their arrival, those that may share a run side by side."""

import collections
import dataclasses
import logging
from collections.abc import Hashable, Mapping

import numpy as np

from .answers import Answer, Outputs
from .company import Company
from .errors import DeadlineExceeded
from .extents import Extents
from .ports import Profile, Shapes

log = logging.getLogger("tenon.serving")


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
        """Whether it was cancelled or its deadline has passed."""
        return self.answer.cancelled() or (self.deadline is not None and now >= self.deadline)

    def give_up(self, now: float) -> None:
        """Says so to whom it concerns."""
        if self.answer.set_running_or_notify_cancel():
            waited = (now - self.arrived) * 1e3
            self.end(DeadlineExceeded(f"the deadline passed after {waited:.1f} ms in the queue"))

    def end(self, found: Outputs | Exception) -> None:
        """Callbacks of users run here: nobody holds a lock, and what they raise is not for whoever answers."""
        try:
            if isinstance(found, Exception):
                self.answer.set_exception(found)
            else:
                self.answer.set_result(found)
        except KeyboardInterrupt:  # In the main thread, which may give others up.
            raise
        except BaseException:  # Such as SystemExit, which futures let through.
            log.exception("a callback of a request raised")

    def begins(self, now: float) -> bool:
        """Whether somebody waits for it when its run begins; from then on it cannot be cancelled."""
        if not self.is_given_up(now):
            return self.answer.set_running_or_notify_cancel()
        self.give_up(now)
        return False


class _Group(collections.OrderedDict[Answer, Request]):
    """Requests that may share a run, in the order of their arrival, by where their outputs go."""

    waits = False  #: For company, as a lane is free.
    has_come = False  #: Company has.
    goes_alone = False  #: They do not wait: nobody came lately, or they have waited already.
    rows = 0  #: Of all of them.

    @property
    def first(self) -> Request:
        return next(iter(self.values()))


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
        self.count = 0

    def add(self, request: Request) -> None:
        group = self._groups.get(request.key)
        if group is None:
            group = self._groups[request.key] = _Group()
        group[request.answer] = request
        group.rows += request.rows
        group.has_come = group.waits
        self.count += 1

    def drop(self, key: Hashable, answer: Answer) -> bool:
        """Takes away one that nobody waits for any more; false: its run has begun, or it is gone."""
        group = self._groups.get(key)
        request = None if group is None else group.pop(answer, None)
        if group is None or request is None:
            return False
        group.rows -= request.rows
        self.count -= 1
        if not group:
            del self._groups[key]
        return True

    def ready(self, now: float, longest_wait: float) -> tuple[list[Request], float | None]:
        """A batch that is to run now, else how long until there is one (None: nothing waits). A lane is free."""
        oldest: _Group | None = None
        for group in self._groups.values():
            if oldest is not None and oldest.first.arrived <= group.first.arrived:
                continue
            if now - group.first.arrived >= longest_wait or self._is_full(group) or self._goes_alone(group):
                oldest = group
        if oldest is not None:
            return self._taken(oldest), 0.0
        if not self._groups:
            return [], None
        return [], min(group.first.arrived for group in self._groups.values()) + longest_wait - now

    def all(self) -> list[Request]:
        """Takes everything away."""
        found = [request for group in self._groups.values() for request in group.values()]
        self._groups.clear()
        self.count = 0
        return found

    def _goes_alone(self, group: _Group) -> bool:
        if not group.waits and not group.goes_alone:
            group.waits = self._company.is_worth_waiting_for(group.first.key)
            group.goes_alone = not group.waits
        return group.goes_alone

    def _taken(self, group: _Group) -> list[Request]:
        first = group.first
        if group.waits:
            self._company.ended(first.key, group.has_come)
        part = -(-group.rows // self._lanes)
        most = self._extents.choice(first.key, max(1, min(first.most_rows, part)))
        batch, rows = [], 0
        for request in group.values():
            if batch and rows + request.rows > most:
                break
            batch.append(request)
            rows += request.rows
        for request in batch:
            del group[request.answer]
        group.rows -= rows
        group.waits, group.has_come, group.goes_alone = False, False, True
        self.count -= len(batch)
        if not group:
            del self._groups[first.key]
        return batch

    def _is_full(self, group: _Group) -> bool:
        """Whether company is there, or is not worth waiting for."""
        first = group.first
        return group.rows >= self._extents.best(first.key, first.most_rows)

    def given_up(self, now: float) -> list[Request]:
        """Makes room: takes away what nobody waits for any more, wherever it stands, for the caller to give up.

        Who has waited already, or need not, is as due as before.
        """
        late = [request for group in self._groups.values() for request in group.values() if request.is_given_up(now)]
        return [request for request in late if self.drop(request.key, request.answer)]


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
