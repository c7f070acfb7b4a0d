"""`x.tally.stick.*` events, folded into who owns a room's stick."""

from __future__ import annotations

from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.rooms.events import RoomCreated, StickClosed
from tallystick.capabilities.turns.events import StickClaimed, StickPassed, StickReleased, StickRevoked, StickTakenOver
from tallystick.capabilities.turns.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx


@fold(RoomCreated)
def created(tx: Tx, event: Event, _body: RoomCreated) -> None:
    tx.run(SQL["create"], room_id=event.room_id, ts=event.ts)


@fold(StickClaimed)
def claimed(tx: Tx, event: Event, body: StickClaimed) -> None:
    _grant(tx, event, body, received_seq=body.handoff_seq)


@fold(StickTakenOver)
def taken_over(tx: Tx, event: Event, body: StickTakenOver) -> None:
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
def handed_over(tx: Tx, event: Event, body: StickReleased | StickPassed) -> None:
    tx.run(
        SQL["hand_over"],
        room_id=event.room_id,
        reserved_for=body.reserved_for,
        pending_seq=event.seq,
        ts=event.ts,
    )


@fold(StickRevoked)
def revoked(tx: Tx, event: Event, body: StickRevoked) -> None:
    tx.run(SQL["revoke"], room_id=event.room_id, reserved_for=body.reserved_for, ts=event.ts)


@fold(MemberRemoved)
def left(tx: Tx, event: Event, body: MemberRemoved) -> None:
    tx.run(SQL["unreserve"], room_id=event.room_id, agent_id=body.actor_id, ts=event.ts)


@fold(StickClosed)
def closed(tx: Tx, event: Event, _body: StickClosed) -> None:
    tx.run(SQL["close"], room_id=event.room_id, ts=event.ts)


FOLDS = (created, claimed, taken_over, handed_over, revoked, left, closed)
