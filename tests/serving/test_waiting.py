"""What runs next, by the rules of Waiting, at moments that are said: no clock, no engine."""

import dataclasses

import numpy as np
from tenon.serving.answers import ThreadAnswer
from tenon.serving.errors import DeadlineExceeded
from tenon.serving.extents import Extents
from tenon.serving.ports import Profile
from tenon.serving.waiting import Request, Waiting

WAIT = 1.0
PROFILE = Profile(0, {"x": (1, 8)}, {"x": (4, 8)}, {"x": (16, 8)}, {})


def request(arrived: float, rows: int = 1, key: str = "a", most: int = 8) -> Request:
    x = {"x": np.zeros((rows, 8), np.float32)}
    shapes = {"x": (rows, 8)}
    return Request(x, shapes, rows, most, PROFILE, key, arrived, None, ThreadAnswer())


class Queue:
    """Of a pool with so many lanes, all of which are free: what is due is taken at once, as (key, requests)."""

    def __init__(self, lanes: int, extents: Extents | None = None) -> None:
        self.waiting = Waiting(extents or Extents(), lanes)

    def add(self, *requests: Request) -> None:
        for each in requests:
            self.waiting.add(each)

    def taken(self, now: float, wait: float = WAIT) -> list[tuple[str, int]]:
        found = []
        while batch := self.waiting.ready(now, wait)[0]:
            found.append((batch[0].key, len(batch)))
        return found

    def delay(self, now: float) -> float | None:
        batch, delay = self.waiting.ready(now, WAIT)
        assert not batch
        return delay


def alone(queue: Queue, now: float) -> bool:
    """Whether a request that comes while nobody else is there waits for company, in vain."""
    queue.add(request(now))
    if queue.taken(now):
        return False
    assert queue.delay(now + 0.25) == WAIT - 0.25
    assert queue.taken(now + WAIT) == [("a", 1)]
    return True


def test_without_a_longest_wait_who_came_first_goes_at_once() -> None:
    queue = Queue(1)
    queue.add(request(1.0, key="b"), request(0.5, key="a"), request(2.0, key="b"))
    assert queue.taken(2.0, wait=0.0) == [("a", 1), ("b", 2)]
    assert queue.delay(2.0) is None


def test_waits_in_vain_become_rare_and_company_makes_them_usual_again() -> None:
    queue = Queue(1)
    waited = [number for number in range(40) if alone(queue, 10.0 * number)]
    assert waited == [0, 3, 8, 17, 34]  # Behind the first 2 do not wait, then 4, 8, 16, 32.
    often = [number for number in range(2000) if alone(queue, 1000 + 10.0 * number)]
    assert 7 <= len(often) <= 9 and often[-1] - often[-2] == 257
    while not alone(queue, (now := 1e6)):
        pass
    for _ in range(256):
        assert not alone(queue, now)
    queue.add(request(now))
    assert queue.delay(now) == WAIT
    queue.add(request(now + 0.5))
    assert queue.taken(now + WAIT) == [("a", 2)]
    queue.add(request(now + 2))
    assert queue.delay(now + 2) == WAIT  # Company came: the next one waits for it.


def test_kinds_of_requests_are_judged_apart() -> None:
    queue = Queue(1)
    assert alone(queue, 0.0) and not alone(queue, 10.0)
    queue.add(request(20.0, key="b"))
    assert queue.delay(20.0) == WAIT


def test_as_many_as_pay_do_not_wait_for_more() -> None:
    queue = Queue(1)
    queue.add(*(request(0.0) for _ in range(8)))
    assert queue.taken(0.0) == [("a", 8)]
    extents = Extents()
    for rows, seconds in ((1, 1.0), (2, 2.5), (4, 6.0), (8, 16.0)):
        for _ in range(3):
            extents.note("a", rows, rows, seconds)
    queue = Queue(1, extents)
    queue.add(request(0.0), request(0.0))
    assert queue.taken(0.0) == [("a", 1), ("a", 1)]  # One row is cheapest.


def test_each_lane_has_its_part_and_what_is_left_is_due() -> None:
    queue = Queue(2)
    queue.add(*(request(0.0) for _ in range(8)))
    assert queue.taken(0.0) == [("a", 4), ("a", 2), ("a", 1), ("a", 1)]  # As if no lane had become busy.
    queue = Queue(2)
    queue.add(*(request(0.0) for _ in range(32)))
    assert queue.taken(0.0)[:2] == [("a", 8), ("a", 8)]
    queue = Queue(2)
    queue.add(request(0.0, rows=3), request(0.0, rows=3), request(0.0, rows=2))
    assert queue.taken(0.0)[:2] == [("a", 1), ("a", 1)]
    queue = Queue(3)
    queue.add(request(0.0, rows=8), request(0.0))
    assert queue.taken(0.0) == [("a", 1), ("a", 1)]  # A request is never cut.


def test_who_was_cancelled_is_no_company() -> None:
    queue = Queue(1)
    first, second = request(0.0), request(0.1)
    queue.add(first)
    assert queue.delay(0.0) == WAIT
    queue.add(second)
    assert queue.waiting.drop("a", first.answer) and not queue.waiting.drop("a", first.answer)
    assert queue.delay(0.5) == WAIT + 0.1 - 0.5 and queue.waiting.count == 1
    assert not queue.waiting.drop("b", second.answer) and queue.waiting.drop("a", second.answer)
    assert queue.delay(0.5) is None and queue.waiting.count == 0


def test_company_that_came_has_come_though_others_go() -> None:
    queue = Queue(1)
    first = request(0.0)
    queue.add(first)
    assert queue.delay(0.0) == WAIT
    queue.add(request(0.1))
    assert queue.waiting.drop("a", first.answer)
    assert queue.taken(0.2 + WAIT) == [("a", 1)]
    assert [alone(queue, 10.0 * number) for number in range(1, 4)] == [True, False, False]


def test_room_that_is_made_leaves_what_is_due_due() -> None:
    queue = Queue(2)
    queue.add(*(request(0.0) for _ in range(4)))
    assert len(queue.waiting.ready(0.0, 0.0)[0]) == 2
    late = dataclasses.replace(request(0.0), deadline=0.5)
    queue.add(late)
    assert queue.waiting.given_up(0.4) == [] and queue.waiting.given_up(0.6) == [late]
    late.give_up(0.6)
    assert isinstance(late.answer.exception(), DeadlineExceeded) and queue.waiting.count == 2
    assert queue.taken(0.0) == [("a", 1), ("a", 1)]
