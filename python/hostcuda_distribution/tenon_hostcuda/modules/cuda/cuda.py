"""The older name of cuda.bindings.driver, whosever that is."""

from cuda.bindings.driver import *  # noqa: F403
