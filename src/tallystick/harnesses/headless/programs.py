"""The harnesses that can be called without a terminal, by the slug they have in `registry`; `plain` is any program.

A plain program reads a JSON object on stdin and writes one to stdout, and in between as many objects a line as it
likes. Compacting a context and reviewing are controls that only some harnesses have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from tallystick.harnesses.headless import protocol
from tallystick.harnesses.headless.claude import ClaudeCode
from tallystick.harnesses.headless.codex import Codex
from tallystick.harnesses.headless.gemini import Gemini
from tallystick.harnesses.headless.protocol import (
    Failed,
    HarnessAnswer,
    HarnessRequest,
    HeadlessProgram,
    Outcome,
    ProcessStart,
    Reader,
    Sign,
    Told,
)


class PlainProgram:
    command = ""

    def start(self, binary: Sequence[str], request: HarnessRequest) -> ProcessStart:
        return ProcessStart(argv=tuple(binary), stdin=request.prompt)

    def reader(self) -> Reader:
        return _PlainReader()


class _PlainReader:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._last: dict[str, object] = {}

    def feed(self, line: str) -> Sequence[Sign]:
        self._size += len(line)
        if self._size <= protocol.SAID_CHARS:
            self._lines.append(line)
        found = protocol.line_object(line)
        self._last = found or self._last
        return [Told(data=found)] if found else []

    def end(self, exit_code: int, errors: str) -> Outcome:
        if exit_code:
            return Failed(why=protocol.gave_up(exit_code, errors))
        if self._size > protocol.SAID_CHARS and not self._last:
            return Failed(why=f"it wrote more than {protocol.SAID_CHARS} characters and no answer on a line of its own")
        text = "".join(self._lines)
        return HarnessAnswer(text=text, data=self._last or protocol.answer_object(text))


PROGRAMS: Mapping[str, HeadlessProgram] = MappingProxyType(
    {"codex": Codex(), "claude-code": ClaudeCode(), "gemini": Gemini(), "plain": PlainProgram()}
)


class CannotDo(Exception):
    """This harness has no such command; the text says what it lacks."""


def compact(slug: str, binary: Sequence[str], request: HarnessRequest) -> ProcessStart:
    """Have it shorten what it remembers of the session in `request.resume`."""
    if slug != "claude-code":
        raise CannotDo(f"{_name(slug)} cannot compact a context without a terminal; `new` starts a fresh one.")
    return PROGRAMS[slug].start(binary, replace(request, prompt="/compact"))


def review(slug: str, binary: Sequence[str], request: HarnessRequest) -> ProcessStart:
    """Have it review what was changed; `request.prompt` holds instructions, if there are any."""
    match slug:
        case "claude-code":
            return PROGRAMS[slug].start(binary, replace(request, prompt=f"/review {request.prompt}".strip()))
        case "codex":
            whole = PROGRAMS[slug].start(binary, replace(request, resume=None))
            options = whole.argv[len(binary) + 1 : -1]
            # Instructions and a choice of what to look at exclude each other.
            what = "-" if request.prompt else "--uncommitted"
            return replace(whole, argv=(*binary, "exec", "review", *options, what))
        case _:
            raise CannotDo(f"{_name(slug)} has no review of its own; ask for one in a message.")


def _name(slug: str) -> str:
    return PROGRAMS[slug].command or "A plain command"
