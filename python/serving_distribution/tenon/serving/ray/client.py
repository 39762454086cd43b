"""`Client`: asks a deployment, and asks again when the replica that had the request has died."""

import asyncio
from collections.abc import Mapping
from typing import Any

import numpy as np
from ray.exceptions import ObjectLostError, RayActorError, RayTaskError
from ray.serve.handle import DeploymentHandle

from ..answers import Outputs
from ..errors import DeadlineExceeded, PoolError

_LOST = (RayActorError, ObjectLostError)  # A replica with a request, or the machine that had its answer.


class Client:
    """A model of a deployment, asked through Ray Serve's handle.

    Serve sends a request on by itself until a replica has taken it. What a replica had taken when it died is an error
    there; a run has no effects, so that it is asked for again here, `attempts` times in all.
    """

    def __init__(self, handle: DeploymentHandle, model: str = "", *, attempts: int = 5) -> None:
        if attempts < 1:
            raise ValueError(f"attempts is {attempts}, but at least 1 is needed")
        # Of one router, made here: a handle makes its own at the first request, and threads that ask at once have one
        # each. These report under one name what is under way, so that the autoscaler sees the callers of one of them.
        self._handle = handle.options(method_name="infer")
        self._model, self._attempts = model, attempts
        self.repeated = 0  #: Requests that were asked for again.

    def infer(self, inputs: Mapping[str, np.ndarray], *, timeout: float | None = None) -> Outputs:
        """The outputs, waited for in this thread: each attempt has `timeout` seconds."""
        for attempt in range(self._attempts):
            response = self._asked(inputs, timeout)
            try:
                return response.result(timeout_s=timeout)
            except (RayTaskError, *_LOST) as error:
                self._consider(error, attempt)
            except TimeoutError:
                response.cancel()
                raise DeadlineExceeded(f"no answer within {timeout} s") from None
        raise AssertionError("the last attempt returns or raises")

    async def ainfer(self, inputs: Mapping[str, np.ndarray], *, timeout: float | None = None) -> Outputs:
        """The same within asyncio, in another deployment for instance."""
        for attempt in range(self._attempts):
            try:
                async with asyncio.timeout(timeout):
                    return await self._asked(inputs, timeout)
            except (RayTaskError, *_LOST) as error:
                self._consider(error, attempt)
            except TimeoutError:
                raise DeadlineExceeded(f"no answer within {timeout} s") from None
        raise AssertionError("the last attempt returns or raises")

    def _asked(self, inputs: Mapping[str, np.ndarray], timeout: float | None) -> Any:
        return self._handle.remote(dict(inputs), self._model, timeout)

    def _consider(self, error: Exception, attempt: int) -> None:
        """Returns when it is worth while to ask again; raises the pool's own error, or Ray's."""
        cause = error.cause if isinstance(error, RayTaskError) else error
        if isinstance(cause, PoolError):
            raise cause from None
        if not isinstance(cause, _LOST) or attempt + 1 == self._attempts:
            raise error
        self.repeated += 1
