"""What rooms need to know of the stick. `turns` stands above them and answers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.rooms.model import Room, RoomState
from tallystick.kernel.caller import Caller
from tallystick.ledger.tx import Tx


class StickSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The stick as a room listing shows it."""

    state: RoomState
    owner: str | None
    reserved_for: str | None
    turn_id: int


class Sticks(Protocol):
    def summary(self, tx: Tx, room: Room, members: Sequence[Member]) -> StickSummary: ...

    def turn_id(self, tx: Tx, room_id: str) -> int: ...

    def check_leaving(self, tx: Tx, room_id: str, me: Caller) -> None:
        """Refuse while the caller holds the stick: nobody leaves with it."""
        ...

    def check_closing(
        self, tx: Tx, room_id: str, me: Caller, *, lease_id: str | None, expected_turn_id: int | None
    ) -> int:
        """The turn at which the caller may close the room; refused while somebody else holds the stick."""
        ...
