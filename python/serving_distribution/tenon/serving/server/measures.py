"""What Prometheus reads: the counts of the pools as they are when asked."""

from collections.abc import Iterator

import numpy as np
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from .catalog import Catalog
from .held import Held

_MEANINGS = {
    "requests": "Requests that were accepted",
    "answered": "Requests that were answered with outputs",
    "failed": "Requests whose run failed",
    "refused": "Requests that were refused as the queue was full",
    "given_up": "Requests that were cancelled, or late, in the queue",
    "runs": "Runs of the engine",
    "rows": "Rows of all runs",
    "queue_seconds": "Time that requests waited",
    "run_seconds": "Time that runs took",
}


class Counted:
    """Sums of all pools that a model has had: a new plan does not set counters back."""

    def __init__(self, catalog: Catalog, held: Held) -> None:
        self._catalog, self._held = catalog, held

    def collect(self) -> Iterator[Metric]:
        for name, meaning in _MEANINGS.items():
            family = CounterMetricFamily(f"tenon_{name}", meaning, labels=["model", "version"])
            for model in self._catalog.all():
                all_counts = model.counts()
                family.add_metric([model.name, model.version], sum(getattr(counts, name) for counts in all_counts))
            yield family
        yield self._sizes()
        waiting = GaugeMetricFamily("tenon_waiting", "Requests in the queue now", labels=["model", "version"])
        reloads = CounterMetricFamily(
            "tenon_reloads", "Replaced plans, by outcome", labels=["model", "version", "outcome"]
        )
        for model in self._catalog.all():
            waiting.add_metric([model.name, model.version], model.waiting())
            for outcome, count in model.past.reloads.items():
                reloads.add_metric([model.name, model.version, outcome], count)
        yield waiting
        yield reloads
        held = self._held
        yield GaugeMetricFamily("tenon_held_bytes", "Requests that have come and answers that have not gone", held.now)
        yield GaugeMetricFamily("tenon_held_limit_bytes", "How much of that requests may make", held.most)
        yield CounterMetricFamily("tenon_held_refused", "Requests there was no room for", held.refused)
        yield CounterMetricFamily("tenon_sent_away", "Connections that did not take their answers", held.sent_away)

    def _sizes(self) -> Metric:
        family = HistogramMetricFamily(
            "tenon_batch_rows", "Rows of a run: the size of batches", labels=["model", "version"]
        )
        for model in self._catalog.all():
            all_counts = model.counts()
            sizes = np.cumsum(np.sum([counts.sizes for counts in all_counts], axis=0))  # Each has those before it.
            bounds = [*(str(1 << power) for power in range(len(sizes) - 1)), "+Inf"]
            buckets = [(bound, float(size)) for bound, size in zip(bounds, sizes, strict=True)]
            family.add_metric([model.name, model.version], buckets, sum(counts.rows for counts in all_counts))
        return family


def registry_of(catalog: Catalog, held: Held) -> CollectorRegistry:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)  # Memory, threads and files.
    registry.register(Counted(catalog, held))
    return registry
