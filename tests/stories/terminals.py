"""Programs in real terminals, looked at while they run: tmux is the terminal, its screens are the record."""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

LOOK_S = 0.2
_COLOUR = re.compile(r"\x1b\[[\d;:]*m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    title: str
    rows: int
    argv: Sequence[str]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What all terminals showed at one moment, with the colours as escapes."""

    at: float
    screens: tuple[tuple[str, ...], ...]


@dataclass
class Recording:
    """Each look that differs from the one before."""

    tmux: Sequence[str] = ()
    looks: list[Look] = field(default_factory=list[Look])

    def shown(self, pane: int) -> str:
        """What one terminal shows now, without colours."""
        return _COLOUR.sub("", "\n".join(self.looks[-1].screens[pane])) if self.looks else ""

    def press(self, pane: int, *keys: str) -> None:
        """Keys by their names in tmux; other words are typed letter by letter."""
        subprocess.run([*self.tmux, "send-keys", "-t", f"pane-{pane}", *keys], check=True)

    def close(self, pane: int) -> None:
        """Close one terminal, as a person closes its window."""
        subprocess.run([*self.tmux, "kill-session", "-t", f"pane-{pane}"], check=True)

    def seen(self, pane: int) -> str:
        """All that one terminal ever showed, without repetition."""
        lines = dict.fromkeys(line for look in self.looks for line in look.screens[pane])
        return "\n".join(lines)

    def add(self, look: Look) -> None:
        if not self.looks or self.looks[-1].screens != look.screens:
            self.looks.append(look)


@contextmanager
def recorded(panes: Sequence[Pane], columns: int, folder: Path) -> Generator[Recording]:
    """Start each program in a terminal of its own and keep looking while the block runs."""
    with tempfile.TemporaryDirectory(prefix="t-") as place:
        tmux = ["tmux", "-S", f"{place}/socket", "-f", "/dev/null"]
        found, done = Recording(tmux), threading.Event()
        try:
            for number, pane in enumerate(panes):
                size = ["-x", str(columns), "-y", str(pane.rows)]
                settings = " ".join(shlex.quote(f"{name}={value}") for name, value in pane.env.items())
                line = f"exec env -i TERM=tmux-256color LANG=C.UTF-8 {settings} {shlex.join(pane.argv)}"
                named = ["new-session", "-d", "-s", f"pane-{number}", *size, "-c", str(folder), line]
                subprocess.run([*tmux, *named], check=True)
                subprocess.run([*tmux, "set", "-g", "status", "off"], check=True)
                subprocess.run([*tmux, "set", "-g", "remain-on-exit", "on"], check=True)
            watcher = threading.Thread(target=_watch, args=(tmux, len(panes), found, done))
            watcher.start()
            try:
                yield found
            finally:
                done.set()
                watcher.join()
        finally:
            subprocess.run([*tmux, "kill-server"], capture_output=True, check=False)


def _watch(tmux: Sequence[str], panes: int, into: Recording, done: threading.Event) -> None:
    start = time.monotonic()
    while not done.wait(LOOK_S):
        screens = tuple(_screen(tmux, number) for number in range(panes))
        into.add(Look(at=time.monotonic() - start, screens=screens))


def _screen(tmux: Sequence[str], number: int) -> tuple[str, ...]:
    shown = subprocess.run(
        [*tmux, "capture-pane", "-p", "-e", "-t", f"pane-{number}"], capture_output=True, text=True, check=False
    )
    return tuple(shown.stdout.splitlines())
