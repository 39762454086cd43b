"""Checks custom layers without a network: runs a plugin through everything that an engine would ask of it.

    assert tenon.testing.check_plugin(MyPlugin(), shapes=[((1, 8), (2, 8), (4, 8))], creator=MyCreator())

Each finding names the callback, the rule of docs/PLUGINS and what to change.
"""

import dataclasses
import importlib
import importlib.util
import inspect
import json
import os
import pathlib
import re
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _native

__all__ = ["Finding", "Report", "Values", "check_module", "check_plugin"]

#: Names that Python spells otherwise than by the words of the C++ ones.
_SPELLED = {
    "getOutputDataType": "get_output_datatype",
    "getNbOutputs": "num_outputs",
    "getPluginType": "plugin_type",
    "getPluginName": "plugin_name",
    "getPluginVersion": "plugin_version",
    "getPluginNamespace": "plugin_namespace",
    "getFormatCombinationLimit": "format_combination_limit",
    "getTimingCacheID": "timing_cache_id",
    "getMetadataString": "metadata_string",
    "getFieldNames": "field_names",
    "destructor": "destroy",
}


class Values(tuple[int, ...]):
    """A shape input, given by its values."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing that a plugin does wrong."""

    check: str
    rule: str
    callback: str
    what: str
    change: str

    def __str__(self) -> str:
        rule = f", rule {self.rule}" if self.rule else ""
        return f"{self.callback}: {self.what} [{self.check}{rule}]; {self.change}"


@dataclasses.dataclass(frozen=True, repr=False)
class Report:
    """What was found; true when nothing was."""

    plugin: Mapping[str, str]
    findings: Sequence[Finding]
    notes: Sequence[str]
    combinations: int
    runs: int

    def __bool__(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or "no findings"

    __repr__ = __str__

    def has(self, check: str, callback: str) -> bool:
        return any(each.check == check and each.callback == callback for each in self.findings)


def _spelled(callback: str) -> str:
    """A callback as Python code has it."""
    return _SPELLED.get(callback) or re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), callback)


class _Ended(BaseException):
    """A callback wanted to end the process."""


class _Raised:
    """Exceptions of callbacks: the library gets a code in their place, and Python's hook the exception."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self._ends: set[str] = set()  # Callbacks that wanted to end the process.
        self._before = sys.unraisablehook
        self._lock = threading.Lock()
        self._process = os.getpid()  # Callbacks may fork: what a child does is its own business.
        self._leave = os._exit

    def _leave_child(self, code: object) -> None:
        if code is not None and not isinstance(code, int):
            print(code, file=sys.stderr)
        sys.stderr.flush()
        self._leave(code if isinstance(code, int) else 0 if code is None else 1)

    def hook(self, unraisable: Any) -> None:
        if os.getpid() != self._process and isinstance(unraisable.exc_value, SystemExit):
            self._leave_child(unraisable.exc_value.code)
        name = unraisable.object
        if not isinstance(name, str):  # Of a destructor somewhere in the process, say: callbacks have names.
            self._before(unraisable)
            return
        error = (unraisable.exc_type, unraisable.exc_value, unraisable.exc_traceback)
        with self._lock:
            self.texts.setdefault(name, "".join(traceback.format_exception(*error)).rstrip())
            if issubclass(unraisable.exc_type, _Ended | SystemExit):
                self._ends.add(name)

    @contextmanager
    def listening(self, wanted: bool) -> Iterator[None]:
        """Children processes cannot tell: there Python's own hook prints."""
        if not wanted:
            yield
            return
        self._before, checking = sys.unraisablehook, threading.get_ident()

        def stay(status: int) -> None:
            # Callbacks run here, or in the library's threads, which Python knows as dummies once they ask for theirs.
            users = {each.ident for each in threading.enumerate() if not isinstance(each, threading._DummyThread)}
            if os.getpid() != self._process or threading.get_ident() in users - {checking}:
                self._leave(status)
            raise _Ended(f"os._exit({status}) was called")

        sys.unraisablehook = self.hook
        os._exit = stay  # type: ignore[assignment]
        try:
            yield
        finally:
            sys.unraisablehook = self._before
            os._exit = self._leave

    def findings(self, found: list[Finding], generation: str) -> list[Finding]:
        """Tracebacks go to what they explain; those that explain nothing are findings of their own."""
        asked = self.texts.get("supports_format_combination", "")
        if "-1 is not a valid" in asked:  # What stands behind the position is neither a type nor a format.
            found = [each for each in found if each.callback != "supports_format_combination"]
            del self.texts["supports_format_combination"]
            change = "answer from the entries 0 to pos alone: those behind are not decided when the question comes"
            rule = "L17" if generation == "V3" else "J10"
            found.append(Finding("looks-ahead", rule, "supports_format_combination", asked, change))
        for name in sorted(self._ends & set(self.texts)):
            found = [each for each in found if each.callback != name]
            change = "return a code: the process belongs to the user, no callback may end it"
            found.append(Finding("ends-process", "PC5", name, self.texts.pop(name), change))
        told = []
        for each in found:
            text = self.texts.pop(each.callback, None)
            told.append(
                dataclasses.replace(each, check="raises", rule="M3", what=f"{each.what}\n{text}") if text else each
            )
        change = "let it raise for nothing that the plugin has accepted"
        told += [Finding("raises", "M3", name, text, change) for name, text in self.texts.items()]
        return told


def _bounds(given: Sequence[Any]) -> tuple[list[int], list[int], list[int], bool]:
    if isinstance(given, Values):
        numbers = [int(each) for each in given]
        return numbers, numbers, numbers, True
    if any(isinstance(each, Sequence) or hasattr(each, "__len__") for each in given):
        if len(given) != 3:
            raise ValueError(f"an input is a shape, or three of them (least, best, most): {given!r}")
        least, best, most = ([int(extent) for extent in shape] for shape in given)
        return least, best, most, False
    shape = [int(extent) for extent in given]
    return shape, shape, shape, False


#: Types of fields that NumPy has, too.
_KINDS = ("float16", "float32", "float64", "int8", "int16", "int32", "int64")


def _field(name: str, value: Any, advertised: str) -> _native.PluginField:
    """In the type that the creator advertises, where it does and NumPy has it."""
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return _native.PluginField(name, value, _native.PluginFieldType.CHAR)
    array = np.atleast_1d(np.asarray(value))
    if advertised in _KINDS:
        array = array.astype(advertised)
    if array.dtype.name not in _KINDS:
        raise TypeError(f"field {name!r} has the type {array.dtype}, which no field can have")
    kind: _native.PluginFieldType = getattr(_native.PluginFieldType, array.dtype.name.upper())
    return _native.PluginField(name, array.data, kind)


def _fields(given: Any, creator: Any) -> _native.PluginFieldCollection:
    if isinstance(given, Mapping):
        names = () if creator is None else creator.field_names
        advertised = {field.name: field.type.name.lower() for field in names}
        return _native.PluginFieldCollection(
            [_field(name, value, advertised.get(name, "")) for name, value in given.items()]
        )
    return _native.PluginFieldCollection() if given is None else given


def check_plugin(
    plugin: Any,
    *,
    shapes: Sequence[Sequence[Any]],
    fields: Mapping[str, Any] | _native.PluginFieldCollection | None = None,
    creator: Any = None,
    namespace: str | None = None,
    types: Sequence[_native.DataType] = (),
    fill: Callable[[int, np.ndarray], Any] | None = None,
    reference: Callable[..., Any] | None = None,
    atol: float = 0.0,
    rtol: float = 0.0,
    seed: int = 1,
    isolated: bool = False,
    empties: bool = True,
    seconds: int = 60,
) -> Report:
    """Runs one plugin through everything that an engine would ask of it, without any network.

    `plugin` is a creator, a plugin, or a class of plugins that takes no arguments. A plugin stays the caller's, but is
    configured and run; with a creator each check has a new one, made from `fields` (name -> array, number or text).
    `creator` reads what a plugin stores; without one that is left out. `namespace` is what the creator is registered
    under; None: the one that it says itself. `shapes` has each input's extents, three of them
    (least, best, most) where they are dynamic, or `Values` for a shape input. `fill` gets an input's number and
    its random contents, which it may change or replace by what it returns. `reference` gets the inputs as NumPy arrays
    (every floating type as float32) and answers with the outputs; tolerances of 0 mean those of the element type.
    `isolated` works in child processes: a crash is a finding then, and so is what `fill` and `reference` raise.
    """
    if isinstance(plugin, type):
        plugin = plugin()
    if isinstance(plugin, _native.IPluginCreatorInterface):
        plugin, creator = None, plugin
    elif not isinstance(plugin, _native.IPluginV2 | _native.IPluginV3):
        raise TypeError(f"neither a plugin nor a creator: {plugin!r}")
    elif fields:
        raise ValueError("fields are what a creator makes plugins from: give the creator in place of the plugin")
    settings = {
        "fill": fill,
        "atol": atol,
        "rtol": rtol,
        "seed": seed,
        "isolated": isolated,
        "empties": empties,
        "seconds": seconds,
    }
    inputs = [_bounds(each) for each in shapes]
    kinds = [int(each) for each in types]
    raised = _Raised()
    with raised.listening(not isolated):
        text = _native._check_plugin(
            plugin, creator, namespace, _fields(fields, creator), inputs, kinds, reference, settings
        )
    answer = json.loads(text)
    found = [Finding(**(each | {"callback": _spelled(each["callback"])})) for each in answer["findings"]]
    return Report(
        answer["plugin"],
        raised.findings(found, answer["plugin"]["generation"]),
        answer["notes"],
        answer["combinations"],
        answer["runs"],
    )


def _imported(module: str | os.PathLike[str] | types.ModuleType) -> types.ModuleType:
    if isinstance(module, types.ModuleType):
        return module
    path = pathlib.Path(module)
    if path.suffix != ".py":
        return importlib.import_module(str(module))
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = loaded
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(loaded)
    return loaded


@contextmanager
def _importing(module: str | os.PathLike[str] | types.ModuleType) -> Iterator[None]:
    """A script that ends itself must not end who checks it, with success besides."""
    try:
        yield
    except SystemExit as end:
        what = f"{str(module)!r} ends the process (status {end.code!r}) when it is imported"
        raise ImportError(f'{what}: let it do so under `if __name__ == "__main__":`') from end


def _key(creator: Any) -> tuple[str, str, str]:
    return creator.name, creator.plugin_version, getattr(creator, "plugin_namespace", "") or ""


def _takes_nothing(kind: type) -> bool:
    required = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = list(inspect.signature(inspect.getattr_static(kind, "__init__")).parameters.values())[1:]
    return not any(each.default is each.empty and each.kind in required for each in parameters)


def _identified(module: str | os.PathLike[str] | types.ModuleType) -> tuple[Any, ...] | None:
    """What a module has registered when it came first is not registered again: a file as it is now, or a name."""
    if isinstance(module, types.ModuleType):
        return None
    path = pathlib.Path(module)
    if path.suffix not in (".py", ".so"):
        return (str(module),)
    if not path.exists():
        return None
    found = path.stat()
    return path.resolve(), found.st_ino, found.st_size, found.st_mtime_ns


_known: dict[tuple[Any, ...], list[tuple[Any, str]]] = {}


def creators_of(module: str | os.PathLike[str] | types.ModuleType) -> list[tuple[Any, str]]:
    """The creators of a module with their namespaces: objects, classes, and what it registers when it is imported.

    A shared library of plugins will do as well: it is loaded, and its creators are registered. What was here before
    has the creators that it had then.
    """
    identity = _identified(module)
    if identity in _known:
        return _known[identity]
    with _importing(module):
        creators = _creators_of(module)
    if identity is not None:
        _known[identity] = creators
    return creators


def _creators_of(module: str | os.PathLike[str] | types.ModuleType) -> list[tuple[Any, str]]:
    base = _native.IPluginCreatorInterface
    registry = _native.get_plugin_registry()
    before = {_key(each) for each in registry.all_creators}
    if isinstance(module, str | os.PathLike) and pathlib.Path(module).suffix == ".so":
        if not registry.load_library(str(pathlib.Path(module).absolute())):
            raise ImportError(f"{str(module)!r} cannot be loaded as a library of plugins: the logger has the reason")
        return [(each, _key(each)[2]) for each in registry.all_creators if _key(each) not in before]
    loaded = _imported(module)
    found = [each for each in vars(loaded).values() if isinstance(each, base)]
    known = before | {_key(each) for each in found}
    found += [each for each in registry.all_creators if _key(each) not in known]
    for each in list(vars(loaded).values()):
        is_class = isinstance(each, type) and issubclass(each, base) and each.__module__ == loaded.__name__
        if is_class and _takes_nothing(each) and not any(type(other) is each for other in found):
            found.append(each())
    return [(each, _key(each)[2]) for each in found]


def check_module(
    module: str | os.PathLike[str] | types.ModuleType,
    *,
    creator: Callable[[str, str, str], bool] | None = None,
    shapes: Sequence[Sequence[Any]],
    fields: Mapping[str, Any] | Callable[[Any], Any] | None = None,
    **options: Any,
) -> list[Report]:
    """check_plugin() for each creator of a module; `creator` picks them by name, version and namespace."""
    reports = []
    for each, namespace in creators_of(module):
        if creator is None or creator(each.name, each.plugin_version, namespace):
            given = fields(each) if callable(fields) else fields
            reports.append(check_plugin(each, shapes=shapes, fields=given, namespace=namespace, **options))
    return reports
