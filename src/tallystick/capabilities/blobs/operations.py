"""`blobs.*`: put a small file into a room and get it back. Large ones are streamed over HTTP into the same place."""

from __future__ import annotations

import base64
import binascii

from tallystick.capabilities.blobs import queries
from tallystick.capabilities.blobs.contract import (
    INLINE_LIMIT,
    BlobContent,
    BlobElsewhere,
    BlobView,
    Content,
    DescribeBlob,
    Files,
    GetBlob,
    PutBlob,
)
from tallystick.capabilities.blobs.events import BlobAdded
from tallystick.capabilities.blobs.queries import SQL
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, Event
from tallystick.kernel.errors import InvalidField, TooLarge
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger.capability import Authors, Capability, fold
from tallystick.ledger.tx import Tx


@fold(BlobAdded)
def added(tx: Tx, event: Event, body: BlobAdded) -> None:
    tx.run(
        SQL["put"],
        room_id=event.room_id,
        sha256=body.sha256,
        size=body.bytes,
        mime_type=body.mime_type,
        name=body.name,
        seq=event.seq,
    )


FOLDS = (added,)


def _decoded(ask: PutBlob) -> bytes:
    try:
        content = base64.b64decode(ask.content_base64, validate=True)
    except (binascii.Error, ValueError) as wrong:
        raise InvalidField(f"content_base64 is not base64: {wrong}.", field="content_base64") from wrong
    if len(content) > INLINE_LIMIT:
        raise TooLarge(f"The content is larger than {INLINE_LIMIT} bytes.", field="content_base64", limit=INLINE_LIMIT)
    return content


@operation(
    "blobs.put",
    reach=Reach.SPEAK,
    writes=True,
    io_before=_decoded,
    examples=({"room_id": "ROOM", "mime_type": "text/plain", "name": "log.txt", "content_base64": "aGVsbG8K"},),
)
def put(tx: Tx, me: Caller, ask: PutBlob, content: bytes) -> BlobView:
    """Put a file of at most 256 KiB into a room; the answer's `path` is what an attachment refers to.

    The same content twice is one blob, and keeps its first description. Larger files go to `/v1/blobs.put` over HTTP.
    """
    return record(tx, me, ask, tx.use(Files).keep(content))


def record(tx: Tx, me: Caller, ask: DescribeBlob, content: Content) -> BlobView:
    """Write the event for a content that is stored already."""
    known = queries.known(tx, ask.room_id, content.sha256)
    if known is None:
        by, scope_key = tx.use(Authors).author(tx, ask.room_id, me)
        body = BlobAdded(sha256=content.sha256, bytes=content.size, mime_type=ask.mime_type, name=ask.name)
        tx.append(ask.room_id, by, [Draft.of(body, scope_key=scope_key)])
    files = tx.use(Files)
    if content.size <= files.shared_limit and (taken := files.read(content.sha256)) is not None:
        queries.share_content(tx, content.sha256, taken)
    return BlobView.of(known or queries.blob(tx, ask.room_id, content.sha256))


@operation(
    "blobs.get",
    reach=Reach.READ,
    examples=({"room_id": "ROOM", "sha256": "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"},),
)
def get(tx: Tx, me: Caller, ask: GetBlob) -> BlobContent:
    """Get a file of at most 256 KiB from a room, with its content in base64; larger ones come over HTTP."""
    blob = queries.blob(tx, ask.room_id, ask.sha256)
    if blob.size > INLINE_LIMIT:
        raise TooLarge(
            f"The blob has {blob.size} bytes; {INLINE_LIMIT} fit into an answer.",
            hint=f"Read it from the hub: GET /v1/blobs/{blob.sha256}.",
            limit=INLINE_LIMIT,
        )
    content = tx.use(Files).read(ask.sha256)
    if content is None:
        content = queries.shared_content(tx, ask.sha256)
    if content is None:
        raise BlobElsewhere(sha256=ask.sha256)
    return BlobContent(blob=BlobView.of(blob), content_base64=base64.b64encode(content).decode())


def share(tx: Tx, sha256: str, *, source: str, target: str, by: str) -> None:
    """Let the target room have a file of the source room too."""
    if queries.known(tx, target, sha256):
        return
    blob = queries.blob(tx, source, sha256)
    body = BlobAdded(sha256=blob.sha256, bytes=blob.size, mime_type=blob.mime_type, name=blob.name)
    tx.append(target, by, [Draft.of(body)])


CAPABILITY = Capability(
    name="blobs",
    package="tallystick.capabilities.blobs",
    operations=(put, get),
    folds=FOLDS,
    tables=("blobs",),
)
