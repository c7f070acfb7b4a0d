"""`actor.*` events, folded into the members of a room."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.agents.model import RESUME
from tallystick.capabilities.agents.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger.tx import Projection, Tx


def added(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["add"],
        room_id=event.room_id,
        agent_id=cast("str", event.data["actor_id"]),
        name=cast("str", event.data["name"]),
        role=cast("str", event.data["role"]),
        harness=cast("str", event.data["harness"]),
        scope_key=event.scope_key,
        ordinal=cast("int", event.data["ordinal"]),
        joined_at=event.ts,
    )
    _keep_name(tx, event)
    _changed(tx, event)


def _changed(tx: Tx, event: Event) -> None:
    tx.forget(event.room_id, "roster")


def _keep_name(tx: Tx, event: Event) -> None:
    name, agent_id = cast("str", event.data["name"]), cast("str", event.data["actor_id"])
    tx.run(SQL["keep_name"], room_id=event.room_id, name=name, agent_id=agent_id)


def removed(tx: Tx, event: Event) -> None:
    agent_id = cast("str", event.data["actor_id"])
    tx.run(SQL["remove"], room_id=event.room_id, agent_id=agent_id)
    tx.run(SQL["disown"], room_id=event.room_id, agent_id=agent_id, session_id=agent_id)
    _changed(tx, event)


def updated(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["update"],
        room_id=event.room_id,
        agent_id=cast("str", event.data["actor_id"]),
        name=cast("str", event.data["name"]),
        role=cast("str", event.data["role"]),
    )
    _keep_name(tx, event)
    _changed(tx, event)


def resumed(tx: Tx, event: Event) -> None:
    session_id, agent_id = cast("str", event.data["session_id"]), cast("str", event.data["agent_id"])
    tx.run(SQL["disown"], room_id=event.room_id, agent_id=agent_id, session_id=session_id)
    tx.run(SQL["adopt"], room_id=event.room_id, agent_id=agent_id, session_id=session_id)
    tx.mark_adopted(event.room_id)


def reordered(tx: Tx, event: Event) -> None:
    for ordinal, agent_id in enumerate(cast("list[str]", event.data["sequence"])):
        tx.run(SQL["place"], room_id=event.room_id, agent_id=agent_id, ordinal=ordinal)
    _changed(tx, event)


PROJECTIONS: dict[str, Projection] = {
    "actor.add": added,
    "actor.remove": removed,
    "actor.update": updated,
    "group.reorder": reordered,
    RESUME: resumed,
}
