"""The models that are served, by name and version; load, unload, and what became of each."""

import asyncio
import contextlib
import functools
import logging
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kserve.errors import ModelNotFound
from kserve.model_repository import ModelRepository

from ..errors import shown
from . import aside, sources
from .aside import Aside, Unanswered
from .served import Past, Served
from .sources import Source, Unusable

log = logging.getLogger("tenon.serving")
_T = TypeVar("_T")
_END = 30.0  # Seconds that builds have at the end, which gives them up at their next step.


class Catalog(ModelRepository):  # type: ignore[misc]
    """KServe's repository, with versions: whoever asks for a model without one gets its newest."""

    def __init__(self, place: pathlib.Path, name: str | None, settings: Mapping[str, Any], allows_code: bool) -> None:
        super().__init__(str(place))
        self._place, self._settings, self._allows_code = place, settings, allows_code
        self._only = name  #: Of the only model; None: of each folder one.
        self._served: dict[str, dict[str, Served]] = {}
        self._reasons: dict[str, str] = {}
        self._pasts: dict[tuple[str, str], Past] = {}  # By name and version; counters go on when a model comes back.
        self._changing = asyncio.Lock()
        self._files, self._where = Aside(), str(place)
        self._making: set[asyncio.Future[Any]] = set()
        self._retiring: set[asyncio.Task[None]] = set()
        self._is_ending = False

    async def load_all(self) -> None:
        """Unusable when there is not one model to serve."""
        if self._only is None and not await self._files.ask(self._where, self._place.is_dir):
            self._only = self._place.stem
        for name in await self._names():
            try:
                await self.load_now(name)
            except ModelNotFound:
                log.error("[model '%s'] its folder is gone", name)
            except Unusable as error:
                if self._only is not None:
                    raise
                log.error("%s", error)
        if not self._served:
            raise Unusable(f"{self._place} has no model that can be served")

    async def load_now(self, name: str) -> None:
        """Reads a model's folder and files again. What is served meanwhile, and after a failure, is the old."""
        for past in [past for (known, _), past in self._pasts.items() if known == name]:
            await past.all_ended()  # One plan that drains beside one that serves is enough, also behind an unload.
        async with self._changing:
            fresh = await self._read(name)
            old = self._served.get(name, {})
            for version, served in fresh.items():
                served.past = self._pasts.setdefault((name, version), served.past)
                if version in old:
                    old[version].end()
            self._served[name] = fresh
            self._reasons.pop(name, None)
            retiring = self._retired([old[each] for each in old.keys() - fresh.keys()], "is served no more")
        await asyncio.shield(retiring)

    async def unload_now(self, name: str) -> None:
        """Answers what was accepted, and takes no more."""
        async with self._changing:
            if name not in self._served:
                raise ModelNotFound(shown(name))
            old = self._served.pop(name)
            self._reasons[name] = "unloaded"
            retiring = self._retired(list(old.values()), "is unloaded")
        await asyncio.shield(retiring)

    async def reload_replaced(self) -> None:
        """The old engines serve until the new ones are there, and for good when those are damaged."""
        async with self._changing:
            every = self.all()
            with contextlib.suppress(OSError):  # The folder does not answer: all stays as it is.
                stamps = await self._files.ask(self._where, lambda: [_stamp_of(each) for each in every])
                for served, stamp in zip(every, stamps, strict=True):
                    if stamp not in (None, served.stamp) and not served.is_draining:  # Else the next time.
                        await self._reload(served, stamp)

    async def _reload(self, served: Served, stamp: sources.Stamp) -> None:
        await self._bring(served.source.path)
        served.stamp = stamp
        try:
            made = await self._apart(served.made)
        except Exception as error:
            served.keep(error)
        else:
            served.replace(made)

    def end(self) -> None:
        """No model is built any more: the end would wait for it."""
        self._is_ending = True

    async def close(self) -> None:
        if self._making:
            await asyncio.wait(self._making, timeout=_END)
        for served in self.all():
            served.end()
        for served in self.all():
            await served.drained()
            log.info(_account(served))
        if self._retiring:
            await asyncio.wait(self._retiring)

    def all(self) -> list[Served]:
        return [served for versions in self._served.values() for served in versions.values()]

    def find(self, name: str, version: str | None = None) -> Served:
        versions = self._served.get(name, {})
        if not versions or (version and version not in versions):
            told = shown(name) if not version else f"{shown(name)}, version {shown(version)},"
            raise ModelNotFound(told)
        return versions[version] if version else versions[max(versions, key=int)]

    def versions(self, name: str) -> list[str]:
        return list(self._served.get(name, {}))

    async def index(self) -> list[dict[str, str]]:
        """Every model of the place, and those that failed with the reason."""
        found: list[dict[str, str]] = []
        names = set(self._served)
        with contextlib.suppress(OSError):  # The folder is gone, or does not answer; what is served stays.
            names.update(await self._names())
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

    async def _names(self) -> list[str]:
        """OSError where the folder does not say."""
        if self._only is not None:
            return [self._only]
        return await self._files.ask(self._where, functools.partial(sources.names_in, self._place))

    async def _read(self, name: str) -> dict[str, Served]:
        """A model as it stands in its folder; Unusable and Unanswered say why it cannot be served."""
        try:
            if name not in await self._names():
                raise ModelNotFound(shown(name))
        except OSError as error:
            raise _refusal(name, error) from None
        try:
            return await self._fresh(name)
        except (OSError, Unusable) as error:
            refusal = _refusal(name, error)
            self._reasons[name] = str(refusal)
            raise refusal from None

    def _retired(self, served: list[Served], what: str) -> asyncio.Task[None]:
        """They take no more from now on. It goes on when nobody waits for it any more."""

        async def account() -> None:
            for each in served:
                await each.drained()
                log.info("%s, and %s", _account(each), what)

        for each in served:
            each.end()
        task = asyncio.create_task(account())
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)
        return task

    async def _fresh(self, name: str) -> dict[str, Served]:
        found = await self._files.ask(self._where, functools.partial(self._sources, name))
        for source in found:
            await self._bring(source.path)
        return await self._apart(functools.partial(self._made, found))

    async def _bring(self, path: pathlib.Path) -> None:
        """Reads a file before it is loaded, from when on a folder that does not answer would be waited for."""
        start = 0
        try:
            while start := await self._files.ask(self._where, functools.partial(sources.read_piece, path, start)):
                pass
        except Unanswered:
            raise
        except OSError:
            return  # Whoever loads it says why.

    async def _apart(self, make: Callable[[], _T]) -> _T:
        """What takes as long as it takes. It goes on when nobody waits for it any more."""
        making = aside.begun(make)
        self._making.add(making)
        making.add_done_callback(self._making.discard)
        return await asyncio.shield(making)

    def _sources(self, name: str) -> list[Source]:
        if not self._place.is_dir():
            return [Source(name, "1", self._place, self._settings)]
        folder = self._place / name if self._only is None else self._place
        return sources.of_model(folder, name, self._settings)

    def _made(self, found: list[Source]) -> dict[str, Served]:
        made: dict[str, Served] = {}
        try:
            for source in found:
                made[source.version] = Served(source, self._allows_code, lambda: not self._is_ending)
        except BaseException:
            for served in made.values():
                served.pool.close()
            raise
        return made


def _stamp_of(served: Served) -> sources.Stamp | None:
    """None between a file's removal and its replacement."""
    try:
        return sources.stamp(served.source.path)
    except OSError:
        return None


def _account(served: Served) -> str:
    return f"[model '{served.name}', version {served.version}] {served.summary()}"


def _refusal(name: str, error: OSError | Unusable) -> Unusable | Unanswered:
    if isinstance(error, Unusable):
        return error
    kind = Unanswered if isinstance(error, Unanswered) else Unusable
    return kind(f"[model '{shown(name)}'] {error}")
