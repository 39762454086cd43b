"""A lane: one execution context per profile, used by one thread."""

from collections.abc import Mapping

import numpy as np
import tenon

from .errors import BadRequest, RunFailed
from .ports import Port, Profile, Shape, Shapes

_CALLERS_THREAD = 0  # The stream whose work is done when the call returns: no second thread to wake.
_KEPT_SHAPES = 1024  # How many shapes of outputs are remembered: requests of any shape may come for ever.


class _Errors(tenon.IErrorRecorder):
    """Keeps the texts of the engine's errors until they are taken."""

    def __init__(self) -> None:
        tenon.IErrorRecorder.__init__(self)
        self.texts: list[str] = []

    def report_error(self, val: tenon.ErrorCodeTRT, desc: str) -> bool:
        self.texts.append(desc)
        return False

    def num_errors(self) -> int:
        return len(self.texts)

    def get_error_desc(self, arg0: int) -> str:
        return self.texts[arg0]

    def clear(self) -> None:
        self.texts.clear()

    def taken(self, otherwise: str) -> str:
        text = "; ".join(self.texts) or otherwise
        self.texts.clear()
        return text


class _Late(tenon.IOutputAllocator):
    """The memory of an output whose size the run finds out: a caller's values may say anything."""

    def __init__(self, most: int) -> None:
        tenon.IOutputAllocator.__init__(self)
        self._most = most
        self.memory = np.empty(0, np.uint8)
        self.shape: Shape = ()
        self.refusal = ""

    def reallocate_output(self, tensor_name: str, memory: int, size: int, alignment: int) -> int | None:
        if size > self._most:
            self.refusal = f"output '{tensor_name}' would have {size} bytes, but {self._most} at most are given"
            return None
        room = np.empty(size + alignment, np.uint8)
        start = -room.ctypes.data % alignment
        self.memory = room[start : start + size]
        return self.memory.ctypes.data

    def reallocate_output_async(
        self, tensor_name: str, memory: int, size: int, alignment: int, stream: int
    ) -> int | None:
        return self.reallocate_output(tensor_name, memory, size, alignment)

    def notify_shape(self, tensor_name: str, shape: tenon.Dims) -> None:
        self.shape = tuple(shape)

    def taken(self, dtype: np.dtype) -> np.ndarray:
        count = int(np.prod(self.shape, dtype=np.int64))
        return self.memory[: count * dtype.itemsize].view(dtype).reshape(self.shape)


class Lane:
    """Runs batches one after another, each at the profile that it is told."""

    def __init__(self, engine: tenon.ICudaEngine, outputs: Mapping[str, Port], max_output: int) -> None:
        self._engine, self._outputs, self._max_output = engine, outputs, max_output
        self._contexts: dict[int, tenon.IExecutionContext] = {}
        self._errors = _Errors()
        self._shapes: dict[tuple[int, tuple[Shape, ...]], Shapes] = {}
        self._empty = np.zeros(64, np.uint8)  # An address for inputs without elements.
        names = (engine.get_tensor_name(index) for index in range(engine.num_io_tensors))
        self._goes_by_values = any(
            engine.is_shape_inference_io(name) and engine.get_tensor_mode(name) == tenon.TensorIOMode.INPUT
            for name in names
        )

    def prepare(self, profile: Profile) -> None:
        """RunFailed where the engine gives no context for it, of which each run would hear later."""
        self._context_for(profile, {})

    def output_shapes(self, profile: Profile, shapes: Mapping[str, Shape]) -> Shapes:
        """The shapes of the outputs for these of the inputs; -1 where only a run can tell."""
        if self._goes_by_values:
            return {name: port.shape for name, port in self._outputs.items()}
        key = (profile.index, tuple(shapes.values()))
        found = self._shapes.get(key)
        if found is None:
            context = self._context_for(profile, shapes)
            found = {name: tuple(context.get_tensor_shape(name)) for name in self._outputs}
            if len(self._shapes) >= _KEPT_SHAPES:
                self._shapes.clear()
            self._shapes[key] = found
        return found

    def run(self, profile: Profile, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The outputs, in memory of their own; RunFailed with the engine's words."""
        shapes = {name: value.shape for name, value in inputs.items()}
        expected = self.output_shapes(profile, shapes)
        context = self._context_for(profile, shapes)
        for name, value in inputs.items():
            self._set(context.set_tensor_address(name, (value if value.size else self._empty).ctypes.data), name)
        found: dict[str, np.ndarray] = {}
        late: dict[str, _Late] = {}
        for name, port in self._outputs.items():
            if min(expected[name], default=0) < 0:
                late[name] = _Late(self._max_output)
                self._set(context.set_output_allocator(name, late[name]), name)
            else:
                found[name] = np.empty(expected[name], port.dtype)
                self._set(context.set_tensor_address(name, found[name].ctypes.data), name)
        is_done = context.execute_async_v3(_CALLERS_THREAD)
        for name in late:
            context.set_output_allocator(name, None)
        if not is_done:
            for each in late.values():
                if each.refusal:
                    self._errors.clear()
                    raise BadRequest(each.refusal)
            raise RunFailed(self._errors.taken("the run failed without a word"))
        return {
            name: late[name].taken(port.dtype) if name in late else found[name] for name, port in self._outputs.items()
        }

    def _context_for(self, profile: Profile, shapes: Mapping[str, Shape]) -> tenon.IExecutionContext:
        context = self._contexts.get(profile.index)
        if context is None:
            context = self._engine.create_execution_context()
            if context is None:
                raise RunFailed("the engine gave no execution context; its logger has said why")
            context.error_recorder = self._errors
            if profile.index:
                self._set(context.set_optimization_profile_async(profile.index, _CALLERS_THREAD), "profile")
            self._contexts[profile.index] = context
        for name, shape in shapes.items():
            self._set(context.set_input_shape(name, shape), name)
        return context

    def _set(self, is_taken: bool, name: str) -> None:
        if not is_taken:
            raise RunFailed(self._errors.taken(f"'{name}' was refused without a word"))
