"""Log lines that keep nobody waiting: a thread of their own writes them, and those that nobody takes are counted."""

import collections
import logging
import os
import threading

_MOST = 1000  # Lines that wait to be written.


class Unhurried(logging.Handler):
    """Writes to a file that may be full, or a pipe whose reader sleeps, without stopping whoever has something to say.

    Callers cause lines, whether they are let in or not: were they written where they are said, one of them could
    stop a server whose log is not read.
    """

    def __init__(self, file: int, most: int = _MOST) -> None:
        super().__init__()
        self._file, self._most = file, most
        self._lines: collections.deque[bytes] = collections.deque()
        self._lost = 0
        self._changed = threading.Condition()
        threading.Thread(target=self._write_all, name="tenon-log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            text = self.format(record)
        except Exception as error:  # Of whoever says it; the default would write to the same file here.
            text = f"{record.name}: {record.msg!r} has no such arguments: {error}"
        with self._changed:
            if len(self._lines) < self._most:
                self._lines.append(text.encode(errors="backslashreplace") + b"\n")
                self._changed.notify_all()
            else:
                self._lost += 1

    def finish(self, seconds: float) -> None:
        """Waits until all lines are written, but not longer."""
        with self._changed:
            self._changed.wait_for(lambda: not self._lines, seconds)

    def _write_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                line = self._lines[0]
            is_written = self._write(line)
            with self._changed:
                self._lines.popleft()
                if not is_written:
                    self._lost += 1
                elif self._lost and not self._lines:
                    self._lines.append(b"%d lines of the log were lost: nobody took them\n" % self._lost)
                    self._lost = 0
                self._changed.notify_all()

    def _write(self, line: bytes) -> bool:
        try:
            while line:
                line = line[os.write(self._file, line) :]
        except OSError:  # No room, or no reader any more.
            return False
        return True
