"""Members and their presence, read and touched."""

from __future__ import annotations

from functools import partial

from tallystick.capabilities.agents import rules
from tallystick.capabilities.agents.model import Member
from tallystick.kernel.caller import Caller
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries

SQL = Queries("tallystick.capabilities.agents")


def members(tx: Tx, room_id: str) -> list[Member]:
    """A room's members in turn order, with what can be seen of their processes right now."""
    return tx.all(SQL["members"], partial(Member.of_row, probe=tx.process_state), room_id=room_id)


def member(tx: Tx, room_id: str, agent_id: str) -> Member | None:
    return tx.one(SQL["member"], partial(Member.of_row, probe=tx.process_state), room_id=room_id, agent_id=agent_id)


def touch(tx: Tx, room_id: str, known: Member, me: Caller) -> None:
    """Record that a member was just here. A lesser session never replaces a weightier one's process facts."""
    if rules.outranked(known, me):
        tx.run(SQL["seen"], room_id=room_id, agent_id=me.agent_id, now=tx.now)
    else:
        arrive(tx, room_id, me)


def arrive(tx: Tx, room_id: str, me: Caller) -> None:
    tx.run(
        SQL["touch"],
        room_id=room_id,
        agent_id=me.agent_id,
        now=tx.now,
        session_kind=me.session.value,
        host_id=me.process.host_id if me.process else None,
        pid=me.process.pid if me.process else None,
        process_started_at=me.process.started_at if me.process else None,
    )


def forget(tx: Tx, room_id: str, agent_id: str) -> None:
    tx.run(SQL["forget"], room_id=room_id, agent_id=agent_id)
