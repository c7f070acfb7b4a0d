"""A line for a person who waits longer than a second, and again now and then: silence must not look like death."""

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
        waited = first
        while not over.wait(first if waited == first else again):
            remark(f"{what}…" if waited == first else f"{what}, for {times.span(int(waited))} now…")
            waited += again

    thread = threading.Thread(target=telling, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
