"""Accepting what is addressed to one, a message or a notification: once, however often it is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.messages import queries, rules
from tallystick.capabilities.messages.contract import Acked
from tallystick.capabilities.messages.model import Delivery, Kind
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import moment
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx

Check: TypeAlias = Callable[[Event, Delivery | None, str], Delivery]


def acked(tx: Tx, me: Caller, kind: Kind, check: Check, *, room_id: str, event_id: str, actor_id: str | None) -> Acked:
    room = rooms.open_room(tx, room_id)
    mine = agent_rules.principal(me.agent_id)
    rules.check_self(mine, actor_id)
    event = reading.event_by_id(tx, room.room_id, event_id)
    delivery = check(event, queries.delivery(tx, room.room_id, mine, event.seq), mine)
    if delivery.acked_at is not None:
        return Acked(actor_id=mine, event_id=event.id, already=True, acked_at=moment(delivery.acked_at))
    (done,) = tx.append(room.room_id, mine, [rules.settlement(kind, mine, event.id)])
    return Acked(actor_id=mine, event_id=event.id, already=False, acked_at=moment(done.ts))
