"""Device code: refused, as there is nothing that could run it."""

from typing import Any

from pycuda.driver import CompileError


class SourceModule:
    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise CompileError("kernels need a GPU; Tenon's host run-time compiles none")


def compile(*arguments: Any, **options: Any) -> bytes:
    raise CompileError("kernels need a GPU; Tenon's host run-time compiles none")
