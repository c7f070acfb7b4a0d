"""A reservation as the ledger has it, and what a decision about a path looks at."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from tallystick.capabilities.agents.model import Liveness
from tallystick.capabilities.reservations.events import ReservationEnding, ReservationMode
from tallystick.kernel.clock import Instant
from tallystick.kernel.scopes import Overlap, RoomPath


class ReservationState(StrEnum):
    ACTIVE = "active"
    RELEASED = "released"
    EXPIRED = "expired"


class PathAccess(StrEnum):
    """What a path is to somebody who wants to change it."""

    FREE = "free"
    MINE = "mine"
    SHARED = "shared"
    TAKEN = "taken"


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    reservation_id: str
    agent_id: str
    scope: RoomPath
    mode: ReservationMode
    task_id: str | None
    fence: int
    """The seq of the event that granted it: a later grant of the same path always has a higher one."""
    granted_at: Instant
    until: Instant
    state: ReservationState
    ended_at: Instant | None
    ended_by: str | None
    ending: ReservationEnding | None

    @classmethod
    def of_row(
        cls,
        *,
        reservation_id: str,
        agent_id: str,
        path: str,
        key: str,
        folds: int,
        mode: str,
        task_id: str | None,
        fence: int,
        granted_at: Instant,
        until: Instant,
        state: str,
        ended_at: Instant | None,
        ended_by: str | None,
        ending: str | None,
    ) -> Reservation:
        return cls(
            reservation_id=reservation_id,
            agent_id=agent_id,
            scope=RoomPath(path=path, key=key, folds=folds == 1),
            mode=ReservationMode(mode),
            task_id=task_id,
            fence=fence,
            granted_at=granted_at,
            until=until,
            state=ReservationState(state),
            ended_at=ended_at,
            ended_by=ended_by,
            ending=ReservationEnding(ending) if ending else None,
        )

    def live(self, now: Instant) -> bool:
        return self.state is ReservationState.ACTIVE and now < self.until

    def state_at(self, now: Instant) -> ReservationState:
        """Expired as soon as its time is up, whether or not that has been written down."""
        return ReservationState.EXPIRED if self.state is ReservationState.ACTIVE and now >= self.until else self.state


class HeldReservation(msgspec.Struct, frozen=True, kw_only=True):
    """A reservation that overlaps a path, with what is known of its holder."""

    reservation: Reservation
    name: str
    liveness: Liveness
    overlap: Overlap

    @property
    def agent_id(self) -> str:
        return self.reservation.agent_id

    @property
    def rank(self) -> tuple[bool, bool, int]:
        """The one that says most comes first: an active holder's, the very path, the oldest."""
        return (self.liveness is not Liveness.ACTIVE, self.overlap is not Overlap.EXACT, self.reservation.fence)
