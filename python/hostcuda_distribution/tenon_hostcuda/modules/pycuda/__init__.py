"""The parts of pycuda that TensorRT scripts use, on the host."""

VERSION = (2024, 1)
VERSION_STATUS = ""
VERSION_TEXT = "2024.1"
