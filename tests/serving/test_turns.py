"""Short turns are those of one thread, where the kernel has them."""

import concurrent.futures
import ctypes
import os
import threading

import pytest
from tenon.serving import turns

_GET = 315  # sched_getattr


def turn() -> int:
    """Nanoseconds, of the calling thread; 0 where the kernel does not say."""
    found = turns._Attributes()
    size = ctypes.sizeof(found)
    assert ctypes.CDLL(None).syscall(_GET, 0, ctypes.byref(found), size, 0) == 0
    return found.runtime


def test_a_thread_has_short_turns_and_threads_that_it_starts_have_not() -> None:
    found = []

    def short() -> None:
        before, nice = turn(), os.getpriority(os.PRIO_PROCESS, 0)
        is_known = turns.take_short_turns()
        inner = threading.Thread(target=lambda: found.append((is_known, before, now, turn(), nice)))
        now = turn()
        assert os.getpriority(os.PRIO_PROCESS, 0) == nice
        inner.start()
        inner.join()

    with concurrent.futures.ThreadPoolExecutor(1) as thread:
        thread.submit(short).result()
    is_known, before, now, inner, _ = found[0]
    if not is_known or not before:
        pytest.skip("this kernel does not know turns")
    assert now == 100_000 < before == inner
