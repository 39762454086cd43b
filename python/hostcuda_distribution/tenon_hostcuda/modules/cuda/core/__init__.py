"""cuda.core on the host: as much as programs use around a run."""

from tenon_hostcuda.core import *  # noqa: F403
