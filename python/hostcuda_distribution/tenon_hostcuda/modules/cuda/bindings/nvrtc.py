"""NVRTC for Python, on the host: programs are taken, and none is compiled."""

from tenon_hostcuda.nvrtc import *  # noqa: F403
