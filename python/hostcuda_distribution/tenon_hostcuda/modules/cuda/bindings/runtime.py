"""The CUDA runtime for Python, on the host."""

from tenon_hostcuda.runtime import *  # noqa: F403
