"""What ahead-of-time implementations give: a kernel's name and code, how it is launched, and its extra arguments."""

from __future__ import annotations

from typing import Any

from .. import _native as trt
from ._shapes import ShapeExpr, SymExprs, SymInt32


class KernelLaunchParams:
    """How a compiled kernel is launched: extents of the grid and of a block, and bytes of memory that a block shares.

    Each is an int, an IDimensionExpr or a SymInt32.
    """

    _names = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "shared_mem")

    def __init__(
        self, grid_x: Any = 1, grid_y: Any = 1, grid_z: Any = 1, block_x: Any = 1, block_y: Any = 1, block_z: Any = 1,
        shared_mem: Any = 0,
    ) -> None:  # fmt: skip
        self.grid_x = grid_x
        self.grid_y = grid_y
        self.grid_z = grid_z
        self.block_x = block_x
        self.block_y = block_y
        self.block_z = block_z
        self.shared_mem = shared_mem

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in KernelLaunchParams._names:
            raise AttributeError(f"KernelLaunchParams has no attribute {name!r}")
        if isinstance(value, bool) or not isinstance(value, int | trt.IDimensionExpr | SymInt32):
            raise TypeError(f"KernelLaunchParams.{name} must be an int or an expression, not {value!r}")
        super().__setattr__(name, value if isinstance(value, SymInt32) else SymInt32(value))

    def __repr__(self) -> str:
        return f"KernelLaunchParams({', '.join(f'{each}={getattr(self, each)!r}' for each in self._names)})"


def checked_kernel(definition: Any, answer: Any) -> tuple[Any, Any, KernelLaunchParams, SymExprs]:
    """What an aot_impl returned, of the right types; TypeError otherwise (N12)."""
    where = f"{definition.aot.__name__} for {definition.id}"
    if not isinstance(answer, tuple) or len(answer) != 4:
        raise TypeError(f"{where} must return (kernel name, code, KernelLaunchParams, extra arguments), not {answer!r}")
    name, code, launch, arguments = answer
    if not isinstance(name, str | bytes):
        raise TypeError(f"{where}: the kernel's name must be str or bytes, not {type(name).__name__}")
    if not isinstance(code, str | bytes):
        raise TypeError(f"{where}: the kernel's code must be str or bytes, not {type(code).__name__}")
    if not isinstance(launch, KernelLaunchParams):
        raise TypeError(f"{where}: the third value must be KernelLaunchParams, not {type(launch).__name__}")
    if not isinstance(arguments, SymExprs):
        raise TypeError(f"{where}: the extra arguments must be SymIntExprs, not {type(arguments).__name__}")
    for index, each in enumerate(arguments):
        if not isinstance(each, SymInt32):
            raise TypeError(f"{where}: extra argument {index} must be a SymInt32, not {each!r}")
    return name, code, launch, arguments


def symbolic(number: SymInt32) -> Any:
    """The number as the library takes it; the builder at hand makes what is constant."""
    made = trt.ISymExpr()
    made.type = trt.PluginArgType.INT
    made.dtype = trt.PluginArgDataType.INT32
    made.expr = (number if isinstance(number, ShapeExpr) else ShapeExpr(number))._as_expr()
    return made
