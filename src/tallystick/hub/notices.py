"""Signs beside an answer: what a member should know though it called about something else, such as unread mail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tallystick.hub import registry
from tallystick.hub.hub import Hub, signs
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Answer, Operation
from tallystick.ledger.tx import Tx

MAIL = frozenset({"messages", "notifications"})
"""Whoever calls about these sees the mail itself."""


def room_of(operation: Operation, given: Mapping[str, object], answer: Answer) -> str | None:
    """The room to look at after this answer; None where a notice would say nothing new."""
    # Not by attribute: a model takes its time to say that it has no such field.
    fields = vars(answer)
    room_id = fields.get("room_id") or given.get("room_id")
    if not isinstance(room_id, str) or operation.noun in MAIL or fields.get("messages"):
        return None
    return room_id


def beside(tx: Tx, operation: Operation, given: Mapping[str, object], answer: Answer, caller: Caller) -> Sequence[str]:
    """The notices for a caller who is just being answered, read in the answer's own transaction."""
    room_id = room_of(operation, given, answer)
    return signs(tx, room_id, caller) if room_id else ()


def after(hub: Hub, name: str, given: Mapping[str, object], answer: Answer, caller: Caller) -> Sequence[str]:
    """The notices for a caller who has just been answered, in one read at most."""
    room_id = room_of(registry.find(name), given, answer)
    return hub.notices(room_id, caller) if room_id else ()
