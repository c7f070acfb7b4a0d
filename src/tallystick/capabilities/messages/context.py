"""`context.sync`: a small set of named values that a room shares, such as the goal or the branch in use."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.messages import rules
from tallystick.capabilities.messages.contract import ContextChange, ContextView, SyncContext
from tallystick.capabilities.messages.events import ContextChanged, ContextOp
from tallystick.capabilities.messages.queries import SQL
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel import envelope
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, to_json
from tallystick.kernel.errors import TooLarge
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx

ENTRIES_LIMIT = 200


@operation(
    "context.sync",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "ops": [{"op": "set", "name": "goal", "value": "ship 2.0"}]}, {"room_id": "ROOM"}),
)
def sync(tx: Tx, me: Caller, ask: SyncContext) -> ContextView:
    """Change the values that everyone in the room shares, and get all of them as they are now. Without `ops`, only get.

    What changes nothing leaves no event.
    """
    room = rooms.room(tx, ask.room_id)
    envelope.check_body(ask.to_data())
    entries, effective = _applied(_entries(tx, room.room_id), ask.ops or [])
    if effective:
        rooms.open_room(tx, room.room_id)
        author = rules.author(agents.roster(tx, room.room_id), me)
        draft = Draft.of(ContextChanged(ops=effective), scope_key=author.scope_key)
        tx.append(room.room_id, author.principal, [draft])
    last = reading.before(tx, room.room_id, tx.head(room.room_id).seq + 1, kinds=[ContextChanged.kind], limit=1)
    return ContextView(revision=last[0].seq if last else 0, changed=bool(effective), entries=entries)


def _entries(tx: Tx, room_id: str) -> dict[str, object]:
    return dict(tx.all(SQL["context"], _entry, room_id=room_id))


def _entry(*, name: str, value: str) -> tuple[str, object]:
    return name, msgspec.json.decode(value, type=dict[str, object])["value"]


def _applied(entries: dict[str, object], ops: Sequence[ContextChange]) -> tuple[dict[str, object], list[ContextOp]]:
    """The entries after some changes, and those changes that made a difference."""
    effective: list[ContextOp] = []
    for change in ops:
        if change.op == "delete" and change.name in entries:
            del entries[change.name]
            effective.append(ContextOp(op="delete", name=change.name))
        elif change.op == "set" and (change.name not in entries or not _same(entries[change.name], change.value)):
            entries[change.name] = change.value
            effective.append(ContextOp(op="set", name=change.name, value=change.value))
    if len(entries) > ENTRIES_LIMIT:
        raise TooLarge(f"A room shares at most {ENTRIES_LIMIT} values.", field="ops", limit=ENTRIES_LIMIT)
    return dict(sorted(entries.items())), effective


def _same(one: object, other: object) -> bool:
    """Whether two values are the same JSON; to Python 1, 1.0 and true are equal."""
    return to_json({"value": one}) == to_json({"value": other})
