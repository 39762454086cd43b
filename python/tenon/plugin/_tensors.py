"""Tensors as functions of a plugin see them: descriptions while building, memory while running."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import _native as trt
from .._values import nptype
from ._shapes import ShapeExpr, ShapeExprs, SizeTensorShapeExpr, _builder


class Shape:
    """Extents of a tensor, with the bounds of the present profile where they differ."""

    def __init__(self, tensor_desc: Any = None) -> None:
        self._bounds: Any = None
        if isinstance(tensor_desc, trt.DynamicPluginTensorDesc):
            self._extents = list(tensor_desc.desc.dims)
            self._bounds = tuple(tuple(each) for each in (tensor_desc.min, tensor_desc.opt, tensor_desc.max))
        elif isinstance(tensor_desc, trt.PluginTensorDesc):
            self._extents = list(tensor_desc.dims)
        elif tensor_desc is None:
            self._extents = []
        else:
            self._extents = [int(each) for each in tensor_desc]

    @property
    def is_dynamic(self) -> bool:
        """Whether an extent is known at run time only."""
        return any(extent < 0 for extent in self._extents)

    def _bound(self, which: int) -> tuple[int, ...]:
        if self._bounds is None:
            if self.is_dynamic:
                raise ValueError("the bounds of this shape are not known")
            return tuple(self._extents)
        return self._bounds[which]

    @property
    def min(self) -> tuple[int, ...]:
        """The smallest extents of the profile."""
        return self._bound(0)

    @property
    def opt(self) -> tuple[int, ...]:
        """The extents that the profile optimizes for."""
        return self._bound(1)

    @property
    def max(self) -> tuple[int, ...]:
        """The largest extents of the profile."""
        return self._bound(2)

    def numel(self) -> int:
        """The number of elements; ValueError where it is not known."""
        if self.is_dynamic:
            raise ValueError(f"{self} has extents that are known at run time only")
        return math.prod(self._extents)

    def __len__(self) -> int:
        return len(self._extents)

    def __iter__(self) -> Iterator[int]:
        return iter(self._extents)

    def __getitem__(self, index: Any) -> Any:
        found = self._extents[index]
        return tuple(found) if isinstance(index, slice) else found

    def __setitem__(self, index: int, val: int) -> None:
        self._extents[index] = int(val)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Shape | tuple | list) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return f"Shape{tuple(self._extents)}"

    __repr__ = __str__


class TensorDesc:
    """A tensor while the network is built: extents as expressions, or as a Shape once they are known."""

    def __init__(
        self, shape_expr: Any = None, dtype: Any = None, format: Any = None, scale: float | None = None
    ) -> None:
        self._immutable = False
        self._shape_expr = shape_expr
        self._shape: Shape | None = None
        self._dtype = dtype
        self._format = format
        self._scale = scale
        self._aliased_to: TensorDesc | None = None
        self._index: int | None = None  # Of an input.

    def _take(self, port: Any) -> None:
        """What was agreed for the tensor."""
        self._dtype, self._format, self._scale = port.desc.type, port.desc.format, port.desc.scale
        self._shape = Shape(port)

    def _get(self, name: str, with_shape: bool = False) -> Any:
        value = getattr(self, "_" + name)
        if value is None or (with_shape and self._shape is None):
            raise ValueError(f"TensorDesc.{name} is not known here")
        return value

    def _set(self, name: str, value: Any) -> None:
        if self._immutable:
            raise ValueError(f"TensorDesc.{name} cannot be set: inputs and aliased tensors are read-only, take like()")
        setattr(self, "_" + name, value)

    @property
    def shape_expr(self) -> Any:
        """The extents as expressions, a ShapeExprs."""
        return self._get("shape_expr")

    @shape_expr.setter
    def shape_expr(self, value: Any) -> None:
        self._set("shape_expr", value)

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self._get("dtype")

    @dtype.setter
    def dtype(self, value: Any) -> None:
        self._set("dtype", value)

    @property
    def format(self) -> Any:
        """The order of the elements in memory, once it is known."""
        return self._get("format", True)

    @format.setter
    def format(self, value: Any) -> None:
        self._set("format", value)

    @property
    def scale(self) -> float:
        """The scale of INT8 elements, once it is known."""
        return self._get("scale", True)

    @scale.setter
    def scale(self, value: float) -> None:
        self._set("scale", value)

    @property
    def shape(self) -> Shape:
        """The extents with their bounds, once they are known."""
        return self._get("shape")

    @shape.setter
    def shape(self, value: Shape) -> None:
        self._set("shape", value)

    @property
    def has_shape(self) -> bool:
        """Whether `shape` can be read."""
        return self._shape is not None

    @property
    def has_shape_expr(self) -> bool:
        """Whether `shape_expr` can be read."""
        return self._shape_expr is not None

    @property
    def is_dynamic(self) -> bool:
        """Whether an extent is known at run time only."""
        return self.shape.is_dynamic

    @property
    def is_size_tensor(self) -> bool:
        """Whether it holds an extent that running tells."""
        return False

    @property
    def is_aliased(self) -> bool:
        """Whether it takes over the memory of an input."""
        return self._aliased_to is not None

    @property
    def ndim(self) -> int:
        """The rank."""
        return len(self._shape_expr if self._shape_expr is not None else self.shape)

    def numel(self) -> int:
        """The number of elements; ValueError where extents are not known (shape_expr.numel() is an expression then)."""
        return self.shape.numel()

    def like(self) -> TensorDesc:
        """A tensor of the same shape and type, whose extents can be changed without changing this one's."""
        return TensorDesc(copy.copy(self._shape_expr), self._dtype, self._format, self._scale)

    def aliased(self) -> TensorDesc:
        """The same memory as this input, to be written by the plugin."""
        desc = self.like()
        desc._aliased_to = self
        desc._immutable = True
        return desc

    def get_aliased(self) -> TensorDesc | None:
        """The input whose memory it takes over; None when there is none."""
        return self._aliased_to

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not isinstance(getattr(type(self), name, None), property):
            raise AttributeError(f"TensorDesc has no attribute {name!r}")
        super().__setattr__(name, value)


class SizeTensorDesc(TensorDesc):
    """An output that holds an extent which running tells: a 0-D int32."""

    def __init__(self, opt: ShapeExpr, upper_bound: ShapeExpr) -> None:
        super().__init__(ShapeExprs(0), trt.DataType.INT32)
        self._opt = opt
        self._upper_bound = upper_bound
        self._index = None
        self._expr: Any = None
        self._expr_builder: Any = None

    @property
    def is_size_tensor(self) -> bool:
        return True

    @property
    def opt(self) -> ShapeExpr:
        """A typical value."""
        return self._opt

    @property
    def upper_bound(self) -> ShapeExpr:
        """The largest value."""
        return self._upper_bound

    @property
    def index(self) -> int:
        """Which output it is."""
        return self._get("index")

    def expr(self) -> SizeTensorShapeExpr:
        """The extent, for the shapes of other outputs."""
        return SizeTensorShapeExpr(self)

    def _declared(self) -> Any:
        """The expression of the extent, declared when it is asked for first."""
        builder = _builder()
        if self._expr is None or self._expr_builder is not builder:
            opt, upper = ShapeExpr(self._opt)._as_expr(), ShapeExpr(self._upper_bound)._as_expr()
            self._expr = builder.declare_size_tensor(self._index, opt, upper)
            self._expr_builder = builder
        return self._expr


def from_shape_expr(shape_expr: Any, dtype: Any) -> TensorDesc:
    """An output of these extents and this type."""
    exprs = shape_expr if isinstance(shape_expr, ShapeExprs) else ShapeExprs.from_tuple(shape_expr)
    return TensorDesc(exprs, dtype)


def size_tensor(opt: Any, upper_bound: Any) -> SizeTensorDesc:
    """An output that holds an extent which running tells, typically `opt`, at most `upper_bound`."""
    if any(isinstance(each, ShapeExpr) and each.is_size_tensor for each in (opt, upper_bound)):
        raise ValueError("a size tensor's bounds may not depend on another size tensor")
    return SizeTensorDesc(opt, upper_bound)


_IN_DESC = {"dtype": "type"}
_VIEWED = (trt.TensorFormat.LINEAR, trt.TensorFormat.HWC, trt.TensorFormat.DHWC)
_put = object.__setattr__


def _row_major(extents: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for extent in reversed(extents):
        strides.insert(0, step)
        step *= extent if extent > 0 else 1
    return tuple(strides)


def _lent(name: str, doc: str) -> Any:
    return property(lambda self: self._get(name), lambda self, value: setattr(self, name, value), doc=doc)


#: DLPack's code and the bits of an element.
_IN_DLPACK = {
    trt.DataType.FLOAT: (2, 32),
    trt.DataType.HALF: (2, 16),
    trt.DataType.BF16: (4, 16),
    trt.DataType.INT8: (0, 8),
    trt.DataType.INT32: (0, 32),
    trt.DataType.INT64: (0, 64),
    trt.DataType.UINT8: (1, 8),
    trt.DataType.BOOL: (6, 8),
}


class Tensor(trt._BufferOfArray):
    """A tensor while the plugin runs: a view of memory that is valid until the call returns.

    NumPy and PyTorch view it without copying (buffer protocol, `__array_interface__`, `__dlpack__`). Inputs are
    read-only unless an output takes over their memory (N11). On a GPU it is the GPU's memory, which CuPy, PyTorch,
    numba and Triton view (`__cuda_array_interface__`, `__dlpack__`); what they do belongs into the stream that the
    plugin is given.
    """

    _names = ("data_ptr", "dtype", "format", "scale", "shape", "strides")
    __slots__ = (
        "_values",
        "_alive",
        "_immutable",
        "_writeable",
        "_aliased_to",
        "_desc",
        "_gpu",
        "_stream",
        "__weakref__",
    )

    def __init__(self) -> None:
        _put(self, "_values", {})
        _put(self, "_alive", [True])
        _put(self, "_immutable", False)
        _put(self, "_writeable", True)
        _put(self, "_aliased_to", None)
        _put(self, "_desc", None)
        _put(self, "_gpu", None)  # Which; None: memory of the host.
        _put(self, "_stream", 0)

    @classmethod
    def _of(
        cls, desc: Any, address: int, strides: Any, writeable: bool, gpu: int | None = None, stream: int = 0
    ) -> Tensor:
        tensor = cls()
        tensor._values.update(data_ptr=address, strides=strides)
        _put(tensor, "_desc", desc)
        _put(tensor, "_writeable", writeable)
        _put(tensor, "_gpu", gpu)
        _put(tensor, "_stream", stream)
        _put(tensor, "_immutable", True)
        return tensor

    def _get(self, name: str) -> Any:
        if not self._alive[0]:
            raise RuntimeError("the tensor's memory was lent for one call of the plugin, which is over")
        values = self._values
        if name == "strides" and name in values:
            return tuple(values[name])
        if name not in values:  # Few implementations ask for everything: what is asked for is made then.
            if self._desc is None:
                raise AttributeError(f"Tensor.{name} is not set")
            values[name] = Shape(self._desc) if name == "shape" else getattr(self._desc, _IN_DESC.get(name, name))
        return values[name]

    data_ptr = _lent("data_ptr", "The address of the first element.")
    dtype = _lent("dtype", "The type of the elements.")
    format = _lent("format", "The order of the elements in memory.")
    scale = _lent("scale", "The scale of INT8 elements.")
    shape = _lent("shape", "The extents.")
    strides = _lent("strides", "Distance of neighbours along each axis, in elements.")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in Tensor._names:
            raise AttributeError(f"Tensor has no attribute {name!r}")
        if self._immutable:
            raise ValueError(f"Tensor.{name} cannot be set while the plugin runs")
        self._values[name] = value

    def _end(self) -> None:
        self._alive[0] = False  # Of all that share the memory by aliased().

    @property
    def ndim(self) -> int:
        """The rank."""
        return len(self.shape)

    @property
    def is_data_dependent(self) -> bool:
        """Whether running the plugin tells its extents."""
        return self._desc is not None and any(extent < 0 for extent in self._desc.dims)

    @property
    def is_aliased(self) -> bool:
        """Whether it shares an input's memory."""
        return self._aliased_to is not None

    def get_aliased(self) -> Tensor | None:
        """The input that it shares memory with; None when there is none."""
        return self._aliased_to

    def numel(self) -> int:
        """The number of elements."""
        return self.shape.numel()

    def aliased(self, shape: Any = None) -> Tensor:
        """The same memory under another shape, of no more elements; ValueError where they are known to be too many."""
        tensor = Tensor()
        _put(tensor, "_alive", self._alive)
        tensor._values.update(self._values)
        _put(tensor, "_desc", self._desc)
        if shape is not None:
            tensor.shape = shape if isinstance(shape, Shape) else Shape(shape)
            tensor.strides = _row_major(tuple(tensor.shape))
            self._check_room(tensor.shape)
        _put(tensor, "_writeable", self._writeable)
        _put(tensor, "_gpu", self._gpu)
        _put(tensor, "_stream", self._stream)
        _put(tensor, "_aliased_to", self)
        _put(tensor, "_immutable", True)
        return tensor

    def _check_room(self, shape: Shape) -> None:
        """There is memory for the elements of the description, where running does not tell them, and no more."""
        if self._desc is None or self.format not in _VIEWED:
            return
        whole = Shape(self._desc)
        if not (whole.is_dynamic or shape.is_dynamic) and shape.numel() > whole.numel():
            raise ValueError(f"{shape} has {shape.numel()} elements, and the tensor {whole} has {whole.numel()}")

    def _check_viewed(self) -> None:
        if self.shape.is_dynamic:
            raise ValueError("running the plugin tells this tensor's extents: give them with aliased(shape)")
        if self.format not in _VIEWED:
            raise ValueError(f"memory of format {self.format.name} is no array: use data_ptr")

    def _interface(self, kind: np.dtype) -> dict[str, Any]:
        is_linear = self.format == trt.TensorFormat.LINEAR
        return {
            "version": 3,
            "shape": tuple(self.shape),
            "typestr": kind.str,
            "data": (self.data_ptr, not self._writeable),
            "strides": None if is_linear else tuple(each * kind.itemsize for each in self.strides),
        }

    def _kind(self) -> np.dtype:
        self._check_viewed()
        try:
            return np.dtype(nptype(self.dtype))
        except TypeError:
            raise ValueError(f"NumPy has no type for {self.dtype.name}: use data_ptr, or __dlpack__") from None

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if self._gpu is not None:
            raise AttributeError("the tensor is memory of the GPU: use cupy.asarray(tensor) or torch.as_tensor(tensor)")
        return self._interface(self._kind())

    def _buffer_array(self) -> np.ndarray:
        try:
            return np.asarray(_Memory(self.__array_interface__))
        except (ValueError, AttributeError) as error:
            raise BufferError(str(error)) from None

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._gpu is None:
            raise AttributeError("the plugin runs on the CPU: the tensor is host memory, use numpy.asarray(tensor)")
        interface = self._interface(self._kind())
        return interface | {"data": (self.data_ptr, False)}  # PyTorch refuses memory that it is told not to write.

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        """A capsule of the memory; where the consumer cannot be told that it is read-only, of a copy (N11)."""
        self._check_viewed()
        if self.dtype not in _IN_DLPACK:
            raise ValueError(f"DLPack has no type for {self.dtype.name}: use data_ptr")
        is_versioned = max_version is not None and max_version[0] >= 1
        if self._gpu is not None:
            return self._lent_on_gpu(stream, dl_device, bool(copy), is_versioned)
        if stream is not None or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("the tensor is in host memory, which has no stream and is lent to the CPU only")
        is_copied = bool(copy) or not (self._writeable or is_versioned)
        if is_copied and copy is False:
            raise BufferError("an input is read-only, which DLPack tells from 1.0 on: ask for that, or for a copy")
        code, bits = _IN_DLPACK[self.dtype]
        extents = tuple(self.shape)
        if is_copied:
            own = np.array(_Memory(self._interface(np.dtype(f"u{bits // 8}"))), order="C")
            return trt._lend_as_dlpack(
                own, own.ctypes.data, (code, bits), extents, _row_major(extents), False, True, is_versioned, (1, 0)
            )
        return self._lent(is_versioned, not self._writeable)

    def _lent(self, is_versioned: bool, is_read_only: bool) -> Any:
        extents = tuple(self.shape)
        strides = _row_major(extents) if self.format == trt.TensorFormat.LINEAR else self.strides
        kind = _IN_DLPACK[self.dtype]
        device = self.__dlpack_device__()
        return trt._lend_as_dlpack(
            self, self.data_ptr, kind, extents, strides, is_read_only, False, is_versioned, device
        )

    def _lent_on_gpu(self, stream: Any, dl_device: Any, is_copied: bool, is_versioned: bool) -> Any:
        """As in `__cuda_array_interface__`, nobody is told that an input is read-only."""
        if is_copied or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("the tensor is lent on the GPU that it is on, without copying")
        if stream is not None and stream not in (-1, self._stream):  # -1: the consumer sees to the order by itself.
            trt._order_streams(self._stream, stream)
        return self._lent(is_versioned, False)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0) if self._gpu is None else (2, self._gpu)


class _Memory:
    """What NumPy makes an array of by __array_interface__ alone."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface
