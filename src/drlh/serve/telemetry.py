"""Metrics of the service for Prometheus, and the request counts that `/stats` shows."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SIZES = (1, 2, 4, 8, 16, 32, 64)


class Telemetry:
    """Has its own registry, so that several services can live in one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "drlh_requests", "Requests by route and status", ["route", "status"], registry=self.registry
        )
        self._seconds = Histogram(
            "drlh_request_seconds", "Time to answer by route", ["route"], buckets=_SECONDS, registry=self.registry
        )
        self._batches = Histogram(
            "drlh_batch_size", "Requests answered together", ["what"], buckets=_SIZES, registry=self.registry
        )
        self._items = Gauge("drlh_items", "Items in the index", registry=self.registry)
        self.counts: dict[str, int] = {}  # requests by route

    def observe_request(self, route: str, status: int, seconds: float) -> None:
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)
        self.counts[route] = self.counts.get(route, 0) + 1

    def batch_observer(self, what: str) -> Callable[[int], None]:
        """Records the size of each batch of `what`."""
        return self._batches.labels(what).observe

    def exposition(self, n_items: int) -> bytes:
        """All metrics in the text format of Prometheus."""
        self._items.set(n_items)
        return generate_latest(self.registry)
