"""What the ledger says about messages: who got what, who owes an ack, and who is listening; and what a message carries.

Attachments and references are in the standard's own fields. Both keep fields we do not know: another client may
understand them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, ValidationError

from tallystick.kernel import inputs
from tallystick.kernel.caller import Process
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.kernel.json_values import object_of
from tallystick.kernel.operation import Custom, JsonObject, Record, as_record

USER = "user"
SYSTEM = "system"


class Selector(StrEnum):
    ALL = "@all"
    PEERS = "@peers"
    FOREMAN = "@foreman"
    USER = "@user"


class Author(msgspec.Struct, frozen=True, kw_only=True):
    """Who an event is ascribed to, and the scope it speaks from."""

    principal: str
    scope_key: str = ""


class InboxCounts(msgspec.Struct, frozen=True, kw_only=True):
    """One recipient's counts. `read_seq` is its watermark."""

    delivered: int = 0
    read_seq: int = 0
    unread: int = 0
    unacked: int = 0


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One event in one recipient's inbox; `place` counts that recipient's deliveries."""

    seq: int
    place: int
    sender: str
    needs_ack: int
    acked_at: Instant | None


class DeliveredEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A delivered event together with its state."""

    event: Event
    needs_ack: bool
    acked_at: Instant | None

    @classmethod
    def of_row(cls, *, needs_ack: int, acked_at: Instant | None, **event: object) -> DeliveredEvent:
        return cls(event=Event(**event), needs_ack=needs_ack == 1, acked_at=acked_at)  # pyright: ignore[reportArgumentType]


class NewMail(msgspec.Struct, frozen=True, kw_only=True):
    """What came for a member that waits."""

    events: Sequence[Event]
    cursor: int
    """Where to go on listening."""
    act: bool
    """Something has to be written before it may be handed over: read again in a write transaction."""


class AwaitedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message whose sender still waits for acks."""

    seq: int
    event_id: str
    sender: str
    sent_at: Instant


class Reaction(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    """Of the event it is about."""
    actor_id: str
    emoji: str


class ClientIdUse(msgspec.Struct, frozen=True, kw_only=True):
    """What a client_id was used for."""

    digest: str
    seq: int
    sent_at: Instant


class InboxListener(msgspec.Struct, frozen=True, kw_only=True):
    """How far a member has listened, and the wait that listens for it now, if any."""

    heard_seq: int
    listener_id: str | None
    since: Instant
    until: Instant
    process: Process | None

    @classmethod
    def of_row(
        cls,
        *,
        heard_seq: int,
        listener_id: str | None,
        since: Instant | None,
        until: Instant | None,
        host_id: str | None,
        pid: int | None,
        process_started_at: str | None,
    ) -> InboxListener:
        process = Process(host_id=host_id, pid=pid, started_at=process_started_at or "") if host_id and pid else None
        return cls(heard_seq=heard_seq, listener_id=listener_id, since=since or 0, until=until or 0, process=process)


Searched: TypeAlias = Literal["message", "note", "handoff", "job", "task", "card", "path", "file"]
"""What of an event a search finds."""


_PATH = r"^blobs/[0-9a-f]{64}\Z"

BlobPath = Annotated[
    str, Meta(pattern=_PATH, description="`blobs/<sha256>`, as blobs.put gave it; a path in the group's own storage.")
]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z", description="SHA-256 of the content, in hex.")]
Size = Annotated[int, Meta(ge=0, description="Size in bytes.")]
Label = Annotated[str, Meta(max_length=2000)]
KnownT = TypeVar("KnownT", bound=Record)


class AttachmentFields(Record, frozen=True):
    kind: Annotated[Literal["text", "image", "file"], Meta(description="What it is.")] = "file"
    path: BlobPath
    title: Label | None = None
    mime_type: Label | None = None
    bytes: Size | None = None
    sha256: Sha256 | None = None

    def __post_init__(self) -> None:
        if self.sha256 and self.sha256 != self.hash:
            raise ValueError("sha256 is not the hash in the path")

    @property
    def hash(self) -> str:
        return self.path.removeprefix("blobs/")


class PresentationSnapshot(Record, frozen=True):
    path: BlobPath
    mime_type: Label | None = None
    bytes: Size | None = None
    sha256: Sha256 | None = None
    width: Annotated[int, Meta(ge=0)] | None = None
    height: Annotated[int, Meta(ge=0)] | None = None
    captured_at: Label | None = None
    source: Label | None = None


class PlainReference(Record, frozen=True):
    kind: Annotated[Literal["file", "url", "commit", "text"], Meta(description="What it points at.")] = "url"
    url: Label | None = None
    path: Label | None = None
    title: Label | None = None
    sha: Label | None = None
    bytes: Size | None = None


class PresentationReference(Record, frozen=True):
    """A place in a slot of the group's presentation."""

    kind: Literal["presentation_ref"]
    v: Literal[1] = 1
    slot_id: Annotated[str, Meta(min_length=1, max_length=200, description="The slot it points into.")]
    label: Label | None = None
    locator_label: Label | None = None
    title: Label | None = None
    card_type: Label | None = None
    status: Literal["open", "needs_user", "resolved"] | None = None
    href: Label | None = None
    excerpt: Annotated[str, Meta(max_length=16_384)] | None = None
    locator: Annotated[JsonObject | None, Meta(description="Where in the slot: page, heading, row.")] = None
    snapshot: PresentationSnapshot | None = None


class TaskReference(Record, frozen=True):
    """A task that the message is about."""

    kind: Literal["task_ref"]
    task_id: Annotated[str, Meta(min_length=1, max_length=200, description="A task of this room, such as TASK-007.")]
    title: Label | None = None
    status: Label | None = None


class _ExtensibleRecord(Custom, Generic[KnownT]):
    """The fields we know are checked; the whole is kept as it was given."""

    shapes: ClassVar[tuple[type[Record], ...]]

    def __init__(self, known: KnownT, given: Mapping[str, object]) -> None:
        self.known = known
        self._given = given

    @classmethod
    def from_plain(cls, given: object) -> Self:
        try:
            return cls(as_record(cls._shape(given), given), as_record(JsonObject, given))
        except ValidationError as wrong:
            raise ValueError(str(wrong)) from wrong  # msgspec adds the place to this one only.

    def to_plain(self) -> dict[str, object]:
        return dict(self._given)

    @classmethod
    def json_schema(cls) -> dict[str, object]:
        return inputs.written_out(cls.shapes)

    @classmethod
    def _shape(cls, given: object) -> type[KnownT]:
        """Which of the shapes it claims to have."""
        raise NotImplementedError


class Attachment(_ExtensibleRecord[AttachmentFields]):
    shapes = (AttachmentFields,)

    def data(self) -> JsonObject:
        """As it is stored: what was given, and always the kind and the hash."""
        return {**self._given, "kind": self.known.kind, "sha256": self.known.hash}

    @classmethod
    def _shape(cls, given: object) -> type[AttachmentFields]:
        del given
        return AttachmentFields


AnyReference: TypeAlias = PlainReference | PresentationReference | TaskReference


class Reference(_ExtensibleRecord[AnyReference]):
    shapes = (PlainReference, PresentationReference, TaskReference)
    _named: ClassVar[Mapping[object, type[AnyReference]]] = {
        "presentation_ref": PresentationReference,
        "task_ref": TaskReference,
    }

    def data(self) -> JsonObject:
        """As it is stored: what was given, and always the kind."""
        return {**self._given, "kind": self.known.kind}

    @classmethod
    def _shape(cls, given: object) -> type[AnyReference]:
        kind = object_of(given).get("kind")
        return cls._named.get(kind, PlainReference) if isinstance(kind, str) else PlainReference
