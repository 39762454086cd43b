"""`Batches`: an engine as a class for `ray.data.Dataset.map_batches`."""

from collections.abc import Mapping

import numpy as np
import tenon

from ..errors import BadRequest
from ..ports import ports_of
from .loading import Loaded, Plan

Columns = dict[str, np.ndarray]


def _settings(engine: tenon.ICudaEngine) -> dict[str, int]:
    """Each run is of one batch: with room for more the pool asks whether axis 0 is the batch, where it is dynamic."""
    inputs = ports_of(engine, tenon.TensorIOMode.INPUT)
    return {"max_batch": 2} if all(port.shape and port.shape[0] < 0 for port in inputs.values()) else {}


class Batches:
    """Runs the rows of a batch through an engine.

    `dataset.map_batches(Batches, fn_constructor_args=("model.plan",), batch_size=8, num_cpus=1,
    compute=ray.data.ActorPoolStrategy(size=2))`

    Inputs are the columns of their names, or those that `columns` names (input to column); they are of the engine's
    element type. They give way to the engine's outputs; all other columns stay. A batch that is larger than a profile
    takes is run in pieces.
    """

    def __init__(self, plan: Plan, *, columns: Mapping[str, str] | None = None, allow_code: bool = False) -> None:
        self._loaded = Loaded("batches", plan, allow_code, _settings)
        self._pool = self._loaded.pool
        self._columns = {name: name for name in self._pool.inputs} | dict(columns or {})
        for name in self._columns:
            if name not in self._pool.inputs:
                raise ValueError(f"columns names '{name}', which is no input")

    def __call__(self, batch: Columns) -> Columns:
        inputs = {name: self._column(batch, column) for name, column in self._columns.items()}
        kept = {name: values for name, values in batch.items() if name not in self._columns.values()}
        for name in self._pool.outputs:
            if name in kept:
                raise BadRequest(f"output '{name}' has the name of a column that is no input")
        return kept | self._run(inputs)

    @staticmethod
    def _column(batch: Columns, name: str) -> np.ndarray:
        if name not in batch:
            raise BadRequest(f"there is no column '{name}'; the columns are {', '.join(map(repr, batch))}")
        if batch[name].dtype == object:
            raise BadRequest(f"the rows of column '{name}' differ in shape, or are no numbers")
        return batch[name]

    def _run(self, inputs: Columns) -> Columns:
        rows = len(next(iter(inputs.values())))
        if rows == 0:
            return {
                name: np.empty((0, *(max(0, extent) for extent in port.shape[1:])), port.dtype)
                for name, port in self._pool.outputs.items()
            }
        shapes = {name: value.shape for name, value in inputs.items()}
        most = max((each.most_rows(shapes) for each in self._pool.profiles), default=0) or rows
        parts = []
        for start in range(0, rows, most):
            piece = {name: value[start : start + most] for name, value in inputs.items()}
            parts.append(self._pool.infer(piece))
            for name, value in parts[-1].items():
                if value.ndim == 0 or len(value) != min(most, rows - start):
                    raise BadRequest(f"output '{name}' has shape {list(value.shape)}: axis 0 is not the batch")
        return {name: np.concatenate([part[name] for part in parts]) for name in self._pool.outputs}
