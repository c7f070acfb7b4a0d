"""Inputs and results of `blobs.*`, and what is needed of the folder that holds the contents."""

from __future__ import annotations

from typing import Annotated, Protocol

import msgspec
from msgspec import Meta

from tallystick.kernel.errors import NotFound, Unavailable
from tallystick.kernel.operation import Answer, Ask
from tallystick.ledger.contract import RoomId


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a content once it is stored."""

    sha256: str
    size: int


class Blob(msgspec.Struct, frozen=True, kw_only=True):
    room_id: str
    sha256: str
    size: int
    mime_type: str
    name: str
    seq: int
    """The event that brought it into the room."""


class Files(Protocol):
    """The contents, outside the store; answered by the hub."""

    @property
    def shared_limit(self) -> int:
        """Contents up to this size are kept in the store as well, for the hubs of other machines; 0 for none."""
        ...

    def keep(self, content: bytes) -> Content:
        """Store a content durably; to store it twice changes nothing."""
        ...

    def read(self, sha256: str) -> bytes | None:
        """The content, unless it is not on this machine."""
        ...


INLINE_LIMIT = 256 * 1024
ENCODED_LIMIT = (INLINE_LIMIT + 2) // 3 * 4

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser shows as a picture and runs no part of."""

MimeType = Annotated[
    str,
    Meta(
        max_length=100,
        pattern=r"^[a-z0-9][a-z0-9.+_-]*/[a-z0-9][a-z0-9.+_-]*\Z",
        description="What it is, such as text/plain or image/png.",
    ),
]
BlobName = Annotated[
    str, Meta(max_length=200, pattern=r"^[^\x00-\x1f\x7f/\\]*\Z", description="A file name to show; no path.")
]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z", description="The SHA-256 of the content, in hex.")]


class DescribeBlob(Ask):
    """What the uploader says about a content."""

    room_id: RoomId
    mime_type: MimeType = "application/octet-stream"
    name: BlobName = ""


class PutBlob(DescribeBlob):
    content_base64: Annotated[
        str, Meta(max_length=ENCODED_LIMIT, description="At most 256 KiB of content, in base64; more goes over HTTP.")
    ]


class GetBlob(Ask):
    room_id: RoomId
    sha256: Sha256


class BlobView(Answer):
    sha256: str
    path: str
    """What an attachment's `path` says."""
    size: int
    mime_type: str
    name: str
    seq: int

    @classmethod
    def of(cls, blob: Blob) -> BlobView:
        return cls(
            sha256=blob.sha256,
            path=f"blobs/{blob.sha256}",
            size=blob.size,
            mime_type=blob.mime_type,
            name=blob.name,
            seq=blob.seq,
        )


class BlobContent(Answer):
    blob: BlobView
    content_base64: str


class BlobNotFound(NotFound):
    """There is no such blob in this room."""

    hint = "A blob is found under the SHA-256 that its upload answered, in the room it was put into."


class BlobElsewhere(NotFound):
    """This room knows the blob, but its content is not on this machine."""

    hint = "Contents of more than 1 MiB stay on the machine whose hub took them: ask that hub, or put it again here."


class BlobsUnavailable(Unavailable):
    """This hub was opened without a data directory, so it can hold no files."""

    hint = "Run a hub with `tally up`, or set TALLYSTICK_DATA_DIR."
