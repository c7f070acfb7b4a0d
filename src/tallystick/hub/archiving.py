"""Archiving a closed room: written to a file, read back and verified, and only then taken out of the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from tallystick.capabilities.blobs import queries as blobs
from tallystick.hub import registry
from tallystick.hub.hub import Hub
from tallystick.hub.signing import SigningKey
from tallystick.ledger import archives, checkpoints, reading
from tallystick.ledger.archives import Archive
from tallystick.ledger.tx import Tx


class ArchivePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What archiving a room would do."""

    room_id: str
    events: int
    blobs: int
    missing_blobs: int
    """Files that lie on another machine, or are gone: the archive cannot hold them."""


class ArchiveResult(msgspec.Struct, frozen=True, kw_only=True):
    room_id: str
    file: str
    sha256: str
    events: int
    blobs: int


def plan(hub: Hub, room_id: str) -> ArchivePlan:
    with hub.reading() as tx:
        head = archives.closed_head(tx, room_id)
        hashes = blobs.of_room(tx, room_id)
        found = _contents(hub, tx, hashes)
    return ArchivePlan(room_id=room_id, events=head.seq, blobs=len(found), missing_blobs=len(hashes) - len(found))


def due(hub: Hub, closed_for_ms: int) -> list[str]:
    """The rooms that have been closed and quiet for so long."""
    with hub.reading() as tx:
        return reading.closed_rooms(tx, until=tx.now - closed_for_ms)


def lines(hub: Hub, key: SigningKey, room_id: str) -> Iterator[bytes]:
    """The file of a room."""
    with hub.reading() as tx:
        head = archives.closed_head(tx, room_id)
        contents = _contents(hub, tx, blobs.of_room(tx, room_id))
        yield from archives.lines(tx, head, contents, key.sign(0, checkpoints.body_of_room(tx, room_id)))


def _contents(hub: Hub, tx: Tx, hashes: list[str]) -> dict[str, bytes]:
    found = ((sha256, hub.blobs.read(sha256) or blobs.shared_content(tx, sha256)) for sha256 in hashes)
    return {sha256: content for sha256, content in found if content is not None}


def prune(hub: Hub, file: Path) -> ArchiveResult:
    """Take the room of a file out of the store, once the file was read back and fits."""
    archive, sha256 = _read(file)
    head = archive.head
    with hub.writing() as tx:
        archives.prune(tx, archive, sha256, _tables())
        unused = [each for each in archive.blobs if not blobs.is_used(tx, each)]
        for each in unused:
            blobs.forget_content(tx, each)
    for each in unused:
        hub.blobs.remove(each)
    return ArchiveResult(room_id=head.room_id, file=str(file), sha256=sha256, events=head.seq, blobs=len(archive.blobs))


def restore(hub: Hub, file: Path) -> ArchiveResult:
    archive, sha256 = _read(file)
    head = archive.head
    for content in archive.blobs.values():
        hub.blobs.keep(content)
    with hub.writing() as tx:
        archives.restore(tx, archive, sha256, _tables())
    return ArchiveResult(room_id=head.room_id, file=str(file), sha256=sha256, events=head.seq, blobs=len(archive.blobs))


def _read(file: Path) -> tuple[Archive, str]:
    with file.open("rb") as content:
        archive = archives.read(content)
    with file.open("rb") as content:
        return archive, archives.digest(content)


def _tables() -> list[str]:
    return [*registry.tables(), *registry.deferred_tables()]
