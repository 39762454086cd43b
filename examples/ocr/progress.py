"""A progress bar for a build: one line on a terminal, nothing when the output goes to a file."""

import sys
import time

import tensorrt as trt


class ProgressBar(trt.IProgressMonitor):
    """Draws how far the outermost phase has come; a nested phase fills one step of the phase around it."""

    WIDTH = 30

    def __init__(self, title: str, stream=sys.stderr) -> None:
        trt.IProgressMonitor.__init__(self)
        self._title = title
        self._stream = stream
        self._phases: dict[str, list] = {}  # Name to [name of the phase around it, steps, steps done].
        self._start = time.monotonic()
        self._shown = stream.isatty()

    def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: int) -> None:
        self._phases[phase_name] = [parent_phase, num_steps, 0]
        self._draw(phase_name)

    def step_complete(self, phase_name: str, step: int) -> bool:
        self._phases[phase_name][2] = step + 1
        self._draw(phase_name)
        return True  # False would cancel the build.

    def phase_finish(self, phase_name: str) -> None:
        parent, steps, _ = self._phases.pop(phase_name)
        if self._shown and parent is None:
            seconds = time.monotonic() - self._start
            self._stream.write(f"\r{self._title:12}[{'#' * self.WIDTH}] built in {seconds:.1f} s\033[K\n")
            self._stream.flush()

    def done(self, phase_name: str) -> float:
        """Share of the whole build, 0 to 1, seen from this phase outwards."""
        parent, steps, count = self._phases[phase_name]
        share = count / max(steps, 1)
        while parent in self._phases:
            parent, steps, count = self._phases[parent]
            share = min((count + share) / max(steps, 1), 1.0)
        return share

    def _draw(self, phase_name: str) -> None:
        if not self._shown:
            return
        share = self.done(phase_name)
        bar = "#" * int(share * self.WIDTH)
        self._stream.write(f"\r{self._title:12}[{bar:.<{self.WIDTH}}] {share:4.0%} {phase_name[:32]}\033[K")
        self._stream.flush()
