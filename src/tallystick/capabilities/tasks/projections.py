"""`x.tally.task.*`, `x.tally.card.*` and `x.tally.anchor.*` events, folded into rows."""

from __future__ import annotations

from typing import cast

import msgspec

from tallystick.capabilities.tasks import queries
from tallystick.capabilities.tasks.model import Kind, TaskStatus, number_of, numbered
from tallystick.capabilities.tasks.queries import SQL
from tallystick.kernel.envelope import Event, to_json
from tallystick.ledger.tx import Projection, Tx

_DETAILS = ("description", "definition_of_done", "steps", "paths", "refs", "summary")


def _list(values: object) -> str:
    return msgspec.json.encode(values).decode()


def task_created(tx: Tx, event: Event) -> None:
    data, number = event.data, cast("int", event.data["number"])
    tx.run(
        SQL["put_task"],
        room_id=event.room_id,
        number=number,
        task_id=numbered("TASK", number),
        revision=1,
        status=cast("str", data.get("status") or TaskStatus.READY.value),
        title=cast("str", data["title"]),
        assignee=cast("str | None", data.get("assignee")),
        anchor_id=cast("str | None", data.get("anchor")),
        created_by=event.by,
        created_at=event.ts,
        updated_at=event.ts,
        updated_seq=event.seq,
        details=to_json({name: data[name] for name in _DETAILS if name in data}),
    )


def task_updated(tx: Tx, event: Event) -> None:
    data = event.data
    task = queries.task(tx, event.room_id, cast("str", data["task_id"]))
    details = msgspec.structs.asdict(task.details)
    tx.run(
        SQL["put_task"],
        room_id=event.room_id,
        number=task.number,
        task_id=task.task_id,
        revision=task.revision + 1,
        status=cast("str", data.get("status", task.status.value)),
        title=cast("str", data.get("title", task.title)),
        assignee=cast("str | None", data.get("assignee", task.assignee)),
        anchor_id=cast("str | None", data.get("anchor", task.anchor_id)),
        created_by=task.created_by,
        created_at=task.created_at,
        updated_at=event.ts,
        updated_seq=event.seq,
        details=to_json({**details, **{name: data[name] for name in _DETAILS if name in data}}),
    )


def focused(tx: Tx, event: Event) -> None:
    task_id = cast("str | None", event.data["task_id"])
    if task_id is None:
        tx.run(SQL["drop_focus"], room_id=event.room_id, principal=event.by)
        return
    tx.run(SQL["put_focus"], room_id=event.room_id, principal=event.by, number=number_of("TASK", task_id))


def card_created(tx: Tx, event: Event) -> None:
    _put_card(tx, event, cast("int", event.data["number"]), event.data, revision=1)


def card_updated(tx: Tx, event: Event) -> None:
    card = queries.card(tx, event.room_id, cast("str", event.data["card_id"]))
    known: dict[str, object] = {
        "pinned": card.pinned,
        "type": card.type,
        "title": card.title,
        "tags": card.tags,
        "refs": card.refs,
        "body": card.body,
    }
    _put_card(tx, event, card.number, {**known, **event.data}, revision=card.revision + 1)


def _put_card(tx: Tx, event: Event, number: int, data: dict[str, object], *, revision: int) -> None:
    tags = cast("list[str]", data["tags"])
    tx.run(
        SQL["put_card"],
        room_id=event.room_id,
        number=number,
        card_id=numbered("CARD", number),
        revision=revision,
        pinned=int(cast("bool", data["pinned"])),
        type=cast("str", data["type"]),
        title=cast("str", data["title"]),
        tags=_list(tags),
        refs=_list(data["refs"]),
        created_by=event.by,
        created_at=event.ts,
        updated_at=event.ts,
        updated_seq=event.seq,
        body=cast("str", data["body"]),
    )
    tx.run(SQL["untag"], room_id=event.room_id, number=number)
    for tag in tags:
        tx.run(SQL["tag"], room_id=event.room_id, tag=tag, number=number)


def anchored(tx: Tx, event: Event) -> None:
    data = event.data
    anchor_id = cast("str", data["anchor_id"])
    known = queries.find_anchor(tx, event.room_id, anchor_id)
    tx.run(
        SQL["put_anchor"],
        room_id=event.room_id,
        anchor_id=anchor_id,
        title=cast("str", data.get("title", known.title if known else "")),
        paths=_list(data.get("paths", known.paths if known else [])),
        created_by=event.by,
        now=event.ts,
    )


PROJECTIONS: dict[str, Projection] = {
    Kind.TASK_CREATE: task_created,
    Kind.TASK_UPDATE: task_updated,
    Kind.TASK_FOCUS: focused,
    Kind.CARD_CREATE: card_created,
    Kind.CARD_UPDATE: card_updated,
    Kind.ANCHOR_CREATE: anchored,
    Kind.ANCHOR_UPDATE: anchored,
}

TABLES = ("card_tags", "cards", "task_focus", "tasks", "anchors")
