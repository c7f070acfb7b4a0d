"""What `/metrics` tells Prometheus: requests, commits, and who is waiting or following."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from tallystick.hub.serving import Serving

TYPE = b"text/plain; version=0.0.4; charset=utf-8"
_LATENCIES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120)
_GROUPS = (1, 2, 4, 8, 16, 32, 64, 128)


class Metrics:
    def __init__(self, serving: Serving) -> None:
        self.registry = CollectorRegistry()
        self._counters: dict[tuple[str, int], Counter] = {}
        self._timers: dict[str, Histogram] = {}
        self._requests = Counter(
            "tally_requests",
            "Requests answered, by operation and status.",
            ["operation", "code"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "tally_request_seconds",
            "How long requests took, by operation.",
            ["operation"],
            buckets=_LATENCIES,
            registry=self.registry,
        )
        self._groups = Histogram(
            "tally_commit_group_size", "Writes committed together.", buckets=_GROUPS, registry=self.registry
        )
        self._gauge("tally_followers", "Open event streams.", lambda: serving.feeds.followers)
        self._gauge("tally_waits", "Calls that wait in a room.", lambda: serving.waits)
        self._gauge("tally_rooms_watched", "Rooms with a listener.", lambda: serving.feeds.rooms)
        self._gauge("tally_followers_cut", "Followers cut off as too slow so far.", lambda: serving.feeds.cut)
        serving.on_commit(self._groups.observe)

    def _gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        Gauge(name, text, registry=self.registry).set_function(value)

    def request(self, operation: str, code: int, seconds: float) -> None:
        # Finding a label by its values takes longer than counting.
        if (counter := self._counters.get((operation, code))) is None:
            counter = self._counters[operation, code] = self._requests.labels(operation, str(code))
        if (timer := self._timers.get(operation)) is None:
            timer = self._timers[operation] = self._seconds.labels(operation)
        counter.inc()
        timer.observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self.registry)
