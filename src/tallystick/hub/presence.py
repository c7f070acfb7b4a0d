"""Keeping a member's presence fresh: every call it makes counts, at most one write every few seconds."""

from __future__ import annotations

from tallystick.capabilities.agents import queries, rules
from tallystick.capabilities.agents.model import Member
from tallystick.kernel.caller import Caller
from tallystick.ledger.tx import Tx


def due(tx: Tx, room_id: str | None, caller: Caller) -> Member | None:
    """The caller as a member whose presence wants writing, or None."""
    known = queries.member(tx, room_id, caller.agent_id) if room_id else None
    return known if known and rules.needs_touch(known, caller, now=tx.now) else None


def refresh(tx: Tx, room_id: str | None, caller: Caller) -> None:
    if room_id and (known := due(tx, room_id, caller)):
        queries.touch(tx, room_id, known, caller)
