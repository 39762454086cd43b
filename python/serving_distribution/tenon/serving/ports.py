"""What an engine takes: its tensors, its profiles, and whether a request fits one of them."""

import dataclasses
import numbers
from collections.abc import Mapping, Sequence

import numpy as np
import tenon

from .errors import BadRequest, shown

Shape = tuple[int, ...]
Shapes = dict[str, Shape]


@dataclasses.dataclass(frozen=True)
class Padding:
    """Lets requests of different extents share a run: `value` fills an input up to the longest in the batch.

    Lengths are rounded up to multiples of `step` to see which requests go together: a short one never pays for a much
    longer one. The model must ignore what is filled in (an attention mask that is padded with 0, for instance).
    """

    value: float
    step: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.value, numbers.Real):
            raise ValueError(f"the value of a padding is {self.value!r}, which is no number")
        if not isinstance(self.step, numbers.Integral) or self.step < 1:
            raise ValueError(f"the step of a padding is {self.step!r}, which is no whole number from 1 on")


@dataclasses.dataclass(frozen=True)
class Port:
    """A tensor that an engine takes or gives."""

    name: str
    dtype: np.dtype
    shape: Shape  #: -1 where it depends on the run.


def element_type(engine: tenon.ICudaEngine, name: str) -> np.dtype:
    """NumPy's type of a tensor's elements; bfloat16 is handed over as its 16 bits."""
    kind = engine.get_tensor_dtype(name)
    if kind == tenon.bfloat16:
        return np.dtype(np.uint16)
    return np.dtype(tenon.nptype(kind))


def element(engine: tenon.ICudaEngine, name: str, value: float) -> np.ndarray:
    """A number as an element of a tensor; ValueError where its type has none of this value."""
    kind, dtype = engine.get_tensor_dtype(name), element_type(engine, name)
    is_bits = kind == tenon.bfloat16
    try:
        with np.errstate(over="raise"):
            found = np.array(value, np.float32 if is_bits else dtype)
        is_held = found.dtype.kind == "f" or found == value
    except (ArithmeticError, ValueError):
        is_held = False
    if not is_held:
        raise ValueError(f"the padding of input '{name}' is {value}, which {kind} does not have")
    return (found.view(np.uint32) + (1 << 15) >> 16).astype(dtype) if is_bits else found


def ports_of(engine: tenon.ICudaEngine, mode: tenon.TensorIOMode) -> dict[str, Port]:
    names = (engine.get_tensor_name(index) for index in range(engine.num_io_tensors))
    return {
        name: Port(name, element_type(engine, name), tuple(engine.get_tensor_shape(name)))
        for name in names
        if engine.get_tensor_mode(name) == mode
    }


@dataclasses.dataclass(frozen=True)
class Profile:
    """An optimization profile: the least, typical and largest shape of each input, values of those that hold shapes."""

    index: int
    least: Shapes
    typical: Shapes
    most: Shapes
    values: Mapping[str, tuple[Shape, Shape]]

    def misfit(self, shapes: Mapping[str, Shape], arrays: Mapping[str, np.ndarray] | None = None) -> str:
        """Why these shapes, or the values of arrays that hold shapes, do not fit; empty: they do."""
        for name, shape in shapes.items():
            low, high = self.least[name], self.most[name]
            for axis, extent in enumerate(shape):
                if not low[axis] <= extent <= high[axis]:
                    return (
                        f"input '{name}' has shape {list(shape)}, but profile {self.index} takes {low[axis]} to "
                        f"{high[axis]} along axis {axis}"
                    )
        for name, (low, high) in self.values.items() if arrays is not None else ():
            for place, value in enumerate(arrays[name].ravel().tolist()):
                if not low[place] <= value <= high[place]:
                    return (
                        f"input '{name}' has the value {value} at place {place}, but profile {self.index} takes "
                        f"{low[place]} to {high[place]} there"
                    )
        return ""

    def most_rows(self, shapes: Mapping[str, Shape]) -> int:
        """How many rows of such shapes, whose axis 0 is left open, a run takes; 0: it takes none."""
        most = min(self.most[name][0] for name in shapes)
        resized = {name: (most, *shape[1:]) for name, shape in shapes.items()}
        return 0 if self.misfit(resized) else most

    def distance(self, shapes: Mapping[str, Shape]) -> float:
        """How far these shapes are from the typical ones, as a ratio of elements."""
        ratio = 1.0
        for name, shape in shapes.items():
            ratio *= max(1, np.prod(shape, dtype=float)) / max(1, np.prod(self.typical[name], dtype=float))
        return max(ratio, 1 / ratio)


def profiles_of(engine: tenon.ICudaEngine, inputs: Mapping[str, Port]) -> list[Profile]:
    found = []
    for index in range(engine.num_optimization_profiles):
        ranges: list[Shapes] = [{}, {}, {}]
        for name in inputs:
            for kept, shape in zip(ranges, engine.get_tensor_profile_shape(name, index), strict=True):
                kept[name] = tuple(shape)
        values = {}
        for name in inputs:
            if engine.is_shape_inference_io(name):
                least, _, most = engine.get_tensor_profile_values(index, name)
                values[name] = (tuple(least), tuple(most))
        found.append(Profile(index, *ranges, values))
    return found


def nearest(
    profiles: Sequence[Profile], shapes: Mapping[str, Shape], arrays: Mapping[str, np.ndarray] | None = None
) -> Profile:
    """The profile that fits and whose typical shapes are nearest; BadRequest says why none fits."""
    misfits = [profile.misfit(shapes, arrays) for profile in profiles]
    fitting = [profile for profile, misfit in zip(profiles, misfits, strict=True) if not misfit]
    if not fitting:
        raise BadRequest("; ".join(misfits))
    return fitting[0] if len(fitting) == 1 else min(fitting, key=lambda profile: profile.distance(shapes))


def checked(ports: Mapping[str, Port], arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays in the order of the ports, contiguous, or a BadRequest that names the input."""
    for name in arrays:
        if name not in ports:
            raise BadRequest(f"there is no input '{shown(name)}'; the inputs are {_listed(ports)}")
    found = {}
    for name, port in ports.items():
        if name not in arrays:
            raise BadRequest(f"input '{name}' is missing; the inputs are {_listed(ports)}")
        found[name] = _fitting(port, arrays[name])
    return found


def _listed(ports: Mapping[str, Port]) -> str:
    return ", ".join(f"'{name}'" for name in ports)


def _fitting(port: Port, value: np.ndarray) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        raise BadRequest(f"input '{port.name}' is a {type(value).__name__}, not an array")
    if value.dtype != port.dtype and not (port.dtype == np.uint16 and value.dtype.name == "bfloat16"):
        raise BadRequest(f"input '{port.name}' has elements of {value.dtype}, but the engine takes {port.dtype}")
    if value.ndim != len(port.shape):
        raise BadRequest(f"input '{port.name}' has {value.ndim} axes, but the engine takes {len(port.shape)}")
    for axis, (extent, known) in enumerate(zip(value.shape, port.shape, strict=True)):
        if known >= 0 and extent != known:
            raise BadRequest(
                f"input '{port.name}' has shape {list(value.shape)}, but extent {axis} is {known} in the engine"
            )
    found = value
    if not (value.flags.c_contiguous and value.flags.aligned):
        found = np.require(value, requirements=("C", "A")).reshape(value.shape)  # A scalar stays one.
    return found if found.dtype == port.dtype else found.view(port.dtype)
