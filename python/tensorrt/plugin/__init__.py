"""Plugins as Python functions; every object is that of tenon.plugin."""

import sys as _sys

import tenon.plugin as _plugin
from tenon.plugin import *  # noqa: F403
from tenon.plugin import op as op

__doc__ = _plugin.__doc__
_sys.modules[__name__ + ".op"] = op  # type: ignore[assignment]
