"""Inputs and results of `reservations.*`."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from tallystick.capabilities.agents.model import Liveness
from tallystick.capabilities.reservations.events import ReservationEnding, ReservationMode
from tallystick.capabilities.reservations.model import HeldReservation, PathAccess, ReservationState
from tallystick.kernel.clock import Instant
from tallystick.kernel.operation import Answer, Ask, Moment, moment
from tallystick.kernel.scopes import LONGEST, Overlap
from tallystick.ledger.contract import SEQ_LIMIT, RoomId, Text

PATHS_LIMIT = 1000

ReservedPath = Annotated[
    Text, Meta(max_length=LONGEST, description="A file or folder, absolute or from the room's root; src/* is src.")
]
Minutes = Annotated[int, Meta(ge=5, le=1440, description="How long to keep it, in minutes.")]
TaskId = Annotated[Annotated[Text, Meta(min_length=1, max_length=200)] | None, Meta(description="The task it is for.")]
ReservationId = Annotated[
    Annotated[Text, Meta(max_length=200)] | None, Meta(description="Which one; or give its path.")
]
OwnPath = Annotated[
    Annotated[Text, Meta(max_length=LONGEST)] | None, Meta(description="The path you reserved; or reservation_id.")
]
Fence = Annotated[
    Annotated[int, Meta(ge=0, le=SEQ_LIMIT)] | None, Meta(description="Refuse unless it is still this very grant.")
]


class ReservePath(Ask):
    room_id: RoomId
    path: ReservedPath
    mode: Annotated[ReservationMode, Meta(description="exclusive, or shared with others who know of it.")] = (
        ReservationMode.EXCLUSIVE
    )
    ttl_minutes: Minutes = 120
    takeover_stale: Annotated[bool, Meta(description="Take the place of holders that are stale or evicted.")] = False
    task_id: TaskId = None


class HolderView(Answer):
    """A reservation of somebody else that overlaps yours."""

    reservation_id: str
    path: str
    held_by: str
    name: str
    mode: ReservationMode
    until: Moment
    overlap: Overlap
    liveness: Liveness

    @classmethod
    def of(cls, held: HeldReservation) -> HolderView:
        return cls(
            reservation_id=held.reservation.reservation_id,
            path=held.reservation.scope.path,
            held_by=held.agent_id,
            name=held.name,
            mode=held.reservation.mode,
            until=moment(held.reservation.until),
            overlap=held.overlap,
            liveness=held.liveness,
        )


class ReservationView(Answer):
    reservation_id: str
    room_id: str
    path: str
    agent_id: str
    name: str
    liveness: Liveness
    mode: ReservationMode
    task_id: str | None
    fence: int
    """Rises with every grant in the room; whoever keeps state elsewhere can tell an old holder by it."""
    granted_at: Moment
    until: Moment
    state: ReservationState
    ended_at: Moment | None
    ended_by: str | None
    ending: ReservationEnding | None

    @classmethod
    def of(cls, room_id: str, held: HeldReservation, *, now: Instant) -> ReservationView:
        found = held.reservation
        return cls(
            reservation_id=found.reservation_id,
            room_id=room_id,
            path=found.scope.path,
            agent_id=found.agent_id,
            name=held.name,
            liveness=held.liveness,
            mode=found.mode,
            task_id=found.task_id,
            fence=found.fence,
            granted_at=moment(found.granted_at),
            until=moment(found.until),
            state=found.state_at(now),
            ended_at=moment(found.ended_at),
            ended_by=found.ended_by,
            ending=found.ending,
        )


class ReserveResult(Answer):
    status: Literal["granted", "refreshed"]
    room_id: str
    reservation: ReservationView
    took_over: list[HolderView]
    """Whose reservations were archived to make room for this one."""
    overlaps: list[HolderView]
    """Whose reservations this one shares the path with."""


class RenewReservation(Ask):
    room_id: RoomId
    reservation_id: ReservationId = None
    path: OwnPath = None
    fence: Fence = None
    ttl_minutes: Minutes = 120


class RenewResult(Answer):
    room_id: str
    reservation: ReservationView


class ReleaseReservation(Ask):
    room_id: RoomId
    reservation_id: ReservationId = None
    path: OwnPath = None
    fence: Fence = None


class ReservationReleaseResult(Answer):
    status: Literal["released"] = "released"
    room_id: str
    reservation_id: str
    path: str


class CheckPaths(Ask):
    room_id: Annotated[
        Annotated[Text, Meta(max_length=200)] | None, Meta(description="The room; or give a path in it.")
    ] = None
    path: Annotated[
        Annotated[str, Meta(max_length=LONGEST)] | None,
        Meta(description="An absolute path in the workspace, instead of room_id."),
    ] = None
    paths: Annotated[
        list[Annotated[Text, Meta(max_length=LONGEST)]],
        Meta(max_length=PATHS_LIMIT, description="What you are about to change, absolute or from the room's root."),
    ]


class PathVerdict(Answer):
    """`taken` means: leave it alone. The holder's fields are there when somebody else is concerned."""

    path: str
    verdict: PathAccess
    reservation_id: str | UnsetType = UNSET
    held_by: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    until: Moment | UnsetType = UNSET
    overlap: Overlap | UnsetType = UNSET
    liveness: Liveness | UnsetType = UNSET
    reserved: str | UnsetType = UNSET
    """What is reserved: the path itself, a folder above it, or something below it."""

    @classmethod
    def of(cls, path: str, verdict: PathAccess, held: HeldReservation | None) -> PathVerdict:
        if held is None:
            return cls(path=path, verdict=verdict)
        return cls(
            path=path,
            verdict=verdict,
            reservation_id=held.reservation.reservation_id,
            held_by=held.agent_id,
            name=held.name,
            until=moment(held.reservation.until),
            overlap=held.overlap,
            liveness=held.liveness,
            reserved=held.reservation.scope.path,
        )


class AttemptEdit(Ask):
    room_id: RoomId
    paths: Annotated[
        list[Annotated[Text, Meta(max_length=LONGEST)]],
        Meta(max_length=PATHS_LIMIT, description="What you were about to change, absolute or from the room's root."),
    ]


class AttemptEditResult(Answer):
    room_id: str
    agent_id: str
    recorded: int
    """So many overlaps are on the ledger now that were not before."""


class CheckPathsResult(Answer):
    room_id: str | None
    """None when the path leads to no room; everything is free then."""
    agent_id: str
    paths: list[PathVerdict]


class ShowReservations(Ask):
    room_id: RoomId
    agent_id: Annotated[
        Annotated[Text, Meta(max_length=200)] | None, Meta(description="Only what this agent holds.")
    ] = None
    task_id: TaskId = None
    ended: Annotated[bool, Meta(description="Those that are over, newest first, instead of the present ones.")] = False
    limit: Annotated[int, Meta(ge=1, le=1000, description="At most this many.")] = 100


class ReservationList(Answer):
    room_id: str
    reservations: list[ReservationView]
    contested: list[str]
    """Which of these overlap one of somebody else's, by reservation_id; of what is over, none."""


class ReplayedReservation(Answer):
    """A reservation as the ledger had it at a past moment."""

    reservation_id: str
    path: str
    agent_id: str
    mode: ReservationMode
    task_id: str | None
    fence: int
    granted_at: Moment
    until: Moment


class ReplayedReservations(Answer):
    room_id: str
    seq: int
    ts: Moment
    reservations: list[ReplayedReservation]
    """What was held then, by path."""
