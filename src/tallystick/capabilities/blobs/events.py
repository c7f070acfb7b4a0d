"""What the ledger says of blobs; their contents are files outside the store."""

from __future__ import annotations

from tallystick.kernel.envelope import Body


class BlobAdded(Body, kind="x.tally.blob.put"):
    """A file belongs to the room from now on."""

    sha256: str
    bytes: int
    mime_type: str
    name: str
