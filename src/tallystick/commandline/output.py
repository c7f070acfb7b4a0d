"""What leaves the program: the JSON envelope, the refusal on stderr, remarks beside the result, and times in words.

Whoever waits longer than a second is told so, and again ever more rarely: silence must not look like death. A moment
stands relative to now, and in the time of this machine; with `--json` it is exact.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from tallystick.kernel.clock import from_wire, system_clock
from tallystick.kernel.errors import TallyError
from tallystick.kernel.hints import CommandLine, Spelling

FIRST_SECONDS, AGAIN_SECONDS = 1.0, 10.0

_WIRE = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
WHOLE_MINUTES_S = 600
HALF_A_DAY_MS = 43_200_000
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def visible(text: str) -> str:
    """One line: control characters, escapes, direction marks and line breaks appear as `\\x1b`, `\\u202e`, `\\n`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def visible_lines(text: str) -> list[str]:
    """The same for text that may have lines of its own; only a plain line feed makes one."""
    return [visible(line) for line in text.split("\n")]


def visible_json(value: object) -> str:
    """JSON on one line in which everything that does not print is escaped; it still reads back as the same value."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else json.dumps(each)[1:-1] for each in text)


def counted(number: int, noun: str) -> str:
    """`1 event`, `2 events`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def envelope(command: str, data: object = None, error: Mapping[str, object] | None = None) -> str:
    return visible_json({"ok": error is None, "command": command, "data": data, "error": error})


def refuse(command: str, error: TallyError, *, as_json: bool, spelling: Spelling | None = None) -> None:
    """Say what was refused, with a hint that can be typed as it stands."""
    line = spelling or CommandLine()
    if as_json:
        print(envelope(command, error=error.payload(line)), flush=True)
        return
    remark(f"error: {error.message}")
    if advice := error.advice_in(line):
        remark(f"hint: {advice}")


def remark(text: str) -> None:
    """A line beside the result."""
    if "Z" in text:
        text = times_told(text)
    print(visible(text), file=sys.stderr, flush=True)


@contextmanager
def progress(what: str, *, first: float = FIRST_SECONDS, again: float = AGAIN_SECONDS) -> Generator[None]:
    """Say what is being done, at a terminal only: a log or a program that reads along needs the result alone."""
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()

    def telling() -> None:
        waited, pause = first, again
        if over.wait(first):
            return
        remark(f"{what}…")
        while not over.wait(pause):
            waited += pause
            pause *= 2
            remark(f"{what}, for {span_in_words(int(waited))} now…")

    thread = threading.Thread(target=telling, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def span_in_words(seconds: int) -> str:
    """`40 s`, `22 min`, `3 h 5 min`, `2 d 4 h`."""
    for (size, unit), (smaller, rest) in zip(_UNITS, (*_UNITS[1:], (1, "s")), strict=True):
        if seconds >= size:
            more = seconds % size // smaller
            return f"{seconds // size} {unit}" + (f" {more} {rest}" if more and unit != "min" else "")
    return f"{seconds} s"


def relative_time(wire: str | None) -> str | None:
    """`3 min ago`, `in 2 h`, `just now`."""
    if wire is None:
        return None
    seconds = (from_wire(wire) - system_clock()) // 1000
    if -2 <= seconds <= 0:
        return "just now"
    if seconds > WHOLE_MINUTES_S:
        seconds = -(-seconds // 60) * 60  # What was given for two hours just now is not told as 1 h 59 min.
    return f"in {span_in_words(seconds)}" if seconds > 0 else f"{span_in_words(-seconds)} ago"


def local_time(wire: str | None) -> str | None:
    """`14:05`, on another day `16 Nov 14:05`."""
    if wire is None:
        return None
    then, now = time.localtime(from_wire(wire) / 1000), time.localtime(system_clock() / 1000)
    clock = time.strftime("%H:%M", then)
    if (then.tm_year, then.tm_yday) == (now.tm_year, now.tm_yday):
        return clock
    day = f"{then.tm_mday} {time.strftime('%b', then)}"
    return f"{day} {clock}" if then.tm_year == now.tm_year else f"{day} {then.tm_year} {clock}"


def time_until(wire: str | None) -> str | None:
    """`16:25 (in 2 h)`; within half a day the clock needs no date beside that."""
    if wire is None:
        return None
    then = from_wire(wire)
    near = abs(then - system_clock()) < HALF_A_DAY_MS
    return (
        f"{time.strftime('%H:%M', time.localtime(then / 1000)) if near else local_time(wire)} ({relative_time(wire)})"
    )


def times_told(text: str) -> str:
    """A sentence of ours with its exact times as a person reads them."""
    return _WIRE.sub(lambda found: time_until(found[0]) or "", text)
