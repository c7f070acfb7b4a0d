"""What leaves the program: the JSON envelope, the refusal on stderr, and remarks beside the result.

Whoever waits longer than a second is told so, and again ever more rarely: silence must not look like death.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager

from tallystick.commandline import times
from tallystick.kernel.errors import TallyError
from tallystick.kernel.hints import CommandLine, Spelling

FIRST_SECONDS, AGAIN_SECONDS = 1.0, 10.0


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
        from tallystick.commandline import times  # Here: most remarks name no time.

        text = times.told(text)
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
            remark(f"{what}, for {times.span(int(waited))} now…")

    thread = threading.Thread(target=telling, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
