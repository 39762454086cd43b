"""A plan in a process of Ray's: from a file, bytes or the object store, into memory that a machine has once."""

import os
import pathlib
import socket
from collections.abc import Callable, Mapping
from typing import Any

import ray
import tenon

from ..errors import RunFailed
from ..fitting import threads
from ..pool import Pool
from ..server.sources import Unusable
from ..shared_plans import SharedPlan, Source
from ..words import Words

os.environ["TENON_DEVICE"] = os.environ.get("TENON_DEVICE") or "cpu"  # What comes and goes are arrays.

Plan = Source | ray.ObjectRef


class Loaded:
    """An engine behind a pool, and the memory that its plan is in."""

    def __init__(
        self, name: str, plan: Plan, allows_code: bool, settings: Callable[[tenon.ICudaEngine], Mapping[str, Any]]
    ) -> None:
        where = f"[model '{name}'] {_told(plan)}"
        words = Words()
        self.runtime = runtime = tenon.Runtime(words)
        use_assigned_threads(runtime)
        runtime.engine_host_code_allowed = allows_code
        try:
            self.plan = SharedPlan(ray.get(plan) if isinstance(plan, ray.ObjectRef) else plan)
            engine = self.plan.engine(runtime)
        except OSError as error:
            here = f"on {socket.gethostname()}, in {pathlib.Path.cwd()}"
            raise Unusable(f"{where} cannot be read ({here}): {error}") from None
        if engine is None:
            raise Unusable(f"{where}: {'; '.join(words.errors)}")
        try:
            self.pool = Pool(engine, **settings(engine))
        except RunFailed as error:
            raise Unusable(f"{where}: {error}: {'; '.join(words.errors)}") from None


def _told(plan: Plan) -> str:
    if isinstance(plan, ray.ObjectRef):
        return f"object {plan.hex()}"
    return str(plan) if isinstance(plan, str | os.PathLike) else f"a plan of {len(plan)} bytes"


def use_assigned_threads(runtime: tenon.Runtime) -> None:
    """As many threads as Ray has given this actor CPUs: its neighbours have the others."""
    context = ray.get_runtime_context()
    if context.get_actor_id() is not None:
        cpus = context.get_assigned_resources().get("CPU", 1)
        os.environ.setdefault("TENON_THREADS", str(max(1, int(cpus))))  # Which pools read; the engine may have
        runtime.max_threads = threads()  # read its own long before.
