"""Triton's system shared memory: tensors in POSIX shared memory that a client on this machine has made."""

import contextlib
import dataclasses
import os
import pathlib
from collections.abc import Iterator

import numpy as np

from ..errors import BadRequest, shown

_FOLDER = pathlib.Path("/dev/shm")
_MOST = 1024  # Regions at once: each is an open file.


@dataclasses.dataclass(frozen=True)
class Region:
    key: str
    offset: int
    size: int
    file: int


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a tensor lies in a region."""

    region: str
    offset: int
    size: int


@contextlib.contextmanager
def _told(tensor: str, place: Place) -> Iterator[None]:
    """A region may be as large as its client says, and the machine have no memory for all of it."""
    try:
        yield
    except OSError as error:
        raise BadRequest(f"tensor '{tensor}': shared memory region '{shown(place.region)}': {error.strerror}") from None


class Regions:
    """The regions by the names that clients have given them.

    They are read and written by calls, not mapped: a client that cuts its region off in between would end the server.
    """

    def __init__(self, is_allowed: bool) -> None:
        self._is_allowed = is_allowed
        self._regions: dict[str, Region] = {}

    def register(self, name: str, key: str, offset: int, size: int) -> None:
        self._check()
        if not name:  # Which means all of them elsewhere.
            raise BadRequest("a shared memory region needs a name")
        if name in self._regions:
            raise BadRequest(f"the shared memory region '{shown(name)}' is registered already")
        if len(self._regions) == _MOST:
            raise BadRequest(f"{_MOST} shared memory regions are registered, as many as may")
        bare = key.removeprefix("/")
        if not bare or "/" in bare or bare in (".", "..") or "\0" in bare:
            raise BadRequest(f"the key '{shown(key)}' names no shared memory")
        try:
            file = os.open(_FOLDER / bare, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise BadRequest(f"shared memory '{shown(key)}' of region '{shown(name)}': {error.strerror}") from None
        has = os.fstat(file).st_size
        if offset < 0 or size <= 0 or offset + size > has:
            os.close(file)
            raise BadRequest(
                f"region '{shown(name)}' asks for {size} bytes from {offset} on, but '{shown(key)}' has {has}"
            )
        self._regions[name] = Region(key, offset, size, file)

    def unregister(self, name: str) -> None:
        """One of them, or with '' all; a name that nobody knows is none, as with Triton."""
        self._check()
        for each in [name] if name else list(self._regions):
            region = self._regions.pop(each, None)
            if region is not None:
                os.close(region.file)

    def status(self, name: str) -> list[dict[str, str | int]]:
        self._check()
        if name and name not in self._regions:
            raise BadRequest(f"there is no shared memory region '{shown(name)}'")
        return [
            {"name": each, "key": region.key, "offset": region.offset, "byte_size": region.size}
            for each, region in self._regions.items()
            if name in ("", each)
        ]

    def read(self, tensor: str, place: Place) -> np.ndarray:
        region = self._found(tensor, place)
        found, done = np.empty(place.size, np.uint8), 0
        while done < place.size:
            with _told(tensor, place):
                count = os.preadv(region.file, [found[done:]], region.offset + place.offset + done)
            if count == 0:
                raise BadRequest(f"tensor '{tensor}': shared memory region '{shown(place.region)}' has been cut off")
            done += count
        return found

    def write(self, tensor: str, place: Place, value: np.ndarray) -> None:
        region, data = self._found(tensor, place), np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        if data.size > place.size:
            raise BadRequest(f"output '{tensor}' has {data.size} bytes, but its shared memory has {place.size}")
        if os.fstat(region.file).st_size < region.offset + region.size:
            raise BadRequest(f"tensor '{tensor}': shared memory region '{shown(place.region)}' has been cut off")
        done = 0
        while done < data.size:
            with _told(tensor, place):
                done += os.pwrite(region.file, data[done:], region.offset + place.offset + done)

    def _found(self, tensor: str, place: Place) -> Region:
        self._check()
        region = self._regions.get(place.region)
        if region is None:
            raise BadRequest(f"tensor '{tensor}': there is no shared memory region '{shown(place.region)}'")
        if place.offset < 0 or place.size < 0 or place.offset + place.size > region.size:
            raise BadRequest(
                f"tensor '{tensor}' takes {place.size} bytes from {place.offset} on, but shared memory region "
                f"'{shown(place.region)}' has {region.size}"
            )
        return region

    def _check(self) -> None:
        if not self._is_allowed:
            raise BadRequest("shared memory is for clients on this machine: --allow-shared-memory lets others name it")
