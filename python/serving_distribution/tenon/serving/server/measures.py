"""What Prometheus reads: the counts of the pools as they are when asked."""

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from .served import Served

_MEANINGS = {
    "requests": "Requests that were accepted",
    "answered": "Requests that were answered with outputs",
    "failed": "Requests whose run failed",
    "refused": "Requests that were refused as the queue was full",
    "given_up": "Requests that were cancelled, or late, in the queue",
    "runs": "Runs of the engine",
    "rows": "Rows of all runs: by the number of runs, the size of batches",
    "queue_seconds": "Time that requests waited",
    "run_seconds": "Time that runs took",
}


class Counted:
    """Sums of all pools that a model has had: a new plan does not set counters back."""

    def __init__(self, models: Mapping[str, Served]) -> None:
        self._models = models

    def collect(self) -> Iterator[Metric]:
        for name, meaning in _MEANINGS.items():
            family = CounterMetricFamily(f"tenon_{name}", meaning, labels=["model"])
            for model in self._models.values():
                all_counts = [*model.earlier, model.pool.counts]
                family.add_metric([model.name], sum(getattr(counts, name) for counts in all_counts))
            yield family
        waiting = GaugeMetricFamily("tenon_waiting", "Requests in the queue now", labels=["model"])
        reloads = CounterMetricFamily("tenon_reloads", "Replaced plans, by outcome", labels=["model", "outcome"])
        for model in self._models.values():
            waiting.add_metric([model.name], model.pool.waiting)
            for outcome, count in model.reloads.items():
                reloads.add_metric([model.name, outcome], count)
        yield waiting
        yield reloads


def registry_of(models: Mapping[str, Served]) -> CollectorRegistry:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)  # Memory, threads and files.
    registry.register(Counted(models))
    return registry
