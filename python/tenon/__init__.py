"""Tenon: an open inference engine that speaks the TensorRT API and runs on any machine."""
from ._native import *  # noqa: F401,F403
from . import _native
from ._values import install as _install, nptype, volume  # noqa: F401

__version__ = "0.1.0"

_install(_native)


def __getattr__(name: str):
    if name in _native._api_names.split():
        raise AttributeError(f"{__name__}.{name} is not implemented in this version; `tenon api` lists such calls")
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
