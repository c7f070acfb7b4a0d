"""Notices beside an answer: what a member should know though it called about something else, such as unread mail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import UNSET

from tallystick.capabilities.agents import queries as agents
from tallystick.hub import registry
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Answer, AnyOperation
from tallystick.ledger.tx import Tx

MAIL = frozenset({"messages", "notifications"})
"""Whoever calls about these sees the mail itself."""


def beside(
    tx: Tx, operation: AnyOperation, given: Mapping[str, object], answer: Answer, caller: Caller
) -> Sequence[str]:
    """The notices for a caller who is just being answered, read in the answer's own transaction."""
    room_id = getattr(answer, "room_id", None) or given.get("room_id")
    if not isinstance(room_id, str) or operation.noun in MAIL or getattr(answer, "messages", UNSET):
        return ()
    return signs(tx, room_id, caller)


def signs(tx: Tx, room_id: str, caller: Caller) -> list[str]:
    me = agents.acting(tx, room_id, caller)
    found = (capability.notice(tx, room_id, me) for capability in registry.CAPABILITIES if capability.notice)
    return [notice for notice in found if notice]
