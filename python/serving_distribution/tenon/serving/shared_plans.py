"""Plans that the processes of a machine share: each lies in sealed memory once, and is loaded where it lies."""

import contextlib
import fcntl
import hashlib
import os
import pathlib
import stat
import tempfile
from collections.abc import Callable, Iterator
from typing import TextIO

import tenon

Source = str | os.PathLike[str] | bytes | bytearray | memoryview

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
_PIECE = 1 << 26  # Bytes that are copied by one call.


class SharedPlan:
    """A plan's bytes in memory that nobody can change: those of another process where one has them already.

    The memory goes with the last process that holds it or runs an engine in it. Who comes later takes it from any
    process that still holds it.
    """

    def __init__(self, plan: Source) -> None:
        """OSError when a file cannot be read."""
        key, fill = _of_bytes(plan) if isinstance(plan, bytes | bytearray | memoryview) else _of_file(plan)
        name = f"tenon-plan-{hashlib.sha256(key.encode()).hexdigest()[:32]}"
        with _locked(_folder() / name) as list_of_holders:
            holders = [each for each in list_of_holders.read().splitlines() if _holds(each, name)]
            shared = next((file for file in (_opened(each, name) for each in holders) if file is not None), None)
            self.is_of_another = shared is not None
            self._file = _sealed(name, fill) if shared is None else shared
            holders.append(f"/proc/{os.getpid()}/fd/{self._file}")
            list_of_holders.seek(0)
            list_of_holders.truncate()
            list_of_holders.write("\n".join(holders) + "\n")

    def engine(self, runtime: tenon.Runtime) -> tenon.ICudaEngine | None:
        """The engine; None after an error that the runtime's logger has."""
        return tenon.load(runtime, f"/proc/self/fd/{self._file}")

    def close(self) -> None:
        """Holds the plan no longer for others; engines keep their memory."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self.close()


def _of_file(path: str | os.PathLike[str]) -> tuple[str, Callable[[int], None]]:
    """What tells this file from all others, and how its bytes get into memory."""
    place = pathlib.Path(path).resolve(strict=True)
    seen = _seen(place)

    def fill(memory: int) -> None:
        with place.open("rb") as file:
            while os.sendfile(memory, file.fileno(), None, _PIECE):
                pass
        if _seen(place) != seen:
            raise OSError(f"{place} was changed while it was read")

    return f"file {place} {seen}", fill


def _seen(place: pathlib.Path) -> tuple[int, ...]:
    found = place.stat()
    if not stat.S_ISREG(found.st_mode):
        raise OSError(f"{place} is no plain file")
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _of_bytes(plan: bytes | bytearray | memoryview) -> tuple[str, Callable[[int], None]]:
    view = memoryview(plan).cast("B")

    def fill(memory: int) -> None:
        done = 0
        while done < len(view):
            done += os.write(memory, view[done : done + _PIECE])

    return f"bytes {hashlib.sha256(view).hexdigest()}", fill


def _sealed(name: str, fill: Callable[[int], None]) -> int:
    memory = os.memfd_create(name, os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    try:
        fill(memory)
        fcntl.fcntl(memory, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(memory)
        raise
    return memory


def _holds(path: str, name: str) -> bool:
    """Whether a process still has the memory: its number may belong to another one by now."""
    try:
        return os.readlink(path) == f"/memfd:{name} (deleted)" and os.access(path, os.R_OK)
    except OSError:
        return False


def _opened(path: str, name: str) -> int | None:
    """The memory, where its holder still has it: it may end at any time, and its number become another process's."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    if _holds(f"/proc/self/fd/{file}", name):
        return file
    os.close(file)
    return None


def _folder() -> pathlib.Path:
    """Where processes tell each other what they hold: a folder that only this user can write to."""
    found = pathlib.Path(tempfile.gettempdir()) / f"tenon-plans-{os.getuid()}"
    found.mkdir(mode=0o700, exist_ok=True)
    about = found.lstat()
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.getuid() or about.st_mode & 0o077:
        raise OSError(f"{found} is not a folder of this user's alone")
    return found


@contextlib.contextmanager
def _locked(path: pathlib.Path) -> Iterator[TextIO]:
    """The file, while no other process has it."""
    with open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
