"""Where protocol events are; each listing walks one index from its cursor on."""

from __future__ import annotations

from tallystick.capabilities.protocol.contract import EventType
from tallystick.kernel.envelope import Event
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries

SQL = Queries("tallystick.capabilities.protocol")


def listed(
    tx: Tx,
    room_id: str,
    *,
    task_id: str | None,
    agent_id: str | None,
    event_type: EventType | None,
    after: int,
    limit: int,
) -> list[Event]:
    kind, task = event_type or "", task_id or ""
    if agent_id:
        return tx.all(
            SQL["listed_of_agent"],
            Event,
            room_id=room_id,
            agent_id=agent_id,
            task_id=task,
            event_type=kind,
            seq=after,
            limit=limit,
        )
    if task_id:
        return tx.all(
            SQL["listed_of_task"], Event, room_id=room_id, task_id=task, event_type=kind, seq=after, limit=limit
        )
    if event_type:
        return tx.all(SQL["listed_of_type"], Event, room_id=room_id, event_type=kind, seq=after, limit=limit)
    return tx.all(SQL["listed"], Event, room_id=room_id, seq=after, limit=limit)
