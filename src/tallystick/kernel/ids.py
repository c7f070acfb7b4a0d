"""New identifiers. An id is opaque to everyone; that UUIDv7 sorts by time only keeps indexes compact."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

NewId: TypeAlias = Callable[[], str]


def new_id() -> str:
    return str(_uuid7()())


@cache
def _uuid7() -> Callable[[], object]:
    import uuid_utils  # Late: who only needs `digest` to know itself should start without it.

    return uuid_utils.uuid7


def digest(*parts: str, length: int = 8) -> str:
    """A short stable digest of some facts, for ids that must come out the same on every surface."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:length]
