"""Moments as a person reads them: relative to now, and in the time of this machine. With `--json` they are exact."""

from __future__ import annotations

import re
import time

from tallystick.kernel.clock import from_wire, system_clock

_WIRE = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
WHOLE_MINUTES_S = 600
HALF_A_DAY_MS = 43_200_000
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def span(seconds: int) -> str:
    """`40 s`, `22 min`, `3 h 5 min`, `2 d 4 h`."""
    for (size, unit), (smaller, rest) in zip(_UNITS, (*_UNITS[1:], (1, "s")), strict=True):
        if seconds >= size:
            more = seconds % size // smaller
            return f"{seconds // size} {unit}" + (f" {more} {rest}" if more and unit != "min" else "")
    return f"{seconds} s"


def relative(wire: str | None) -> str | None:
    """`3 min ago`, `in 2 h`, `just now`."""
    if wire is None:
        return None
    seconds = (from_wire(wire) - system_clock()) // 1000
    if -2 <= seconds <= 0:
        return "just now"
    if seconds > WHOLE_MINUTES_S:
        seconds = -(-seconds // 60) * 60  # What was given for two hours just now is not told as 1 h 59 min.
    return f"in {span(seconds)}" if seconds > 0 else f"{span(-seconds)} ago"


def local(wire: str | None) -> str | None:
    """`14:05`, on another day `16 Nov 14:05`."""
    if wire is None:
        return None
    then, now = time.localtime(from_wire(wire) / 1000), time.localtime(system_clock() / 1000)
    clock = time.strftime("%H:%M", then)
    if (then.tm_year, then.tm_yday) == (now.tm_year, now.tm_yday):
        return clock
    day = f"{then.tm_mday} {time.strftime('%b', then)}"
    return f"{day} {clock}" if then.tm_year == now.tm_year else f"{day} {then.tm_year} {clock}"


def until(wire: str | None) -> str | None:
    """`16:25 (in 2 h)`; within half a day the clock needs no date beside that."""
    if wire is None:
        return None
    then = from_wire(wire)
    near = abs(then - system_clock()) < HALF_A_DAY_MS
    return f"{time.strftime('%H:%M', time.localtime(then / 1000)) if near else local(wire)} ({relative(wire)})"


def told(text: str) -> str:
    """A sentence of ours with its exact times as a person reads them."""
    return _WIRE.sub(lambda found: until(found[0]) or "", text)
