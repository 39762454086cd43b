"""What an engine says while it is loaded."""

import collections
import logging

import tenon

log = logging.getLogger("tenon.serving")
_KEPT = 16  # Runs that fail say something as well, as often as callers like.


class Words(tenon.ILogger):
    """Keeps the last errors for the message that tells why a plan was not taken; warnings go to the log."""

    def __init__(self) -> None:
        tenon.ILogger.__init__(self)
        self.errors: collections.deque[str] = collections.deque(maxlen=_KEPT)

    def log(self, severity: tenon.ILogger.Severity, msg: str) -> None:
        if severity <= tenon.ILogger.ERROR:
            self.errors.append(msg)
        elif severity == tenon.ILogger.WARNING:
            log.warning("%s", msg)
