"""Engines behind a queue: contexts that share an engine, and requests that share a run."""

from .errors import BadRequest as BadRequest
from .errors import Closed as Closed
from .errors import DeadlineExceeded as DeadlineExceeded
from .errors import PoolError as PoolError
from .errors import QueueFull as QueueFull
from .errors import RunFailed as RunFailed
from .pool import Pool as Pool
from .ports import Padding as Padding
