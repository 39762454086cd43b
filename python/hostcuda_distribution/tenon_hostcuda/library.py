"""libtenon_hostrt.so, the host calls of the CUDA runtime, loaded from beside Tenon's engine."""

import ctypes
import operator
import pathlib
from typing import Any

import numpy as np

NAME = "libtenon_hostrt.so.0"


def folder_of_the_engine() -> pathlib.Path:
    """Where the libtenon.so lies that `import tenon` loaded: in a wheel, an installed tree or a build."""
    import tenon  # noqa: F401  The engine comes first, so that both use the same streams.

    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = pathlib.Path(line.partition("/")[1] + line.partition("/")[2])
        if path.name.startswith("libtenon.so"):
            return path.parent
    raise ImportError("tenon was imported, but its library libtenon.so is not loaded")


def _load() -> ctypes.CDLL:
    path = folder_of_the_engine() / NAME
    if not path.exists():
        raise ImportError(f"{path} is missing: this build of tenon has no host calls of the CUDA runtime")
    return ctypes.CDLL(str(path))


library = _load()


class _Address(int):
    """The address of memory that lives while the number does."""

    memory: Any


def address_of(value: Any) -> int:
    """The address that a number, a handle, an array or another buffer stands for; TypeError for anything else."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if isinstance(value, np.generic):
        raise TypeError(f"{value!r} is a NumPy scalar, which has no place in memory: pass int() of it, or an array")
    if hasattr(value, "__array_interface__"):
        return _address_of_array(value)
    if isinstance(value, ctypes.c_void_p):
        return value.value or 0
    if hasattr(value, "data_ptr") or hasattr(value, "__dlpack__"):
        raise TypeError(f"a {type(value).__name__} is no address: pass its data_ptr(), or an array of NumPy's")
    if hasattr(value, "__index__"):
        return operator.index(value)
    view = memoryview(value)  # TypeError where that is not possible.
    if not view.contiguous:
        raise ValueError("the memory of a copy has to be contiguous")
    return _address_of_memory(np.frombuffer(view, np.uint8)) if view.nbytes else 0


def check_pieces(value: Any) -> None:
    """ValueError for an array that does not lie in one piece: calls take an address and a size."""
    flags = np.asarray(value).flags
    if not (flags.c_contiguous or flags.f_contiguous):
        raise ValueError("the array does not lie in one piece: copy it with np.ascontiguousarray() first")


def _address_of_array(value: Any) -> _Address:
    if not isinstance(value.__array_interface__.get("data"), tuple):  # Made for the one who asks, or no address at all.
        raise TypeError(f"a {type(value).__name__} does not say where its memory is: pass np.asarray() of it")
    array = np.asarray(value)
    check_pieces(array)
    return _address_of_memory(array)


def _address_of_memory(array: np.ndarray) -> _Address:
    address = _Address(array.__array_interface__["data"][0])
    address.memory = array
    return address
