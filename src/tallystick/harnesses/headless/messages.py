"""Messages for an agent that is already at work: left in a folder, and taken there by a hook of its harness.

What waits is a folder with one answer for each hook event. Whoever renames it has it, so every message is taken once,
also when several tools end at the same time.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from shlex import quote

from tallystick.harnesses import hook_protocol

BEFORE_TOOL, AFTER_TOOL, STOP = "PreToolUse", "PostToolUse", "Stop"
TIMEOUT_S = 10
"""What a harness allows its hook; it takes a few milliseconds."""


def command(folder: Path, event: str) -> str:
    """What a hook runs, in a shell: take what waits and say it."""
    waiting, taken = quote(str(folder / "waiting")), f"{quote(str(folder))}/taken.$$"
    return f"mv {waiting} {taken} 2>/dev/null && cat {taken}/{event}; true"


class MessageFolder:
    """The side of whoever leaves messages. `taken` is the number of the newest that the agent was given."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._waiting = folder, folder / "waiting"
        self._texts: dict[int, str] = {}
        self._made = 0
        self._given = 0
        folder.mkdir()

    def give(self, number: int, text: str) -> None:
        back = self._folder / "back"
        try:
            self._waiting.rename(back)
        except OSError:
            self._settle()
        else:
            shutil.rmtree(back)
        self._texts[number] = text
        whole = "\n\n".join(self._texts[each] for each in sorted(self._texts))
        self._made += 1
        new = self._folder / f"new.{self._made}"
        new.mkdir()
        (new / AFTER_TOOL).write_text(hook_protocol.tell(AFTER_TOOL, whole).out, "utf-8")
        (new / BEFORE_TOOL).write_text(hook_protocol.deny("", BEFORE_TOOL, whole).out, "utf-8")
        (new / STOP).write_text(hook_protocol.go_on("", whole).out, "utf-8")
        new.rename(self._waiting)

    @property
    def taken(self) -> int:
        if self._texts and not self._waiting.exists():
            self._settle()
        return self._given

    def _settle(self) -> None:
        self._given = max([self._given, *self._texts])
        self._texts.clear()
