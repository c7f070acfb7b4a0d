"""A blob as a room knows it, and what is needed of the folder that holds the contents."""

from __future__ import annotations

from typing import Protocol

import msgspec


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

    def keep(self, content: bytes) -> Content:
        """Store a content durably; to store it twice changes nothing."""
        ...

    def read(self, sha256: str) -> bytes | None:
        """The content, unless it is not on this machine."""
        ...
