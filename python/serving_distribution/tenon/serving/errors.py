"""What a pool answers instead of outputs."""

_SHOWN = 200  # Characters.


def shown(words: str) -> str:
    """A caller's words as an answer repeats them, who may have sent any number."""
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]} … ({len(words)} characters)"


class PoolError(RuntimeError):
    """Any refusal or failure of a pool."""


class BadRequest(PoolError, ValueError):
    """The request does not fit the engine; repeating it is in vain."""


class QueueFull(PoolError):
    """As many requests wait as may; `retry_after` says in how many seconds room is likely."""

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[type["QueueFull"], tuple[str, float]]:
        return type(self), (str(self), self.retry_after)  # From process to process.


class DeadlineExceeded(PoolError, TimeoutError):
    """The deadline passed before the request's run began."""


class Closed(PoolError):
    """The pool takes no requests any more."""


class RunFailed(PoolError):
    """The engine refused or failed; the text is the engine's own."""
