"""The build backend: scikit-build-core, after a look at the platform, so that pip ends with one sentence elsewhere."""

import platform

#: The oldest C library that Tenon is built and tested with.
OLDEST_GLIBC = (2, 36)


def problem(system: str, machine: str, library: tuple[str, str]) -> str | None:
    """One sentence when Tenon does not run on such a machine."""
    needed = "Tenon needs Linux on x86-64 with glibc {}.{} or later".format(*OLDEST_GLIBC)
    if system != "Linux":
        return f"{needed}; this is {system or 'an unknown system'}."
    if machine not in ("x86_64", "AMD64"):
        return f"{needed}; this machine is {machine or 'of unknown kind'}."
    name, version = library
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    if name != "glibc" or numbers < OLDEST_GLIBC:
        return f"{needed}; this system has {' '.join(library).strip() or 'another C library'}."
    return None


if _sentence := problem(platform.system(), platform.machine(), platform.libc_ver()):
    raise SystemExit(_sentence)

from scikit_build_core.build import *  # noqa: E402,F403
