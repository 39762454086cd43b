"""What the C library does with memory that is let go: a server gives it back, as others wait for it."""

import ctypes

_TRIM, _THRESHOLD = -1, -3  # glibc's names of mallopt's parameters.
_LARGE = 1 << 22  # Bytes. glibc alone takes what it has seen freed as a measure, up to eight times that.
_KEPT = 1 << 25


def give_back_large_blocks() -> None:
    """Bodies and answers of megabytes are the system's again when they go, instead of holes in a heap that stays."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:  # Another C library.
        return
    mallopt(_THRESHOLD, _LARGE)
    mallopt(_TRIM, _KEPT)
