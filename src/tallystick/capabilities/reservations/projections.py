"""`x.tally.reservation.*` and incursion events, folded into who holds which path."""

from __future__ import annotations

from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.reservations import loss_notices
from tallystick.capabilities.reservations.events import (
    IncursionRecorded,
    ReservationExpired,
    ReservationGranted,
    ReservationReleased,
    ReservationRenewed,
)
from tallystick.capabilities.reservations.model import ReservationState
from tallystick.capabilities.reservations.queries import SQL
from tallystick.capabilities.rooms.events import StickClosed
from tallystick.kernel import scopes
from tallystick.kernel.envelope import Event
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx


@fold(ReservationGranted)
def granted(tx: Tx, event: Event, body: ReservationGranted) -> None:
    tx.run(
        SQL["grant"],
        room_id=event.room_id,
        reservation_id=body.reservation_id,
        agent_id=body.agent_id,
        path=body.path,
        key=body.key,
        folded=scopes.fold(body.key),
        folds=int(body.folds),
        mode=body.mode.value,
        task_id=body.task_id,
        fence=event.seq,
        granted_at=event.ts,
        until=int(body.until),
    )


@fold(ReservationRenewed)
def renewed(tx: Tx, event: Event, body: ReservationRenewed) -> None:
    tx.run(
        SQL["renew"],
        room_id=event.room_id,
        reservation_id=body.reservation_id,
        path=body.path,
        until=int(body.until),
        mode=body.mode.value,
        task_id=body.task_id,
    )


@fold(ReservationReleased)
def released(tx: Tx, event: Event, body: ReservationReleased) -> None:
    _end(tx, event, body.reservation_id, ReservationState.RELEASED, ending=None)


@fold(ReservationExpired)
def expired(tx: Tx, event: Event, body: ReservationExpired) -> None:
    _end(tx, event, body.reservation_id, ReservationState.EXPIRED, ending=body.ending.value)


def _end(tx: Tx, event: Event, reservation_id: str, state: ReservationState, *, ending: str | None) -> None:
    tx.run(
        SQL["end"],
        room_id=event.room_id,
        reservation_id=reservation_id,
        state=state.value,
        ended_at=event.ts,
        ended_by=event.by,
        ending=ending,
    )
    tx.run(SQL["forget_incursions"], room_id=event.room_id, reservation_id=reservation_id)


@fold(IncursionRecorded)
def incursion_recorded(tx: Tx, event: Event, body: IncursionRecorded) -> None:
    tx.run(
        SQL["incur"],
        room_id=event.room_id,
        reservation_id=body.reservation_id,
        incoming_agent=body.from_agent,
        incoming_key=scopes.fold(body.key),
        seq=event.seq,
    )


@fold(MemberRemoved)
def left(tx: Tx, event: Event, body: MemberRemoved) -> None:
    tx.run(SQL["forget_incursions_of_agent"], room_id=event.room_id, agent_id=body.actor_id)
    tx.run(SQL["end_of_agent"], room_id=event.room_id, agent_id=body.actor_id, ended_at=event.ts, ended_by=event.by)


@fold(StickClosed)
def closed(tx: Tx, event: Event, _body: StickClosed) -> None:
    tx.run(SQL["forget_every_incursion"], room_id=event.room_id)
    tx.run(SQL["end_all"], room_id=event.room_id, ended_at=event.ts, ended_by=event.by)


FOLDS = (granted, renewed, released, expired, incursion_recorded, left, closed, *loss_notices.FOLDS)
