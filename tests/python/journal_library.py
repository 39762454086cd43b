"""The library of C++ plugins tests/plugins/library/five_library.cpp, and the journal of what happens to them."""

import ctypes
import gc
import os
import pathlib
from collections.abc import Iterator

import numpy as np
import tensorrt as trt

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Journal:
    """Creators of all generations, registered while this lives; what their plugins are called for is written down."""

    path = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build")) / "lib" / "libtenon_five_library.so"

    def __init__(self) -> None:
        self.library = ctypes.CDLL(str(self.path))
        self.library.journalText.restype = ctypes.c_char_p
        self.load()
        self.library.journalClear()

    def load(self) -> None:
        """The creators are registered."""
        self.handle = trt.get_plugin_registry().load_library(str(self.path))
        assert self.handle

    def unload(self) -> None:
        """The creators are not registered."""
        trt.get_plugin_registry().deregister_library(self.handle)

    def make(self, name: str, before: tuple = (1, 2), after: tuple = (3, 1)) -> trt.IPluginV2:
        """A plugin of the V2 family, owned by Python."""
        creator = trt.get_plugin_registry().get_plugin_creator(name, "1", "five")
        fields = [
            trt.PluginField("before", np.array(before, np.int32), trt.PluginFieldType.INT32),
            trt.PluginField("after", np.array(after, np.int32), trt.PluginFieldType.INT32),
        ]
        return creator.create_plugin(name, trt.PluginFieldCollection(fields))

    def entries(self) -> list[tuple[int, str, str]]:
        """Object, call, arguments."""
        lines = [line.split(" ", 2) for line in self.library.journalText().decode().splitlines()]
        return [(int(number), call, what) for number, call, what in lines]

    def calls(self, *names: str) -> list[tuple[int, str, str]]:
        return [entry for entry in self.entries() if entry[1] in names]

    def alive(self) -> int:
        """Objects born since the journal was cleared that still live."""
        return self.library.journalAlive()


def opened() -> Iterator[Journal]:
    """For a fixture."""
    gc.collect()
    made = Journal()
    yield made
    gc.collect()
    made.unload()
