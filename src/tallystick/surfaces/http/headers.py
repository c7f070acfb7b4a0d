"""Header fields: what every response carries, and how a request's are read."""

from __future__ import annotations

from starlette.types import Scope

SECURITY: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_NAMES = frozenset(name for name, _ in SECURITY)


def secured(given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """A response's headers with our own; what a handler has set itself is left as it is."""
    own = {name for name, _ in given} & _NAMES
    return [*given, *(field for field in SECURITY if field[0] not in own)] if own else [*given, *SECURITY]


def of(scope: Scope) -> dict[bytes, bytes]:
    """The request's headers by lower-case name; the last one wins."""
    return dict(scope["headers"])
