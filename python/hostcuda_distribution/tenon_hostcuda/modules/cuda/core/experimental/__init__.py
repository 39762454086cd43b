"""The older name of cuda.core, whosever that is."""

from cuda.core import *  # noqa: F403
