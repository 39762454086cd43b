"""The CUDA driver for Python, on the host: as much as scripts use beside the runtime."""

from tenon_hostcuda.driver import *  # noqa: F403
