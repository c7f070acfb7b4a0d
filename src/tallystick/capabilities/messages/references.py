"""What a message can carry besides its text: attachments and references, in the standard's own fields.

Both keep fields we do not know: another client may understand them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self, cast

from msgspec import Meta, ValidationError

from tallystick.kernel import schemas
from tallystick.kernel.operation import Custom, JsonObject, Record, as_record

_PATH = r"^blobs/[0-9a-f]{64}\Z"

BlobPath = Annotated[
    str, Meta(pattern=_PATH, description="`blobs/<sha256>`, as blobs.put gave it; a path in the group's own storage.")
]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z", description="SHA-256 of the content, in hex.")]
Size = Annotated[int, Meta(ge=0, description="Size in bytes.")]
Label = Annotated[str, Meta(max_length=2000)]


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


class _ExtensibleRecord(Custom):
    """The fields we know are checked; the whole is kept as it was given."""

    shapes: ClassVar[tuple[type[Record], ...]]

    def __init__(self, known: Record, given: Mapping[str, object]) -> None:
        self._known = known
        self._given = given

    @classmethod
    def from_plain(cls, given: object) -> Self:
        try:
            known = as_record(cls._shape(given), given)
        except ValidationError as wrong:
            raise ValueError(str(wrong)) from wrong  # msgspec adds the place to this one only.
        return cls(known, cast("Mapping[str, object]", given))

    def to_plain(self) -> dict[str, object]:
        return dict(self._given)

    @classmethod
    def json_schema(cls) -> dict[str, object]:
        return schemas.written_out(cls.shapes)

    @classmethod
    def _shape(cls, given: object) -> type[Record]:
        """Which of the shapes it claims to have."""
        del given
        return cls.shapes[0]


class Attachment(_ExtensibleRecord):
    shapes = (AttachmentFields,)

    @property
    def known(self) -> AttachmentFields:
        return cast("AttachmentFields", self._known)

    def data(self) -> JsonObject:
        """As it is stored: what was given, and always the kind and the hash."""
        return {**self._given, "kind": self.known.kind, "sha256": self.known.hash}


class Reference(_ExtensibleRecord):
    shapes = (PlainReference, PresentationReference, TaskReference)
    _named: ClassVar[Mapping[object, type[Record]]] = {
        "presentation_ref": PresentationReference,
        "task_ref": TaskReference,
    }

    @property
    def known(self) -> PlainReference | PresentationReference | TaskReference:
        return cast("PlainReference | PresentationReference | TaskReference", self._known)

    def data(self) -> JsonObject:
        """As it is stored: what was given, and always the kind."""
        return {**self._given, "kind": self.known.kind}

    @classmethod
    def _shape(cls, given: object) -> type[Record]:
        kind = cast("dict[str, object]", given).get("kind") if isinstance(given, dict) else None
        return cls._named.get(kind, PlainReference) if isinstance(kind, str) else PlainReference
