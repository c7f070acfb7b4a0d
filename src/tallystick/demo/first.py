"""The demo of the first start: played into the store that is served afterwards, and skipped by Enter."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager

from tallystick.demo.stopping import DemoStopped, StopRequest
from tallystick.hub.maintenance import DemoRooms


def wanted(rooms: DemoRooms) -> bool:
    """Whether this is the first start, and the demo can be played; if not, say why."""
    if rooms.played:
        return False
    if not shutil.which("git"):
        print("There is no git on this machine: the demo is left out, and everything else works.", flush=True)
        return False
    return True


@contextmanager
def skippable() -> Generator[StopRequest]:
    """Enter or Ctrl-C ends what is played in here, and the program goes on."""
    watched = sys.stdin.isatty()
    stop = StopRequest(enter=watched)
    try:
        with stop.noted():
            # Said when it is true: before that, a Ctrl-C would end the `make` that this runs under.
            if watched:
                print("A demo of half a minute; Enter skips it.", flush=True)
            yield stop
    except DemoStopped:
        print("\nSkipped.", flush=True)
    if stop.terminated:
        raise KeyboardInterrupt
