"""Two readers on one page: what each read, and how long each part took."""

import dataclasses
import statistics
import time
from collections.abc import Callable

from rapidocr_onnxruntime import RapidOCR

STAGES = ("detector", "classifier", "recognizer", "page")
QUIET = 0.1  # Seconds until the worker threads of the engine that ran last have stopped spinning.


@dataclasses.dataclass
class Reading:
    """One reader's lines, and its milliseconds per stage; the stages' own numbers include pre- and post-processing."""

    boxes: list
    lines: list[str]
    scores: list[float]
    times: dict[str, list[float]]

    def milliseconds(self, stage: str) -> float:
        return statistics.median(self.times[stage])


def read(reader: RapidOCR, image) -> tuple[list, dict[str, float]]:
    """The lines found, as (corners, text, score), and the milliseconds per stage."""
    start = time.perf_counter()
    found, elapsed = reader(image)
    total = time.perf_counter() - start
    seconds = [*(elapsed or (0.0, 0.0, 0.0)), total]
    return found or [], {stage: 1e3 * spent for stage, spent in zip(STAGES, seconds, strict=True)}


def read_in_turn(
    readers: dict[str, RapidOCR], image, rounds: int, tell: Callable[[str, int, int], object]
) -> dict[str, Reading]:
    """Every reader once per round, so that a change of the machine's speed touches all; the first round warms up.

    tell(name, done, of) hears of each reading.
    """
    readings = {}
    for turn in range(rounds + 1):
        for place, (name, reader) in enumerate(readers.items()):
            time.sleep(QUIET)
            found, times = read(reader, image)
            tell(name, turn * len(readers) + place + 1, (rounds + 1) * len(readers))
            if name not in readings:
                boxes, lines, scores = (list(column) for column in zip(*found, strict=True)) if found else ([], [], [])
                readings[name] = Reading(boxes, lines, scores, {stage: [] for stage in STAGES})
                continue
            for stage in STAGES:
                readings[name].times[stage].append(times[stage])
    return readings
