"""How far long work is: one line on a terminal with phase, count and the time that is left; nothing in a file."""

import sys
import time

import tensorrt as trt


class Line:
    """A line that is drawn anew as the work goes on."""

    WIDTH = 30

    def __init__(self, title: str, stream=sys.stderr) -> None:
        self._title = title
        self._stream = stream
        self._start = time.monotonic()
        self._shown = stream.isatty()

    def draw(self, phase: str, done: int, of: int, share: float | None = None) -> None:
        """`share`: of all the work, where it has other phases, too."""
        share = done / max(of, 1) if share is None else share
        text = f"[{'#' * int(share * self.WIDTH):.<{self.WIDTH}}] {share:4.0%} {phase[:24]} {done}/{of}"
        if share > 0:
            text += f"  about {self._seconds() * (1 - share) / share:.1f} s left"
        self._write(f"\r{self._title:12}{text}\033[K")

    def end(self, what: str) -> None:
        self._write(f"\r{self._title:12}[{'#' * self.WIDTH}] {what} in {self._seconds():.1f} s\033[K\n")

    def _seconds(self) -> float:
        return time.monotonic() - self._start

    def _write(self, text: str) -> None:
        if self._shown:
            self._stream.write(text)
            self._stream.flush()


class ProgressBar(trt.IProgressMonitor):
    """Draws how far the outermost phase of a build has come; a nested phase fills one step of the phase around it."""

    def __init__(self, title: str, stream=sys.stderr) -> None:
        trt.IProgressMonitor.__init__(self)
        self._line = Line(title, stream)
        self._phases: dict[str, list] = {}  # Name to [name of the phase around it, steps, steps done].
        self._share = 0.0

    def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
        self._phases[phase_name] = [parent_phase, num_steps, 0]
        self._draw(phase_name)

    def step_complete(self, phase_name: str, step: int) -> bool:
        self._phases[phase_name][2] = step + 1
        self._draw(phase_name)
        return True  # False would cancel the build.

    def phase_finish(self, phase_name: str) -> None:
        parent, _, _ = self._phases.pop(phase_name)
        if parent is None:
            self._line.end("built")

    def done(self, phase_name: str) -> float:
        """Share of the whole build, 0 to 1, seen from this phase outwards."""
        parent, steps, count = self._phases[phase_name]
        share = count / max(steps, 1)
        while parent in self._phases:
            parent, steps, count = self._phases[parent]
            share = min((count + share) / max(steps, 1), 1.0)
        return share

    def _draw(self, phase_name: str) -> None:
        _, steps, count = self._phases[phase_name]
        self._share = max(self._share, self.done(phase_name))  # It never goes back, as a phase that begins anew would.
        self._line.draw(phase_name, count, steps, self._share)
