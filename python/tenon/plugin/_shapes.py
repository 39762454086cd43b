"""Extents as expressions: what a plugin's shapes are made of while a network is built (rule N14)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from .. import _native as trt

_state = threading.local()


@contextlib.contextmanager
def building_with(builder: Any) -> Iterator[None]:
    """Expressions inside are made by this IExprBuilder, and end with the block."""
    before = getattr(_state, "builder", None)
    _state.builder = builder
    try:
        yield
    finally:
        _state.builder = before


def _builder() -> Any:
    builder = getattr(_state, "builder", None)
    if builder is None:
        raise RuntimeError("shape expressions can be computed only while the shapes of a plugin are asked for")
    return builder


def _floor_div(first: int, second: int) -> int:
    if second == 0:
        raise ZeroDivisionError("an extent is divided by 0")
    return first // second


class _SymInt:
    """An integer that may be known at run time only.

    `value`: an int, an IDimensionExpr, or another such integer; None stands for one whose value nobody asks for.
    """

    _bits = 32

    def __init__(self, value: Any = None) -> None:
        self._int: int | None = None
        self._expr: Any = None
        if isinstance(value, _SymInt):
            self._int, self._expr = value._int, value._expr
        elif isinstance(value, trt.IDimensionExpr):
            self._expr = value
            if value.is_constant():
                self._int = value.get_constant_value()
        elif isinstance(value, int):
            limit = 1 << (self._bits - 1)
            if not -limit <= value < limit:
                raise ValueError(f"{value} does not fit into {self._bits} bits")
            self._int = int(value)
        elif value is not None:
            raise ValueError(f"{type(self).__name__} cannot be made from {value!r}")

    @property
    def is_constant(self) -> bool:
        """Whether the value is known now."""
        if self._int is None and self._expr is None:
            raise RuntimeError("nothing is known of this expression yet")
        return self._int is not None

    def constant_value(self) -> int:
        """The value; RuntimeError where it is not known."""
        if self._int is None:
            raise RuntimeError("the expression is not constant: ask is_constant first")
        return self._int

    def _as_expr(self) -> Any:
        if self._expr is not None:
            return self._expr
        if self._int is None:
            raise RuntimeError("nothing is known of this expression yet")
        return _builder().constant(self._int)

    def _with(self, other: Any, operation: trt.DimensionOperation, exact: Any, swapped: bool = False) -> Any:
        if not isinstance(other, int | _SymInt):
            return NotImplemented
        that = other if isinstance(other, _SymInt) else _SymInt(other)
        if isinstance(that, SizeTensorShapeExpr):
            return that._with(self, operation, exact)  # Says that it takes part in nothing.
        first, second = (that, self) if swapped else (self, that)
        made = type(self).__new__(type(self))
        _SymInt.__init__(made)
        if first._int is not None and second._int is not None:
            made._int = exact(first._int, second._int)
        elif first._known and second._known:
            made._expr = _builder().operation(operation, first._as_expr(), second._as_expr())
        return made

    @property
    def _known(self) -> bool:
        return self._int is not None or self._expr is not None

    def __add__(self, other: Any) -> Any:
        return self._with(other, trt.DimensionOperation.SUM, lambda a, b: a + b)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, trt.DimensionOperation.SUM, lambda a, b: a + b, True)

    def __sub__(self, other: Any) -> Any:
        return self._with(other, trt.DimensionOperation.SUB, lambda a, b: a - b)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, trt.DimensionOperation.SUB, lambda a, b: a - b, True)

    def __mul__(self, other: Any) -> Any:
        return self._with(other, trt.DimensionOperation.PROD, lambda a, b: a * b)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, trt.DimensionOperation.PROD, lambda a, b: a * b, True)

    def __floordiv__(self, other: Any) -> Any:
        return self._with(other, trt.DimensionOperation.FLOOR_DIV, _floor_div)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._with(other, trt.DimensionOperation.FLOOR_DIV, _floor_div, True)

    def __eq__(self, other: object) -> Any:
        return self._with(other, trt.DimensionOperation.EQUAL, lambda a, b: int(a == b))

    def __lt__(self, other: Any) -> Any:
        return self._with(other, trt.DimensionOperation.LESS, lambda a, b: int(a < b))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        if not self.is_constant:
            raise RuntimeError("the truth of an expression that is not constant is not known while building")
        return bool(self._int)

    def __repr__(self) -> str:
        known = self._int if self._int is not None else "?" if self._expr is None else "expression"
        return f"{type(self).__name__}[{known}]"


class SymInt32(_SymInt):
    """An integer of 32 bits that may be known at run time only, such as an extra argument of a kernel."""

    def __call__(self) -> SymInt32:
        """The expression itself."""
        return self


class SymInt16(_SymInt):
    """The same of 16 bits."""

    _bits = 16


class SymInt8(_SymInt):
    """The same of 8 bits."""

    _bits = 8


class ShapeExpr(SymInt32):
    """An extent of a tensor."""

    _bits = 64

    @property
    def is_fake(self) -> bool:
        """Whether it stands for an extent of which nothing is known yet."""
        return not self._known

    @property
    def is_size_tensor(self) -> bool:
        """Whether only running the plugin tells it."""
        return False


class SizeTensorShapeExpr(ShapeExpr):
    """The extent that a size tensor tells; made by `size_tensor(...).expr()`."""

    def __init__(self, size_tensor_desc: Any) -> None:
        super().__init__()
        self._desc = size_tensor_desc

    @property
    def is_size_tensor(self) -> bool:
        return True

    @property
    def is_constant(self) -> bool:
        return False

    def _as_expr(self) -> Any:
        return self._desc._declared()

    def _with(self, other: Any, operation: trt.DimensionOperation, exact: Any, swapped: bool = False) -> Any:
        raise ValueError(f"{self!r} is the size of an output as it stands: nothing can be computed from it")

    @property
    def _known(self) -> bool:
        return getattr(_state, "builder", None) is not None

    def __repr__(self) -> str:
        return f"SizeTensorShapeExpr[output {self._desc._index}]"


class SymExprs:
    """A list of expressions of fixed length."""

    _kind: type = SymInt32

    def __init__(self, length: int) -> None:
        self._list: list[Any] = [None] * length

    @classmethod
    def from_tuple(cls, shape_exprs: Iterable[Any]) -> Any:
        """A list of the given expressions and ints."""
        given = list(shape_exprs)
        made = cls(len(given))
        for index, each in enumerate(given):
            made[index] = each
        return made

    def __copy__(self) -> Any:
        made = type(self)(len(self._list))
        made._list = list(self._list)
        return made

    def __len__(self) -> int:
        return len(self._list)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._list)

    def __getitem__(self, index: Any) -> Any:
        return self._list[index]

    def __setitem__(self, index: int, expr: Any) -> None:
        if not isinstance(expr, int | _SymInt):
            raise ValueError(f"{expr!r} is neither an int nor an expression")
        self._list[index] = expr if isinstance(expr, _SymInt) else self._kind(expr)

    def __repr__(self) -> str:
        return f"{type(self).__name__}[{', '.join(repr(each) for each in self._list)}]"


class SymIntExprs(SymExprs):
    """A list of SymInt32."""


class ShapeExprs(SymExprs):
    """The extents of one tensor."""

    _kind = ShapeExpr

    def __init__(self, length: int, _is_dummy: bool = False) -> None:
        if length > trt.Dims.MAX_DIMS:
            raise ValueError(f"a tensor has at most {trt.Dims.MAX_DIMS} extents, not {length}")
        super().__init__(length)
        if _is_dummy:
            self._list = [ShapeExpr() for _ in range(length)]

    @classmethod
    def _of(cls, dims: trt.DimsExprs) -> ShapeExprs:
        return cls.from_tuple([ShapeExpr(dims[i]) for i in range(len(dims))])

    def numel(self) -> ShapeExpr:
        """The product of all extents."""
        product = ShapeExpr(1)
        for extent in self._list:
            product = product * extent
        return product


def _entering(first: Any, second: Any, name: str) -> Any:
    """A first operand whose arithmetic keeps extents what they are."""
    if isinstance(first, int) and isinstance(second, int):
        raise ValueError(f"{name}() computes with expressions: {first} and {second} are ints")
    return first if isinstance(first, _SymInt) else ShapeExpr(first)


def cdiv(first: Any, second: Any) -> ShapeExpr:
    """first / second, rounded up."""
    operand = _entering(first, second, "cdiv")
    return operand._with(second, trt.DimensionOperation.CEIL_DIV, lambda a, b: -_floor_div(-a, b))


def max(first: Any, second: Any) -> ShapeExpr:
    """The larger one."""
    operand = _entering(first, second, "max")
    return operand._with(second, trt.DimensionOperation.MAX, lambda a, b: a if a > b else b)


def min(first: Any, second: Any) -> ShapeExpr:
    """The smaller one."""
    operand = _entering(first, second, "min")
    return operand._with(second, trt.DimensionOperation.MIN, lambda a, b: a if a < b else b)
