"""Events in a file: export and import of everything, unchanged between engines, and the archive of a closed room.

An export has each event as one JSON line with its hashes; the last line counts them, and without it an import is
refused. An archive has a room's events, its blobs, and a signed checkpoint of its head. What stays behind is the room's
row in `heads`, with the file's hash: whoever asks for the room is told of the file.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, TypeVar

import msgspec

from tallystick.kernel import envelope
from tallystick.kernel.clock import Instant, from_wire, to_wire
from tallystick.kernel.envelope import GENESIS, Event
from tallystick.kernel.errors import Refused, TallyError, TooLarge
from tallystick.ledger import reading, verification
from tallystick.ledger import rebuild as folding
from tallystick.ledger.errors import BadArchive, BadImport, NotArchived, NotEmpty, RoomStillOpen
from tallystick.ledger.tx import SQL, Tx
from tallystick.ledger.verification import Checkpoint

VERSION = 1
FARTHEST_MS = 366 * 24 * 60 * 60 * 1000
"""So far ahead of this machine's clock may an event be: a clock may have been set wrong, by years it was made up."""

_Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]

ARCHIVE_VERSION = 1
T = TypeVar("T")


class ExportLine(msgspec.Struct, forbid_unknown_fields=True):
    v: int
    id: str
    ts: str
    seq: int
    kind: str
    group_id: str
    scope_key: str
    by: str
    data: msgspec.Raw
    prev_hash: _Hash
    hash: _Hash

    def event(self) -> Event:
        return Event(
            v=self.v,
            id=self.id,
            ts=from_wire(self.ts),
            seq=self.seq,
            kind=self.kind,
            room_id=self.group_id,
            scope_key=self.scope_key,
            by=self.by,
            body=bytes(self.data).decode(),
            prev_hash=self.prev_hash,
            hash=self.hash,
        )


class ExportEnd(msgspec.Struct, forbid_unknown_fields=True):
    tallystick_export: int
    rooms: int
    events: int


_line = msgspec.json.Decoder(ExportLine).decode
_end = msgspec.json.Decoder(ExportEnd).decode


def line(event: Event) -> bytes:
    """An event with its hashes."""
    return event.canonical()[:-1] + f',"prev_hash":"{event.prev_hash}","hash":"{event.hash}"}}\n'.encode()


def export(tx: Tx) -> Iterator[bytes]:
    """The whole store as JSON lines, room by room, in seq order."""
    rooms = reading.every_room(tx)
    count = 0
    for room_id in rooms:
        for event in reading.every_event(tx, room_id):
            yield line(event)
            count += 1
    yield msgspec.json.encode(ExportEnd(tallystick_export=VERSION, rooms=len(rooms), events=count)) + b"\n"


def import_(tx: Tx, lines: Iterable[bytes], *, keep_oversized: bool = False) -> ExportEnd:
    """Write an export into this empty store, verifying each event; all of it or nothing.

    Bodies that an older version let in out of bounds are taken only where that is asked for.
    """
    if reading.every_room(tx):
        raise NotEmpty
    seq, last = 0, GENESIS
    room_id, count = "", 0
    rooms: set[str] = set()
    end: ExportEnd | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if end:
            raise BadImport(f"ExportLine {number} stands after the end of the export.", line=number)
        if line.startswith(b'{"tallystick_export"'):
            end = _whole(line, number)
            continue
        event = _event(line, number)
        if event.room_id not in rooms:
            rooms.add(event.room_id)
            room_id, seq, last = event.room_id, 0, GENESIS
        if event.room_id != room_id:
            raise BadImport(f"ExportLine {number} belongs to a room that ended before.", line=number)
        problem = verification.flaw(event, seq + 1, last)
        if problem or not keep_oversized:
            _check(event, number, problem, tx.now)
        _place(tx, event, number)
        seq, last, count = event.seq, event.hash, count + 1
    if end is None or (end.rooms, end.events) != (len(rooms), count):
        raise BadImport("The export is cut short: its last line is missing or counts more than was read.")
    return end


def _check(event: Event, number: int, problem: str, now: Instant) -> None:
    if problem:
        raise BadImport(f"ExportLine {number}: {problem}.", line=number)
    hint = "If the store that it came from is your own, take it as it is: `tally import --keep-oversized FILE`."
    if event.ts > now + FARTHEST_MS:
        wrong = f"its time, {to_wire(event.ts)}, is years ahead, and the room would keep it"
        raise BadImport(f"ExportLine {number}: {wrong}.", hint=hint, line=number)
    try:
        envelope.check_body_text(event.body)
    except TooLarge as wrong:
        raise BadImport(f"ExportLine {number}: {wrong.message}", hint=hint, line=number) from wrong


def _place(tx: Tx, event: Event, number: int) -> None:
    try:
        if event.seq == 1:
            tx.open_ledger(event.room_id)
        tx.place(event)
        # Read back, since an engine may tell only now that a row was refused, and the line should be the right one.
        reading.find_event(tx, event.room_id, event.id)
    except (LookupError, TypeError, ValueError, msgspec.MsgspecError, Refused) as wrong:
        # A fitting hash proves that nothing was changed, not that Tallystick wrote it.
        raise BadImport(f"ExportLine {number} is no event that Tallystick writes: {wrong!r}.", line=number) from wrong


def _whole(line: bytes, number: int) -> ExportEnd:
    try:
        end = _end(line)
    except msgspec.MsgspecError as wrong:
        raise BadImport(f"ExportLine {number} does not end an export: {wrong}.", line=number) from wrong
    if end.tallystick_export != VERSION:
        raise BadImport(f"This is an export of version {end.tallystick_export}; version {VERSION} is needed.")
    return end


def _event(line: bytes, number: int) -> Event:
    try:
        event = _line(line).event()
        event.data  # noqa: B018 - a body that is not a JSON object is refused here, not at its first reader
    except (msgspec.MsgspecError, UnicodeError, TallyError, RecursionError) as wrong:
        raise BadImport(f"ExportLine {number} is not an event: {wrong}.", line=number) from wrong
    return event


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
    return ArchiveHead(tallystick_archive=ARCHIVE_VERSION, room_id=room_id, seq=head.seq, hash=head.hash, blobs=0)


def archive_lines(tx: Tx, head: ArchiveHead, blobs: Mapping[str, bytes], checkpoint: Checkpoint) -> Iterator[bytes]:
    yield _archive_line(msgspec.structs.replace(head, blobs=len(blobs)))
    for event in reading.every_event(tx, head.room_id):
        yield line(event)
    for sha256, content in blobs.items():
        yield _archive_line(ArchivedBlob(sha256=sha256, base64=base64.b64encode(content).decode()))
    yield _archive_line(checkpoint)


def _archive_line(part: msgspec.Struct) -> bytes:
    return msgspec.json.encode(part) + b"\n"


def read_archive(given: Iterable[bytes]) -> Archive:
    """A file's content, once all of it fits together: chain, head, blobs and signature."""
    rest = iter(given)
    head = _decoded(rest, ArchiveHead)
    if head.tallystick_archive != ARCHIVE_VERSION:
        raise BadArchive(
            f"This is an archive of version {head.tallystick_archive}; version {ARCHIVE_VERSION} is needed."
        )
    events = [_decoded(rest, ExportLine).event() for _ in range(head.seq)]
    blobs = {each.sha256: each.content for each in (_decoded(rest, ArchivedBlob) for _ in range(head.blobs))}
    checkpoint = _decoded(rest, Checkpoint)
    verdict = verification.check(head.room_id, events, None)
    if verdict.bad_seq or verdict.hash != head.hash or any(each.room_id != head.room_id for each in events):
        raise BadArchive(f"The archive's events do not fit: {verdict.problem or 'they end elsewhere'}.")
    signed = verification.signed_head(checkpoint, head.room_id)
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
    stub = verification.archive_of(tx, room_id)
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
