"""The demo at a terminal: the story as swim lanes, or line after line in a pipe; and Ctrl-C and Enter while it plays.

Both are noted when they come, and looked at between two steps: raised from the signal handler they would end a call to
the hub or a clean-up in its middle.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import termios
import textwrap
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Protocol

from tallystick.demo import story
from tallystick.demo.story import Beat, Lane
from tallystick.kernel.errors import TallyError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

PITCH = 7


MARGIN = 9


COLOURS = {"ada": "cyan", "bo": "magenta", "cleo": "green", "you": "yellow"}


GLYPHS = {Lane.AWAY: " ", Lane.HERE: "│", Lane.HOLDS: "█", Lane.DEAD: "†"}

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_KEYS = (b"\n", b"\x03")


class Stage(Protocol):
    def show(self, beat: Beat) -> None: ...

    def wait(self, text: str) -> None:
        """Say what is going on behind the scenes."""
        ...


@contextmanager
def raised() -> Generator[Stage]:
    """The stage that the output can carry."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    drawable = console.is_terminal and not console.is_dumb_terminal and console.width >= 72
    if "NO_COLOR" in os.environ or not drawable or "utf" not in (sys.stdout.encoding or "").lower() or os.name == "nt":
        yield Plain()
        return
    from rich.live import Live

    with Live(console=console, transient=True, refresh_per_second=8) as live:
        yield Lanes(live)


class Plain:
    def show(self, beat: Beat) -> None:
        print(f"{beat.seconds:6.1f}s  {beat.who:<5} {beat.text}", flush=True)
        for paragraph in beat.said:
            print(f"{'':8} {'':5}  | {paragraph}", flush=True)

    def wait(self, text: str) -> None:
        print(text, flush=True)


class Lanes:
    """A lane per agent; the thick one holds the stick, and an arrow shows where it goes."""

    def __init__(self, live: Live) -> None:
        from rich.text import Text

        self._live = live
        self._console: Console = live.console
        self._room = self._console.width - MARGIN - PITCH * len(story.CAST)
        header = Text(" " * MARGIN)
        for name in story.CAST:
            header.append(name.ljust(PITCH), style=f"bold {COLOURS[name]}")
        self._console.print(header)

    def show(self, beat: Beat) -> None:
        from rich.text import Text

        lines = textwrap.wrap(f"{beat.who} {beat.text}", self._room)
        for number, line in enumerate(lines):
            margin = f"{beat.seconds:6.1f}s  " if number == 0 else " " * MARGIN
            lanes = self._arrow(beat) if beat.to and number == 0 else self._bars(beat.lanes)
            text = Text(line)
            if number == 0:
                text.stylize(f"bold {COLOURS.get(beat.who, '')}", 0, len(beat.who))
            self._console.print(Text(margin, style="dim") + lanes + text)
        for paragraph in beat.said:
            for line in textwrap.wrap(paragraph, self._room - 2, initial_indent="", subsequent_indent=""):
                quoted = Text(f"  {line}", style=f"italic {COLOURS.get(beat.who, '')}")
                self._console.print(Text(" " * MARGIN) + self._bars(beat.lanes) + quoted)
        self._live.update(self._holder(beat))

    def wait(self, text: str) -> None:
        from rich.text import Text

        self._live.update(Text(text, style="dim"))

    def _bars(self, lanes: Mapping[str, Lane]) -> Text:
        from rich.text import Text

        row = Text()
        for name in story.CAST:
            state = lanes[name]
            style = {Lane.HOLDS: f"bold {COLOURS[name]}", Lane.DEAD: "bold red"}.get(state, "dim")
            row.append(GLYPHS[state].ljust(PITCH), style=style)
        return row

    def _arrow(self, beat: Beat) -> Text:
        """The row in which the stick goes from one lane to another."""
        row = self._bars(beat.lanes)
        if beat.who not in story.CAST or beat.to not in story.CAST:
            return row
        start, end = story.CAST.index(beat.who) * PITCH, story.CAST.index(beat.to) * PITCH
        cells = list(row.plain)
        for at in range(min(start, end) + 1, max(start, end)):
            cells[at] = "─"
        cells[start] = "●"
        cells[end - 1 if end > start else end + 1] = "▶" if end > start else "◀"
        arrow = row.blank_copy("".join(cells))
        arrow.stylize(f"bold {COLOURS[beat.who]}", min(start, end), max(start, end) + 1)
        return arrow

    def _holder(self, beat: Beat) -> Text:
        from rich.text import Text

        name = next((name for name, lane in beat.lanes.items() if lane is Lane.HOLDS), None)
        if name is None:
            return Text("nobody holds the stick", style="dim")
        holder = (name, f"bold {COLOURS[name]}")
        return Text.assemble(("█ ", COLOURS[name]), holder, f" holds the stick, turn {beat.turn_id}")


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
