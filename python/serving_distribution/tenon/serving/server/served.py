"""A model that is served: a pool, and another one when its file is replaced."""

import asyncio
import logging
import pathlib
from collections.abc import Mapping
from typing import Any

import tenon
from kserve.model import InferenceModel

from ..pool import Counts, Pool
from . import wire

log = logging.getLogger("tenon.serving")


class _Words(tenon.ILogger):
    """Keeps the engine's errors for the message that tells why a plan was not taken."""

    def __init__(self) -> None:
        tenon.ILogger.__init__(self)
        self.errors: list[str] = []

    def log(self, severity: tenon.ILogger.Severity, msg: str) -> None:
        if severity <= tenon.ILogger.ERROR:
            self.errors.append(msg)
        elif severity == tenon.ILogger.WARNING:
            log.warning("%s", msg)


class Unusable(RuntimeError):
    """A plan that cannot be served, and why."""


class Served(InferenceModel):  # type: ignore[misc]
    """What KServe's front asks for health and metadata, and the pool behind it."""

    def __init__(self, name: str, plan: pathlib.Path, allows_code: bool, settings: Mapping[str, Any]) -> None:
        super().__init__(name)
        self._plan, self._allows_code, self._settings = plan, allows_code, dict(settings)
        self._stamp = self._seen()
        self.earlier: list[Counts] = []  #: Of the pools that were before this one.
        self.reloads = {"done": 0, "failed": 0}
        self.pool, self.input_types, self.output_types = self._made()
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

    def summary(self) -> str:
        """What became of the requests of all of its pools."""
        counts = [*self.earlier, self.pool.counts]
        words = {"requests": "accepted", "answered": "answered", "failed": "failed", "given_up": "given up"}
        return ", ".join(f"{sum(getattr(each, name) for each in counts)} {word}" for name, word in words.items())

    def _seen(self) -> tuple[int, int, int]:
        stat = self._plan.stat()
        return stat.st_ino, stat.st_mtime_ns, stat.st_size

    def _made(self) -> tuple[Pool, dict[str, str], dict[str, str]]:
        words = _Words()
        runtime = tenon.Runtime(words)
        runtime.engine_host_code_allowed = self._allows_code
        engine = tenon.load(runtime, self._plan)
        if engine is None:
            why = "; ".join(words.errors)
            if not self._allows_code and "carries code" in why:
                why += "; --allow-code lets it run here"
            raise Unusable(f"[model '{self.name}'] {self._plan}: {why}")
        try:
            pool = Pool(engine, **self._settings)
            types = [{each: wire.type_name(engine, each) for each in ports} for ports in (pool.inputs, pool.outputs)]
        except ValueError as error:
            raise Unusable(f"[model '{self.name}'] {self._plan}: {error}") from None
        return pool, types[0], types[1]

    async def reload_if_replaced(self) -> None:
        """The old engine serves until the new one is there, and for good when that is damaged."""
        try:
            stamp = self._seen()
        except OSError:
            return  # Between removal and replacement.
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            made = await asyncio.to_thread(self._made)
        except Exception as error:
            self.reloads["failed"] += 1
            log.error("the plan was replaced, but the old one stays: %s", error)
            return
        old = self.pool
        self.earlier.append(old.counts)
        self.pool, self.input_types, self.output_types = made
        self.reloads["done"] += 1
        log.info("[model '%s'] the plan was replaced", self.name)
        await asyncio.to_thread(old.close)
