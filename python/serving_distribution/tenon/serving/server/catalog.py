"""The models that are served, by name and version; load, unload, and what became of each."""

import asyncio
import contextlib
import logging
import pathlib
from collections.abc import Mapping
from typing import Any

from kserve.errors import ModelNotFound
from kserve.model_repository import ModelRepository

from . import sources
from .served import Served
from .sources import Source, Unusable

log = logging.getLogger("tenon.serving")
_SHOWN = 200  # Characters of a caller's name that an answer repeats: one of gRPC has room for 16 KB in all.


class Catalog(ModelRepository):  # type: ignore[misc]
    """KServe's repository, with versions: whoever asks for a model without one gets its newest."""

    def __init__(self, place: pathlib.Path, name: str | None, settings: Mapping[str, Any], allows_code: bool) -> None:
        super().__init__(str(place))
        self._place, self._settings, self._allows_code = place, settings, allows_code
        self._only = name or (None if place.is_dir() else place.stem)
        self._served: dict[str, dict[str, Served]] = {}
        self._reasons: dict[str, str] = {}
        self._changing = asyncio.Lock()
        self._is_ending = False

    async def load_all(self) -> None:
        """Unusable when there is not one model to serve."""
        for name in self._names():
            try:
                await self.load_now(name)
            except Unusable as error:
                if self._only is not None:
                    raise
                log.error("%s", error)
        if not self._served:
            raise Unusable(f"{self._place} has no model that can be served")

    async def load_now(self, name: str) -> None:
        """Reads a model's folder and files again. What is served meanwhile, and after a failure, is the old."""
        async with self._changing:
            try:
                if name not in self._names():
                    raise ModelNotFound(name[:_SHOWN])
                fresh = await asyncio.to_thread(self._made, name)
            except (OSError, Unusable) as error:
                self._reasons[name] = str(error) if isinstance(error, Unusable) else f"[model '{name}'] {error}"
                raise Unusable(self._reasons[name]) from None
            old = self._served.get(name, {})
            for version, served in fresh.items():
                if version in old:
                    served.continues(old[version])
            self._served[name] = fresh
            self._reasons.pop(name, None)
            await _closed(old)
            for version in old.keys() - fresh.keys():
                log.info("%s, and is served no more", _account(old[version]))

    async def unload_now(self, name: str) -> None:
        """Answers what was accepted, and takes no more."""
        async with self._changing:
            if name not in self._served:
                raise ModelNotFound(name[:_SHOWN])
            old = self._served.pop(name)
            self._reasons[name] = "unloaded"
            await _closed(old)
            for served in old.values():
                log.info("%s, and is unloaded", _account(served))

    async def reload_replaced(self) -> None:
        async with self._changing:
            for served in self.all():
                await served.reload_if_replaced()

    def end(self) -> None:
        """No model is built any more: the end would wait for it."""
        self._is_ending = True

    async def close(self) -> None:
        for versions in self._served.values():
            await _closed(versions)
        for served in self.all():
            log.info(_account(served))

    def all(self) -> list[Served]:
        return [served for versions in self._served.values() for served in versions.values()]

    def find(self, name: str, version: str | None = None) -> Served:
        versions = self._served.get(name, {})
        if not versions or (version and version not in versions):
            told = name[:_SHOWN] if not version else f"{name[:_SHOWN]}, version {version[:_SHOWN]},"
            raise ModelNotFound(told)
        return versions[version] if version else versions[max(versions, key=int)]

    def versions(self, name: str) -> list[str]:
        return list(self._served.get(name, {}))

    def index(self) -> list[dict[str, str]]:
        """Every model of the place, and those that failed with the reason."""
        found: list[dict[str, str]] = []
        names = set(self._served)
        with contextlib.suppress(OSError):  # The folder is gone; what is served stays.
            names.update(self._names())
        for name in sorted(names):
            for version in self._served.get(name, {}):
                found.append(
                    {"name": name, "version": version, "state": "READY", "reason": self._reasons.get(name, "")}
                )
            if name not in self._served:
                reason = self._reasons.get(name, "not loaded")
                found.append({"name": name, "version": "", "state": "UNAVAILABLE", "reason": reason})
        return found

    def get_model(self, name: str) -> Served | None:
        return self.find(name) if name in self._served else None

    def get_models(self) -> dict[str, Served]:
        return {name: self.find(name) for name in self._served}

    def _names(self) -> list[str]:
        return sources.names_in(self._place) if self._only is None else [self._only]

    def _made(self, name: str) -> dict[str, Served]:
        found: list[Source]
        if self._place.is_dir():
            folder = self._place / name if self._only is None else self._place
            found = sources.of_model(folder, name, self._settings)
        else:
            found = [Source(name, "1", self._place, self._settings)]
        made: dict[str, Served] = {}
        try:
            for source in found:
                made[source.version] = Served(source, self._allows_code, lambda: not self._is_ending)
        except BaseException:
            for served in made.values():
                served.pool.close()
            raise
        return made


def _account(served: Served) -> str:
    return f"[model '{served.name}', version {served.version}] {served.summary()}"


async def _closed(versions: Mapping[str, Served]) -> None:
    for served in versions.values():
        await asyncio.to_thread(served.pool.close)
