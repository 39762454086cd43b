"""Tenon's own calls beside the TensorRT API: loading files, inspection, verification, devices and switches."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _native


def _object(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found


def load(runtime: _native.Runtime, path: str | os.PathLike[str]) -> _native.ICudaEngine | None:
    """The engine of a plan file, which may be changed or go afterwards. None after a logged error."""
    return _native._load(runtime, os.fspath(path))


def inspect(what: Any) -> dict[str, Any]:
    """What a network, an engine, or a plan (bytes-like, or a file's path) is made of, and what the builder decided.

    A plan needs neither its plugins nor a device. RuntimeError says what is wrong with a damaged one, or a file.
    """
    if isinstance(what, _native.INetworkDefinition):
        return _object(_native._inspect_network(what))
    if isinstance(what, _native.ICudaEngine):
        return _object(_native._inspect_engine(what))
    if isinstance(what, str | os.PathLike):
        os.stat(what)  # What is missing is FileNotFoundError, as with open().
        return _object(_native._inspect_file(os.fspath(what)))
    return _object(_native._inspect_plan(what))


def verify(
    engine: _native.ICudaEngine,
    inputs: Mapping[str, np.ndarray | Sequence[int]] | None = None,
    *,
    atol: float = 0.0,
    rtol: float = 0.0,
    seed: int = 0,
    first_only: bool = False,
) -> dict[str, Any]:
    """Runs the engine once and compares each step with the reference, on the values that really reach that step.

    `inputs` gives arrays, or shapes for random contents; what it lacks is random at the kOPT shape. Both tolerances 0
    means those of the element type. The answer's "ok" says whether all steps agree, "first_divergence" which is wrong.
    """
    return _object(_native._verify(engine, dict(inputs or {}), atol, rtol, seed, first_only))


def devices() -> dict[str, Any]:
    """The devices of this build, the one that a builder or runtime made now would take, and why."""
    return _object(_native._devices())


def knobs() -> list[dict[str, Any]]:
    """The environment variables that Tenon reads, with type, default, meaning and present value."""
    found: list[dict[str, Any]] = json.loads(_native._knobs())
    return found


def not_implemented() -> list[str]:
    """The calls of the TensorRT API that this release answers with "is not implemented"."""
    found: list[str] = json.loads(_native._not_implemented())
    return found
