"""The files of a room as messages see them: answers the `Blobs` protocol of `rooms`."""

from __future__ import annotations

from tallystick.capabilities.blobs import queries
from tallystick.capabilities.blobs.model import KIND
from tallystick.capabilities.rooms.model import Blobs
from tallystick.kernel.envelope import Draft
from tallystick.ledger.tx import Tx


class Holdings:
    def check(self, tx: Tx, room_id: str, sha256: str) -> None:
        queries.blob(tx, room_id, sha256)

    def bring(self, tx: Tx, sha256: str, *, source: str, target: str, by: str) -> None:
        if queries.known(tx, target, sha256):
            return
        blob = queries.blob(tx, source, sha256)
        data: dict[str, object] = {
            "sha256": blob.sha256,
            "bytes": blob.size,
            "mime_type": blob.mime_type,
            "name": blob.name,
        }
        tx.append(target, by, [Draft(kind=KIND, data=data)])


OFFERS: dict[type, object] = {Blobs: Holdings()}
