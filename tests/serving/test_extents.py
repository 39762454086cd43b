"""A pool finds out which batches are worth their while, and follows when that changes."""

import os
import subprocess
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
import tenon.serving as serving
from tenon.serving import own_time
from tenon.serving.extents import Extents
from tenon.serving.own_time import OwnTime
from test_pool import WEIGHTS, built, product

Seconds = Callable[[int], float]


def dear(rows: int) -> float:
    """Of a network whose pictures leave the caches when there are several."""
    return rows * (1.0 if rows == 1 else 1.7)


def cheap(rows: int) -> float:
    """Of one that spends its time on what all rows share."""
    return 1.0 + 0.01 * rows


def middling(rows: int) -> float:
    """Best at four rows."""
    return rows * {1: 1.0, 2: 0.8, 3: 0.8}.get(rows, 0.5 if rows < 8 else 0.9)


def chosen(extents: Extents, seconds: Seconds, runs: int, waiting: int = 8, key: object = "kind") -> list[int]:
    """The sizes of so many runs, one after another; each takes as long as `seconds` says, or a bit longer."""
    noise, sizes = np.random.default_rng(1), []
    for _ in range(runs):
        sizes.append(extents.choice(key, waiting))
        extents.note(key, sizes[-1], sizes[-1], seconds(sizes[-1]) * noise.uniform(1, 1.3))
    return sizes


@pytest.mark.parametrize("seconds, size", [(dear, 1), (cheap, 8), (middling, 4)])
def test_the_size_that_takes_least_per_row_is_learned(seconds: Seconds, size: int) -> None:
    extents = Extents()
    assert chosen(extents, seconds, 1) == [8]  # Nothing is known: as many as there are.
    chosen(extents, seconds, 60)
    sizes = chosen(extents, seconds, 640)
    assert extents.best("kind", 8) == size
    assert sizes.count(size) >= 620 and len(set(sizes)) == 4  # Others are tried now and then.


def test_what_changes_is_learned_anew() -> None:
    extents = Extents()
    chosen(extents, dear, 200)
    assert extents.best("kind", 8) == 1
    chosen(extents, cheap, 2000)
    assert extents.best("kind", 8) == 8


def test_kinds_are_learned_each_for_itself_and_forgotten_when_they_are_many() -> None:
    extents = Extents()
    chosen(extents, dear, 100, key="a")
    chosen(extents, cheap, 100, key="b")
    assert (extents.best("a", 8), extents.best("b", 8), extents.best("c", 8)) == (1, 8, 8)
    for number in range(100):
        extents.note(number, 1, 1, 1.0)
    assert extents.best("a", 8) == 8


def test_fewer_than_wait_are_never_chosen_more() -> None:
    extents = Extents()
    for waiting in range(1, 20):
        assert all(1 <= size <= waiting for size in chosen(extents, cheap, 50, waiting))


@pytest.mark.parametrize("seconds, least, most", [(dear, 1, 1.5), (cheap, 8, 16)])
def test_a_pool_joins_what_pays(monkeypatch: pytest.MonkeyPatch, seconds: Seconds, least: float, most: float) -> None:
    """By the rows that runs have on average; whatever the batches, each gets its own answer."""
    note = Extents.note

    def told(extents: Extents, key: object, rows: int, work: float, _: float) -> None:
        note(extents, key, rows, work / 8, seconds(rows))

    monkeypatch.setattr(Extents, "note", told)
    rng = np.random.default_rng(2)
    with serving.Pool(built(product, {"x": ((1, 8), (4, 8), (16, 8))}), max_batch=16, queue=1000) as pool:
        for _ in range(2):
            before = pool.counts.rows, pool.counts.runs
            asked = [rng.standard_normal((1, 8), np.float32) for _ in range(500)]
            answers = [pool.submit({"x": x}) for x in asked]
            for x, answer in zip(asked, answers, strict=True):
                np.testing.assert_allclose(answer.result(60)["y"], x @ WEIGHTS, rtol=1e-4, atol=1e-5)
        rows = (pool.counts.rows - before[0]) / (pool.counts.runs - before[1])
    assert least <= rows <= most


def lost_by_padding(lengths: list[int]) -> float:
    """Each element takes as long, whichever the batch: what is filled in is lost."""
    return 1e-3 * len(lengths) * max(lengths)


def saved_by_company(lengths: list[int]) -> float:
    """A run takes as long as eight more elements of its longest request for all of them."""
    return 1e-3 * max(lengths) * (len(lengths) + 8)


@pytest.mark.parametrize("seconds, size", [(lost_by_padding, 1), (saved_by_company, 8)])
def test_what_padding_adds_is_no_work(seconds: Callable[[list[int]], float], size: int) -> None:
    """Short requests, which take less by themselves, do not pass for a good size, nor long ones for a bad one."""
    extents, rng = Extents(), np.random.default_rng(4)
    for _ in range(400):
        lengths = rng.integers(17, 33, 8).tolist()
        lengths = lengths[: extents.choice("kind", 8)]
        extents.note("kind", len(lengths), sum(lengths), seconds(lengths))
    assert extents.best("kind", 8) == size


def test_what_other_programs_take_is_not_counted() -> None:
    """Two threads that compute on one processor: each has half of it, and its own time is that half."""
    core = min(os.sched_getaffinity(0))
    companies = [subprocess.Popen(["taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]) for _ in range(3)]
    found: list[float] = []

    def measured() -> None:
        os.sched_setaffinity(0, {core})
        with OwnTime() as clock:
            start, cpu, real = clock.now(), time.thread_time(), time.monotonic()
            while time.thread_time() - cpu < 0.2:
                pass
            found.extend((clock.now() - start, time.monotonic() - real))

    thread = threading.Thread(target=measured)
    try:
        thread.start()
        thread.join()
    finally:
        for company in companies:
            company.kill()
            company.wait()
    own, real = found
    assert real > 0.4  # Or there was no company.
    assert own < 0.6 * real, (own, real)


def test_a_kernel_that_counts_nothing_leaves_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_time, "_WAITED", "/proc/there-is-none")
    with OwnTime() as clock:
        start = clock.now()
        time.sleep(0.05)
        assert 0.05 <= clock.now() - start < 60
