"""Which events are about which task, kept as rows so that a task's history is found in a ledger of any length."""

from __future__ import annotations

from tallystick.kernel.envelope import Event
from tallystick.kernel.subjects import may_name_task, tasks_of
from tallystick.ledger.tx import SQL, Tx

TABLES = ("event_tasks",)


def mention(tx: Tx, event: Event, task_id: str) -> None:
    """Put an event down as about a task: by what it says itself, or by what its capability knows."""
    tx.run(SQL["mention"], room_id=event.room_id, task_id=task_id, seq=event.seq)


def mentioned(tx: Tx, event: Event) -> None:
    if may_name_task(event.body):
        for task_id in tasks_of(event.data):
            mention(tx, event, task_id)
