"""The module name of the runtime without a builder: what runs plans, and nothing that builds them."""

import sys as _sys
import typing as _typing

import tenon as _tenon
from tenon import *  # noqa: F403
from tenon import _runtime_names

_tenon._guard.check(ours_is_here=True)

for _name in set(_tenon.__all__) - set(_runtime_names.NAMES):
    del globals()[_name]

__version__ = _tenon._native._api_version
tensorrt = _sys.modules[__name__]
_sys.modules[__name__ + ".tensorrt"] = tensorrt


if not _typing.TYPE_CHECKING:
    __all__ = list(_runtime_names.NAMES)

    def __getattr__(name: str):
        if name in _tenon.__all__ and name not in _runtime_names.NAMES:
            raise AttributeError(f"module '{__name__}' has only what runs plans: {name} is in `tensorrt`")
        return getattr(_tenon, name)
