"""Pure decisions about reservations: who gets a path, who has to wait, and what has to be written down either way."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec
from msgspec import structs

from tallystick.capabilities.agents.model import Liveness
from tallystick.capabilities.reservations.events import (
    IncursionPayload,
    IncursionRecorded,
    ReservationEnding,
    ReservationExpired,
    ReservationGranted,
    ReservationMode,
    ReservationReleased,
    ReservationRenewed,
)
from tallystick.capabilities.reservations.model import HeldReservation, PathAccess, Reservation, ReservationState
from tallystick.kernel import scopes
from tallystick.kernel.clock import Instant, to_wire
from tallystick.kernel.envelope import Draft
from tallystick.kernel.errors import Conflict, NotAllowed, NotFound, Refused
from tallystick.kernel.hints import known, step
from tallystick.kernel.operation import moment
from tallystick.kernel.scopes import Overlap, RoomPath

HOLDER = known("held_by", otherwise="NAME")
PATH = known("path", otherwise="PATH")

MINUTE = 60_000
RECORDED_LIMIT = 50
"""So many incursions one attempt leaves at most; the answer names all it ran into."""


class ReservationConflict(Conflict):
    """Another active agent has reserved that path, or part of it."""

    hint = (
        f"Ask its holder with {step('messages.send', to=[HOLDER], text='…')}, or work on something else: "
        f"{step('reservations.status')} shows what is taken."
    )


class ReservationStale(Conflict):
    """An agent that has fallen silent still has that path reserved."""

    hint = (
        "Look at its uncommitted work first; then take its place with "
        f"{step('reservations.reserve', path=PATH, takeover_stale=True)}."
    )


class ReservationLost(Conflict):
    """You no longer hold that reservation."""

    hint = f"Stop editing that path. If you still need it: {step('reservations.reserve', path=PATH)}."


class NotYourReservation(NotAllowed):
    """That reservation belongs to somebody else."""

    hint = f"Ask its holder to release it: {step('reservations.status')} shows who holds what."


class ReservationNotFound(NotFound):
    """There is no such reservation in this room."""

    hint = f"{step('reservations.status')} lists those there are."


class ReserveDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What comes of an attempt to reserve. A refusal still leaves its incursions."""

    refusal: Refused | None = None
    takes: Sequence[HeldReservation] = ()
    shares: Sequence[HeldReservation] = ()
    incursions: Sequence[HeldReservation] = ()


def contested(held: Sequence[HeldReservation]) -> list[str]:
    """Those that overlap one of somebody else's, by id."""
    at: dict[str, list[HeldReservation]] = {}
    for each in held:
        at.setdefault(each.reservation.scope.folded, []).append(each)
    found: dict[str, None] = {}
    for each in held:
        # What overlaps a path stands at it or above it, or has the path above itself: looking up is enough.
        for key in scopes.ancestors(each.reservation.scope.folded):
            for other in at.get(key, ()):
                if each.agent_id != other.agent_id and _overlap(each, other):
                    found |= dict.fromkeys((each.reservation.reservation_id, other.reservation.reservation_id))
    return list(found)


def _overlap(one: HeldReservation, other: HeldReservation) -> bool:
    return scopes.classify(one.reservation.scope, other.reservation.scope) is not Overlap.DISJOINT


def decide(
    held: Sequence[HeldReservation],
    me: str,
    scope: RoomPath,
    *,
    mode: ReservationMode,
    takeover_stale: bool,
    now: Instant,
) -> ReserveDecision:
    """Whether the caller gets the path, given all that overlaps it, the most telling first."""
    others = [each for each in held if each.agent_id != me and each.reservation.live(now)]
    takes = [each for each in others if takeover_stale and each.liveness is not Liveness.ACTIVE]
    rest = [each for each in others if each not in takes]
    if mode is ReservationMode.SHARED:
        return ReserveDecision(takes=takes, shares=rest, incursions=rest)
    if rest:
        return ReserveDecision(refusal=conflict(rest, scope), incursions=rest)
    return ReserveDecision(takes=takes)


def conflict(held: Sequence[HeldReservation], scope: RoomPath) -> Refused:
    """The refusal that names the most telling holder, and all of them in its details."""
    first = held[0]
    what = "it" if first.reservation.scope.key == scope.key else f"{first.reservation.scope.path}, which overlaps it"
    details = {**_holder(first), "owner": first.agent_id, "conflicts": [_holder(each) for each in held]}
    if first.liveness is Liveness.ACTIVE:
        until = to_wire(first.reservation.until)
        text = f"{scope.path} is not free: {_who(first)} has reserved {what} until {until}."
        return ReservationConflict(text, details=details)
    text = f"{scope.path} is not free: {_who(first)}, who is {first.liveness.value}, still has {what} reserved."
    return ReservationStale(text, details=details)


def _who(held: HeldReservation) -> str:
    return held.agent_id if held.name == held.agent_id else f"{held.name} ({held.agent_id})"


def _holder(held: HeldReservation) -> dict[str, object]:
    return {
        "reservation_id": held.reservation.reservation_id,
        "held_by": held.agent_id,
        "name": held.name,
        "path": held.reservation.scope.path,
        "mode": held.reservation.mode.value,
        "until": to_wire(held.reservation.until),
        "overlap": held.overlap.value,
        "liveness": held.liveness.value,
    }


def grant(
    reservation_id: str,
    me: str,
    scope: RoomPath,
    *,
    mode: ReservationMode,
    task_id: str | None,
    until: Instant,
    scope_key: str,
) -> Draft:
    body = ReservationGranted(
        reservation_id=reservation_id,
        agent_id=me,
        path=scope.path,
        key=scope.key,
        folds=scope.folds,
        mode=mode,
        task_id=task_id,
        until=moment(until),
    )
    return Draft.of(body, scope_key=scope_key)


def renewal(
    mine: Reservation,
    *,
    until: Instant,
    scope_key: str,
    scope: RoomPath | None = None,
    mode: ReservationMode,
    task_id: str | None,
) -> Draft:
    body = ReservationRenewed(
        reservation_id=mine.reservation_id,
        path=(scope or mine.scope).path,
        mode=mode,
        task_id=task_id,
        until=moment(until),
    )
    return Draft.of(body, scope_key=scope_key)


def release(mine: Reservation, *, scope_key: str) -> Draft:
    return Draft.of(ReservationReleased(reservation_id=mine.reservation_id, path=mine.scope.path), scope_key=scope_key)


def expiry(lost: Reservation) -> Draft:
    """The event that archives a reservation whose time is up."""
    return Draft.of(_expired(lost, ReservationEnding.TTL))


def takeover(lost: HeldReservation, *, by: str) -> Draft:
    """The event that archives a reservation whose silent holder was replaced."""
    body = _expired(lost.reservation, ReservationEnding.TAKEN_OVER)
    return Draft.of(structs.replace(body, taken_by=by, liveness=lost.liveness.value))


def _expired(lost: Reservation, ending: ReservationEnding) -> ReservationExpired:
    return ReservationExpired(
        reservation_id=lost.reservation_id,
        agent_id=lost.agent_id,
        path=lost.scope.path,
        until=moment(lost.until),
        ending=ending,
    )


def incursions(
    found: Sequence[HeldReservation],
    known: Collection[str],
    me: str,
    scope: RoomPath,
    *,
    granted: bool,
    task_id: str | None,
) -> list[Draft]:
    """The events that let both sides see an overlap.

    One that was recorded before is not repeated while it lasts, unless its owner has fallen silent or come back: what
    may be done about it is another thing then.
    """
    new = [each for each in found if each.reservation.reservation_id not in known]
    return [_incursion(each, me, scope, granted=granted, task_id=task_id) for each in new[:RECORDED_LIMIT]]


def _incursion(held: HeldReservation, me: str, scope: RoomPath, *, granted: bool, task_id: str | None) -> Draft:
    payload = IncursionPayload(
        incursion_kind=held.overlap.value,
        owner_agent=held.agent_id,
        incoming_agent=me,
        owner_liveness=held.liveness.value,
        resolution_hint=_hint(held, me, granted=granted),
    )
    body = IncursionRecorded(
        task_id=task_id or held.reservation.task_id,
        from_agent=me,
        to_agent=held.agent_id,
        scope=scope.path,
        key=scope.key,
        reservation_id=held.reservation.reservation_id,
        granted=granted,
        payload=payload,
    )
    return Draft.of(body)


def _hint(held: HeldReservation, me: str, *, granted: bool) -> str:
    path, until = held.reservation.scope.path, to_wire(held.reservation.until)
    if granted:
        return f"{me} and {held.agent_id} share {path}: agree who edits what before either commits."
    if held.liveness is Liveness.ACTIVE:
        return f"{me} waits until {held.agent_id} releases {path} (at the latest {until}), or works elsewhere."
    return f"{held.agent_id} is {held.liveness.value}: {me} may take {path} over with takeover_stale."


def check_mine(
    found: Reservation | None, me: str, held: Sequence[HeldReservation], *, what: str, fence: int | None, now: Instant
) -> Reservation:
    """The caller's own live reservation; otherwise a refusal that says what became of it and who has the path now."""
    others = [each for each in held if each.agent_id != me and each.reservation.live(now)]
    if found is None:
        if others:
            raise NotYourReservation(f"{what} is reserved by {_who(others[0])}.", details=_now_held(others))
        raise ReservationNotFound(f"Nothing called {what[:200]} is reserved in this room.", reservation=what)
    if found.agent_id != me:
        text = f"{found.scope.path} was reserved by {found.agent_id}, and you are {me}."
        raise NotYourReservation(text, details={"held_by": found.agent_id, "state": found.state_at(now).value})
    if not found.live(now):
        text = f"You lost {found.scope.path}: {fate(found, now)}. {_present(others)}"
        raise ReservationLost(text, details={"state": found.state_at(now).value, **_now_held(others)})
    if fence is not None and fence != found.fence:
        text = f"You hold {found.scope.path} under fence {found.fence}, not {fence}: that grant is over."
        raise ReservationLost(text, details={"fence": found.fence, **_now_held(others)})
    return found


def fate(found: Reservation, now: Instant) -> str:
    """What became of a reservation that is over."""
    if found.ending is ReservationEnding.TAKEN_OVER:
        return f"{found.ended_by} took it over at {to_wire(found.ended_at or now)}"
    if found.state is ReservationState.RELEASED:
        return f"it was released at {to_wire(found.ended_at or now)}"
    return f"it ran out at {to_wire(found.until)}"


def _present(others: Sequence[HeldReservation]) -> str:
    return f"{_who(others[0])} has it now." if others else "Nobody has it now."


def _now_held(others: Sequence[HeldReservation]) -> dict[str, object]:
    return _holder(others[0]) if others else {"held_by": None}


def verdict(
    held: Sequence[HeldReservation], me: str, scope: RoomPath, *, now: Instant
) -> tuple[PathAccess, HeldReservation | None]:
    """What a path is to the caller, and the reservation that says so."""
    live = [each for each in held if each.reservation.live(now)]
    mine = [each for each in live if each.agent_id == me and scopes.covers(each.reservation.scope, scope)]
    others = [each for each in live if each.agent_id != me]
    own = next((each for each in mine if each.reservation.mode is ReservationMode.EXCLUSIVE), mine[0] if mine else None)
    if not others:
        return (PathAccess.MINE, own) if own else (PathAccess.FREE, None)
    if own:
        return (
            (PathAccess.MINE, own)
            if own.reservation.mode is ReservationMode.EXCLUSIVE
            else (PathAccess.SHARED, others[0])
        )
    taken = next((each for each in others if each.reservation.mode is ReservationMode.EXCLUSIVE), None)
    return (PathAccess.TAKEN, taken) if taken else (PathAccess.SHARED, others[0])
