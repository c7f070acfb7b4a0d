"""Notices beside an answer: what a member should know though it called about something else, such as unread mail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tallystick.capabilities.agents import queries as agents
from tallystick.hub import registry
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Answer, Operation
from tallystick.ledger.tx import Tx

MAIL = frozenset({"messages", "notifications"})
"""Whoever calls about these sees the mail itself."""


def beside(tx: Tx, operation: Operation, given: Mapping[str, object], answer: Answer, caller: Caller) -> Sequence[str]:
    """The notices for a caller who is just being answered, read in the answer's own transaction."""
    # Not by attribute: a model takes its time to say that it has no such field.
    fields = vars(answer)
    room_id = fields.get("room_id") or given.get("room_id")
    if not isinstance(room_id, str) or operation.noun in MAIL or fields.get("messages"):
        return ()
    return signs(tx, room_id, caller)


def signs(tx: Tx, room_id: str, caller: Caller) -> list[str]:
    me = agents.acting(tx, room_id, caller)
    found = (capability.notice(tx, room_id, me) for capability in registry.CAPABILITIES if capability.notice)
    return [notice for notice in found if notice]
