"""Identifiers: new ones, and what a person types for one: all of it, or a beginning that no other has.

An id is opaque to everyone; that UUIDv7 sorts by time only keeps indexes compact.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from tallystick.kernel.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

NewId: TypeAlias = Callable[[], str]

WHOLE = 36
"""The length of an id of ours."""
SHORTEST = 4
"""Letters that the beginning of an id has at least."""
_BEGINNING = re.compile(r"[0-9a-f-]+")


def new_id() -> str:
    return str(_uuid7()())


@cache
def _uuid7() -> Callable[[], object]:
    import uuid_utils  # Late: who only needs `digest` to know itself should start without it.

    return uuid_utils.uuid7


def digest(*parts: str, length: int = 8) -> str:
    """A short stable digest of some facts, for ids that must come out the same on every surface."""
    import hashlib  # Late, as above: a command that only reads what somebody typed needs neither.

    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:length]


class AmbiguousId(InvalidInput):
    """Several ids begin like that."""

    hint = "Type more of it, or all of it."


def is_beginning(given: str) -> bool:
    return SHORTEST <= len(given) < WHOLE and _BEGINNING.fullmatch(given) is not None


def one_of(given: str, fitting: Iterable[str]) -> str:
    """The only one that fits; the word itself when it is one of them, or none does."""
    found = sorted(set(fitting))
    if not found or given in found:
        return given
    if len(found) > 1:
        shown = ", ".join(found[:5])
        raise AmbiguousId(f"'{given}' may be {shown}{' or others' if len(found) > 5 else ''}.", candidates=found)
    return found[0]


def meant(given: str, known: Iterable[str]) -> str:
    """The one of these ids that begins like this; anything else is refused as it is."""
    return one_of(given, (each for each in known if each.startswith(given))) if is_beginning(given) else given
