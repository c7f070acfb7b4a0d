"""Tasks, cards and anchors, read."""

from __future__ import annotations

from tallystick.capabilities.rooms.notes import NOTE
from tallystick.capabilities.tasks.errors import UnknownAnchor, UnknownCard, UnknownTask
from tallystick.capabilities.tasks.model import Anchor, Card, Task, number_of
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tallystick.ledger.errors import EventNotFound
from tallystick.ledger.tx import Tx
from tallystick.proof.refs import Ref, RefKind
from tallystick.storage.queries import Queries

SQL = Queries("tallystick.capabilities.tasks")
LATEST = 2**62
OWNED_AT_ONCE = 50


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
