"""The module name that TensorRT programs import; every object is tenon's own."""

import sys as _sys

import tenon as _tenon
from tenon import *  # noqa: F403
from tenon import (  # noqa: F401
    bfloat16,
    bool,
    e8m0,
    float16,
    float32,
    fp4,
    fp8,
    int4,
    int8,
    int32,
    int64,
    nptype,
    uint8,
    volume,
)

_tenon._guard.check(ours_is_here=True)

for _name in ("devices", "inspect", "knobs", "load", "not_implemented", "verify"):
    del globals()[_name]  # Tenon's own calls stay out of `from tensorrt import *`.

__version__ = _tenon._native._api_version
tensorrt = _sys.modules[__name__]
_sys.modules[__name__ + ".tensorrt"] = tensorrt


def __getattr__(name: str):
    return getattr(_tenon, name)
