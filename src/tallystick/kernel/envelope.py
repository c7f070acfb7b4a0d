"""The event envelope (CCCS v1), its canonical bytes, the hash that chains one event to the one before, and its bounds.

`data` travels as the JSON text that was written, byte for byte, so a hash can be checked without re-encoding a body.
How deep it is nested is told from that text: depth is exactly what a decoder cannot survive.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar, cast, dataclass_transform

import msgspec
from msgspec import UNSET, UnsetType

from tallystick.kernel.clock import Instant, to_wire
from tallystick.kernel.errors import InvalidField, TooLarge
from tallystick.kernel.json_values import is_list, is_object
from tallystick.kernel.operation import Record, RecordMeta, from_plain, to_plain

Json: TypeAlias = "str | int | float | bool | None | list[Json] | dict[str, Json]"
Data: TypeAlias = Mapping[str, Json]

GENESIS = "0" * 64
"""The `prev_hash` of a room's first event."""

_encode = msgspec.json.Encoder(order="sorted", enc_hook=to_plain).encode
_decode = msgspec.json.Decoder(dict[str, object]).decode

BODIES: dict[str, type[Body]] = {}
"""Every declared kind of event; filled as the modules that declare them are imported."""

DEPTH_LIMIT = 64
"""So many levels an event's body may have."""

_MARK = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
BODY_LIMIT = 256 * 1024
"""What a caller may put into a body of its own choice."""
EVENT_LIMIT = 4 * 1024 * 1024
"""What any event may hold; the largest is a job's artifact, bounded in characters by its own operation."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class _BodyMeta(RecordMeta):
    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        kind: str = "",
        did: str = "",
        **settings: Any,
    ) -> type:
        if kind in BODIES:
            raise ValueError(f"{kind} is declared twice: {BODIES[kind].__name__} and {name}")
        made = super().__new__(cls, name, bases, {**namespace, "kind": kind, "did": did}, **settings)
        if kind:
            BODIES[kind] = cast("type[Body]", made)
        return made


class Body(Record, metaclass=_BodyMeta, frozen=True):
    """What events of one kind say: `class StickReleased(Body, kind="x.tally.stick.release")`.

    The one type with which such events are written, folded, replayed, rendered and documented. A field that older
    events lack has a default; one that is left out of the JSON when it has no value is `… | UnsetType = UNSET`.
    """

    kind: ClassVar[str]
    did: ClassVar[str]
    """What its author did, as a sentence goes on after the name; empty where `hub/event_text.py` has the words."""


BodyT = TypeVar("BodyT", bound=Body)
T = TypeVar("T")


def or_unset(value: T | None) -> T | UnsetType:
    """A field of a body that is left out when it has no value."""
    return UNSET if value is None else value


def or_none(value: T | UnsetType) -> T | None:
    """What such a field holds."""
    return None if value is UNSET else value


_decoders: dict[object, msgspec.json.Decoder[Any]] = {}


def read_body(body: type[BodyT], text: str) -> BodyT:
    """A stored body as the struct of its kind."""
    decoder: msgspec.json.Decoder[BodyT] | None = _decoders.get(body)
    if decoder is None:
        decoder = _decoders[body] = msgspec.json.Decoder(body, dec_hook=from_plain)
    return decoder.decode(trimmed(text) if may_be_deep(text) else text)


def to_json(data: Mapping[str, object] | Body) -> str:
    """Encode a body: keys sorted, no spaces, so equal bodies are equal text."""
    try:
        return _encode(data).decode()
    except (UnicodeError, TypeError, ValueError, OverflowError) as wrong:
        raise InvalidField(f"The body cannot be written as JSON: {wrong}.") from wrong
    except RecursionError:
        raise too_deep() from None


def with_field(body: str, name: str, value: str) -> str:
    """A body as JSON text with one more field."""
    return to_json({**_decode(body), name: value})


def too_deep() -> TooLarge:
    return TooLarge(f"data is nested deeper than {DEPTH_LIMIT} levels.", field="data", limit=DEPTH_LIMIT)


def may_be_deep(text: str) -> bool:
    """Every level opens a bracket, so most texts need no closer look."""
    return text.count("{") + text.count("[") > DEPTH_LIMIT


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
    data: Mapping[str, object] | Body
    scope_key: str = ""
    body: str = ""
    """`data` as JSON text, where a check has written it already."""

    @classmethod
    def of(cls, body: Body, *, scope_key: str = "", text: str = "") -> Draft:
        """An event of a declared kind; `text` is the body as JSON, where a check has written it already."""
        return cls(kind=body.kind, data=body, scope_key=scope_key, body=text)


class Event(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One committed fact. `body` is the stored JSON text of `data`.

    A body that an older version let in too deep is read with what lies below the last level as text.
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
            text = self.body
            kept["data"] = _decode(trimmed(text) if may_be_deep(text) else text)
        return kept["data"]

    def read(self, body: type[BodyT]) -> BodyT:
        """What this event says, as the struct of its kind."""
        kept = vars(self)
        found = kept.get("content")
        if not isinstance(found, body):
            found = kept["content"] = read_body(body, self.body)
        return found

    def remember(self, body: Body) -> None:
        """Keep the struct that this event was written from, so that it is not decoded again."""
        vars(self)["content"] = body

    @property
    def content(self) -> Body | None:
        """What this event says; None for a kind that is not ours."""
        declared = BODIES.get(self.kind)
        return self.read(declared) if declared else None

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


TASK_LIMIT = 200
"""Longer text is no name of a task."""
_FIELDS = ("task_id", "task", "bead_id")


def tasks_of(data: Mapping[str, object]) -> list[str]:
    """Every task that an event names, its own first."""
    return list(dict.fromkeys(name for name in _named(data) if isinstance(name, str) and _is_name(name)))


def _named(data: Mapping[str, object]) -> Iterator[object]:
    yield from (data.get(name) for name in _FIELDS)
    refs = data.get("refs")
    for ref in cast("list[object]", refs) if isinstance(refs, list) else ():
        if isinstance(ref, dict) and cast("dict[str, object]", ref).get("kind") == "task_ref":
            yield cast("dict[str, object]", ref).get("task_id")


def _is_name(text: str) -> bool:
    return 0 < len(text) <= TASK_LIMIT and "\0" not in text


def is_too_deep(text: str) -> bool:
    return any(depth > DEPTH_LIMIT for _, depth in _brackets(text))


def trimmed(text: str) -> str:
    """The same JSON with what lies below the last level given as its text, so that every reader survives it."""
    parts: list[str] = []
    copied = began = 0
    for place, depth in _brackets(text):
        if depth != DEPTH_LIMIT + 1:
            continue
        if text[place] in "[{":
            began = place
        else:
            parts += [text[copied:began], msgspec.json.encode(text[began : place + 1]).decode()]
            copied = place + 1
    return "".join([*parts, text[copied:]])


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """Every bracket outside a string: where it stands, and the level that it opens or closes."""
    depth = 0
    for found in _MARK.finditer(text):
        mark = found[0]
        if mark in "[{":
            depth += 1
            yield found.start(), depth
        elif mark in "]}":
            yield found.start(), depth
            depth -= 1


def check_body(data: Mapping[str, object] | Body) -> str:
    """Refuse a body that is too deep, too large or not JSON; the result is its text."""
    text = to_json(data)
    check_body_text(text, limit=BODY_LIMIT)
    if "null" in text:  # A NaN is written as null.
        _refuse_nan(data)
    return text


def check_body_text(text: str, *, limit: int = EVENT_LIMIT) -> None:
    """Refuse a body that is out of bounds, whatever its kind."""
    if may_be_deep(text) and is_too_deep(text):
        raise too_deep()
    if len(text) > limit or (len(text) > limit // 4 and len(text.encode()) > limit):
        raise TooLarge(f"data is larger than {limit} bytes.", field="data", limit=limit)


def _refuse_nan(value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidField("data has a number that JSON cannot write: NaN or Infinity.", field="data")
    for inner in _inside(value):
        _refuse_nan(inner)


def _inside(value: object) -> list[object]:
    if isinstance(value, Record):
        return [getattr(value, name) for name in value.__struct_fields__]
    if is_object(value):
        return list(value.values())
    return value if is_list(value) else []
