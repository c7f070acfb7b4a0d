"""The stick and its lease, read into one table for the rules and written back."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Room
from tallystick.capabilities.turns.model import Kind, Lease, Stick, Table
from tallystick.kernel.caller import Process
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries

SQL = Queries("tallystick.capabilities.turns")


def stick(tx: Tx, room_id: str) -> Stick:
    return tx.one(SQL["stick"], Stick, room_id=room_id) or Stick()


def lease(tx: Tx, room_id: str, of: Stick) -> Lease:
    """The live lease of this turn; an empty one when the store was restored from its ledger."""
    found = tx.one(SQL["lease"], Lease.of_row, room_id=room_id)
    return found if found and found.turn_id == of.turn_id else Lease(turn_id=of.turn_id)


def pending(tx: Tx, room_id: str, of: Stick) -> Event | None:
    return reading.event_at(tx, room_id, of.pending_seq) if of.pending_seq else None


def table(tx: Tx, room_id: str) -> Table:
    return table_of(tx, rooms.room(tx, room_id), agents.members(tx, room_id))


def table_of(tx: Tx, room: Room, members: Sequence[Member]) -> Table:
    present = stick(tx, room.room_id)
    held = lease(tx, room.room_id, present)
    handoff = pending(tx, room.room_id, present)
    return Table(
        room=room,
        members=members,
        stick=present,
        lease=held,
        owner_process=tx.process_state(held.process),
        handed_by=handoff.by if handoff else None,
        handed_directly=handoff is not None and handoff.kind == Kind.PASS,
    )


def put_lease(tx: Tx, room_id: str, new: Lease) -> None:
    process: Process | None = new.process
    tx.run(
        SQL["put_lease"],
        room_id=room_id,
        turn_id=new.turn_id,
        lease_id=new.lease_id,
        lease_expires_at=new.lease_expires_at,
        claim_expires_at=new.claim_expires_at,
        renewed_at=tx.now,
        host_id=process.host_id if process else None,
        pid=process.pid if process else None,
        process_started_at=process.started_at if process else None,
    )


def renew(tx: Tx, room_id: str, until: Instant) -> None:
    tx.run(SQL["renew"], room_id=room_id, lease_expires_at=until, renewed_at=tx.now)
