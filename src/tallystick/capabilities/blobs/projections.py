"""`x.tally.blob.put` events, folded into the blobs of a room."""

from __future__ import annotations

from typing import cast

from tallystick.capabilities.blobs.model import KIND
from tallystick.capabilities.blobs.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger.tx import Projection, Tx


def put(tx: Tx, event: Event) -> None:
    tx.run(
        SQL["put"],
        room_id=event.room_id,
        sha256=cast("str", event.data["sha256"]),
        size=cast("int", event.data["bytes"]),
        mime_type=cast("str", event.data["mime_type"]),
        name=cast("str", event.data["name"]),
        seq=event.seq,
    )


PROJECTIONS: dict[str, Projection] = {KIND: put}
