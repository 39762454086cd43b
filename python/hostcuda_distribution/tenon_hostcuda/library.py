"""libtenon_hostrt.so, the host calls of the CUDA runtime, loaded from beside Tenon's engine."""

import ctypes
import pathlib
from typing import Any

NAME = "libtenon_hostrt.so.0"


def _folder_of_the_engine() -> pathlib.Path:
    """Where the libtenon.so lies that `import tenon` loaded: in a wheel, an installed tree or a build."""
    import tenon  # noqa: F401  The engine comes first, so that both use the same streams.

    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = pathlib.Path(line.partition("/")[1] + line.partition("/")[2])
        if path.name.startswith("libtenon.so"):
            return path.parent
    raise ImportError("tenon was imported, but its library libtenon.so is not loaded")


def _load() -> ctypes.CDLL:
    path = _folder_of_the_engine() / NAME
    if not path.exists():
        raise ImportError(f"{path} is missing: this build of tenon has no host calls of the CUDA runtime")
    return ctypes.CDLL(str(path))


library = _load()


def address_of(value: Any) -> int:
    """The address that a number, a handle, an array or another buffer stands for."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        check_pieces(value)
        return int(interface["data"][0])
    if isinstance(value, ctypes.c_void_p):
        return value.value or 0
    if hasattr(value, "__int__"):
        return int(value)
    if hasattr(value, "__index__"):
        return int(value.__index__())
    view = memoryview(value)
    if not view.contiguous:
        raise ValueError("the memory of a copy has to be contiguous")
    return address_of_buffer(view)


def check_pieces(value: Any) -> None:
    """ValueError for an array that does not lie in one piece: calls take an address and a size."""
    import numpy

    flags = numpy.asarray(value).flags
    if not (flags.c_contiguous or flags.f_contiguous):
        raise ValueError("the array does not lie in one piece: copy it with np.ascontiguousarray() first")


def address_of_buffer(view: memoryview) -> int:
    """The address of a buffer's first byte, also when it cannot be written."""
    import numpy

    return int(numpy.frombuffer(view, numpy.uint8).__array_interface__["data"][0]) if view.nbytes else 0
