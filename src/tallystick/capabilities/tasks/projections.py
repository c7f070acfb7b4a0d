"""`x.tally.task.*`, `x.tally.card.*` and `x.tally.anchor.*` events, folded into rows."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import UNSET, UnsetType, structs

from tallystick.capabilities.tasks import queries
from tallystick.capabilities.tasks.events import (
    AnchorCreated,
    AnchorUpdated,
    CardCreated,
    CardUpdated,
    TaskCreated,
    TaskFocused,
    TaskUpdated,
)
from tallystick.capabilities.tasks.model import Card, number_of, numbered
from tallystick.capabilities.tasks.queries import SQL
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx

T = TypeVar("T")


def _list(values: list[str]) -> str:
    return msgspec.json.encode(values).decode()


def _or(given: T | UnsetType, known: T) -> T:
    return known if given is UNSET else given


@fold(TaskCreated)
def task_created(tx: Tx, event: Event, body: TaskCreated) -> None:
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
def task_updated(tx: Tx, event: Event, body: TaskUpdated) -> None:
    task = queries.task(tx, event.room_id, body.task_id)
    known = task.details
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
        number=task.number,
        task_id=task.task_id,
        revision=task.revision + 1,
        status=_or(body.status, task.status).value,
        title=_or(body.title, task.title),
        assignee=_or(body.assignee, task.assignee),
        anchor_id=_or(body.anchor, task.anchor_id),
        created_by=task.created_by,
        created_at=task.created_at,
        updated_at=event.ts,
        updated_seq=event.seq,
        details=to_json(structs.asdict(details)),
    )


@fold(TaskFocused)
def focused(tx: Tx, event: Event, body: TaskFocused) -> None:
    if body.task_id is None:
        tx.run(SQL["drop_focus"], room_id=event.room_id, principal=event.by)
        return
    tx.run(SQL["put_focus"], room_id=event.room_id, principal=event.by, number=number_of("TASK", body.task_id))


@fold(CardCreated)
def card_created(tx: Tx, event: Event, body: CardCreated) -> None:
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
def card_updated(tx: Tx, event: Event, body: CardUpdated) -> None:
    card = queries.card(tx, event.room_id, body.card_id)
    _put_card(
        tx,
        structs.replace(
            card,
            revision=card.revision + 1,
            pinned=_or(body.pinned, card.pinned),
            type=_or(body.type, card.type),
            title=_or(body.title, card.title),
            tags=_or(body.tags, card.tags),
            refs=_or(body.refs, card.refs),
            updated_at=event.ts,
            updated_seq=event.seq,
            body=_or(body.body, card.body),
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
def anchor_created(tx: Tx, event: Event, body: AnchorCreated) -> None:
    _put_anchor(tx, event, body.anchor_id, title=body.title, paths=body.paths)


@fold(AnchorUpdated)
def anchor_updated(tx: Tx, event: Event, body: AnchorUpdated) -> None:
    known = queries.anchor(tx, event.room_id, body.anchor_id)
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


FOLDS = (task_created, task_updated, focused, card_created, card_updated, anchor_created, anchor_updated)
TABLES = ("card_tags", "cards", "task_focus", "tasks", "anchors")
