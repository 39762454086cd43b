"""Host calls of the CUDA runtime for Python: what the modules `cuda` and `pycuda` of this distribution stand on."""

__version__ = "0.1.0"
