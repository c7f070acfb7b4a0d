"""Where protocol events are on the ledger: their type, their task, and who is concerned."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.protocol import rendering
from tallystick.capabilities.protocol.model import TYPES
from tallystick.capabilities.protocol.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger.tx import Projection, Tx


def noted(tx: Tx, event: Event) -> None:
    task_id = cast("str | None", event.data.get("task_id"))
    tx.run(SQL["add"], room_id=event.room_id, seq=event.seq, event_type=TYPES[event.kind].value, task_id=task_id)
    for agent_id in sorted({each for each in rendering.parties(event) if each}):
        tx.run(SQL["add_party"], room_id=event.room_id, seq=event.seq, agent_id=agent_id)


PROJECTIONS: dict[str, Projection] = dict.fromkeys(TYPES, noted)
TABLES = ("protocol_events", "protocol_parties")
