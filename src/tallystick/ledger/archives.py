"""A closed room in one file: its events with their hashes, its blobs, and a signed checkpoint of its head.

What stays behind is the room's row in `heads`, with the file's hash: whoever asks for the room is told of the file.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from tallystick.kernel.envelope import Event
from tallystick.ledger import chain, checkpoints, reading, transfer
from tallystick.ledger import rebuild as folding
from tallystick.ledger.checkpoints import Checkpoint
from tallystick.ledger.errors import BadArchive, NotArchived, RoomStillOpen
from tallystick.ledger.tx import SQL, Tx

VERSION = 1
T = TypeVar("T")


class ArchiveHead(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The first line: whose ledger this is, and what must follow."""

    tallystick_archive: int
    room_id: str
    seq: int
    hash: str
    blobs: int


class ArchivedBlob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    sha256: str
    base64: str

    @property
    def content(self) -> bytes:
        try:
            content = base64.b64decode(self.base64, validate=True)
        except (binascii.Error, ValueError) as wrong:
            raise BadArchive(f"A blob of the archive cannot be read: {wrong}.") from wrong
        if hashlib.sha256(content).hexdigest() != self.sha256:
            raise BadArchive(f"Blob {self.sha256} of the archive is not what it was.")
        return content


class Archive(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was read and verified."""

    head: ArchiveHead
    events: Sequence[Event]
    blobs: Mapping[str, bytes]
    checkpoint: Checkpoint


def closed_head(tx: Tx, room_id: str) -> ArchiveHead:
    """What would be archived; refuses a room that is still in use."""
    head = tx.head(room_id)
    if not head.closed:
        raise RoomStillOpen(room_id=room_id)
    return ArchiveHead(tallystick_archive=VERSION, room_id=room_id, seq=head.seq, hash=head.hash, blobs=0)


def lines(tx: Tx, head: ArchiveHead, blobs: Mapping[str, bytes], checkpoint: Checkpoint) -> Iterator[bytes]:
    yield _line(msgspec.structs.replace(head, blobs=len(blobs)))
    for event in reading.every_event(tx, head.room_id):
        yield transfer.line(event)
    for sha256, content in blobs.items():
        yield _line(ArchivedBlob(sha256=sha256, base64=base64.b64encode(content).decode()))
    yield _line(checkpoint)


def _line(part: msgspec.Struct) -> bytes:
    return msgspec.json.encode(part) + b"\n"


def read(given: Iterable[bytes]) -> Archive:
    """A file's content, once all of it fits together: chain, head, blobs and signature."""
    rest = iter(given)
    head = _decoded(rest, ArchiveHead)
    if head.tallystick_archive != VERSION:
        raise BadArchive(f"This is an archive of version {head.tallystick_archive}; version {VERSION} is needed.")
    events = [_decoded(rest, transfer.ExportLine).event() for _ in range(head.seq)]
    blobs = {each.sha256: each.content for each in (_decoded(rest, ArchivedBlob) for _ in range(head.blobs))}
    checkpoint = _decoded(rest, Checkpoint)
    verdict = chain.check(head.room_id, events, None)
    if verdict.bad_seq or verdict.hash != head.hash or any(each.room_id != head.room_id for each in events):
        raise BadArchive(f"The archive's events do not fit: {verdict.problem or 'they end elsewhere'}.")
    signed = checkpoints.signed_head(checkpoint, head.room_id)
    if (signed.seq, signed.hash) != (head.seq, head.hash):
        raise BadArchive("The archive's checkpoint speaks of another ledger.")
    return Archive(head=head, events=events, blobs=blobs, checkpoint=checkpoint)


def _decoded(rest: Iterator[bytes], kind: type[T]) -> T:
    try:
        return msgspec.json.decode(next(rest), type=kind)
    except StopIteration:
        raise BadArchive("The archive is cut short.") from None
    except msgspec.MsgspecError as wrong:
        raise BadArchive(f"This is not an archive of a room: {wrong}.") from wrong


def prune(tx: Tx, archive: Archive, file_hash: str, tables: Sequence[str]) -> None:
    """Take the room out of the store, which must still hold exactly what the file does."""
    head = archive.head
    present = tx.lock(head.room_id)
    if (present.seq, present.hash) != (head.seq, head.hash):
        raise BadArchive("The room has changed since it was written to the file; nothing was removed.")
    for table in tables:
        tx.run(folding.statement(f"DELETE FROM {table} WHERE room_id = :room_id"), room_id=head.room_id)  # noqa: S608
    tx.run(SQL["forget_repairs"], room_id=head.room_id)
    tx.run(SQL["prune"], room_id=head.room_id)
    tx.run(SQL["mark_archived"], room_id=head.room_id, archive=file_hash)
    tx.world.caches.drop(head.room_id)


def restore(tx: Tx, archive: Archive, file_hash: str, tables: Sequence[str]) -> None:
    """Bring a room back from the file that its stub names."""
    room_id = archive.head.room_id
    stub = checkpoints.archive_of(tx, room_id)
    if stub != file_hash:
        raise NotArchived(f"No room here was archived to this file (SHA-256 {file_hash}).", room_id=room_id)
    tx.run(SQL["mark_archived"], room_id=room_id, archive="")
    for event in archive.events:
        tx.store(event)
    # Folded from the start with all others: what it had may belong to another room since.
    folding.rebuild(tx, tables)


def digest(content: Iterable[bytes]) -> str:
    found = hashlib.sha256()
    for part in content:
        found.update(part)
    return found.hexdigest()
