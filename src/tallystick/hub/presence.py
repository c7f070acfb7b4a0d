"""Keeping a member's presence fresh: every call it makes counts, at most one write every few seconds."""

from __future__ import annotations

from tallystick.capabilities.agents import queries, rules
from tallystick.capabilities.agents.model import Member
from tallystick.kernel.caller import Caller
from tallystick.ledger.tx import Tx

REMEMBERED = 4096


def due(tx: Tx, room_id: str | None, caller: Caller) -> Member | None:
    """The caller as a member whose presence wants writing, or None."""
    if room_id is None or _seen_lately(tx, room_id, caller):
        return None
    known = queries.member(tx, room_id, caller.agent_id)
    if known is None or rules.needs_touch(known, caller, now=tx.now):
        return known
    if len(tx.world.last_seen) >= REMEMBERED:
        tx.world.last_seen.clear()
    tx.world.last_seen[room_id, caller] = known.last_seen_at
    return None


def _seen_lately(tx: Tx, room_id: str, caller: Caller) -> bool:
    """Whether a look at the store is spared, because this very caller was seen a moment ago."""
    seen = tx.world.last_seen.get((room_id, caller))
    return seen is not None and 0 <= tx.now - seen < rules.TOUCH_INTERVAL_MS


def progress(tx: Tx, room_id: str, caller: Caller) -> None:
    """Remember that a member has just added to the ledger, at most once every few seconds."""
    last = tx.world.last_progress.get((room_id, caller.agent_id))
    if last is not None and 0 <= tx.now - last < rules.TOUCH_INTERVAL_MS:
        return
    if len(tx.world.last_progress) >= REMEMBERED:
        tx.world.last_progress.clear()
    tx.world.last_progress[room_id, caller.agent_id] = tx.now
    queries.progress(tx, room_id, caller.agent_id)


def refresh(tx: Tx, room_id: str | None, caller: Caller) -> None:
    if room_id and (known := due(tx, room_id, caller)):
        queries.touch(tx, room_id, known, caller)
