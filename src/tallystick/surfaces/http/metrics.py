"""What `/metrics` tells Prometheus: requests over HTTP, calls on every surface, commits, who waits or follows.

Labels are names of ours alone: operations that exist, refusal codes, HTTP statuses.
"""

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
        self._counters: dict[tuple[Counter, str, int | str], Counter] = {}
        self._timers: dict[tuple[Histogram, str], Histogram] = {}
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
        self._calls = Counter(
            "tally_calls",
            "Calls of operations on every surface (HTTP, bus, MCP, page), by operation and outcome.",
            ["operation", "outcome"],
            registry=self.registry,
        )
        self._call_seconds = Histogram(
            "tally_call_seconds",
            "How long calls took, by operation.",
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
        serving.observe(self._groups.observe, self.call)

    def _gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        Gauge(name, text, registry=self.registry).set_function(value)

    def request(self, operation: str, status: int, seconds: float) -> None:
        self._count(self._requests, self._seconds, operation, status, seconds)

    def call(self, operation: str, outcome: str, seconds: float) -> None:
        self._count(self._calls, self._call_seconds, operation, outcome, seconds)

    def _count(self, counts: Counter, times: Histogram, operation: str, outcome: int | str, seconds: float) -> None:
        # Finding a label by its values takes longer than counting.
        if (counter := self._counters.get((counts, operation, outcome))) is None:
            counter = self._counters[counts, operation, outcome] = counts.labels(operation, str(outcome))
        if (timer := self._timers.get((times, operation))) is None:
            timer = self._timers[times, operation] = times.labels(operation)
        counter.inc()
        timer.observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self.registry)
