"""Where protocol events are: found by their type, their task and who is concerned, and listed from a cursor on."""

from __future__ import annotations

from msgspec import UNSET

from tallystick.capabilities.agents.events import AgentResumed
from tallystick.capabilities.protocol.contract import EventType, ProtocolBody
from tallystick.capabilities.protocol.events import WorkBlocked, WorkHandedOver
from tallystick.capabilities.reservations.events import IncursionRecorded
from tallystick.capabilities.turns.events import StickPassed, StickReleased
from tallystick.kernel.envelope import Event
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries

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


def event_type(body: ProtocolBody) -> EventType:
    """What an event is called in the protocol."""
    match body:
        case WorkHandedOver() | StickReleased() | StickPassed():
            return EventType.HANDOFF
        case WorkBlocked():
            return EventType.BLOCKED
        case IncursionRecorded():
            return EventType.INCURSION
        case AgentResumed():
            return EventType.RESUME


def agents_concerned(body: ProtocolBody) -> tuple[str | None, str | None]:
    """From whom it is, and to whom."""
    match body:
        case StickReleased() | StickPassed():
            return body.from_agent_id, body.reserved_for
        case _:
            return body.from_agent, body.to_agent


def recipients(body: WorkHandedOver | WorkBlocked) -> list[str]:
    """Everybody it was sent to."""
    return [body.to_agent] if body.recipients is UNSET else body.recipients


def task_of(body: ProtocolBody) -> str | None:
    return None if isinstance(body, StickReleased | StickPassed) else body.task_id


@fold(WorkHandedOver, WorkBlocked, IncursionRecorded, AgentResumed, StickReleased, StickPassed)
def _indexed(tx: Tx, event: Event, body: ProtocolBody) -> None:
    tx.run(SQL["add"], room_id=event.room_id, seq=event.seq, event_type=event_type(body).value, task_id=task_of(body))
    concerned = {each for each in agents_concerned(body) if each}
    if isinstance(body, WorkHandedOver | WorkBlocked):
        concerned = {body.from_agent, *recipients(body)}
    for agent_id in sorted(concerned):
        tx.run(SQL["add_party"], room_id=event.room_id, seq=event.seq, agent_id=agent_id)


FOLDS = (_indexed,)
