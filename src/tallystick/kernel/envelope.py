"""The event envelope (CCCS v1), its canonical bytes and the hash that chains one event to the one before.

`data` travels as the JSON text that was written, byte for byte, so a hash can be checked without re-encoding a body.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import msgspec

from tallystick.kernel.clock import Instant, to_wire
from tallystick.kernel.errors import InvalidField

Json: TypeAlias = "str | int | float | bool | None | list[Json] | dict[str, Json]"
Data: TypeAlias = Mapping[str, Json]

GENESIS = "0" * 64
"""The `prev_hash` of a room's first event."""

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(dict[str, object]).decode


def to_json(data: Mapping[str, object]) -> str:
    """Encode a body: keys sorted, no spaces, so equal bodies are equal text."""
    try:
        return _encode(data).decode()
    except (UnicodeError, TypeError, ValueError, OverflowError) as wrong:
        raise InvalidField(f"The body cannot be written as JSON: {wrong}.") from wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An event that a rule decided on; the ledger gives it its id, time, author and place."""

    kind: str
    data: Mapping[str, object]
    scope_key: str = ""


@dataclass(frozen=True, kw_only=True)
class Event:
    """One committed fact. `body` is the stored JSON text of `data`."""

    room_id: str
    seq: int
    id: str
    ts: Instant
    kind: str
    scope_key: str
    by: str
    body: str
    prev_hash: str = field(default=GENESIS, repr=False)
    hash: str = field(default="", repr=False)
    v: int = 1

    @cached_property
    def data(self) -> dict[str, object]:
        return _decode(self.body)

    @classmethod
    def sealed(
        cls,
        *,
        room_id: str,
        seq: int,
        id: str,
        ts: Instant,
        kind: str,
        scope_key: str,
        by: str,
        body: str,
        prev_hash: str,
    ) -> Event:
        """A new event with the hash it must carry."""
        event = cls(
            room_id=room_id,
            seq=seq,
            id=id,
            ts=ts,
            kind=kind,
            scope_key=scope_key,
            by=by,
            body=body,
            prev_hash=prev_hash,
        )
        object.__setattr__(event, "hash", event.seal())
        return event

    def canonical(self) -> bytes:
        """The wire envelope with its keys in alphabetical order and `data` exactly as stored."""
        texts = (self.by, self.room_id, self.id, self.kind, self.scope_key, to_wire(self.ts))
        by, room, event, kind, scope, ts = [_encode(text) for text in texts]
        return b'{"by":%b,"data":%b,"group_id":%b,"id":%b,"kind":%b,"scope_key":%b,"seq":%d,"ts":%b,"v":%d}' % (
            by,
            self.body.encode(),
            room,
            event,
            kind,
            scope,
            self.seq,
            ts,
            self.v,
        )

    def seal(self) -> str:
        """The hash this event must carry."""
        return hashlib.sha256(self.prev_hash.encode() + self.canonical()).hexdigest()

    def wire(self) -> dict[str, object]:
        return {
            "v": self.v,
            "id": self.id,
            "ts": to_wire(self.ts),
            "seq": self.seq,
            "kind": self.kind,
            "group_id": self.room_id,
            "scope_key": self.scope_key,
            "by": self.by,
            "data": self.data,
        }
