"""Tasks, cards and anchors, read, and the events of each folded into its rows."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType, structs

from tallystick.capabilities.rooms.notes import NOTE
from tallystick.capabilities.tasks.events import (
    AnchorCreated,
    AnchorUpdated,
    CardCreated,
    CardUpdated,
    TaskCreated,
    TaskFocused,
    TaskUpdated,
)
from tallystick.capabilities.tasks.model import Anchor, Card, Task, number_of, numbered
from tallystick.capabilities.tasks.rules import UnknownAnchor, UnknownCard, UnknownTask
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger import reading
from tallystick.ledger.capability import fold
from tallystick.ledger.errors import EventNotFound
from tallystick.ledger.tx import Tx
from tallystick.proof.refs import Ref, RefKind
from tallystick.storage.sql_files import Queries

SQL = Queries("tallystick.capabilities.tasks")
LATEST = 2**62
OWNED_AT_ONCE = 50

T = TypeVar("T")


def _number(*, number: int | None) -> int:
    return number or 0


def find_task(tx: Tx, room_id: str, task_id: str) -> Task | None:
    number = number_of("TASK", task_id)
    return tx.one(SQL["task"], Task.of_row, room_id=room_id, number=number) if number is not None else None


def task(tx: Tx, room_id: str, task_id: str) -> Task:
    found = find_task(tx, room_id, task_id)
    if found is None:
        raise UnknownTask(f"There is no task '{task_id[:80]}' in this room.", task_id=task_id[:80])
    return found


def tasks(
    tx: Tx,
    room_id: str,
    *,
    status: str | None = None,
    assignee: str | None = None,
    anchor: str | None = None,
    before: int | None = None,
    limit: int,
) -> list[Task]:
    return tx.all(
        SQL["tasks"],
        Task.of_row,
        room_id=room_id,
        status=status or "",
        assignee=assignee or "",
        anchor=anchor or "",
        before=LATEST if before is None else before,
        limit=limit,
    )


def in_progress(tx: Tx, room_id: str, assignee: str) -> list[Task]:
    return tx.all(SQL["tasks_in_progress"], Task.of_row, room_id=room_id, assignee=assignee, limit=OWNED_AT_ONCE)


def next_task(tx: Tx, room_id: str) -> int:
    return 1 + (tx.one(SQL["newest_task"], _number, room_id=room_id) or 0)


def focus(tx: Tx, room_id: str, principal: str) -> Task | None:
    number = tx.one(SQL["focus"], _number, room_id=room_id, principal=principal)
    return tx.one(SQL["task"], Task.of_row, room_id=room_id, number=number) if number else None


def find_card(tx: Tx, room_id: str, card_id: str) -> Card | None:
    number = number_of("CARD", card_id)
    return tx.one(SQL["card"], Card.of_row, room_id=room_id, number=number) if number is not None else None


def card(tx: Tx, room_id: str, card_id: str) -> Card:
    found = find_card(tx, room_id, card_id)
    if found is None:
        raise UnknownCard(f"There is no card '{card_id[:80]}' in this room.", card_id=card_id[:80])
    return found


def cards(
    tx: Tx, room_id: str, *, tag: str | None = None, type: str | None = None, pinned: bool = False, limit: int
) -> list[Card]:
    """Pinned ones first, then the most recently changed."""
    if tag is None:
        return tx.all(SQL["cards"], Card.of_row, room_id=room_id, type=type or "", pinned=int(pinned), limit=limit)
    return tx.all(
        SQL["cards_tagged"], Card.of_row, room_id=room_id, tag=tag, type=type or "", pinned=int(pinned), limit=limit
    )


def next_card(tx: Tx, room_id: str) -> int:
    return 1 + (tx.one(SQL["newest_card"], _number, room_id=room_id) or 0)


def find_anchor(tx: Tx, room_id: str, anchor_id: str) -> Anchor | None:
    return tx.one(SQL["anchor"], Anchor.of_row, room_id=room_id, anchor_id=anchor_id)


def anchor(tx: Tx, room_id: str, anchor_id: str) -> Anchor:
    found = find_anchor(tx, room_id, anchor_id)
    if found is None:
        raise UnknownAnchor(f"There is no anchor '{anchor_id[:80]}' in this room.", anchor_id=anchor_id[:80])
    return found


def anchors(tx: Tx, room_id: str, *, after: str = "", limit: int) -> list[Anchor]:
    return tx.all(SQL["anchors"], Anchor.of_row, room_id=room_id, after=after, limit=limit)


def note(tx: Tx, room_id: str, seq: int) -> Event | None:
    try:
        event = reading.event_at(tx, room_id, seq)
    except EventNotFound:
        return None
    return event if event.kind == NOTE else None


def written_seq(tx: Tx, room_id: str, ref: Ref) -> int | None:
    """The event that last wrote a task, card or note; None when there is no such thing."""
    match ref.kind:
        case RefKind.TASK:
            found = find_task(tx, room_id, ref.value)
        case RefKind.CARD:
            found = find_card(tx, room_id, ref.value)
        case RefKind.NOTE:
            return event.seq if (event := note(tx, room_id, ref.seq or 0)) else None
        case _:
            return None
    return found.updated_seq if found else None


def check_ref(tx: Tx, room_id: str, task_id: str) -> None:
    """Refuse an id of ours that names no task of the room; another store's ids are not ours to judge."""
    if task_id.startswith("TASK-"):
        task(tx, room_id, task_id)


def _list(values: list[str]) -> str:
    return msgspec.json.encode(values).decode()


def _or(given: T | UnsetType, known: T) -> T:
    return known if given is UNSET else given


@fold(TaskCreated)
def _task_created(tx: Tx, event: Event, body: TaskCreated) -> None:
    details = {
        "description": body.description,
        "definition_of_done": body.definition_of_done,
        "steps": body.steps,
        "paths": body.paths,
        "refs": body.refs,
    }
    tx.run(
        SQL["put_task"],
        room_id=event.room_id,
        number=body.number,
        task_id=numbered("TASK", body.number),
        revision=1,
        status=body.status.value,
        title=body.title,
        assignee=body.assignee,
        anchor_id=body.anchor,
        created_by=event.by,
        created_at=event.ts,
        updated_at=event.ts,
        updated_seq=event.seq,
        details=to_json(details),
    )


@fold(TaskUpdated)
def _task_updated(tx: Tx, event: Event, body: TaskUpdated) -> None:
    former = task(tx, event.room_id, body.task_id)
    known = former.details
    details = structs.replace(
        known,
        description=_or(body.description, known.description),
        definition_of_done=_or(body.definition_of_done, known.definition_of_done),
        steps=_or(body.steps, known.steps),
        paths=_or(body.paths, known.paths),
        refs=_or(body.refs, known.refs),
        summary=_or(body.summary, known.summary),
    )
    tx.run(
        SQL["put_task"],
        room_id=event.room_id,
        number=former.number,
        task_id=former.task_id,
        revision=former.revision + 1,
        status=_or(body.status, former.status).value,
        title=_or(body.title, former.title),
        assignee=_or(body.assignee, former.assignee),
        anchor_id=_or(body.anchor, former.anchor_id),
        created_by=former.created_by,
        created_at=former.created_at,
        updated_at=event.ts,
        updated_seq=event.seq,
        details=to_json(structs.asdict(details)),
    )


@fold(TaskFocused)
def _focused(tx: Tx, event: Event, body: TaskFocused) -> None:
    if body.task_id is None:
        tx.run(SQL["drop_focus"], room_id=event.room_id, principal=event.by)
        return
    tx.run(SQL["put_focus"], room_id=event.room_id, principal=event.by, number=number_of("TASK", body.task_id))


@fold(CardCreated)
def _card_created(tx: Tx, event: Event, body: CardCreated) -> None:
    _put_card(
        tx,
        Card(
            room_id=event.room_id,
            number=body.number,
            card_id=numbered("CARD", body.number),
            revision=1,
            pinned=body.pinned,
            type=body.type,
            title=body.title,
            tags=body.tags,
            refs=body.refs,
            created_by=event.by,
            created_at=event.ts,
            updated_at=event.ts,
            updated_seq=event.seq,
            body=body.body,
        ),
    )


@fold(CardUpdated)
def _card_updated(tx: Tx, event: Event, body: CardUpdated) -> None:
    former = card(tx, event.room_id, body.card_id)
    _put_card(
        tx,
        structs.replace(
            former,
            revision=former.revision + 1,
            pinned=_or(body.pinned, former.pinned),
            type=_or(body.type, former.type),
            title=_or(body.title, former.title),
            tags=_or(body.tags, former.tags),
            refs=_or(body.refs, former.refs),
            updated_at=event.ts,
            updated_seq=event.seq,
            body=_or(body.body, former.body),
        ),
    )


def _put_card(tx: Tx, card: Card) -> None:
    row = structs.asdict(card)
    row["pinned"], row["tags"], row["refs"] = int(card.pinned), _list(card.tags), _list(card.refs)
    tx.run(SQL["put_card"], **row)
    tx.run(SQL["untag"], room_id=card.room_id, number=card.number)
    for tag in card.tags:
        tx.run(SQL["tag"], room_id=card.room_id, tag=tag, number=card.number)


@fold(AnchorCreated)
def _anchor_created(tx: Tx, event: Event, body: AnchorCreated) -> None:
    _put_anchor(tx, event, body.anchor_id, title=body.title, paths=body.paths)


@fold(AnchorUpdated)
def _anchor_updated(tx: Tx, event: Event, body: AnchorUpdated) -> None:
    known = anchor(tx, event.room_id, body.anchor_id)
    _put_anchor(tx, event, body.anchor_id, title=_or(body.title, known.title), paths=_or(body.paths, known.paths))


def _put_anchor(tx: Tx, event: Event, anchor_id: str, *, title: str, paths: list[str]) -> None:
    tx.run(
        SQL["put_anchor"],
        room_id=event.room_id,
        anchor_id=anchor_id,
        title=title,
        paths=_list(paths),
        created_by=event.by,
        now=event.ts,
    )


FOLDS = (_task_created, _task_updated, _focused, _card_created, _card_updated, _anchor_created, _anchor_updated)
TABLES = ("card_tags", "cards", "task_focus", "tasks", "anchors")
