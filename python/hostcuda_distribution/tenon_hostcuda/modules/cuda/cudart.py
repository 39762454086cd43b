"""The older name of cuda.bindings.runtime, whosever that is."""

from cuda.bindings.runtime import *  # noqa: F403
