"""Refusals about blobs."""

from __future__ import annotations

from tallystick.kernel.errors import NotFound, Unavailable


class BlobNotFound(NotFound):
    """There is no such blob in this room."""

    hint = "A blob is found under the SHA-256 that its upload answered, in the room it was put into."


class BlobElsewhere(NotFound):
    """This room knows the blob, but its content is not on this machine."""

    hint = "Contents of more than 1 MiB stay on the machine whose hub took them: ask that hub, or put it again here."


class BlobsUnavailable(Unavailable):
    """This hub was opened without a data directory, so it can hold no files."""

    hint = "Run a hub with `tally up`, or set TALLYSTICK_DATA_DIR."
