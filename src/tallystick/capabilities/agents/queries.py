"""Members and their presence, read and touched."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tallystick.capabilities.agents import rules
from tallystick.capabilities.agents.model import Member
from tallystick.kernel.caller import Caller
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries

SQL = Queries("tallystick.capabilities.agents")


def members(tx: Tx, room_id: str) -> list[Member]:
    """A room's members in turn order."""
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


def acting(tx: Tx, room_id: str | None, me: Caller) -> Caller:
    """The caller as the agent that it acts for in a room: itself, unless it adopted one there."""
    if room_id is None or me.session_id or (tx.writable and not tx.is_adopted(room_id)):
        return me
    adopted = tx.one(SQL["adopted"], _agent_id, room_id=room_id, session_id=me.agent_id)
    return replace(me, agent_id=adopted, session_id=me.agent_id) if adopted else me


def _agent_id(*, agent_id: str) -> str:
    return agent_id


def owner_of_name(tx: Tx, room_id: str, name: str) -> str | None:
    """Whose name this is or once was, in this room."""
    return tx.one(SQL["owner_of_name"], _agent_id, room_id=room_id, name=name)


def names(tx: Tx, room_id: str) -> list[str]:
    """Every name that anybody in this room has or had."""
    return tx.all(SQL["names"], _name, room_id=room_id)


def _name(*, name: str) -> str:
    return name


def find(tx: Tx, room_id: str, who: str) -> Member | None:
    """A member by its id, or by its name."""
    found = member(tx, room_id, who)
    if found is None and (owner := owner_of_name(tx, room_id, who)):
        found = member(tx, room_id, owner)
        return found if found and found.name == who else None
    return found


def progress(tx: Tx, room_id: str, agent_id: str) -> None:
    tx.run(SQL["progress"], room_id=room_id, agent_id=agent_id, now=tx.now)


def forget(tx: Tx, room_id: str, agent_id: str) -> None:
    tx.run(SQL["forget"], room_id=room_id, agent_id=agent_id)
