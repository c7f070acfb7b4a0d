"""The event envelope (CCCS v1), its canonical bytes and the hash that chains one event to the one before.

`data` travels as the JSON text that was written, byte for byte, so a hash can be checked without re-encoding a body.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
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


class _Canonical(msgspec.Struct):
    by: str
    data: msgspec.Raw
    group_id: str
    id: str
    kind: str
    scope_key: str
    seq: int
    ts: str
    v: int


def _seal(prev_hash: str, envelope: bytes) -> str:
    return hashlib.sha256(prev_hash.encode() + envelope).hexdigest()


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An event that a rule decided on; the ledger gives it its id, time, author and place."""

    kind: str
    data: Mapping[str, object]
    scope_key: str = ""
    body: str = ""
    """`data` as JSON text, where a check has written it already."""


class Event(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One committed fact. `body` is the stored JSON text of `data`.

    A struct, like the draft: every append and every row read makes one, at a tenth of a frozen dataclass's price.
    """

    room_id: str
    seq: int
    id: str
    ts: Instant
    kind: str
    scope_key: str
    by: str
    body: str
    prev_hash: str = GENESIS
    hash: str = ""
    v: int = 1

    @property
    def data(self) -> dict[str, object]:
        # Decoded once. Not a `cached_property`: up to Python 3.11 its lock takes longer than the decoding.
        kept = vars(self)
        if "data" not in kept:
            kept["data"] = _decode(self.body)
        return kept["data"]

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
        envelope = _Canonical(
            by=by,
            data=msgspec.Raw(body.encode()),
            group_id=room_id,
            id=id,
            kind=kind,
            scope_key=scope_key,
            seq=seq,
            ts=to_wire(ts),
            v=1,
        )
        return cls(
            room_id=room_id,
            seq=seq,
            id=id,
            ts=ts,
            kind=kind,
            scope_key=scope_key,
            by=by,
            body=body,
            prev_hash=prev_hash,
            hash=_seal(prev_hash, _encode(envelope)),
        )

    def canonical(self) -> bytes:
        """The wire envelope with its keys in alphabetical order and `data` exactly as stored."""
        return _encode(
            _Canonical(
                by=self.by,
                data=msgspec.Raw(self.body.encode()),
                group_id=self.room_id,
                id=self.id,
                kind=self.kind,
                scope_key=self.scope_key,
                seq=self.seq,
                ts=to_wire(self.ts),
                v=self.v,
            )
        )

    def seal(self) -> str:
        """The hash this event must carry."""
        return _seal(self.prev_hash, self.canonical())

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
