"""The older name of cuda.bindings.nvrtc, whosever that is."""

from cuda.bindings.nvrtc import *  # noqa: F403
