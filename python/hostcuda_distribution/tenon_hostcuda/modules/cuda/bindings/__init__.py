"""The parts of cuda-python that scripts use around a run, on the host."""

__version__ = "12.9.0"
