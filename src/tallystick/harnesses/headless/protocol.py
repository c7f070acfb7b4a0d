"""Calling a harness once without a terminal: how to start it, what its output means, and how to reach it at work.

All but `MessageFolder` is a pure function of text. Whoever starts the process writes `files`, sends `stdin`, feeds the
reader line by line and asks it for the outcome at the end. A message for an agent at work is left in a folder, with one
answer for each hook event, and taken there by a hook of its harness. Whoever renames the folder has it, so every
message is taken once, also when several tools end at the same time. `programs` names the harnesses that are known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import Literal, Protocol, TypeAlias

from tallystick.harnesses import hook_protocol
from tallystick.harnesses.registry import HARNESSES
from tallystick.kernel.json_values import object_of, objects_of

STEP_CHARS = 200
SAID_CHARS = 1_000_000
"""The longest answer that is kept; more is the output of something that ran wild."""

BEFORE_TOOL, AFTER_TOOL, STOP = "PreToolUse", "PostToolUse", "Stop"
TAKE_TIMEOUT_S = 10
"""What a harness allows its hook; it takes a few milliseconds."""


class Sandbox(StrEnum):
    """How far a harness may reach; each translates it into its own words, as strictly as it can."""

    READ_ONLY = "read-only"
    WORKSPACE_WRITE = "workspace-write"
    FULL_ACCESS = "full-access"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessRequest:
    prompt: str
    scratch: Path
    """A private folder for the files that the call needs."""
    sandbox: Sandbox = Sandbox.WORKSPACE_WRITE
    schema: Mapping[str, object] | None = None
    """A JSON schema that the answer must fit."""
    model: str | None = None
    effort: Literal["high", "xhigh"] | None = None
    """How hard to think; None leaves it to the harness."""
    resume: str | None = None
    """The session to go on with."""
    keep: bool = False
    """Whether the session can be gone on with later."""
    servers: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    """Settings for MCP servers that are set up in the harness, by their names there."""
    messages: Path | None = None
    """A folder where messages for the running agent are left; only harnesses with hooks look there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStart:
    argv: tuple[str, ...]
    stdin: str
    files: Mapping[Path, str] = field(default_factory=dict[Path, str])
    """Files to write before the start."""
    stdin_open: bool = False
    """Whether more is written to its standard input while it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    session_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessStep:
    """One thing the harness did, in a line."""

    text: str
    ok: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnded:
    """A command that the harness ran came to its end."""

    command: str
    exit_code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Something a plain program said about itself in the middle, as an object."""

    data: Mapping[str, object]


Sign: TypeAlias = "Began | HarnessStep | CommandEnded | Told"


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessAnswer:
    text: str
    data: Mapping[str, object] | None
    """The answer as an object, when it is one."""
    session_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The call gave no answer."""

    why: str
    session_id: str | None = None


Outcome: TypeAlias = "HarnessAnswer | Failed"


class Reader(Protocol):
    def feed(self, line: str) -> Sequence[Sign]:
        """What this line of the output says; a line that is not understood says nothing."""
        ...

    def end(self, exit_code: int, errors: str) -> Outcome:
        """What came of the call, now that the process is gone; `errors` is the end of its stderr."""
        ...


class HeadlessProgram(Protocol):
    """One harness as something that can be called."""

    @property
    def command(self) -> str:
        """The name of its binary on the PATH."""
        ...

    def start(self, binary: Sequence[str], request: HarnessRequest) -> ProcessStart: ...

    def reader(self) -> Reader: ...


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment for a harness: without the marks of another one, inside which some refuse to start."""
    marks = {name for harness in HARNESSES for name in (*harness.markers, *harness.sessions)}
    return {name: value for name, value in environ.items() if name not in marks}


def line_object(line: str) -> dict[str, object]:
    """A line of output as a JSON object; empty when it is anything else."""
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return object_of(found)


def part(found: Mapping[str, object], name: str) -> dict[str, object]:
    """An object within an object; empty when it is anything else."""
    return object_of(found.get(name))


def rows(found: Mapping[str, object], name: str) -> list[dict[str, object]]:
    """The objects of a list within an object."""
    return objects_of(found.get(name))


def answer_object(text: str) -> dict[str, object] | None:
    """The JSON object that a text is, holds in a fenced block, or has between its outermost braces."""
    candidates = [text, *(block.partition("\n")[2] for block in text.split("```")[1::2])]
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end:
        candidates.append(text[start : end + 1])
    return next((found for each in candidates if (found := line_object(each.strip()))), None)


def one_line(text: str, limit: int = STEP_CHARS) -> str:
    """A text on one line, cut where it gets long."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def gave_up(exit_code: int, errors: str) -> str:
    """Why a process that said nothing ended, as well as can be told."""
    how = f"ended by signal {-exit_code}" if exit_code < 0 else f"exited with {exit_code}"
    said = one_line("\n".join(errors.strip().splitlines()[-3:]))
    return f"{how}: {said}" if said else how


def take_command(folder: Path, event: str) -> str:
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
            import shutil  # Here: whoever only asks what harnesses there are needs none of it.

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
