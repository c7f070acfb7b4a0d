"""Reservations, read, and `x.tally.reservation.*` and incursion events folded into who holds which path.

What overlaps a path costs its depth and what lies below it, whatever else the room holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.reservations.events import (
    IncursionRecorded,
    ReservationExpired,
    ReservationGranted,
    ReservationReleased,
    ReservationRenewed,
)
from tallystick.capabilities.reservations.model import HeldReservation, Reservation, ReservationState
from tallystick.capabilities.rooms.events import StickClosed
from tallystick.kernel import scopes
from tallystick.kernel.envelope import Event
from tallystick.kernel.scopes import Overlap, RoomPath
from tallystick.ledger import reading
from tallystick.ledger.capability import Holding, fold
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries

SQL = Queries("tallystick.capabilities.reservations")
SWEEP_LIMIT = 50
INCURSIONS_AT_ONCE = 20
_ALL = "\U0010ffff"


def overlapping(tx: Tx, room_id: str, scope: RoomPath) -> list[HeldReservation]:
    """Every active reservation that overlaps a path, the one that says most first; those that have run out too."""
    keys = msgspec.json.encode(scopes.ancestors(scope.folded)).decode()
    # '0' is the character after '/', so the range holds what lies below the folder and nothing else.
    first, beyond = (f"{scope.folded}/", f"{scope.folded}0") if scope.folded else ("\x01", _ALL)
    found = [
        *tx.all(SQL["at_or_above"], Reservation.of_row, room_id=room_id, keys=keys),
        *tx.all(SQL["below"], Reservation.of_row, room_id=room_id, first=first, beyond=beyond),
    ]
    return sorted(with_holders(tx, room_id, found, scope), key=lambda held: held.rank)


def with_holders(
    tx: Tx, room_id: str, found: Sequence[Reservation], scope: RoomPath | None = None
) -> list[HeldReservation]:
    """Reservations together with what can be said of their holders; those that do not overlap the path are left out."""
    holders: dict[str, Member | None] = {}
    result: list[HeldReservation] = []
    for each in found:
        how = scopes.classify(scope, each.scope) if scope else Overlap.EXACT
        if how is Overlap.DISJOINT:
            continue
        if each.agent_id not in holders:
            holders[each.agent_id] = agents.member(tx, room_id, each.agent_id)
        holder = holders[each.agent_id]
        alive = agent_rules.liveness(holder, now=tx.now, stale_ms=tx.world.stale_ms)
        name = holder.name if holder else each.agent_id
        result.append(HeldReservation(reservation=each, name=name, liveness=alive, overlap=how))
    return result


def by_id(tx: Tx, room_id: str, reservation_id: str) -> Reservation | None:
    return tx.one(SQL["by_id"], Reservation.of_row, room_id=room_id, reservation_id=reservation_id)


def newest_of(tx: Tx, room_id: str, agent_id: str, scope: RoomPath) -> Reservation | None:
    """What an agent holds of exactly this path, or held last."""
    found = tx.all(SQL["newest_of"], Reservation.of_row, room_id=room_id, folded=scope.folded, agent_id=agent_id)
    return next((each for each in found if scopes.classify(each.scope, scope) is Overlap.EXACT), None)


def lapsed(tx: Tx, room_id: str) -> list[Reservation]:
    return tx.all(SQL["lapsed"], Reservation.of_row, room_id=room_id, now=tx.now, limit=SWEEP_LIMIT)


def listed(
    tx: Tx, room_id: str, *, agent_id: str | None, task_id: str | None, ended: bool, limit: int
) -> list[Reservation]:
    task, whose = task_id or "", agent_id or ""
    if ended:
        return tx.all(
            SQL["ended"], Reservation.of_row, room_id=room_id, now=tx.now, agent_id=whose, task_id=task, limit=limit
        )
    if agent_id:
        return tx.all(
            SQL["active_of"], Reservation.of_row, room_id=room_id, now=tx.now, agent_id=whose, task_id=task, limit=limit
        )
    return tx.all(SQL["active"], Reservation.of_row, room_id=room_id, now=tx.now, task_id=task, limit=limit)


def holdings(tx: Tx, room_id: str) -> list[Holding]:
    """What is reserved, as others see it."""
    found = listed(tx, room_id, agent_id=None, task_id=None, ended=False, limit=1000)
    return [Holding(agent_id=each.agent_id, what=each.scope.path, path=each.scope.path) for each in found]


def recorded(tx: Tx, room_id: str, incoming: str, scope: RoomPath, held: Sequence[HeldReservation]) -> set[str]:
    """Of these reservations, those that this agent has already run into with this path, and found as they are now."""
    liveness = {each.reservation.reservation_id: each.liveness for each in held}
    ids = msgspec.json.encode(list(liveness)).decode()
    rows = tx.all(SQL["recorded"], _place, room_id=room_id, incoming_agent=incoming, incoming_key=scope.folded, ids=ids)
    return {known for known, seq in rows if _liveness_at(tx, room_id, seq) == liveness[known]}


def _place(*, reservation_id: str, seq: int) -> tuple[str, int]:
    return reservation_id, seq


def _liveness_at(tx: Tx, room_id: str, seq: int) -> str | None:
    body = reading.event_at(tx, room_id, seq).content
    return body.payload.owner_liveness if isinstance(body, IncursionRecorded) else None


def open_incursions(tx: Tx, room_id: str) -> list[int]:
    """The newest attempts to enter what is still reserved, as the events that recorded them."""
    return tx.all(SQL["open_incursions"], _seq, room_id=room_id, now=tx.now, limit=INCURSIONS_AT_ONCE)


def _seq(*, seq: int) -> int:
    return seq


@fold(ReservationGranted)
def _granted(tx: Tx, event: Event, body: ReservationGranted) -> None:
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
def _renewed(tx: Tx, event: Event, body: ReservationRenewed) -> None:
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
def _released(tx: Tx, event: Event, body: ReservationReleased) -> None:
    _end(tx, event, body.reservation_id, ReservationState.RELEASED, ending=None)


@fold(ReservationExpired)
def _expired(tx: Tx, event: Event, body: ReservationExpired) -> None:
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
def _incursion_recorded(tx: Tx, event: Event, body: IncursionRecorded) -> None:
    tx.run(
        SQL["incur"],
        room_id=event.room_id,
        reservation_id=body.reservation_id,
        incoming_agent=body.from_agent,
        incoming_key=scopes.fold(body.key),
        seq=event.seq,
    )


@fold(MemberRemoved)
def _left(tx: Tx, event: Event, body: MemberRemoved) -> None:
    tx.run(SQL["forget_incursions_of_agent"], room_id=event.room_id, agent_id=body.actor_id)
    tx.run(SQL["end_of_agent"], room_id=event.room_id, agent_id=body.actor_id, ended_at=event.ts, ended_by=event.by)


@fold(StickClosed)
def _closed(tx: Tx, event: Event, _body: StickClosed) -> None:
    tx.run(SQL["forget_every_incursion"], room_id=event.room_id)
    tx.run(SQL["end_all"], room_id=event.room_id, ended_at=event.ts, ended_by=event.by)


FOLDS = (_granted, _renewed, _released, _expired, _incursion_recorded, _left, _closed)
