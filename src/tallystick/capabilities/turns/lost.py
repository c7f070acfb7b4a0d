"""A turn that was taken from somebody who does not know it yet: the hook before an edit asks for it.

Whoever slept through a takeover would write over its successor's work. It is known until the agent has looked at the
room, and is no event: nothing is decided by it.
"""

from __future__ import annotations

import msgspec

from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.turns.contract import FindLostTurn, LostTurn, ShowState, WaitTurn
from tallystick.capabilities.turns.queries import SQL
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Reach, TakesNote, operation
from tallystick.ledger.tx import Tx


class TakenTurn(msgspec.Struct, frozen=True, kw_only=True):
    turn_id: int
    taken_by: str
    reason: str


def lose(tx: Tx, room_id: str, agent_id: str | None, *, turn_id: int, by: str, reason: str) -> None:
    """Remember that an agent's turn was taken, unless it took that over itself."""
    if agent_id is not None and agent_id != by:
        tx.run(SQL["lose"], room_id=room_id, agent_id=agent_id, turn_id=turn_id, taken_by=by, reason=reason)


def settle(tx: Tx, room_id: str, agent_id: str) -> None:
    tx.run(SQL["settle"], room_id=room_id, agent_id=agent_id)


def taken(tx: Tx, room_id: str, agent_id: str) -> TakenTurn | None:
    return tx.one(SQL["lost"], TakenTurn, room_id=room_id, agent_id=agent_id)


def _due(tx: Tx, me: Caller, ask: WaitTurn | ShowState) -> bool:
    peeks = isinstance(ask, ShowState) and ask.peek
    return not peeks and taken(tx, ask.room_id, me.agent_id) is not None


def _noted(tx: Tx, me: Caller, ask: WaitTurn | ShowState) -> None:
    if not (isinstance(ask, ShowState) and ask.peek):
        settle(tx, ask.room_id, me.agent_id)


LOOKED = TakesNote(due=_due, note=_noted)
"""Of an operation that shows whose turn it is."""


@operation("turns.lost", reach=Reach.READ, examples=({"room_id": "ROOM"},))
def lost(tx: Tx, me: Caller, ask: FindLostTurn) -> LostTurn:
    """Say whether your turn was taken from you and you have not looked since; hooks ask before an edit.

    In a room where agents work side by side an edit needs no turn, so nothing is said of a lost one.
    """
    room = rooms.room(tx, ask.room_id)
    found = taken(tx, ask.room_id, me.agent_id) if room.policy.mode == "turns" else None
    if found is None:
        return LostTurn(room_id=ask.room_id, agent_id=me.agent_id)
    return LostTurn(
        room_id=ask.room_id,
        agent_id=me.agent_id,
        turn_id=found.turn_id,
        taken_by=found.taken_by,
        reason=found.reason,
    )
