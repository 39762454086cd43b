"""Tenon: an open inference engine that speaks the TensorRT API and runs on any machine."""

from typing import TYPE_CHECKING

from . import _guard as _guard

_guard.check()

from . import _native as _native  # noqa: E402
from ._device_array import DeviceArray as DeviceArray  # noqa: E402
from ._extras import devices as devices  # noqa: E402
from ._extras import inspect as inspect  # noqa: E402
from ._extras import knobs as knobs  # noqa: E402
from ._extras import load as load  # noqa: E402
from ._extras import not_implemented as not_implemented  # noqa: E402
from ._extras import verify as verify  # noqa: E402
from ._native import *  # noqa: E402,F403
from ._streams import Stream as Stream  # noqa: E402
from ._values import install as _install  # noqa: E402
from ._values import nptype as nptype  # noqa: E402
from ._values import volume as volume  # noqa: E402

__version__ = _native._version

_install(_native)

#: Tenon's own calls.
_OWN = ["DeviceArray", "Stream", "devices", "inspect", "knobs", "load", "not_implemented", "verify"]


if not TYPE_CHECKING:  # Type checkers take all names without an underscore.
    __all__ = [name for name in dir(_native) if not name.startswith("_")]
    __all__ += ["bfloat16", "bool", "e8m0", "float16", "float32", "float64", "fp4", "fp8"]
    __all__ += ["int4", "int8", "int32", "int64", "uint8", "nptype", "volume", *_OWN]


float32 = _native.DataType.FLOAT
float64 = _native.DataType.FLOAT64
float16 = _native.DataType.HALF
bfloat16 = _native.DataType.BF16
int8 = _native.DataType.INT8
int32 = _native.DataType.INT32
int64 = _native.DataType.INT64
uint8 = _native.DataType.UINT8
bool = _native.DataType.BOOL
fp8 = _native.DataType.FP8
int4 = _native.DataType.INT4
fp4 = _native.DataType.FP4
e8m0 = _native.DataType.E8M0
