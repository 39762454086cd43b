"""Plugins written in Python functions. Not implemented in this version: importing the module says so."""

raise ImportError(
    "tensorrt.plugin, the decorators for plugins written as Python functions, is not implemented in this version"
)
