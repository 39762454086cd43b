"""Combinations of types and formats that a plugin says it can work with (rules N8 and N9)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from .. import _native as trt

_TYPES = {
    "FP32": trt.DataType.FLOAT,
    "FP16": trt.DataType.HALF,
    "BF16": trt.DataType.BF16,
    "FP8": trt.DataType.FP8,
    "INT8": trt.DataType.INT8,
    "INT32": trt.DataType.INT32,
    "INT64": trt.DataType.INT64,
}


class AutoTuneCombination:
    """Types and formats of all inputs and outputs, and tactics.

    In a string, ',' parts the tensors; '|' gives alternatives that go together over all tensors, '*' alternatives that
    do not: "FP32|FP16, FP32|FP16, FP32*FP16" are four combinations.
    """

    def __init__(
        self, io_types: str | None = None, layouts: str | None = None, tactics: Iterable[int] | None = None
    ) -> None:
        self._types: dict[int, str] = {}
        self._layouts: dict[int, str] = {}
        self._tactics = None if tactics is None else list(tactics)
        if io_types is not None:
            for index, part in enumerate(io_types.split(",")):
                self._types[index] = part.strip()
            given = ["LINEAR"] * len(self._types) if layouts is None else [each.strip() for each in layouts.split(",")]
            if len(given) == 1:
                given = given * len(self._types)
            if len(given) != len(self._types):
                raise ValueError(f"{len(given)} layouts are given for {len(self._types)} types")
            self._layouts = dict(enumerate(given))

    def pos(self, pos: Any, io_types: str, layouts: str = "LINEAR") -> AutoTuneCombination:
        """Sets types and formats of one tensor, or of several."""
        for index in [pos] if isinstance(pos, int) else pos:
            self._types[index] = io_types.strip()
            self._layouts[index] = layouts.strip()
        return self

    def tactics(self, tactics: Iterable[int]) -> AutoTuneCombination:
        """Sets the tactics that may run these combinations."""
        self._tactics = list(tactics)
        return self

    def _expanded(self, count: int) -> list[tuple[list[tuple[Any, Any]], list[int] | None]]:
        """(type, format) of each tensor, with the tactics, for each combination."""
        if sorted(self._types) != list(range(count)):
            raise ValueError(f"a combination names tensors {sorted(self._types)}, the plugin has {count}")
        types = _alternatives([self._types[i] for i in range(count)], _TYPES, "type")
        layouts = _alternatives([self._layouts[i] for i in range(count)], _formats(), "layout")
        return [(list(zip(t, f, strict=True)), self._tactics) for t in types for f in layouts]


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
