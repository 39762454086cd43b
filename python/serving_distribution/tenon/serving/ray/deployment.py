"""`deployment`: engines as a deployment of Ray Serve."""

import pathlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import ray
from ray import serve
from starlette.requests import Request
from starlette.responses import Response

from ..answers import Outputs
from ..errors import BadRequest, shown
from ..ports import Padding
from .loading import Loaded, Plan
from .protocol import Protocol


class Replica:
    """What runs in each process: an engine per model, each behind a pool."""

    def __init__(self, plans: Mapping[str, Plan], settings: dict[str, Any], allows_code: bool) -> None:
        self._models = {name: Loaded(name, plan, allows_code, lambda _: settings) for name, plan in plans.items()}
        self._protocol = Protocol({name: loaded.pool for name, loaded in self._models.items()})

    async def infer(self, inputs: Mapping[str, np.ndarray], model: str = "", timeout: float | None = None) -> Outputs:
        """The outputs of a model; its name may be left out where there is one."""
        if not model and len(self._models) == 1:
            model = next(iter(self._models))
        if model not in self._models:
            raise BadRequest(f"there is no model '{shown(model)}'; the models are {', '.join(map(repr, self._models))}")
        return await self._models[model].pool.ainfer(inputs, timeout=timeout)

    async def __call__(self, request: Request) -> Response:
        """The Open Inference Protocol, as far as it has models: metadata, readiness, infer."""
        return await self._protocol.answered(request)


def deployment(
    plans: Plan | Mapping[str, Plan],
    *,
    contexts: int = 1,
    max_batch: int = 1,
    max_wait: float = 0.0,
    padding: Mapping[str, Padding] | None = None,
    allow_code: bool = False,
    **options: Any,
) -> serve.Application:
    """One plan, or several by their models' names, as an application for `serve.run`.

    A plan is a file's path on every node (a relative one is looked for in the working directory that Ray's runtime
    environment brings), its bytes, or a reference to them in the object store. `contexts` to `padding` are those of
    `Pool`; batches form within a replica. `options` are those of `serve.deployment`: `num_replicas`,
    `autoscaling_config`, `ray_actor_options` and so on. An engine has as many threads as its replica has CPUs.
    """
    models = dict(plans) if isinstance(plans, Mapping) else {_name_of(plans): plans}
    if not models:
        raise ValueError("there are no plans")
    options.setdefault("name", next(iter(models)) if len(models) == 1 else "models")
    # Two batches at once: one that runs, and one that forms meanwhile. Who waits beyond waits in Serve's own queues,
    # from where a request goes to whichever replica has room.
    at_once = options.setdefault("max_ongoing_requests", max(8, 2 * contexts * max_batch))
    settings = {"contexts": contexts, "max_batch": max_batch, "max_wait": max_wait, "padding": padding}
    kept = {name: ray.put(plan) if _is_bytes(plan) else plan for name, plan in models.items()}
    made = serve.deployment(**options)(Replica)
    return made.bind(kept, settings | {"queue": at_once}, allow_code)


def _name_of(plan: Plan) -> str:
    return "model" if _is_bytes(plan) or isinstance(plan, ray.ObjectRef) else pathlib.Path(plan).stem


def _is_bytes(plan: Plan) -> bool:
    return isinstance(plan, bytes | bytearray | memoryview)
