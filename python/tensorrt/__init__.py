"""The module name that TensorRT programs import; every object is tenon's own."""

import sys as _sys
import typing as _typing

import tenon as _tenon
from tenon import *  # noqa: F403
from tenon import bfloat16 as bfloat16
from tenon import bool as bool
from tenon import e8m0 as e8m0
from tenon import float16 as float16
from tenon import float32 as float32
from tenon import float64 as float64
from tenon import fp4 as fp4
from tenon import fp8 as fp8
from tenon import int4 as int4
from tenon import int8 as int8
from tenon import int32 as int32
from tenon import int64 as int64
from tenon import nptype as nptype
from tenon import uint8 as uint8
from tenon import volume as volume

_tenon._guard.check(ours_is_here=True)

for _name in _tenon._OWN:
    del globals()[_name]  # Tenon's own calls stay out of this module.

__version__ = _tenon._native._api_version
tensorrt = _sys.modules[__name__]
_sys.modules[__name__ + ".tensorrt"] = tensorrt


if not _typing.TYPE_CHECKING:
    __all__ = [_name for _name in _tenon.__all__ if _name not in _tenon._OWN]

    def __getattr__(name: str):
        return getattr(_tenon, name)
