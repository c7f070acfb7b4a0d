"""Blobs as rooms know them, read."""

from __future__ import annotations

from tallystick.capabilities.blobs.contract import Blob, BlobNotFound
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries

SQL = Queries("tallystick.capabilities.blobs")


def known(tx: Tx, room_id: str, sha256: str) -> Blob | None:
    return tx.one(SQL["in_room"], Blob, room_id=room_id, sha256=sha256)


def blob(tx: Tx, room_id: str | None, sha256: str) -> Blob:
    """The blob in this room, or in any room when none is named."""
    found = known(tx, room_id, sha256) if room_id else tx.one(SQL["anywhere"], Blob, sha256=sha256)
    if found is None:
        raise BlobNotFound(f"There is no blob {sha256[:64]}.", sha256=sha256)
    return found


def of_room(tx: Tx, room_id: str) -> list[str]:
    """The hashes of a room's files."""
    return tx.all(SQL["of_room"], _sha256, room_id=room_id)


def share_content(tx: Tx, sha256: str, content: bytes) -> None:
    """Keep a content in the store, where the hubs of other machines find it."""
    tx.run(SQL["keep_content"], sha256=sha256, content=content)


def shared_content(tx: Tx, sha256: str) -> bytes | None:
    return tx.one(SQL["content"], _content, sha256=sha256)


def forget_content(tx: Tx, sha256: str) -> None:
    tx.run(SQL["forget_content"], sha256=sha256)


def _content(*, content: bytes) -> bytes:
    return bytes(content)


def is_used(tx: Tx, sha256: str) -> bool:
    """Whether any room has this file."""
    return tx.one(SQL["anywhere"], Blob, sha256=sha256) is not None


def _sha256(*, sha256: str) -> str:
    return sha256
