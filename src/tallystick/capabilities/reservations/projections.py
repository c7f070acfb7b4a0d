"""`x.tally.reservation.*` and incursion events, folded into who holds which path."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.reservations import losses
from tallystick.capabilities.reservations.model import Kind, State
from tallystick.capabilities.reservations.queries import SQL
from tallystick.kernel.clock import from_wire
from tallystick.kernel.envelope import Event
from tallystick.kernel.scopes import fold
from tallystick.ledger.tx import Projection, Tx


def _text(event: Event, name: str) -> str:
    return cast("str", event.data[name])


def granted(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["grant"],
        room_id=event.room_id,
        reservation_id=_text(event, "reservation_id"),
        agent_id=_text(event, "agent_id"),
        path=_text(event, "path"),
        key=_text(event, "key"),
        folded=fold(_text(event, "key")),
        folds=int(cast("bool", event.data["folds"])),
        mode=_text(event, "mode"),
        task_id=cast("str | None", event.data["task_id"]),
        fence=event.seq,
        granted_at=event.ts,
        until=from_wire(_text(event, "until")),
    )


def renewed(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["renew"],
        room_id=event.room_id,
        reservation_id=_text(event, "reservation_id"),
        path=_text(event, "path"),
        until=from_wire(_text(event, "until")),
        mode=_text(event, "mode"),
        task_id=cast("str | None", event.data["task_id"]),
    )


def _ended(tx: Tx, event: Event, state: State) -> None:
    reservation_id = _text(event, "reservation_id")
    tx.run(
        SQL["end"],
        room_id=event.room_id,
        reservation_id=reservation_id,
        state=state.value,
        ended_at=event.ts,
        ended_by=event.by,
        ending=cast("str | None", event.data.get("ending")),
    )
    tx.run(SQL["forget_incursions"], room_id=event.room_id, reservation_id=reservation_id)


def released(tx: Tx, event: Event) -> None:
    _ended(tx, event, State.RELEASED)


def expired(tx: Tx, event: Event) -> None:
    _ended(tx, event, State.EXPIRED)


def incurred(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["incur"],
        room_id=event.room_id,
        reservation_id=_text(event, "reservation_id"),
        incoming_agent=_text(event, "from_agent"),
        incoming_key=fold(_text(event, "key")),
        seq=event.seq,
    )


def left(tx: Tx, event: Event) -> None:
    agent_id = _text(event, "actor_id")
    tx.run(SQL["forget_incursions_of_agent"], room_id=event.room_id, agent_id=agent_id)
    tx.run(SQL["end_of_agent"], room_id=event.room_id, agent_id=agent_id, ended_at=event.ts, ended_by=event.by)


def closed(tx: Tx, event: Event) -> None:
    tx.run(SQL["forget_every_incursion"], room_id=event.room_id)
    tx.run(SQL["end_all"], room_id=event.room_id, ended_at=event.ts, ended_by=event.by)


def _also(first: Projection, second: Projection | None) -> Projection:
    def both(tx: Tx, event: Event) -> None:
        first(tx, event)
        if second:
            second(tx, event)

    return both


_FOLDS: dict[str, Projection] = {
    Kind.GRANT: granted,
    Kind.RENEW: renewed,
    Kind.RELEASE: released,
    Kind.EXPIRE: expired,
    Kind.INCURSION: incurred,
    "actor.remove": left,
    "x.tally.stick.close": closed,
}
PROJECTIONS: dict[str, Projection] = {
    **losses.FOLDS,
    **{kind: _also(fold_, losses.FOLDS.get(kind)) for kind, fold_ in _FOLDS.items()},
}
TABLES = ("losses", "incursions", "reservations")
