"""Time as the hub keeps it: whole milliseconds since the epoch inside, ISO-8601 UTC with milliseconds on the wire."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TypeAlias

from tallystick.kernel.errors import InvalidField

Instant: TypeAlias = int
Clock: TypeAlias = Callable[[], Instant]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


SKEW_MS = 60_000
"""The clocks of several machines may differ by so much."""


def ahead(at: Instant, now: Instant) -> bool:
    """Whether something was written in the future: the clock was set back since, so its deadline means nothing."""
    return at > now + SKEW_MS


def system_clock() -> Instant:
    return time.time_ns() // 1_000_000


@lru_cache(maxsize=1024)
def to_wire(instant: Instant) -> str:
    """The text of an instant; kept, because what is written or read together happened together."""
    seconds, millis = divmod(instant, 1000)
    return f"{_to_the_second(seconds)}.{millis:03d}Z"


@lru_cache(maxsize=256)
def _to_the_second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def from_wire(text: str) -> Instant:
    """Read an ISO-8601 time; one without an offset is UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (moment - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError) as wrong:
        raise InvalidField(f"'{text[:60]}' is not an ISO-8601 time such as 2026-01-31T12:00:00.000Z.") from wrong
