"""Large blocks that are let go are the system's again: in a process of its own, as the C library's ways change."""

import subprocess
import sys

PROGRAM = """
import sys
import numpy as np
from tenon.serving.memory import give_back_large_blocks

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

if sys.argv[1] == "given back":
    give_back_large_blocks()
size = 6 << 20
block = np.ones(4 * size, np.uint8)  # Of which glibc learns to keep blocks as large as this one in its heap.
del block
begun = resident()
blocks = [np.ones(size, np.uint8) for _ in range(20)]
del blocks[::2]
print((resident() - begun) // size)
"""


def kept(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


def test_what_is_let_go_between_blocks_that_stay_goes_back() -> None:
    assert kept("given back") <= 12
    assert kept("as it comes") >= 18  # What it is for: where this fails it is not needed any more.
