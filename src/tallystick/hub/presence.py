"""Keeping a member's presence fresh: every call it makes counts, at most one write every few seconds."""

from __future__ import annotations

from tallystick.capabilities.agents import queries, rules
from tallystick.capabilities.agents.model import Member
from tallystick.kernel.caller import Caller
from tallystick.ledger.tx import Tx


def due(tx: Tx, room_id: str | None, caller: Caller) -> Member | None:
    """The caller as a member whose presence wants writing, or None."""
    if room_id is None or _seen_lately(tx, room_id, caller):
        return None
    known = queries.member(tx, room_id, caller.agent_id)
    if known is None or rules.needs_touch(known, caller, now=tx.now):
        return known
    tx.cache(room_id).saw(caller, known.last_seen_at)
    return None


def _seen_lately(tx: Tx, room_id: str, caller: Caller) -> bool:
    """Whether a look at the store is spared, because this very caller was seen a moment ago."""
    who, seen = tx.cache(room_id).seen.get(caller.agent_id, (None, 0))
    return (who is caller or who == caller) and 0 <= tx.now - seen < rules.TOUCH_INTERVAL_MS


def progress(tx: Tx, room_id: str, caller: Caller) -> None:
    """Remember that a member has just added to the ledger, at most once every few seconds."""
    cache = tx.cache(room_id)
    last = cache.progressed.get(caller.agent_id)
    if last is not None and 0 <= tx.now - last < rules.TOUCH_INTERVAL_MS:
        return
    cache.got_on(caller.agent_id, tx.now)
    queries.progress(tx, room_id, caller.agent_id)


def refresh(tx: Tx, room_id: str | None, caller: Caller) -> None:
    if room_id and (known := due(tx, room_id, caller)):
        queries.touch(tx, room_id, known, caller)
