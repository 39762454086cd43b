"""Tenon: an open inference engine that speaks the TensorRT API and runs on any machine."""

from . import _guard

_guard.check()

from . import _native  # noqa: E402
from ._extras import devices, inspect, knobs, load, not_implemented, verify  # noqa: E402,F401
from ._native import *  # noqa: E402,F403
from ._values import install as _install  # noqa: E402
from ._values import nptype, volume  # noqa: E402,F401

__version__ = _native._version

_install(_native)


def __getattr__(name: str):
    if name in _native._api_names.split():
        raise AttributeError(f"tenon.{name} is not implemented in this version; `tenon api` lists such calls")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


float32 = _native.DataType.FLOAT
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
