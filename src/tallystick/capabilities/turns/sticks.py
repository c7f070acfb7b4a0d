"""The stick as rooms see it: answers the `Sticks` protocol of `rooms`."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.rooms.model import Room
from tallystick.capabilities.rooms.sticks import Sticks, StickSummary
from tallystick.capabilities.turns import queries, rules
from tallystick.capabilities.turns.errors import HoldsStick
from tallystick.kernel.caller import Caller
from tallystick.ledger.capability import Holding
from tallystick.ledger.tx import Tx


class RoomSticks:
    def summary(self, tx: Tx, room: Room, members: Sequence[Member]) -> StickSummary:
        snapshot = queries.snapshot_of(tx, room, members)
        return StickSummary(
            state=rules.state(snapshot, now=tx.now),
            owner=snapshot.stick.owner,
            reserved_for=snapshot.stick.reserved_for,
            turn_id=snapshot.stick.turn_id,
        )

    def turn_id(self, tx: Tx, room_id: str) -> int:
        return queries.stick(tx, room_id).turn_id

    def check_leaving(self, tx: Tx, room_id: str, me: Caller) -> None:
        if queries.stick(tx, room_id).owner == me.agent_id:
            raise HoldsStick("You hold the stick of this room.", room_id=room_id)

    def check_closing(
        self, tx: Tx, room_id: str, me: Caller, *, lease_id: str | None, expected_turn_id: int | None
    ) -> int:
        snapshot = queries.snapshot(tx, room_id, me)
        rules.check_close(snapshot, me, lease_id=lease_id, expected_turn_id=expected_turn_id, now=tx.now)
        return snapshot.stick.turn_id


def holdings(tx: Tx, room_id: str) -> list[Holding]:
    owner = queries.stick(tx, room_id).owner
    return [Holding(agent_id=owner, what="the stick")] if owner else []


OFFERS: dict[type, object] = {Sticks: RoomSticks()}
