"""Engines measured in turn, round by round, so that a change of the machine's speed touches all of them alike."""

import dataclasses
import gc
import statistics
import time

from peers import timed_runs

QUIET = 0.03  # Seconds until the worker threads of the engine that ran last have stopped spinning.
SHARE = 0.12  # Seconds that one engine runs in one round, about.
WARM_UP = 3


@dataclasses.dataclass
class Rounds:
    """Milliseconds per run, one number per engine and round."""

    times: dict[str, list[float]]

    def milliseconds(self, label: str) -> float:
        return statistics.median(self.times[label])

    def ratio(self, label: str, peers: list[str]) -> float:
        """Median over the rounds of own time to that of the peer whose median is lower."""
        best = min(peers, key=self.milliseconds)
        return statistics.median(own / peer for own, peer in zip(self.times[label], self.times[best], strict=True))


def measure(engines: dict[str, object], rounds: int) -> Rounds:
    runs = {}
    for label, engine in engines.items():
        for _ in range(WARM_UP):
            engine.run()
        runs[label] = max(1, round(SHARE / timed_runs(engine, WARM_UP)))
    times = {label: [] for label in engines}
    gc.disable()
    try:
        for number in range(rounds):
            for label in in_turn(list(engines), number):
                time.sleep(QUIET)
                engines[label].run()  # Caches and clock again as they are in steady use.
                times[label].append(1e3 * timed_runs(engines[label], runs[label]))
    finally:
        gc.enable()
    return Rounds(times)


def in_turn(labels: list[str], number: int) -> list[str]:
    """The labels, beginning with another one each round: nobody always runs after the same neighbour's heat."""
    start = number % len(labels)
    return labels[start:] + labels[:start]
