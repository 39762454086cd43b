"""Log lines that nobody takes stop nobody, and their number is told to whoever comes to read."""

import collections.abc
import contextlib
import fcntl
import logging
import os
import time

import pytest
from tenon.serving.unhurried import Unhurried

PIPE = 4096  # Bytes: the least that Linux has.
LONG = "a" * 1000


@contextlib.contextmanager
def logged(most: int) -> collections.abc.Iterator[tuple[logging.Logger, Unhurried, int]]:
    """A logger of its own, what writes its lines, and the end of the pipe that these are read from."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE)
    log, lines = logging.Logger("some"), Unhurried(writing, most)
    log.addHandler(lines)
    try:
        yield log, lines, reading
    finally:
        with contextlib.suppress(OSError):
            os.close(reading)  # Which ends a write that waits.
        lines.finish(10)
        os.close(writing)


def received(reading: int, last: str) -> list[str]:
    """What is read until a line has this."""
    found = ""
    while last not in found:
        found += os.read(reading, 1 << 16).decode()
    return found.splitlines()


def test_lines_come_in_their_order() -> None:
    with logged(100) as (log, lines, reading):
        for number in range(20):
            log.warning("line %d", number)
        lines.finish(10)
        assert received(reading, "line 19") == [f"line {number}" for number in range(20)]


def test_a_pipe_that_nobody_reads_stops_nobody_and_the_loss_is_told() -> None:
    with logged(10) as (log, lines, reading):
        begun = time.monotonic()
        for number in range(1000):
            log.warning("%d %s", number, LONG)
        lines.finish(0.01)  # It does not wait for ever.
        assert time.monotonic() - begun < 5
        found = received(reading, "were lost")
        kept = [line for line in found if line.endswith(LONG)]
        numbers = [int(line.split()[0]) for line in kept]
        assert numbers[:10] == list(range(10)) and numbers == sorted(set(numbers))
        assert found[-1] == f"{1000 - len(kept)} lines of the log were lost: nobody took them"
        log.warning("after")
        assert received(reading, "after") == ["after"]


def test_whoever_has_stopped_reading_stops_nobody() -> None:
    with logged(10) as (log, lines, reading):
        os.close(reading)
        for number in range(100):
            log.warning("line %d", number)
        lines.finish(10)


@pytest.mark.parametrize("words", [("%d", "no number"), ("%s %s", 1)])
def test_a_line_whose_arguments_do_not_fit_is_written_all_the_same(words: tuple) -> None:
    with logged(10) as (log, _, reading):
        log.warning(*words)
        assert words[0] in received(reading, "has no such arguments")[0]
