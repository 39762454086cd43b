"""Short turns on a processor: a thread that has little to do is heard at once where others compute."""

import ctypes
import os

_SYSCALL = {"x86_64": 314}  # sched_setattr, for which there is no function.
_LEAST = 100_000  # Nanoseconds: the kernel has no shorter ones.
_FOR_THIS_THREAD_ALONE = 1  # Threads that it starts have the usual ones.


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime", ctypes.c_uint64),
        ("deadline", ctypes.c_uint64),
        ("period", ctypes.c_uint64),
    ]


def take_short_turns() -> bool:
    """For the calling thread, whose share of the processor stays; False where the kernel knows nothing of it.

    From version 6.12 on Linux lets who has asked for shorter turns go before who has not. Without that a thread that
    wakes up waits until one that computes has had its own, some milliseconds.
    """
    number = _SYSCALL.get(os.uname().machine)
    if number is None or os.sched_getscheduler(0) != os.SCHED_OTHER:
        return False
    asked = _Attributes(flags=_FOR_THIS_THREAD_ALONE, nice=os.getpriority(os.PRIO_PROCESS, 0), runtime=_LEAST)
    asked.size = ctypes.sizeof(asked)
    return ctypes.CDLL(None, use_errno=True).syscall(number, 0, ctypes.byref(asked), 0) == 0
