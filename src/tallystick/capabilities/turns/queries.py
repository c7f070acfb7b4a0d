"""The stick and its lease, read into one table for the rules and written back; stick events, folded into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.events import RoomCreated, StickClosed
from tallystick.capabilities.rooms.model import Room
from tallystick.capabilities.turns.events import StickClaimed, StickPassed, StickReleased, StickRevoked, StickTakenOver
from tallystick.capabilities.turns.model import Handed, Lease, Stick, TurnSnapshot
from tallystick.kernel.caller import Caller, Process, SessionKind
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries

SQL = Queries("tallystick.capabilities.turns")


def stick(tx: Tx, room_id: str) -> Stick:
    return tx.one(SQL["stick"], Stick, room_id=room_id) or Stick()


class StickRow(NamedTuple):
    stick: Stick
    lease: Lease
    """Of this turn; an empty one when the store was restored from its ledger."""
    handed: Handed | None


def _stick_row(
    *,
    lease_id: str | None,
    lease_expires_at: Instant | None,
    claim_expires_at: Instant | None,
    renewed_at: Instant | None,
    host_id: str | None,
    pid: int | None,
    process_started_at: str | None,
    session_key: str | None,
    session_kind: str | None,
    author: str | None,
    kind: str | None,
    body: str | None,
    **of_stick: object,
) -> StickRow:
    stick = Stick(**of_stick)  # pyright: ignore[reportArgumentType]
    process = Process(host_id=host_id, pid=pid, started_at=process_started_at or "") if host_id and pid else None
    lease = Lease(
        turn_id=stick.turn_id,
        lease_id=lease_id,
        lease_expires_at=lease_expires_at,
        claim_expires_at=claim_expires_at,
        renewed_at=renewed_at or 0,
        process=process,
        session_key=session_key,
        session_kind=SessionKind(session_kind) if session_kind else None,
    )
    handed = Handed(by=author, kind=kind, body=body) if author and kind and body else None
    return StickRow(stick, lease, handed)


def snapshot(tx: Tx, room_id: str, me: Caller) -> TurnSnapshot:
    """For a decision that may turn on anybody who is present."""
    room = rooms.room(tx, room_id)
    since = tx.now - room.policy.presence_ttl_ms
    return snapshot_of(tx, room, agents.members(tx, room_id, seen_since=since, also=(me.agent_id,)))


def callers_snapshot(tx: Tx, room_id: str, me: Caller) -> TurnSnapshot:
    """For a decision that concerns the owner and the caller: the processes of other members are not read."""
    room = rooms.room(tx, room_id)
    return snapshot_of(tx, room, agents.members(tx, room_id, seen_since=tx.now, also=(me.agent_id,)))


def snapshot_of(tx: Tx, room: Room, members: Sequence[Member]) -> TurnSnapshot:
    row = tx.one(SQL["stick_row"], _stick_row, room_id=room.room_id) or StickRow(Stick(), Lease(turn_id=0), None)
    if recipient := row.stick.reserved_for:
        members = [agents.looked_at(tx, each) if each.agent_id == recipient else each for each in members]
    return TurnSnapshot(
        room=room,
        members=members,
        stick=row.stick,
        lease=row.lease,
        owner_process=tx.process_state(row.lease.process),
        handed=row.handed,
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
        session_key=new.session_key,
        session_kind=new.session_kind.value if new.session_kind else None,
    )


@fold(RoomCreated)
def _created(tx: Tx, event: Event, _body: RoomCreated) -> None:
    tx.run(SQL["create"], room_id=event.room_id, ts=event.ts)


@fold(StickClaimed)
def _claimed(tx: Tx, event: Event, body: StickClaimed) -> None:
    _grant(tx, event, body, received_seq=body.handoff_seq)


@fold(StickTakenOver)
def _taken_over(tx: Tx, event: Event, body: StickTakenOver) -> None:
    _grant(tx, event, body, received_seq=None)


def _grant(tx: Tx, event: Event, body: StickClaimed | StickTakenOver, *, received_seq: int | None) -> None:
    tx.run(
        SQL["grant"],
        room_id=event.room_id,
        turn_id=body.turn_id,
        owner=body.to_agent_id,
        received_seq=received_seq,
        ts=event.ts,
    )


@fold(StickReleased, StickPassed)
def _handed_over(tx: Tx, event: Event, body: StickReleased | StickPassed) -> None:
    tx.run(
        SQL["hand_over"],
        room_id=event.room_id,
        reserved_for=body.reserved_for,
        pending_seq=event.seq,
        ts=event.ts,
    )


@fold(StickRevoked)
def _revoked(tx: Tx, event: Event, body: StickRevoked) -> None:
    tx.run(SQL["revoke"], room_id=event.room_id, reserved_for=body.reserved_for, ts=event.ts)


@fold(MemberRemoved)
def _left(tx: Tx, event: Event, body: MemberRemoved) -> None:
    tx.run(SQL["unreserve"], room_id=event.room_id, agent_id=body.actor_id, ts=event.ts)


@fold(StickClosed)
def _closed(tx: Tx, event: Event, _body: StickClosed) -> None:
    tx.run(SQL["close"], room_id=event.room_id, ts=event.ts)


FOLDS = (_created, _claimed, _taken_over, _handed_over, _revoked, _left, _closed)
