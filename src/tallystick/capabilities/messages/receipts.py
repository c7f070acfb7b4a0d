"""`messages.receipts`: who got what of a stretch of the room, who has read it, and who has accepted it."""

from __future__ import annotations

from tallystick.capabilities.messages.contract import AskReceipts, Receipt, Receipts
from tallystick.capabilities.messages.queries import SQL
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import moment, operation
from tallystick.ledger.tx import Tx

STRETCH = 1000


def _receipt(
    *, seq: int, event_id: str, recipient: str, needs_ack: int, acked_at: Instant | None, read_seq: int
) -> Receipt:
    return Receipt(
        seq=seq,
        event_id=event_id,
        recipient=recipient,
        read=seq <= read_seq,
        needs_ack=bool(needs_ack) and acked_at is None,
        acked_at=moment(acked_at),
    )


@operation("messages.receipts", examples=({"room_id": "ROOM", "first_seq": 1, "last_seq": 100},))
def receipts(tx: Tx, me: Caller, ask: AskReceipts) -> Receipts:
    """Show to whom the messages and notifications of a stretch went, and who has read and who has accepted each."""
    room = rooms.room(tx, ask.room_id)
    if ask.last_seq - ask.first_seq >= STRETCH:
        raise InvalidField(f"A stretch has at most {STRETCH} events.", field="last_seq")
    found = tx.all(SQL["receipts"], _receipt, room_id=room.room_id, first=ask.first_seq, last=ask.last_seq)
    return Receipts(receipts=found)
