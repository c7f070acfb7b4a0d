"""Export and import: every event as one JSON line with its hashes, so that a store can move between engines unchanged.

The last line counts what was exported; an import without it was cut short and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated

import msgspec

from tallystick.kernel.clock import Instant, from_wire, to_wire
from tallystick.kernel.envelope import GENESIS, Event
from tallystick.kernel.errors import Refused, TallyError, TooLarge
from tallystick.ledger import bodies, chain, reading
from tallystick.ledger.errors import BadImport, NotEmpty
from tallystick.ledger.tx import Tx

VERSION = 1
FARTHEST_MS = 366 * 24 * 60 * 60 * 1000
"""So far ahead of this machine's clock may an event be: a clock may have been set wrong, by years it was made up."""

_Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]


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
        problem = chain.flaw(event, seq + 1, last)
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
        bodies.check_text(event.body)
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
