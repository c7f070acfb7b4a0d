"""`actor.*` events, folded into the members of a room."""

from __future__ import annotations

from tallystick.capabilities.agents.events import (
    AdoptionAllowed,
    AgentResumed,
    MemberAdded,
    MemberRemoved,
    MemberUpdated,
    SequenceEntered,
)
from tallystick.capabilities.agents.queries import SQL
from tallystick.capabilities.rooms.events import SequenceChanged
from tallystick.kernel.envelope import Event
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx


@fold(MemberAdded)
def added(tx: Tx, event: Event, body: MemberAdded) -> None:
    tx.run(
        SQL["add"],
        room_id=event.room_id,
        agent_id=body.actor_id,
        name=body.name,
        role=body.role,
        harness=body.harness,
        scope_key=event.scope_key,
        ordinal=body.ordinal,
        joined_at=event.ts,
        in_order=int(body.in_order is not False),
    )
    _keep_name(tx, event, body)
    _changed(tx, event)


def _changed(tx: Tx, event: Event) -> None:
    tx.forget(event.room_id, "roster")


def _keep_name(tx: Tx, event: Event, body: MemberAdded | MemberUpdated) -> None:
    tx.run(SQL["keep_name"], room_id=event.room_id, name=body.name, agent_id=body.actor_id)


@fold(SequenceEntered)
def entered(tx: Tx, event: Event, body: SequenceEntered) -> None:
    tx.run(SQL["enter"], room_id=event.room_id, agent_id=body.actor_id, ordinal=body.ordinal)
    _changed(tx, event)


@fold(MemberRemoved)
def removed(tx: Tx, event: Event, body: MemberRemoved) -> None:
    tx.run(SQL["remove"], room_id=event.room_id, agent_id=body.actor_id)
    tx.run(SQL["disown"], room_id=event.room_id, agent_id=body.actor_id, session_id=body.actor_id)
    _changed(tx, event)


@fold(MemberUpdated)
def updated(tx: Tx, event: Event, body: MemberUpdated) -> None:
    tx.run(SQL["update"], room_id=event.room_id, agent_id=body.actor_id, name=body.name, role=body.role)
    _keep_name(tx, event, body)
    _changed(tx, event)


@fold(AgentResumed)
def resumed(tx: Tx, event: Event, body: AgentResumed) -> None:
    tx.run(SQL["disown"], room_id=event.room_id, agent_id=body.agent_id, session_id=body.session_id)
    tx.run(SQL["adopt"], room_id=event.room_id, agent_id=body.agent_id, session_id=body.session_id)
    tx.run(SQL["use_up_grant"], room_id=event.room_id, agent_id=body.agent_id, session_id=body.session_id)
    tx.mark_adopted(event.room_id)


@fold(AdoptionAllowed)
def adoption_allowed(tx: Tx, event: Event, body: AdoptionAllowed) -> None:
    who = {"agent_id": body.agent_id, "session_id": body.session_id}
    tx.run(SQL["allow_adoption"], room_id=event.room_id, seq=event.seq, **who)


@fold(SequenceChanged)
def reordered(tx: Tx, event: Event, body: SequenceChanged) -> None:
    for ordinal, agent_id in enumerate(body.sequence):
        tx.run(SQL["place"], room_id=event.room_id, agent_id=agent_id, ordinal=ordinal)
    _changed(tx, event)


FOLDS = (added, entered, removed, updated, resumed, adoption_allowed, reordered)
