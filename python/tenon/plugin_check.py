"""The command `python -m tenon.plugin_check MODULE|LIBRARY`: what `tenon plugin check` runs for Python modules."""

import argparse
import dataclasses
import json
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _native, testing

USUAL_SHAPE = "1x3x8x8:2x3x8x8:4x3x8x8"
TYPES = {
    "float32": "FLOAT",
    "float": "FLOAT",
    "float16": "HALF",
    "half": "HALF",
    "bfloat16": "BF16",
    "bf16": "BF16",
    "int8": "INT8",
    "int32": "INT32",
    "int64": "INT64",
    "fp8": "FP8",
}


def _extents(text: str) -> tuple[int, ...]:
    return () if text == "scalar" else tuple(int(piece) for piece in text.split("x"))


def shapes_of(text: str) -> list[Any]:
    """ "2x3,values=3x1" or "1x8:2x8:4x8" as check_plugin() takes them."""
    shapes: list[Any] = []
    for piece in text.split(","):
        name, _, value = piece.rpartition("=")
        bounds = value.split(":")
        if name == "values" and len(bounds) == 1:
            shapes.append(testing.Values(_extents(value)))
        elif len(bounds) in (1, 3):
            shapes.append(_extents(value) if len(bounds) == 1 else tuple(map(_extents, bounds)))
        else:
            raise ValueError(f"{piece!r} is no shape: write 2x3x8, MIN:OPT:MAX, or values=3x1")
    return shapes


def _numbers(text: str, kind: str) -> np.ndarray:
    """All digits of integers count, and there is nothing behind their point."""
    parse = int if kind.startswith("int") else float
    try:
        return np.array([parse(each) for each in text.split(":")], kind)
    except OverflowError:
        raise ValueError(f"{text!r} has a number that is no {kind}") from None


def fields_of(text: str) -> Callable[[Any], dict[str, Any]]:
    """ "k=v,k=1:2" in the types that a creator advertises."""

    def given(creator: Any) -> dict[str, Any]:
        advertised = {field.name: field.type for field in creator.field_names}
        fields: dict[str, Any] = {}
        for piece in text.split(",") if text else ():
            name, equals, value = piece.partition("=")
            if not equals or name not in advertised:
                raise ValueError(f"{piece!r}: the creator {creator.name!r} has the fields {', '.join(advertised)}")
            kind = advertised[name].name.lower()
            is_text = kind in ("char", "unknown")
            fields[name] = value if is_text else _numbers(value, kind)
        return fields

    return given


def picked(text: str) -> Callable[[str, str, str], bool] | None:
    if not text:
        return None
    wanted = text.split(":", 2)
    return lambda *names: all(not each or each == name for each, name in zip(wanted, names, strict=False))


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m tenon.plugin_check", description=__doc__)
    parser.add_argument("module", help="a module's name, a .py file, or a shared library of plugins")
    parser.add_argument("--creator", default="", help="NAME[:VERSION[:NAMESPACE]]; without it all of the module")
    parser.add_argument("--fields", default="", help="name=value,name=1:2:3")
    parser.add_argument("--shapes", default=USUAL_SHAPE, help="inputs in order: 2x3x8, MIN:OPT:MAX, or values=3x1")
    parser.add_argument("--types", default="", help="element types to offer, joined by commas")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60, help="at most, for each group of checks")
    parser.add_argument("--in-process", action="store_true", help="without child processes; tells tracebacks")
    parser.add_argument("--no-empty", action="store_true", help="without tensors that have no elements")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(given)


def _show(report: testing.Report, shapes: str) -> None:
    plugin = report.plugin
    print(
        f"'{plugin['name']}' version '{plugin['version']}' namespace '{plugin['namespace']}' ({plugin['generation']}), "
        f"inputs {shapes}: {report.combinations} combinations, {report.runs} runs"
    )
    for note in report.notes:
        print(f"  note: {note}")
    for each in report.findings:
        print(f"  {each.callback}: {each.check}{', rule ' + each.rule if each.rule else ''}")
        print("    " + each.what.replace("\n", "\n    "))
        print(f"    to do: {each.change}")
    if report:
        print("  nothing found")


def main(given: Sequence[str] | None = None) -> int:
    wanted = _arguments(given)
    try:
        types = [getattr(_native.DataType, TYPES[each]) for each in wanted.types.split(",") if each]
        reports = testing.check_module(
            wanted.module,
            creator=picked(wanted.creator),
            shapes=shapes_of(wanted.shapes),
            fields=fields_of(wanted.fields),
            types=types,
            seed=wanted.seed,
            seconds=wanted.seconds,
            isolated=not wanted.in_process,
            empties=not wanted.no_empty,
        )
    except (ImportError, OSError, KeyError, TypeError, ValueError) as problem:
        print(f"tenon.plugin_check: {problem}", file=sys.stderr)
        return 1
    except Exception as problem:  # Of the module's own: its author wants to know where.
        traceback.print_exc()
        print(f"tenon.plugin_check: {wanted.module}: {type(problem).__name__}: {problem}", file=sys.stderr)
        return 1
    if not reports:
        print(f"tenon.plugin_check: '{wanted.module}' has no creator '{wanted.creator}'", file=sys.stderr)
        return 1
    if wanted.json:
        print(json.dumps([dataclasses.asdict(each) for each in reports], indent=2))
    else:
        for report in reports:
            _show(report, wanted.shapes)
    return 0 if all(reports) else 1


def command() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # A callback that hangs lets no handler of Python's run.
    sys.exit(main())


if __name__ == "__main__":
    command()
