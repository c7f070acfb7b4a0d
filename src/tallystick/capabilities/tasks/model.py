"""A task, a card and an anchor as the ledger tells them."""

from __future__ import annotations

import re

import msgspec

from tallystick.capabilities.tasks.events import TaskState, TaskStep
from tallystick.kernel.clock import Instant

_ID = re.compile(r"(TASK|CARD)-(\d{3,18})")


def numbered(noun: str, number: int) -> str:
    return f"{noun}-{number:03d}"


def number_of(noun: str, text: str) -> int | None:
    """The number in `TASK-001` or `CARD-001`; None when it is not such an id."""
    found = _ID.fullmatch(text)
    if found is None or found[1] != noun or numbered(noun, int(found[2])) != text:
        return None
    return int(found[2])


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a task that nobody searches by."""

    description: str = ""
    definition_of_done: list[str] = []
    steps: list[TaskStep] = []
    paths: list[str] = []
    refs: list[str] = []
    summary: str | None = None


_details = msgspec.json.Decoder(Details)


class Task(msgspec.Struct, frozen=True, kw_only=True):
    room_id: str
    number: int
    task_id: str
    revision: int
    status: TaskState
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
        return cls(status=TaskState(status), details=_details.decode(details), **row)  # pyright: ignore[reportArgumentType]


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
