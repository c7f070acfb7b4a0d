"""What a message can carry besides its text: attachments and references, in the standard's own fields.

Both keep fields we do not know: another client may understand them.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

_PATH = r"^blobs/[0-9a-f]{64}$"

BlobPath = Annotated[
    str, Field(pattern=_PATH, description="`blobs/<sha256>`, as blobs.put gave it; a path in the group's own storage.")
]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the content, in hex.")]
Size = Annotated[int, Field(ge=0, description="Size in bytes.")]
Label = Annotated[str, Field(max_length=2000)]


class _Open(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True, strict=True, defer_build=True)

    def data(self) -> dict[str, object]:
        """As it is stored: what was given, fields unknown to us included."""
        return self.model_dump(exclude_unset=True)


class Attachment(_Open):
    kind: Annotated[Literal["text", "image", "file"], Field(description="What it is.")] = "file"
    path: BlobPath
    title: Label | None = None
    mime_type: Label | None = None
    bytes: Size | None = None
    sha256: Sha256 | None = None

    @model_validator(mode="after")
    def _one_content(self) -> Attachment:
        if self.sha256 and self.sha256 != self.path.removeprefix("blobs/"):
            raise ValueError("sha256 is not the hash in the path")
        return self

    def data(self) -> dict[str, object]:
        """What was given, and always the kind and the hash."""
        return {**super().data(), "kind": self.kind, "sha256": self.path.removeprefix("blobs/")}


class Snapshot(_Open):
    path: BlobPath
    mime_type: Label | None = None
    bytes: Size | None = None
    sha256: Sha256 | None = None
    width: Annotated[int, Field(ge=0)] | None = None
    height: Annotated[int, Field(ge=0)] | None = None
    captured_at: Label | None = None
    source: Label | None = None


class PlainReference(_Open):
    kind: Annotated[Literal["file", "url", "commit", "text"], Field(description="What it points at.")] = "url"
    url: Label | None = None
    path: Label | None = None
    title: Label | None = None
    sha: Label | None = None
    bytes: Size | None = None

    def data(self) -> dict[str, object]:
        return {**super().data(), "kind": self.kind}


class PresentationReference(_Open):
    """A place in a slot of the group's presentation."""

    kind: Literal["presentation_ref"]
    v: Literal[1] = 1
    slot_id: Annotated[str, Field(min_length=1, max_length=200, description="The slot it points into.")]
    label: Label | None = None
    locator_label: Label | None = None
    title: Label | None = None
    card_type: Label | None = None
    status: Literal["open", "needs_user", "resolved"] | None = None
    href: Label | None = None
    excerpt: Annotated[str, Field(max_length=16_384)] | None = None
    locator: Annotated[dict[str, object] | None, Field(description="Where in the slot: page, heading, row.")] = None
    snapshot: Snapshot | None = None


class TaskReference(_Open):
    """A task that the message is about."""

    kind: Literal["task_ref"]
    task_id: Annotated[str, Field(min_length=1, max_length=200, description="A task of this room, such as TASK-007.")]
    title: Label | None = None
    status: Label | None = None


def _shape(given: object) -> str:
    kind = cast("dict[str, object]", given).get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    return kind if isinstance(kind, str) and kind in {"presentation_ref", "task_ref"} else "reference"


Reference: TypeAlias = Annotated[
    Annotated[PlainReference, Tag("reference")]
    | Annotated[PresentationReference, Tag("presentation_ref")]
    | Annotated[TaskReference, Tag("task_ref")],
    Discriminator(_shape),
]
