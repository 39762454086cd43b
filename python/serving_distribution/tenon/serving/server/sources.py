"""Where models come from: a file, a folder of one model, or one of name/version/model.plan (or model.onnx).

A model's folder may have a config.toml.
"""

import dataclasses
import pathlib
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

import tenon

from ..ports import Padding

Profiles = list[dict[str, list[list[int]]]]


class Unusable(RuntimeError):
    """A model that cannot be served, and why."""


@dataclasses.dataclass(frozen=True)
class Source:
    """One version of a model: its file, and how it is to be served."""

    name: str
    version: str
    path: pathlib.Path
    settings: Mapping[str, Any]  #: Of the pool.
    profiles: Profiles = dataclasses.field(default_factory=list)  #: For a model.onnx.


_WHOLE = ("contexts", "max_batch", "queue")
_SCALED: dict[str, tuple[str, Callable[[float], float]]] = {
    "max_wait_ms": ("max_wait", lambda value: value / 1e3),
    "max_answer_mb": ("max_output", lambda value: int(value * 2**20)),
}
_VERSION = re.compile("0|[1-9][0-9]*")
_PIECE = 1 << 22  # Bytes of a file.


def names_in(folder: pathlib.Path) -> list[str]:
    """The folders that are models: not the hidden ones, nor those whose names no request can have."""
    return sorted(each.name for each in folder.iterdir() if each.is_dir() and _is_name(each.name))


def _is_name(name: str) -> bool:
    try:
        return bool(name.encode()) and not name.startswith(".")
    except UnicodeEncodeError:  # Bytes that are no UTF-8.
        return False


def of_model(folder: pathlib.Path, name: str, settings: Mapping[str, Any]) -> list[Source]:
    """The versions in a model's folder that are to be served, in ascending order; Unusable says what is wrong.

    A file that lies in the folder itself is version 1: so does KServe's storage bring a model of one file.
    """
    config, where = {}, folder / "config.toml"
    try:
        if where.exists():
            if not where.is_file():  # A pipe would be waited for.
                raise ValueError("not a plain file")
            config = tomllib.loads(where.read_text())
        chosen, policy, profiles = _read(config, settings)
    except (OSError, OverflowError, RecursionError, TypeError, ValueError) as error:
        raise Unusable(f"[model '{name}'] {where}: {error}") from None
    versions = (each for each in folder.iterdir() if each.is_dir() and _VERSION.fullmatch(each.name))
    places = {"1": folder} | {each.name: each for each in versions}
    found: dict[int, Source] = {}
    for version, place in places.items():
        files = [place / file for file in ("model.plan", "model.onnx") if (place / file).exists()]
        if files:
            found[int(version)] = Source(name, version, files[0], chosen, profiles)
    if not found:
        raise Unusable(f"[model '{name}'] {folder} has no VERSION/model.plan and no VERSION/model.onnx")
    wanted = [max(found)] if policy == "latest" else sorted(found) if policy == "all" else policy
    missing = [version for version in wanted if version not in found]
    if missing:
        raise Unusable(f"[model '{name}'] {where}: there is no version {missing[0]}; there are {sorted(found)}")
    return [found[version] for version in wanted]


def _read(config: dict[str, Any], settings: Mapping[str, Any]) -> tuple[dict[str, Any], Any, Profiles]:
    """Settings of the pool, the versions to serve, profiles."""
    known = [*_WHOLE, *_SCALED, "versions", "padding", "profiles"]
    for key in config:
        if key not in known:
            raise ValueError(f"'{key}' is no key; there are {', '.join(known)}")
    policy = config.get("versions", "latest")
    is_list = isinstance(policy, list) and policy and all(type(each) is int for each in policy)
    if policy not in ("latest", "all") and not is_list:
        raise ValueError(f'\'versions\' is {policy!r}, but must be "latest", "all" or a list of numbers')
    chosen = dict(settings) | _numbers(config)
    if "padding" in config:
        chosen["padding"] = _padding(config["padding"])
    return chosen, sorted(set(policy)) if is_list else policy, _profiles(config.get("profiles", []))


def _numbers(config: dict[str, Any]) -> dict[str, float]:
    found = {}
    for key in _WHOLE:
        if key in config:
            if type(config[key]) is not int:
                raise ValueError(f"'{key}' is no whole number")
            found[key] = config[key]
    for key, (name, convert) in _SCALED.items():
        if key in config:
            if type(config[key]) not in (int, float):
                raise ValueError(f"'{key}' is no number")
            found[name] = convert(config[key])
    return found


def _padding(tables: object) -> dict[str, Padding]:
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        raise ValueError("'padding' is no table of an input's name and its 'value' and 'step'")
    return {name: Padding(**each) for name, each in tables.items()}


def _profiles(profiles: object) -> Profiles:
    if not isinstance(profiles, list) or not all(isinstance(each, dict) for each in profiles):
        raise ValueError("'profiles' is no list of tables")
    for profile in profiles:
        for name, three in profile.items():
            if not isinstance(three, list) or len(three) != 3 or not all(map(_is_shape, three)):
                raise ValueError(f"the profile of '{name}' is no list of three shapes: least, typical and largest")
    return profiles


def _is_shape(found: object) -> bool:
    return isinstance(found, list) and all(type(extent) is int for extent in found)


Stamp = tuple[int, int, int]


def stamp(path: pathlib.Path) -> Stamp:
    """Another one when the file has been replaced."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


def read_piece(path: pathlib.Path, start: int) -> int:
    """Where the next piece begins; 0: there is none. What is no plain file is left to whoever takes it."""
    if not path.is_file():
        return 0
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        count = file.readinto(memoryview(bytearray(_PIECE)))
    return start + count if count else 0


class _Wanted(tenon.IProgressMonitor):
    """Ends a build that nobody waits for any more."""

    def __init__(self, is_wanted: Callable[[], bool]) -> None:
        tenon.IProgressMonitor.__init__(self)
        self._is_wanted = is_wanted

    def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
        pass

    def step_complete(self, phase_name: str, step: int) -> bool:
        return self._is_wanted()

    def phase_finish(self, phase_name: str) -> None:
        pass


def built(
    path: pathlib.Path, profiles: Profiles, logger: tenon.ILogger, is_wanted: Callable[[], bool]
) -> tenon.IHostMemory | None:
    """The plan of an ONNX model; None after errors that the logger has, or when it is not wanted any more."""
    builder = tenon.Builder(logger)
    network, config = builder.create_network(), builder.create_builder_config()
    monitor = _Wanted(is_wanted)
    config.progress_monitor = monitor
    parser = tenon.OnnxParser(network, logger)
    if not parser.parse_from_file(str(path)):
        return None
    names = [network.get_input(index).name for index in range(network.num_inputs)]
    for shapes in profiles:
        profile = builder.create_optimization_profile()
        for name, three in shapes.items():
            if name not in names:
                raise ValueError(f"a profile names '{name}', which is no input; the inputs are {', '.join(names)}")
            profile.set_shape(name, *three)
        if config.add_optimization_profile(profile) < 0:
            return None
    return builder.build_serialized_network(network, config)
