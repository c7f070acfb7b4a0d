"""Ctrl-C and Enter while the demo plays: noted when they come, looked at between two steps.

Raised from the signal handler they would end a call to the hub or a clean-up in its middle.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from types import FrameType

from tallystick.kernel.errors import TallyError

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_KEYS = (b"\n", b"\x03")


class DemoStopped(Exception):
    """Whoever watches wants to go on."""


class StopRequest:
    def __init__(self, *, enter: bool = False) -> None:
        self._listening = enter
        """Whether a line typed at the terminal counts."""
        self._asked = False
        self.terminated = False
        """Asked by SIGTERM, which means the program and not the play alone."""

    @contextmanager
    def noted(self) -> Generator[None]:
        """Signals do no more than set a flag in here."""
        before = [signal.signal(number, self._note) for number in _SIGNALS]
        try:
            with _keys() if self._listening else nullcontext():
                try:
                    yield
                except (TallyError, subprocess.CalledProcessError) as failed:
                    # A process that is just being started still belongs to the terminal's group, and dies of its
                    # Ctrl-C; and whoever wanted to go on need not hear what went wrong in what is skipped.
                    if self._asked or self._entered():
                        raise DemoStopped from failed
                    raise
        finally:
            for number, handler in zip(_SIGNALS, before, strict=True):
                signal.signal(number, handler)

    def look(self) -> None:
        """End the play here if somebody asked for it."""
        if self._asked or self._entered():
            raise DemoStopped

    def wait(self) -> None:
        """Until a signal comes."""
        while not self._asked:
            time.sleep(0.1)

    def _note(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._asked = True
        self.terminated = self.terminated or number == signal.SIGTERM

    def _entered(self) -> bool:
        # Without a thread: one that waits in a read of stdin can abort the interpreter at its end.
        if not self._listening or not select.select([sys.stdin], [], [], 0)[0]:
            return False
        typed = os.read(sys.stdin.fileno(), 1024)
        self._listening = bool(typed)
        return any(key in typed for key in _KEYS)


@contextmanager
def _keys() -> Generator[None]:
    """Ctrl-C is a key like Enter in here: as a signal it would also end the `make` that this runs under."""
    usual = termios.tcgetattr(sys.stdin)
    cooked: list[int] = usual[:4]
    cooked[3] &= ~(termios.ISIG | termios.ICANON | termios.ECHO)
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, [*cooked, *usual[4:]])
    try:
        yield
    finally:
        # What was typed in here was meant for the demo, and not for whatever reads the terminal next.
        termios.tcsetattr(sys.stdin, termios.TCSAFLUSH, usual)
