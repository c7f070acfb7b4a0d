"""A task, a card and an anchor as the ledger tells them."""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from tallystick.kernel.clock import Instant


class Kind(StrEnum):
    TASK_CREATE = "x.tally.task.create"
    TASK_UPDATE = "x.tally.task.update"
    TASK_FOCUS = "x.tally.task.focus"
    CARD_CREATE = "x.tally.card.create"
    CARD_UPDATE = "x.tally.card.update"
    ANCHOR_CREATE = "x.tally.anchor.create"
    ANCHOR_UPDATE = "x.tally.anchor.update"


class TaskStatus(StrEnum):
    """`ready`, `running`, `blocked` and `done` are the bus's own; `canceled` is for what will not be done."""

    READY = "ready"
    RUNNING = "running"
    BLOCKED = "blocked"
    DONE = "done"
    CANCELED = "canceled"

    @property
    def open(self) -> bool:
        return self not in {TaskStatus.DONE, TaskStatus.CANCELED}


_ID = re.compile(r"(TASK|CARD)-(\d{3,18})")


def numbered(noun: str, number: int) -> str:
    return f"{noun}-{number:03d}"


def number_of(noun: str, text: str) -> int | None:
    """The number in `TASK-001` or `CARD-001`; None when it is not such an id."""
    found = _ID.fullmatch(text)
    if found is None or found[1] != noun or numbered(noun, int(found[2])) != text:
        return None
    return int(found[2])


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to verify before the task counts as done."""

    text: str
    done: bool = False


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a task that nobody searches by."""

    description: str = ""
    definition_of_done: list[str] = []
    steps: list[Step] = []
    paths: list[str] = []
    refs: list[str] = []
    summary: str | None = None


_details = msgspec.json.Decoder(Details)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    room_id: str
    number: int
    task_id: str
    revision: int
    status: TaskStatus
    title: str
    assignee: str | None
    anchor_id: str | None
    created_by: str
    created_at: Instant
    updated_at: Instant
    updated_seq: int
    details: Details

    @classmethod
    def of_row(cls, *, status: str, details: str, **row: object) -> Task:
        return cls(status=TaskStatus(status), details=_details.decode(details), **row)  # pyright: ignore[reportArgumentType]


class Card(msgspec.Struct, frozen=True, kw_only=True):
    room_id: str
    number: int
    card_id: str
    revision: int
    pinned: bool
    type: str
    title: str
    tags: list[str]
    refs: list[str]
    created_by: str
    created_at: Instant
    updated_at: Instant
    updated_seq: int
    body: str

    @classmethod
    def of_row(cls, *, pinned: int, tags: str, refs: str, **row: object) -> Card:
        lists = (msgspec.json.decode(text, type=list[str]) for text in (tags, refs))
        return cls(pinned=pinned == 1, tags=next(lists), refs=next(lists), **row)  # pyright: ignore[reportArgumentType]


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    anchor_id: str
    title: str
    paths: list[str]
    created_by: str
    created_at: Instant
    updated_at: Instant

    @classmethod
    def of_row(cls, *, paths: str, **row: object) -> Anchor:
        return cls(paths=msgspec.json.decode(paths, type=list[str]), **row)  # pyright: ignore[reportArgumentType]
