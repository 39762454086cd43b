"""How many contexts of an engine are worth having on this machine: by its memory, and by the threads that run them."""

import os
import pathlib

import tenon

_SHARE = 0.5  # Of the memory that is free: the rest is for requests, answers and whoever else is here.


def free_memory(root: pathlib.Path = pathlib.Path("/")) -> int:
    """The bytes that this process may still take: what the machine has, and what its control group is allowed."""
    found = []
    for line in (root / "proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            found.append(int(line.split()[1]) * 1024)
    group = root / "sys/fs/cgroup"
    try:
        found.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):  # No group, or one without a limit: "max".
        pass
    return max(0, min(found, default=0))


def threads() -> int:
    """That runs have: TENON_THREADS, or those of the machine that this process may use."""
    asked = os.environ.get("TENON_THREADS", "")
    return int(asked) if asked.isdigit() and int(asked) > 0 else len(os.sched_getaffinity(0))


def contexts_that_fit(engine: tenon.ICudaEngine, free: int | None = None) -> int:
    """One per thread, as far as half of the free memory goes; at least one. A lane has a context per profile."""
    each = sum(engine.get_device_memory_size_for_profile_v2(index) for index in range(engine.num_optimization_profiles))
    room = int((free_memory() if free is None else free) * _SHARE) // max(1, each)
    return max(1, min(threads(), room))
