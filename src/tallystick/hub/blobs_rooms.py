"""Blobs for a surface that streams them: the room's side of a content that goes in or out as plain bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from tallystick.capabilities.blobs import queries
from tallystick.capabilities.blobs.contract import BlobView, DescribeBlob
from tallystick.capabilities.blobs.errors import BlobElsewhere, BlobNotFound
from tallystick.capabilities.blobs.model import Blob, Content
from tallystick.capabilities.blobs.operations import record
from tallystick.hub.blobs import is_sha256
from tallystick.hub.hub import Hub
from tallystick.kernel import inputs
from tallystick.kernel.caller import Caller
from tallystick.ledger.tx import Tx

__all__ = ["BlobView", "Content", "DescribeBlob", "Found", "check_room", "describe", "find", "put"]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    blob: Blob
    path: Path


def describe(given: Mapping[str, object]) -> DescribeBlob:
    return inputs.read(DescribeBlob, given)


def check_room(hub: Hub, room_id: str) -> None:
    """Refuse a content for an unknown room before it is taken in."""
    with hub.reading() as tx:
        tx.head(room_id)


def put(tx: Tx, me: Caller, ask: DescribeBlob, content: Content) -> BlobView:
    tx.lock(ask.room_id)
    return record(tx, me, ask, content)


def find(hub: Hub, room_id: str | None, sha256: str) -> Found:
    """A blob of this room, or of any when none is named, with the file that holds it."""
    if not is_sha256(sha256):
        raise BlobNotFound(f"'{sha256[:80]}' is not the name of a blob.", sha256=sha256)
    with hub.reading() as tx:
        blob = queries.blob(tx, room_id, sha256)
    path = hub.blobs.path(sha256)
    if path is None:
        raise BlobElsewhere(sha256=sha256)
    return Found(blob=blob, path=path)
