"""`reservations.*`: take, keep and give back paths, ask whose they are, or whose they were right after any event.

An edit that was refused is an attempt, and on the ledger, so that both sides see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import structs

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.reservations import loss_notices, queries, rules
from tallystick.capabilities.reservations.contract import (
    AttemptEdit,
    AttemptEditResult,
    CheckPaths,
    CheckPathsResult,
    HolderView,
    PathVerdict,
    ReleaseReservation,
    RenewReservation,
    RenewResult,
    ReplayedReservation,
    ReplayedReservations,
    ReservationList,
    ReservationReleaseResult,
    ReservationView,
    ReservePath,
    ReserveResult,
    ShowReservations,
)
from tallystick.capabilities.reservations.events import (
    ReservationExpired,
    ReservationGranted,
    ReservationMode,
    ReservationReleased,
    ReservationRenewed,
)
from tallystick.capabilities.reservations.model import HeldReservation, PathAccess, Reservation
from tallystick.capabilities.reservations.queries import FOLDS
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.events import StickClosed
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.kernel.errors import InvalidField, Refused
from tallystick.kernel.operation import Declined, Reach, moment, operation
from tallystick.kernel.scopes import Overlap, RoomPath
from tallystick.ledger import reading
from tallystick.ledger.capability import Capability
from tallystick.ledger.contract import Replay
from tallystick.ledger.tx import Tx
from tallystick.workspace import room_paths
from tallystick.workspace.room_paths import RoomRoots, Workspace, resolve

SYSTEM = "system"


def _survey(tx: Tx, me: Caller, ask: ReservePath | RenewReservation | ReleaseReservation) -> RoomRoots:
    tx.head(ask.room_id)
    member = agents.participant(tx, ask.room_id, agents.acting(tx, ask.room_id, me).agent_id)
    return rooms.roots_here(tx, ask.room_id, member.scope_key if member else "")


def _spot(ask: ReservePath, survey: Callable[[], RoomRoots]) -> RoomPath:
    return room_paths.scope_in_room(ask.path, survey())


@operation(
    "reservations.reserve",
    reach=Reach.WORK,
    writes=True,
    read_before=_survey,
    io_before=_spot,
    examples=({"room_id": "ROOM", "path": "src/parser.py"}, {"room_id": "ROOM", "path": "docs/*", "mode": "shared"}),
)
def reserve(tx: Tx, me: Caller, ask: ReservePath, scope: RoomPath) -> ReserveResult | Declined:
    """Reserve a file or a folder before you edit it, so that nobody else does meanwhile; again, to keep it longer.

    Refused while another active agent has reserved it or anything that overlaps it; the attempt is recorded, so that
    both sides see it. A shared reservation is always granted and recorded. With takeover_stale you take the place of
    holders who have fallen silent; look at what they left uncommitted first.
    """
    room_id = rooms.open_room(tx, ask.room_id).room_id
    member = agent_rules.membership(agents.roster(tx, room_id), me)
    _sweep(tx, room_id)
    held = queries.overlapping(tx, room_id, scope)
    found = rules.decide(held, me.agent_id, scope, mode=ask.mode, takeover_stale=ask.takeover_stale, now=tx.now)
    known = queries.recorded(tx, room_id, me.agent_id, scope, found.incursions) if found.incursions else ()
    granted = found.refusal is None
    tx.append(
        room_id,
        SYSTEM,
        rules.incursions(found.incursions, known, me.agent_id, scope, granted=granted, task_id=ask.task_id),
    )
    if found.refusal:
        return Declined(found.refusal)
    for lost in found.takes:
        loss_notices.archive(tx, room_id, lost.reservation, rules.takeover(lost, by=me.agent_id), by=me.agent_id)
    mine = next((each.reservation for each in held if _is_same(each, me)), None)
    until = tx.now + ask.ttl_minutes * rules.MINUTE
    reservation_id = mine.reservation_id if mine else tx.new_id()
    draft = (
        rules.renewal(mine, until=until, scope_key=member.scope_key, scope=scope, mode=ask.mode, task_id=ask.task_id)
        if mine
        else rules.grant(
            reservation_id,
            me.agent_id,
            scope,
            mode=ask.mode,
            task_id=ask.task_id,
            until=until,
            scope_key=member.scope_key,
        )
    )
    tx.append(room_id, me.agent_id, [draft])
    return ReserveResult(
        status="refreshed" if mine else "granted",
        room_id=room_id,
        reservation=_view(tx, room_id, reservation_id),
        took_over=[HolderView.of(each) for each in found.takes],
        overlaps=[HolderView.of(each) for each in found.shares],
    )


def _is_same(held: HeldReservation, me: Caller) -> bool:
    return held.agent_id == me.agent_id and held.overlap is Overlap.EXACT


def _view(tx: Tx, room_id: str, reservation_id: str) -> ReservationView:
    found = queries.by_id(tx, room_id, reservation_id)
    (held,) = queries.with_holders(tx, room_id, [found] if found else [])
    return ReservationView.of(room_id, held, now=tx.now)


def _sweep(tx: Tx, room_id: str) -> None:
    """Write down what has run out; so much of it as one call should carry."""
    for lost in queries.lapsed(tx, room_id):
        loss_notices.archive(tx, room_id, lost, rules.expiry(lost), by=SYSTEM)


class _Named(msgspec.Struct, frozen=True, kw_only=True):
    """The reservation that a renewal or release is about, as its caller named it."""

    what: str
    scope: RoomPath | None


def _named(ask: RenewReservation | ReleaseReservation, survey: Callable[[], RoomRoots]) -> _Named:
    if (ask.path is None) == (ask.reservation_id is None):
        raise InvalidField("Give either reservation_id or path.", field="reservation_id")
    scope = room_paths.scope_in_room(ask.path, survey()) if ask.path is not None else None
    return _Named(what=scope.path if scope else ask.reservation_id or "", scope=scope)


def _mine(tx: Tx, me: Caller, ask: RenewReservation | ReleaseReservation, named: _Named) -> Reservation:
    found = (
        queries.newest_of(tx, ask.room_id, me.agent_id, named.scope)
        if named.scope
        else queries.by_id(tx, ask.room_id, named.what)
    )
    scope = named.scope or (found.scope if found else None)
    held = queries.overlapping(tx, ask.room_id, scope) if scope else []
    return rules.check_mine(found, me.agent_id, held, what=named.what, fence=ask.fence, now=tx.now)


@operation(
    "reservations.renew",
    reach=Reach.WORK,
    writes=True,
    read_before=_survey,
    io_before=_named,
    examples=({"room_id": "ROOM", "path": "src/parser.py", "ttl_minutes": 60},),
)
def renew(tx: Tx, me: Caller, ask: RenewReservation, named: _Named) -> RenewResult | Declined:
    """Keep a reservation of yours for longer. Refused when you have lost it: the refusal says who has the path now."""
    rooms.open_room(tx, ask.room_id)
    _sweep(tx, ask.room_id)
    try:
        mine = _mine(tx, me, ask, named)
    except Refused as refusal:
        return Declined(refusal)
    until = tx.now + ask.ttl_minutes * rules.MINUTE
    draft = rules.renewal(mine, until=until, scope_key="", mode=mine.mode, task_id=mine.task_id)
    tx.append(ask.room_id, me.agent_id, [draft])
    return RenewResult(room_id=ask.room_id, reservation=_view(tx, ask.room_id, mine.reservation_id))


@operation(
    "reservations.release",
    reach=Reach.WORK,
    writes=True,
    read_before=_survey,
    io_before=_named,
    examples=({"room_id": "ROOM", "path": "src/parser.py"},),
)
def release(tx: Tx, me: Caller, ask: ReleaseReservation, named: _Named) -> ReservationReleaseResult | Declined:
    """Give a path back that you reserved. Refused when it is not, or no longer, yours."""
    rooms.open_room(tx, ask.room_id)
    _sweep(tx, ask.room_id)
    try:
        mine = _mine(tx, me, ask, named)
    except Refused as refusal:
        return Declined(refusal)
    tx.append(ask.room_id, me.agent_id, [rules.release(mine, scope_key="")])
    return ReservationReleaseResult(room_id=ask.room_id, reservation_id=mine.reservation_id, path=mine.scope.path)


def _workspace(ask: CheckPaths) -> Workspace | None:
    if (ask.path is None) == (ask.room_id is None):
        raise InvalidField("Give either room_id or path.", field="path")
    return resolve(ask.path) if ask.path is not None else None


@operation(
    "reservations.check",
    reach=Reach.READ,
    io_before=_workspace,
    examples=({"room_id": "ROOM", "paths": ["src/parser.py"]}, {"path": "/repo", "paths": ["/repo/src/parser.py"]}),
)
def check(tx: Tx, me: Caller, ask: CheckPaths, workspace: Workspace | None) -> CheckPathsResult:
    """Say of each path whether you may change it: free, mine, shared with others, or taken by somebody else.

    Give a room or a path in its workspace; looking creates nothing. What lies outside the room is free.
    """
    above = rooms.at_roots(tx, workspace.chain) if workspace else []
    room_id = ask.room_id or (above[0].room_id if above else None)
    if room_id is None:
        free = [PathVerdict(path=path, verdict=PathAccess.FREE) for path in ask.paths]
        return CheckPathsResult(room_id=None, agent_id=me.agent_id, paths=free)
    tx.head(room_id)
    me = agents.acting(tx, room_id, me)
    member = agents.participant(tx, room_id, me.agent_id)
    at = rooms.roots_here(tx, room_id, above[0].scope_key if above else (member.scope_key if member else ""))
    paths = [_verdict(tx, room_id, me.agent_id, path, at) for path in ask.paths]
    return CheckPathsResult(room_id=room_id, agent_id=me.agent_id, paths=paths)


def _verdict(tx: Tx, room_id: str, me: str, path: str, at: RoomRoots) -> PathVerdict:
    found = [
        PathVerdict.of(path, *rules.verdict(queries.overlapping(tx, room_id, scope), me, scope, now=tx.now))
        for scope in room_paths.names_in_room(path, at)
    ]
    taken = (each for each in found if each.verdict is PathAccess.TAKEN)
    return next(taken, found[0] if found else PathVerdict(path=path, verdict=PathAccess.FREE))


@operation("reservations.status", reach=Reach.READ, examples=({"room_id": "ROOM"}, {"room_id": "ROOM", "ended": True}))
def status(tx: Tx, me: Caller, ask: ShowReservations) -> ReservationList:
    """List who has reserved what in a room, until when, and whether each holder is alive; or what is over."""
    rooms.room(tx, ask.room_id)
    whom = agents.principal_named(tx, ask.room_id, ask.agent_id) if ask.agent_id else None
    found = queries.listed(tx, ask.room_id, agent_id=whom, task_id=ask.task_id, ended=ask.ended, limit=ask.limit)
    held = queries.with_holders(tx, ask.room_id, found)
    views = [ReservationView.of(ask.room_id, each, now=tx.now) for each in held]
    contested = [] if ask.ended else rules.contested(held)
    return ReservationList(room_id=ask.room_id, reservations=views, contested=contested)


_EVENTS = (
    ReservationGranted,
    ReservationRenewed,
    ReservationReleased,
    ReservationExpired,
    MemberRemoved,
    StickClosed,
)


def replayed_reservations(events: Iterable[Event], at: Instant) -> list[ReplayedReservation]:
    """What was held after these events, by path; what had run out by then counts as over, written down or not."""
    found: dict[str, ReplayedReservation] = {}
    for event in events:
        match event.content:
            case ReservationGranted() as body:
                found[body.reservation_id] = _granted(event, body)
            case ReservationRenewed() as body if before := found.get(body.reservation_id):
                found[body.reservation_id] = structs.replace(
                    before, path=body.path, mode=body.mode, task_id=body.task_id, until=body.until
                )
            case ReservationReleased(reservation_id=ended) | ReservationExpired(reservation_id=ended):
                found.pop(ended, None)
            case MemberRemoved(actor_id=agent_id):
                found = {name: each for name, each in found.items() if each.agent_id != agent_id}
            case StickClosed():
                found = {}
            case _:
                pass
    return sorted((each for each in found.values() if each.until > at), key=lambda each: (each.path, each.fence))


def _granted(event: Event, body: ReservationGranted) -> ReplayedReservation:
    return ReplayedReservation(
        reservation_id=body.reservation_id,
        path=body.path,
        agent_id=body.agent_id,
        mode=body.mode,
        task_id=body.task_id,
        fence=event.seq,
        granted_at=moment(event.ts),
        until=body.until,
    )


@operation("reservations.replay", reach=Reach.READ, examples=({"room_id": "ROOM", "seq": 17},))
def replay(tx: Tx, me: Caller, ask: Replay) -> ReplayedReservations:
    """Show who had reserved what right after one of the room's events. How alive each holder was is not on record."""
    room = rooms.room(tx, ask.room_id)
    event = reading.event_at(tx, room.room_id, ask.seq)
    events = reading.until(tx, room.room_id, event.seq, kinds=[body.kind for body in _EVENTS])
    return ReplayedReservations(
        room_id=room.room_id, seq=event.seq, ts=moment(event.ts), reservations=replayed_reservations(events, event.ts)
    )


def _survey_attempt(tx: Tx, me: Caller, ask: AttemptEdit) -> RoomRoots:
    tx.head(ask.room_id)
    member = agents.participant(tx, ask.room_id, agents.acting(tx, ask.room_id, me).agent_id)
    return rooms.roots_here(tx, ask.room_id, member.scope_key if member else "")


def _spots(ask: AttemptEdit, survey: Callable[[], RoomRoots]) -> Sequence[RoomPath]:
    at = survey()
    return [scope for path in ask.paths for scope in room_paths.names_in_room(path, at)]


@operation(
    "reservations.attempt",
    reach=Reach.WORK,
    writes=True,
    read_before=_survey_attempt,
    io_before=_spots,
    examples=({"room_id": "ROOM", "paths": ["src/parser.py"]},),
)
def attempt(tx: Tx, me: Caller, ask: AttemptEdit, spots: Sequence[RoomPath]) -> AttemptEditResult:
    """Say that you were about to change paths and were kept from it: what others hold of them goes on the ledger.

    Once for each path and holder, so that both sides see it. Hooks say it for an agent whose edit they deny.
    """
    rooms.open_room(tx, ask.room_id)
    recorded = sum(_record(tx, ask.room_id, me, scope) for scope in spots)
    return AttemptEditResult(room_id=ask.room_id, agent_id=me.agent_id, recorded=recorded)


def _record(tx: Tx, room_id: str, me: Caller, scope: RoomPath) -> int:
    found = rules.decide(
        queries.overlapping(tx, room_id, scope),
        me.agent_id,
        scope,
        mode=ReservationMode.EXCLUSIVE,
        takeover_stale=False,
        now=tx.now,
    ).incursions
    in_the_way = [each for each in found if each.reservation.mode is ReservationMode.EXCLUSIVE]
    known = queries.recorded(tx, room_id, me.agent_id, scope, in_the_way) if in_the_way else ()
    drafts = rules.incursions(in_the_way, known, me.agent_id, scope, granted=False, task_id=None)
    tx.append(room_id, SYSTEM, drafts)
    return len(drafts)


CAPABILITY = Capability(
    name="reservations",
    package="tallystick.capabilities.reservations",
    operations=(reserve, renew, release, check, attempt, status, replay),
    folds=(*FOLDS, *loss_notices.FOLDS),
    tables=("losses", "incursions", "reservations"),
    notice=loss_notices.notice,
    holdings=queries.holdings,
)
