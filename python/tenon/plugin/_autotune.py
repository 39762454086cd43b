"""Combinations of types and formats that a plugin says it can work with (rules N8 and N9)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from .. import _native as trt

_TYPES = {"FP32": trt.DataType.FLOAT, "FP16": trt.DataType.HALF, **{kind.name: kind for kind in trt.DataType}}


class AutoTuneCombination:
    """Types and formats of all inputs and outputs, and tactics.

    In a string, ',' parts the tensors; '|' gives alternatives that go together over all tensors, '*' alternatives that
    do not: "FP32|FP16, FP32|FP16, FP32*FP16" are four combinations.
    """

    def __init__(
        self, io_types: str | None = None, layouts: str | None = None, tactics: Iterable[int] | None = None
    ) -> None:
        self.io_types: dict[int, str] = {}
        self.layouts: dict[int, str] = {}
        self.combinations: list[tuple[list[tuple[Any, Any]], list[int] | None]] = []
        self._tactics = _checked_tactics(tactics)
        if io_types is not None:
            types = [part.strip() for part in io_types.split(",")]
            given = ["LINEAR"] if layouts is None else [each.strip() for each in layouts.split(",")]
            if len(given) == 1:
                given = given * len(types)
            if len(given) != len(types):
                raise ValueError(f"{len(given)} layouts are given for {len(types)} types")
            _alternatives(types, _TYPES, "type")
            _alternatives(given, _formats(), "layout")
            self.io_types = dict(enumerate(types))
            self.layouts = dict(enumerate(given))

    def pos(self, pos: Iterable[int] | int, io_types: str, layouts: str = "LINEAR") -> None:
        """Sets types and formats of one tensor, or of several; each tensor once."""
        for index in [pos] if isinstance(pos, int) else pos:
            if index in self.io_types:
                raise ValueError(f"types and layouts of tensor {index} are set already")
            self.io_types[index] = io_types.strip()
            self.layouts[index] = layouts.strip()

    def tactics(self, tactics: Iterable[int]) -> None:
        """Sets the tactics that may run these combinations: positive ints."""
        self._tactics = _checked_tactics(tactics)

    def _expanded(self, count: int) -> list[tuple[list[tuple[Any, Any]], list[int] | None]]:
        """(type, format) of each tensor, with the tactics, for each combination."""
        if sorted(self.io_types) != list(range(count)):
            raise ValueError(f"a combination names tensors {sorted(self.io_types)}, the plugin has {count}")
        types = _alternatives([self.io_types[i] for i in range(count)], _TYPES, "type")
        layouts = _alternatives([self.layouts[i] for i in range(count)], _formats(), "layout")
        self.combinations = [(list(zip(t, f, strict=True)), self._tactics) for t in types for f in layouts]
        return self.combinations


def _checked_tactics(tactics: Iterable[int] | None) -> list[int] | None:
    if tactics is None:
        return None
    given = list(tactics)
    if any(not isinstance(each, int) or each <= 0 for each in given):
        raise ValueError(f"tactics are positive ints, not {given}")
    return given


def _formats() -> dict[str, Any]:
    return {format.name: format for format in trt.TensorFormat}


def _alternatives(parts: list[str], names: dict[str, Any], what: str) -> list[list[Any]]:
    def value(name: str) -> Any:
        if name.strip() not in names:
            raise ValueError(f"{name.strip()!r} is no {what}: {', '.join(names)} are")
        return names[name.strip()]

    linked = [part.split("|") for part in parts if "|" in part]
    if any("|" in part and "*" in part for part in parts):
        raise ValueError("'|' and '*' cannot stand in one entry")
    if len({len(each) for each in linked}) > 1:
        raise ValueError(f"linked entries must have equally many alternatives: {', '.join(parts)}")
    free = [i for i, part in enumerate(parts) if "*" in part]
    result = []
    for step in range(len(linked[0]) if linked else 1):
        for chosen in itertools.product(*(parts[i].split("*") for i in free)):
            one = [part.split("|")[step] if "|" in part else part for part in parts]
            for i, name in zip(free, chosen, strict=True):
                one[i] = name
            result.append([value(name) for name in one])
    return result
