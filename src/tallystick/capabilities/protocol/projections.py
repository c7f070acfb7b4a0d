"""Where protocol events are on the ledger: their type, their task, and who is concerned."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.protocol.model import STICK, TYPES
from tallystick.capabilities.protocol.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger.tx import Projection, Tx


def parties(event: Event) -> tuple[str | None, str | None]:
    """Whom it is from and to."""
    data = event.data
    if event.kind in STICK:
        return cast("str | None", data["from_agent_id"]), cast("str | None", data["reserved_for"])
    return cast("str | None", data["from_agent"]), cast("str | None", data["to_agent"])


def noted(tx: Tx, event: Event) -> None:
    task_id = cast("str | None", event.data.get("task_id"))
    tx.run(SQL["add"], room_id=event.room_id, seq=event.seq, event_type=TYPES[event.kind].value, task_id=task_id)
    for agent_id in sorted({each for each in parties(event) if each}):
        tx.run(SQL["add_party"], room_id=event.room_id, seq=event.seq, agent_id=agent_id)


PROJECTIONS: dict[str, Projection] = dict.fromkeys(TYPES, noted)
TABLES = ("protocol_events", "protocol_parties")
