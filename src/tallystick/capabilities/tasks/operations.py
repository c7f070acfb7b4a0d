"""The capability as a whole: its operations, what `open` shows of tasks, and what other capabilities ask of them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from tallystick.capabilities.agents.model import OwnedTask, Ownership
from tallystick.capabilities.tasks import anchors, cards, macros, queries, tasks
from tallystick.capabilities.tasks.contract import (
    AnchorView,
    CardView,
    TaskView,
)
from tallystick.capabilities.tasks.events import TaskCreated, TaskUpdated
from tallystick.capabilities.tasks.queries import FOLDS, TABLES
from tallystick.kernel.caller import Caller
from tallystick.ledger import reading
from tallystick.ledger.capability import Capability, Opened
from tallystick.ledger.contract import Envelope
from tallystick.ledger.errors import EventNotFound
from tallystick.ledger.tx import Tx
from tallystick.proof.refs import RefKind, parse


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
            note = queries.note(tx, room_id, ref.seq or 0)
            if note is None:
                raise EventNotFound(f"There is no note {ref.value} in this room.", room_id=room_id, ref=ref.value)
            return Opened.of("note", ref.value, Envelope.of(note))
        case _:
            return None


def _makers(tx: Tx, room_id: str, task_id: str) -> tuple[str, ...]:
    """Who last said whose task it is, and who last said that it is in progress."""
    assigned, started, cursor = "", "", 0
    kinds = [TaskCreated.kind, TaskUpdated.kind]
    while page := reading.since(tx, room_id, cursor, limit=reading.PAGE, kinds=kinds, task_id=task_id):
        for event in page:
            body = event.content
            if isinstance(body, TaskCreated):
                assigned, started = event.by, event.by
            elif isinstance(body, TaskUpdated):
                assigned = assigned if body.assignee is UNSET else event.by
                started = started if body.status is UNSET else event.by
        cursor = page[-1].seq
    return tuple(sorted({assigned, started} - {""}))


class TaskOwnership:
    def in_progress(self, tx: Tx, room_id: str, agent_id: str) -> Sequence[OwnedTask]:
        return [
            OwnedTask(task_id=task.task_id, paths=tuple(task.details.paths), made_by=_makers(tx, room_id, task.task_id))
            for task in queries.in_progress(tx, room_id, agent_id)
        ]


CAPABILITY = Capability(
    name="tasks",
    package="tallystick.capabilities.tasks",
    operations=(
        tasks.create,
        tasks.list_tasks,
        tasks.show,
        tasks.update,
        tasks.focus,
        tasks.snapshot,
        macros.delegate,
        macros.fanout_jobs,
        macros.merge_report,
        cards.create,
        cards.list_cards,
        cards.show,
        cards.update,
        anchors.create,
        anchors.list_anchors,
        anchors.show,
        anchors.update,
    ),
    folds=FOLDS,
    tables=TABLES,
    offers={Ownership: TaskOwnership()},
    opens=open_ref,
)
