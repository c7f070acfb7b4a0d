"""Events about blobs, folded into the blobs of a room."""

from __future__ import annotations

from tallystick.capabilities.blobs.events import BlobAdded
from tallystick.capabilities.blobs.queries import SQL
from tallystick.kernel.envelope import Event
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx


@fold(BlobAdded)
def added(tx: Tx, event: Event, body: BlobAdded) -> None:
    tx.run(
        SQL["put"],
        room_id=event.room_id,
        sha256=body.sha256,
        size=body.bytes,
        mime_type=body.mime_type,
        name=body.name,
        seq=event.seq,
    )


FOLDS = (added,)
