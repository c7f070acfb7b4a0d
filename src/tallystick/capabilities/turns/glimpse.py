"""The stick as rooms see it: answers the `Sticks` protocol of `rooms`."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.rooms.model import Glimpse, Room, Sticks
from tallystick.capabilities.turns import queries, rules
from tallystick.capabilities.turns.errors import HoldsStick
from tallystick.kernel.caller import Caller
from tallystick.ledger.capability import Holding
from tallystick.ledger.tx import Tx


class StickGlimpses:
    def glimpse(self, tx: Tx, room: Room, members: Sequence[Member]) -> Glimpse:
        table = queries.table_of(tx, room, members)
        return Glimpse(
            state=rules.state(table, now=tx.now),
            owner=table.stick.owner,
            reserved_for=table.stick.reserved_for,
            turn_id=table.stick.turn_id,
        )

    def turn_id(self, tx: Tx, room_id: str) -> int:
        return queries.stick(tx, room_id).turn_id

    def let_go(self, tx: Tx, room: Room, me: Caller) -> None:
        if queries.stick(tx, room.room_id).owner == me.agent_id:
            raise HoldsStick("You hold the stick of this room.", room_id=room.room_id)


def holdings(tx: Tx, room_id: str) -> list[Holding]:
    owner = queries.stick(tx, room_id).owner
    return [Holding(agent_id=owner, what="the stick")] if owner else []


OFFERS: dict[type, object] = {Sticks: StickGlimpses()}
