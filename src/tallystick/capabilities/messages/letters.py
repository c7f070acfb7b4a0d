"""Writing into inboxes for other capabilities: answers the `Letters` protocol of `rooms`."""

from __future__ import annotations

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.messages import queries, rules, sending
from tallystick.capabilities.messages.model import SYSTEM, Kind
from tallystick.capabilities.rooms.model import Letters, Room
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Draft, Event
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx


class Letterbox:
    def send(self, tx: Tx, room: Room, me: Caller, *, to: str, text: str, attention: bool) -> Event:
        members = agents.roster(tx, room.room_id)
        rules.check_text(text)
        priority = "attention" if attention else "normal"
        data: dict[str, object] = {"text": text, "format": "plain", "priority": priority, "to": [to]}
        sent = sending.post(tx, room, members, rules.author(members, me), data)
        return reading.event_at(tx, room.room_id, sent.event.seq)

    def acked_at(self, tx: Tx, room_id: str, event_id: str, recipient: str) -> Instant | None:
        seq = reading.seq_of_event(tx, room_id, event_id)
        delivery = queries.delivery(tx, room_id, agent_rules.principal(recipient), seq)
        return delivery.acked_at if delivery else None

    def tell(self, tx: Tx, room_id: str, *, to: str, title: str, message: str, related_event_id: str) -> Event:
        who = agent_rules.principal(to)
        data: dict[str, object] = {
            "kind": "status_change",
            "priority": "high",
            "title": title,
            "message": message,
            "target_actor_id": who,
            "requires_ack": False,
            "related_event_id": related_event_id,
            "recipients": [who],
        }
        (event,) = tx.append(room_id, SYSTEM, [Draft(kind=Kind.NOTIFY, data=data)])
        return event


OFFERS: dict[type, object] = {Letters: Letterbox()}
