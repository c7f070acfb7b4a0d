"""The folder of blobs: each file is named by the SHA-256 of its content, written whole or not at all.

It lies in the data directory of this machine, also where the ledger is in PostgreSQL; there the store holds the smaller
contents too, and a hub that has not got one takes it from there.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from tallystick.capabilities.blobs import queries
from tallystick.capabilities.blobs.contract import (
    Blob,
    BlobElsewhere,
    BlobNotFound,
    BlobsUnavailable,
    BlobView,
    Content,
    DescribeBlob,
)
from tallystick.capabilities.blobs.operations import record
from tallystick.kernel import inputs
from tallystick.kernel.caller import Caller
from tallystick.kernel.errors import TallyError, TooLarge
from tallystick.ledger.tx import Tx
from tallystick.storage.errors import DiskFailed, DiskFull
from tallystick.storage.port import NotBrief

if TYPE_CHECKING:
    from tallystick.hub.hub import Hub

SIZE_LIMIT = 32 * 1024 * 1024
SHARED_LIMIT = 1024 * 1024
"""What several machines share in PostgreSQL; larger contents stay where they were taken."""
ABANDONED_SECONDS = 3600

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PART = "part-"


class NoFiles:
    """The folder for those who may not wait for a disk."""

    shared_limit = 0

    def keep(self, _content: bytes) -> Content:
        raise NotBrief

    def read(self, _sha256: str) -> bytes | None:
        raise NotBrief


class IncomingBlob:
    """A content on its way in: hashed while it is written, nothing until it is finished."""

    def __init__(self, folder: Path) -> None:
        self.size = 0
        self._folder = folder
        self._hash = hashlib.sha256()
        self._part = folder / f"{_PART}{secrets.token_hex(8)}"
        self._file = _create(self._part)

    def write(self, chunk: bytes) -> None:
        self.size += len(chunk)
        if self.size > SIZE_LIMIT:
            raise TooLarge(f"A blob has at most {SIZE_LIMIT} bytes.", limit=SIZE_LIMIT)
        self._hash.update(chunk)
        self._file.write(chunk)

    def finish(self) -> Content:
        """Make the content durable under its own name."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._part.replace(self._folder / self._hash.hexdigest())
        _sync_folder(self._folder)
        return Content(sha256=self._hash.hexdigest(), size=self.size)

    def close(self) -> None:
        with suppress(OSError):  # What could not be written is about to be removed.
            self._file.close()
        self._part.unlink(missing_ok=True)


class BlobFolder:
    def __init__(self, folder: Path | None, *, shared_limit: int = 0) -> None:
        self._folder, self.shared_limit = folder, shared_limit

    @contextmanager
    def incoming(self) -> Generator[IncomingBlob]:
        """Take a content in, chunk by chunk; whatever goes wrong leaves no trace."""
        folder = self._ready()
        try:
            part = IncomingBlob(folder)
            try:
                yield part
            finally:
                part.close()
        except OSError as wrong:
            raise _refusal(wrong) from wrong

    def keep(self, content: bytes) -> Content:
        with self.incoming() as part:
            part.write(content)
            return part.finish()

    def path(self, sha256: str) -> Path | None:
        """Where a content lies; None when it is not here. Nothing but a hash leads into the folder."""
        if self._folder is None or not is_sha256(sha256):
            return None
        path = self._folder / sha256
        return path if path.is_file() and not path.is_symlink() else None

    def read(self, sha256: str) -> bytes | None:
        path = self.path(sha256)
        try:
            return path.read_bytes() if path else None
        except OSError as wrong:
            raise _refusal(wrong) from wrong

    def remove(self, sha256: str) -> None:
        """Forget a content that no room refers to any more."""
        if path := self.path(sha256):
            path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what killed processes left half-written."""
        if self._folder is None:
            return
        long_ago = time.time() - ABANDONED_SECONDS
        for part in self._folder.glob(f"{_PART}*"):
            with suppress(FileNotFoundError):
                if part.stat().st_mtime < long_ago:
                    part.unlink()

    def _ready(self) -> Path:
        if self._folder is None:
            raise BlobsUnavailable
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as wrong:
            raise _refusal(wrong) from wrong
        return self._folder


def is_sha256(text: str) -> bool:
    return _SHA256.fullmatch(text) is not None


def _create(path: Path) -> BinaryIO:
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refusal(wrong: OSError) -> TallyError:
    if wrong.errno in {errno.ENOSPC, errno.EDQUOT}:
        return DiskFull("The disk that holds the blobs is full; nothing was stored.")
    return DiskFailed(f"The blob cannot be stored or read: {wrong.strerror}.")


class StoredBlob(msgspec.Struct, frozen=True, kw_only=True):
    blob: Blob
    path: Path


def describe(given: Mapping[str, object]) -> DescribeBlob:
    return inputs.read(DescribeBlob, given)


def check_room(hub: Hub, room_id: str) -> None:
    """Refuse a content for an unknown room before it is taken in."""
    with hub.reading() as tx:
        tx.head(room_id)


def put(tx: Tx, me: Caller, ask: DescribeBlob, content: Content) -> BlobView:
    tx.lock(ask.room_id)
    return record(tx, me, ask, content)


def find(hub: Hub, room_id: str | None, sha256: str) -> StoredBlob:
    """A blob of this room, or of any when none is named, with the file that holds it."""
    if not is_sha256(sha256):
        raise BlobNotFound(f"'{sha256[:80]}' is not the name of a blob.", sha256=sha256)
    with hub.reading() as tx:
        blob = queries.blob(tx, room_id, sha256)
        path = hub.blobs.path(sha256)
        content = queries.shared_content(tx, sha256) if path is None else None
    if content is not None:
        hub.blobs.keep(content)
        path = hub.blobs.path(sha256)
    if path is None:
        raise BlobElsewhere(sha256=sha256)
    return StoredBlob(blob=blob, path=path)
