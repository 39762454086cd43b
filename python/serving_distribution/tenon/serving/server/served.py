"""A model that is served: a pool, and another one when its file is replaced."""

import asyncio
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tenon
from kserve.model import InferenceModel

from ..errors import BadRequest, Closed, RunFailed
from ..pool import Counts, Pool
from ..words import Words
from . import aside, sources, wire
from .sources import Source, Unusable

log = logging.getLogger("tenon.serving")
_JSON_NUMBER = 40  # Bytes of text that a number of an input has at most, spaces included.
_JSON_HEAD = 1 << 20  # And all else of a request's JSON.
Made = tuple[Pool, dict[str, str], dict[str, str]]  #: And the types of inputs and outputs.


class Past:
    """The pools that a model had: they answer what they have accepted, and are gone; their counts stay."""

    def __init__(self) -> None:
        self.reloads = {"done": 0, "failed": 0}
        self._ended = Counts()
        self._ending: dict[asyncio.Task[None], Pool] = {}

    def counts(self) -> list[Counts]:
        return [self._ended, *(pool.counts for pool in self._ending.values())]

    def waiting(self) -> int:
        return sum(pool.waiting for pool in self._ending.values())

    def end(self, pool: Pool) -> None:
        self._ending[asyncio.create_task(self._end(pool))] = pool

    async def all_ended(self) -> None:
        if self._ending:
            await asyncio.wait(self._ending)

    @property
    def is_ending(self) -> bool:
        return bool(self._ending)

    async def _end(self, pool: Pool) -> None:
        try:
            await aside.begun(pool.close)  # A thread of its own: as long as a run lasts nobody else can have it.
        except OSError as error:
            log.error("a plan that was replaced ends when its last request is answered: %s", error)
        task = asyncio.current_task()
        assert task is not None
        del self._ending[task]
        self._ended.add(pool.counts)


class Served(InferenceModel):  # type: ignore[misc]
    """What KServe's front asks for health and metadata, and the pool behind it.

    Made, and made again, in a thread that may wait for files: those of the event loop may not.
    """

    def __init__(self, source: Source, allows_code: bool, is_wanted: Callable[[], bool]) -> None:
        super().__init__(source.name)
        self.version, self._is_wanted = source.version, is_wanted
        self.source, self._allows_code = source, allows_code
        self.stamp = sources.stamp(source.path)  #: Of the file that this was made of.
        self.past = Past()  #: Of its name and version: whoever serves it next goes on with it.
        self._is_ended = False
        self.pool, self.input_types, self.output_types = self.made()
        self.most_json = _most_json(self.pool)
        self.ready = True

    def __call__(self, body: object, headers: object = None, verb: object = None) -> None:
        raise NotImplementedError("requests go to the pool")

    def get_input_types(self) -> list[dict[str, Any]]:
        return self._described(self.pool.inputs, self.input_types)

    def get_output_types(self) -> list[dict[str, Any]]:
        return self._described(self.pool.outputs, self.output_types)

    @staticmethod
    def _described(ports: Mapping[str, Any], types: Mapping[str, str]) -> list[dict[str, Any]]:
        return [{"name": name, "datatype": types[name], "shape": list(port.shape)} for name, port in ports.items()]

    def counts(self) -> list[Counts]:
        """Of all of its pools."""
        return [*self.past.counts(), *([] if self._is_ended else [self.pool.counts])]

    def waiting(self) -> int:
        """Requests in the queues of all of its pools."""
        return self.past.waiting() + (0 if self._is_ended else self.pool.waiting)

    def end(self) -> None:
        """Takes no requests any more."""
        if not self._is_ended:
            self._is_ended = True
            self.past.end(self.pool)

    @property
    def is_draining(self) -> bool:
        """Whether a pool that takes no more has not answered all that it had accepted."""
        return self.past.is_ending

    async def drained(self) -> None:
        await self.past.all_ended()

    def takes(self, name: str, shape: Sequence[int]) -> None:
        """BadRequest unless some profile has room for an input of this shape: asked before memory is taken for it."""
        most = [profile.most[name] for profile in self.pool.profiles]
        fits = any(len(shape) == len(each) and all(a <= b for a, b in zip(shape, each, strict=True)) for each in most)
        if not fits:
            raise BadRequest(f"input '{name}' has shape {list(shape)}, but at most {list(map(list, most))} is taken")

    def summary(self) -> str:
        """What became of the requests of all of its pools."""
        counts = self.counts()
        words = {"requests": "accepted", "answered": "answered", "failed": "failed", "given_up": "given up"}
        return ", ".join(f"{sum(getattr(each, name) for each in counts)} {word}" for name, word in words.items())

    def made(self) -> Made:
        """Of the file as it is now; Unusable says what is wrong with it."""
        words, source = Words(), self.source
        where = f"[model '{self.name}'] {source.path}"
        runtime = tenon.Runtime(words)
        runtime.engine_host_code_allowed = self._allows_code
        try:
            engine = self._engine(runtime, words)
            if engine is None:
                raise Unusable(f"{where}: {self._why(words.errors)}")
            pool = Pool(engine, **source.settings)
            types = [{each: wire.type_name(engine, each) for each in ports} for ports in (pool.inputs, pool.outputs)]
        except (Unusable, Closed):
            raise
        except RunFailed as error:  # Its contexts have no room, or its shapes no sense.
            raise Unusable(f"{where}: {error}: {self._why(words.errors)}") from None
        except (TypeError, ValueError, MemoryError, RuntimeError) as error:  # Such as a profile's.
            raise Unusable(f"{where}: {error}") from None
        return pool, types[0], types[1]

    def _engine(self, runtime: tenon.Runtime, words: Words) -> tenon.ICudaEngine | None:
        if self.source.path.suffix != ".onnx":
            return tenon.load(runtime, self.source.path)
        plan = sources.built(self.source.path, self.source.profiles, words, self._is_wanted)
        if not self._is_wanted():
            raise Closed(f"[model '{self.name}'] {self.source.path} is not built, as the server ends")
        return None if plan is None else runtime.deserialize_cuda_engine(plan)

    def _why(self, errors: Iterable[str]) -> str:
        why = "; ".join(errors)
        if not self._allows_code and "carries code" in why:
            why += "; --allow-code lets it run here"
        return why

    def replace(self, made: Made) -> None:
        """Serves by the new pool; the old one answers what it had accepted."""
        self.past.end(self.pool)
        self.pool, self.input_types, self.output_types = made
        self.most_json = _most_json(self.pool)
        self.past.reloads["done"] += 1
        log.info("[model '%s'] the plan was replaced", self.name)

    def keep(self, error: Exception) -> None:
        """Serves on as before: the file that has replaced its own is of no use."""
        self.past.reloads["failed"] += 1
        log.error("the plan was replaced, but the old one stays: %s", error)


def _most_json(pool: Pool) -> int:
    """Bytes of JSON beyond which no request is read: numbers take many times their text while they are Python's."""
    most = [max((math.prod(each.most[name]) for each in pool.profiles), default=0) for name in pool.inputs]
    return _JSON_HEAD + _JSON_NUMBER * sum(most)
