"""Tasks, cards, anchors and notes as others see them: whether they exist, and what `open` shows of them."""

from __future__ import annotations

from tallystick.capabilities.rooms.notes import NOTE
from tallystick.capabilities.tasks import queries
from tallystick.capabilities.tasks.contract import AnchorView, CardView, TaskView
from tallystick.capabilities.tasks.model import Kind, number_of
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, Event
from tallystick.ledger import reading
from tallystick.ledger.capability import Opened
from tallystick.ledger.contract import Envelope
from tallystick.ledger.errors import EventNotFound
from tallystick.ledger.tx import Tx
from tallystick.proof.refs import Ref, RefKind, parse


class Things:
    """Answers the protocol of the same name that `jobs` declares."""

    def check_task(self, tx: Tx, room_id: str, task_id: str) -> None:
        queries.task(tx, room_id, task_id)

    def ensure_anchor(self, tx: Tx, room_id: str, by: str, anchor_id: str) -> None:
        if queries.find_anchor(tx, room_id, anchor_id) is None:
            data: dict[str, object] = {"anchor_id": anchor_id, "title": "", "paths": []}
            tx.append(room_id, by, [Draft(kind=Kind.ANCHOR_CREATE, data=data)])

    def exists(self, tx: Tx, room_id: str, ref: Ref) -> bool:
        match ref.kind:
            case RefKind.TASK:
                return queries.find_task(tx, room_id, ref.value) is not None
            case RefKind.CARD:
                return queries.find_card(tx, room_id, ref.value) is not None
            case RefKind.NOTE:
                return _note(tx, room_id, ref.seq or 0) is not None
            case _:
                return False


class Board:
    """Answers the protocol `TaskBoard` of `rooms`: what is said of a task on the bus is true of the task."""

    def progress(self, tx: Tx, room_id: str, by: str, *, task_id: str, status: str, summary: str | None) -> None:
        if number_of("TASK", task_id) is None:
            return
        task = queries.task(tx, room_id, task_id)
        said: dict[str, object] = {"status": status} if summary is None else {"status": status, "summary": summary}
        if task.status != status or summary is not None:
            tx.append(room_id, by, [Draft(kind=Kind.TASK_UPDATE, data={"task_id": task.task_id, **said})])


THINGS = Things()


def _note(tx: Tx, room_id: str, seq: int) -> Event | None:
    try:
        event = reading.event_at(tx, room_id, seq)
    except EventNotFound:
        return None
    return event if event.kind == NOTE else None


def open_ref(tx: Tx, room_id: str, me: Caller, text: str) -> Opened | None:
    ref = parse(text)
    match ref.kind:
        case RefKind.TASK:
            return Opened.of("task", ref.value, TaskView.of(queries.task(tx, room_id, ref.value)))
        case RefKind.CARD:
            return Opened.of("card", ref.value, CardView.of(queries.card(tx, room_id, ref.value)))
        case RefKind.ANCHOR:
            return Opened.of("anchor", ref.value, AnchorView.of(queries.anchor(tx, room_id, ref.value)))
        case RefKind.NOTE:
            note = _note(tx, room_id, ref.seq or 0)
            if note is None:
                raise EventNotFound(f"There is no note {ref.value} in this room.", room_id=room_id, ref=ref.value)
            return Opened.of("note", ref.value, Envelope.of(note))
        case _:
            return None
