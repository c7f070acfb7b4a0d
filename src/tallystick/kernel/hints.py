"""The next step, declared once and said in the words of whoever reads it.

A hint or a notice is a sentence in which `step("jobs.requeue", job="JOB-001")` stands for the call to make. Until
somebody shows the sentence the step stays in it as a mark, through the engine and over the wire. `said` puts the words
of a surface in its place: a `tally` line in a terminal, a tool call in MCP, a request over HTTP, the label of a button
on the page (`kernel/spellings.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from tallystick.kernel.json_values import is_list

ROOM = "room_id"
ANY_ROOM = "ROOM"
"""Stands for the reader's own room where nobody knows which that is."""
WITHOUT_ROOM = frozenset({"hub.capabilities", "hub.health", "rooms.create", "rooms.join", "rooms.list"})
"""Operations that need no room; every other step is about the room that its refusal is about."""

_MARK = re.compile(r"<<([a-z_]+(?:\.[a-z_]+)+)(?: (\{[^<>]*\}))?>>")
_KNOWN = re.compile(r"\{([a-z_,]+)\|([^{}]*)\}")


class NextStep:
    """An operation to call, with what is known of its input."""

    __slots__ = ("given", "operation", "room_id")

    def __init__(self, operation: str, given: Mapping[str, object], room_id: str | None = None) -> None:
        self.operation, self.given, self.room_id = operation, given, room_id

    @property
    def input(self) -> dict[str, object]:
        """The whole input, for those who have to name the room."""
        room = {} if self.operation in WITHOUT_ROOM else {ROOM: self.room_id or ANY_ROOM}
        return {**room, **self.given}


Spelling: TypeAlias = Callable[[NextStep], str]
"""How one surface writes a step down."""


def step(operation: str, /, **given: object) -> str:
    """A call to make next, as a part of a hint or a notice."""
    fields = json.dumps(given, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e") if given else ""
    return f"<<{operation} {fields}>>" if fields else f"<<{operation}>>"


def known(*names: str, otherwise: str) -> str:
    """A value of a step that is found, by the first of these names, in a refusal's details or in what was asked for."""
    return f"{{{','.join(names)}|{otherwise}}}"


def said(text: str, spelling: Spelling | None, about: Mapping[str, object] | None = None) -> str:
    """The sentence with its steps in the words of a surface; as declared for one that says it to somebody else."""
    if "<<" not in text:
        return text

    def spelt(found: re.Match[str]) -> str:
        next_step = _read(found, about or {})
        return f"`{spelling(next_step)}`" if spelling else step(next_step.operation, **next_step.given)

    return _MARK.sub(spelt, text)


def steps_in(text: str) -> Iterator[NextStep]:
    """The steps that a sentence names."""
    for found in _MARK.finditer(text):
        yield _read(found, {})


def _read(found: re.Match[str], about: Mapping[str, object]) -> NextStep:
    given: dict[str, object] = json.loads(found[2]) if found[2] else {}
    room_id = about.get(ROOM)
    filled = {name: _filled(value, about) for name, value in given.items()}
    return NextStep(found[1], filled, room_id if isinstance(room_id, str) else None)


def _filled(value: object, about: Mapping[str, object]) -> object:
    if is_list(value):
        return [_filled(each, about) for each in value]
    wanted = _KNOWN.fullmatch(value) if isinstance(value, str) else None
    if wanted is None:
        return value
    return next((about[name] for name in wanted[1].split(",") if isinstance(about.get(name), str | int)), wanted[2])
