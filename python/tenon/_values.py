"""What is easier said in Python: context managers, type sizes, small functions."""

import enum
import warnings
from collections.abc import Callable, Iterable
from functools import reduce
from operator import and_, ge, gt, le, lt, mul, or_, xor
from typing import Any

import numpy as np

#: Classes that can stand in a `with` statement.
_MANAGED = (
    "ILogger",
    "Logger",
    "ICudaEngine",
    "IExecutionContext",
    "Runtime",
    "IHostMemory",
    "Builder",
    "INetworkDefinition",
    "OnnxParser",
    "IBuilderConfig",
    "Refitter",
)

#: Classes whose `__del__` programs call by name.
_DELETABLE = (
    "Builder",
    "IBuilderConfig",
    "ICudaEngine",
    "IExecutionContext",
    "IHostMemory",
    "INetworkDefinition",
    "OnnxParser",
    "Refitter",
    "Runtime",
)


def volume(iterable: Iterable[int]) -> int:
    """Product of the extents; 1 when there are none."""
    return reduce(mul, iterable, 1)


def _enter(self: Any) -> Any:
    warnings.warn(
        f"`with {type(self).__name__}` frees nothing: objects live as long as they are referred to.",
        DeprecationWarning,
        stacklevel=2,
    )
    return self


def _exit(self: Any, exc_type: Any, exc_value: Any, traceback: Any) -> None:
    """Leaving frees nothing; the last reference does."""


def _del(self: Any) -> None:
    """Frees nothing by itself; the last reference does."""


def nptype(trt_type: Any) -> Any:
    """NumPy's type of the same form; TypeError for the types that NumPy lacks."""
    types = {
        "FLOAT": np.float32,
        "HALF": np.float16,
        "INT8": np.int8,
        "INT32": np.int32,
        "BOOL": np.bool_,
        "UINT8": np.uint8,
        "INT64": np.int64,
        "FLOAT64": np.float64,
    }
    if trt_type.name not in types:
        raise TypeError(f"NumPy has no type like {trt_type.name}.")
    return types[trt_type.name]


def _name(self: Any) -> str:
    return self._name_


def _text(self: Any) -> str:
    return f"{type(self).__name__}.{self._name_}"


def _number(self: Any) -> int:
    return self._value_


def _hash(self: Any) -> int:
    return hash(self._value_)


def _is_equal(self: Any, other: Any) -> bool:
    return type(other) is type(self) and other._value_ == self._value_


def _is_other(self: Any, other: Any) -> bool:
    return not _is_equal(self, other)


def _compared(operation: Callable[[Any, Any], Any], is_reflected: bool = False) -> Callable[[Any, Any], Any]:
    """What a member of an ordered enumeration answers beside another of it, or a number."""

    def answer(self: Any, other: Any) -> Any:
        if type(other) is type(self):
            other = other._value_
        elif not isinstance(other, int):
            return NotImplemented
        return operation(other, self._value_) if is_reflected else operation(self._value_, other)

    return answer


#: Flags and levels, which programs order and combine.
_ORDERED = {
    "__lt__": _compared(lt),
    "__le__": _compared(le),
    "__gt__": _compared(gt),
    "__ge__": _compared(ge),
    "__and__": _compared(and_),
    "__or__": _compared(or_),
    "__xor__": _compared(xor),
    "__rand__": _compared(and_, is_reflected=True),
    "__ror__": _compared(or_, is_reflected=True),
    "__rxor__": _compared(xor, is_reflected=True),
    "__invert__": lambda self: ~self._value_,
}


def _formatted(self: Any, form: str) -> str:
    return format(int(self), form) if form else _text(self)


def install(native: Any) -> None:
    """Add the members that the extension leaves to Python."""
    for name in _MANAGED:
        cls = getattr(native, name)
        cls.__enter__, cls.__exit__ = _enter, _exit
    for name in _DELETABLE:
        getattr(native, name).__del__ = _del
    ordered = native._ordered.split()
    for cls in list(vars(native).values()) + [native.ILogger.Severity]:
        if isinstance(cls, enum.EnumType):
            cls.__doc__ = native._doc_of(cls.__name__)
            cls.__str__, cls.__format__ = _text, _formatted  # As programs print them: "DataType.FLOAT".
            cls.name = property(_name, doc="The name of the member.")  # Known to the class, too.
            # No integers: members are equal to themselves alone, and tell their number when they are asked for it.
            cls.__int__, cls.__index__, cls.__hash__ = _number, _number, _hash
            cls.__eq__, cls.__ne__ = _is_equal, _is_other
            for operation, answer in _ORDERED.items() if cls.__name__ in ordered else ():
                setattr(cls, operation, answer)
            for member in cls:
                member.__doc__ = native._doc_of(f"{cls.__name__}.{member.name}") or cls.__doc__
    bits = native._bits_of
    native.DataType.itemsize = property(
        lambda self: bits(self) // 8 if bits(self) >= 8 else bits(self) / 8, doc="Bytes of one element; 0.5 for 4 bits."
    )
    severity = native.ILogger.Severity
    native.Logger.Severity = severity
    for member in severity:
        setattr(native.ILogger, member.name, member)
        setattr(native.Logger, member.name, member)
