"""A line for a person who waits longer than a second, and again ever more rarely: silence must not look like death."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from tallystick.commandline import times
from tallystick.commandline.output import remark

FIRST_SECONDS, AGAIN_SECONDS = 1.0, 10.0


@contextmanager
def told(what: str, *, first: float = FIRST_SECONDS, again: float = AGAIN_SECONDS) -> Generator[None]:
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
