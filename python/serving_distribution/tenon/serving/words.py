"""What an engine says while it is loaded."""

import logging

import tenon

log = logging.getLogger("tenon.serving")


class Words(tenon.ILogger):
    """Keeps the errors for the message that tells why a plan was not taken; warnings go to the log."""

    def __init__(self) -> None:
        tenon.ILogger.__init__(self)
        self.errors: list[str] = []

    def log(self, severity: tenon.ILogger.Severity, msg: str) -> None:
        if severity <= tenon.ILogger.ERROR:
            self.errors.append(msg)
        elif severity == tenon.ILogger.WARNING:
            log.warning("%s", msg)
