"""Calling a harness once without a terminal: how to start it, and what its output means.

Everything here is a pure function of text. Whoever starts the process writes `files`, sends `stdin`, feeds the reader
line by line and asks it for the outcome at the end. `programs` names the harnesses this is known for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from tallystick.harnesses.registry import HARNESSES
from tallystick.kernel.json_values import object_of, objects_of

STEP_CHARS = 200
SAID_CHARS = 1_000_000
"""The longest answer that is kept; more is the output of something that ran wild."""


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
