"""Blobs as rooms know them, read."""

from __future__ import annotations

from tallystick.capabilities.blobs.contract import Blob
from tallystick.capabilities.blobs.errors import BlobNotFound
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries

SQL = Queries("tallystick.capabilities.blobs")


def known(tx: Tx, room_id: str, sha256: str) -> Blob | None:
    return tx.one(SQL["in_room"], Blob, room_id=room_id, sha256=sha256)


def blob(tx: Tx, room_id: str | None, sha256: str) -> Blob:
    """The blob in this room, or in any room when none is named."""
    found = known(tx, room_id, sha256) if room_id else tx.one(SQL["anywhere"], Blob, sha256=sha256)
    if found is None:
        raise BlobNotFound(f"There is no blob {sha256[:64]}.", sha256=sha256)
    return found
