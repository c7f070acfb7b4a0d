"""How much one principal may ask for, and how long a request may take to arrive."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from tallystick.surfaces.http.errors import TooManyRequests, TooManyStreams

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    rate: float = 500
    """Requests per second and principal; twice as many may come at once. 0 sets no limit."""
    streams: int = 1024
    """Open streams and waits per principal."""
    body_bytes: int = MIB
    """Of an operation; a blob has its own bound."""
    head_bytes: int = 32 * 1024
    head_fields: int = 100
    head_seconds: float = 10
    """From the first byte of a request, or from connecting, to the end of its headers."""
    body_seconds: float = 30
    """Grace for a body, after which it must have come in at `body_rate`."""
    body_rate: float = 16 * 1024
    unwanted_bytes: int = 64 * MIB
    """Of a body that was refused already, read and dropped so that the sender gets to see the answer."""
    unwanted_seconds: float = 5

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ) -> Limits:
        try:
            rate = float(environ.get("TALLYSTICK_HTTP_RATE") or cls().rate)
        except ValueError:
            rate = cls().rate
        return cls(rate=max(rate, 0))


@dataclass(slots=True)
class _Allowance:
    left: float
    since: float
    streams: int = 0


class Allowances:
    """A token bucket and a count of open streams for every principal."""

    def __init__(self, limits: Limits) -> None:
        self._rate, self._streams = limits.rate, limits.streams
        self._of: dict[str, _Allowance] = {}

    def spend(self, principal: str) -> None:
        """Count one request, or refuse it."""
        if not self._rate:
            return
        now = monotonic()
        mine = self._mine(principal, now)
        mine.left = min(2 * self._rate, mine.left + (now - mine.since) * self._rate)
        mine.since = now
        if mine.left < 1:
            raise TooManyRequests(
                f"'{principal}' may send {self._rate:g} requests per second.", principal=principal, limit=self._rate
            )
        mine.left -= 1

    @contextmanager
    def stream(self, principal: str) -> Generator[None]:
        """Hold one of the principal's streams."""
        mine = self._mine(principal, monotonic())
        if mine.streams >= self._streams:
            raise TooManyStreams(
                f"'{principal}' has {mine.streams} streams and waits open.", principal=principal, limit=self._streams
            )
        mine.streams += 1
        try:
            yield
        finally:
            mine.streams -= 1

    def _mine(self, principal: str, now: float) -> _Allowance:
        found = self._of.get(principal)
        if found is None:
            found = self._of[principal] = _Allowance(left=2 * self._rate, since=now)
        return found
