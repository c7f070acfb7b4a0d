"""`reservations.attempt`: an edit that was refused is on the ledger, so that both sides see it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.reservations import queries, rules
from tallystick.capabilities.reservations.contract import AttemptEdit, AttemptEditResult
from tallystick.capabilities.reservations.events import ReservationMode
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Reach, operation
from tallystick.kernel.scopes import RoomPath
from tallystick.ledger.tx import Tx
from tallystick.workspace import room_paths
from tallystick.workspace.room_paths import RoomRoots

SYSTEM = "system"


def _survey(tx: Tx, me: Caller, ask: AttemptEdit) -> RoomRoots:
    tx.head(ask.room_id)
    member = agents.participant(tx, ask.room_id, agents.acting(tx, ask.room_id, me).agent_id)
    return rooms.roots_here(tx, ask.room_id, member.scope_key if member else "")


def _spots(ask: AttemptEdit, survey: Callable[[], RoomRoots]) -> Sequence[RoomPath]:
    at = survey()
    return [scope for path in ask.paths for scope in room_paths.names_in_room(path, at)]


@operation(
    "reservations.attempt",
    reach=Reach.WORK,
    writes=True,
    read_before=_survey,
    io_before=_spots,
    examples=({"room_id": "ROOM", "paths": ["src/parser.py"]},),
)
def attempt(tx: Tx, me: Caller, ask: AttemptEdit, spots: Sequence[RoomPath]) -> AttemptEditResult:
    """Say that you were about to change paths and were kept from it: what others hold of them goes on the ledger.

    Once for each path and holder, so that both sides see it. Hooks say it for an agent whose edit they deny.
    """
    rooms.open_room(tx, ask.room_id)
    recorded = sum(_record(tx, ask.room_id, me, scope) for scope in spots)
    return AttemptEditResult(room_id=ask.room_id, agent_id=me.agent_id, recorded=recorded)


def _record(tx: Tx, room_id: str, me: Caller, scope: RoomPath) -> int:
    found = rules.decide(
        queries.overlapping(tx, room_id, scope),
        me.agent_id,
        scope,
        mode=ReservationMode.EXCLUSIVE,
        takeover_stale=False,
        now=tx.now,
    ).incursions
    in_the_way = [each for each in found if each.reservation.mode is ReservationMode.EXCLUSIVE]
    known = queries.recorded(tx, room_id, me.agent_id, scope, in_the_way) if in_the_way else ()
    drafts = rules.incursions(in_the_way, known, me.agent_id, scope, granted=False, task_id=None)
    tx.append(room_id, SYSTEM, drafts)
    return len(drafts)
