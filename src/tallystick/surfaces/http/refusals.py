"""From a refusal to a response: one JSON shape, and a status by family."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tallystick.hub.tokens import NotAuthenticated
from tallystick.kernel.errors import (
    Conflict,
    Fault,
    InvalidInput,
    NotAllowed,
    NotFound,
    TallyError,
    TooLarge,
    Unavailable,
)
from tallystick.surfaces.http import errors

# The first class that fits decides, so the special ones stand before their families.
STATUS: Mapping[type[TallyError], int] = {
    NotAuthenticated: 401,
    errors.WrongHost: 421,
    errors.MethodNotAllowed: 405,
    errors.WrongMediaType: 415,
    errors.HeadTooLarge: 431,
    errors.TooLate: 408,
    errors.TooManyRequests: 429,
    errors.TooManyStreams: 429,
    TooLarge: 413,
    InvalidInput: 400,
    NotFound: 404,
    NotAllowed: 403,
    Conflict: 409,
    Unavailable: 503,
    Fault: 500,
    TallyError: 400,
}

_encode = msgspec.json.Encoder(enc_hook=str).encode


def status_of(kind: type[TallyError]) -> int:
    return next(status for family, status in STATUS.items() if issubclass(kind, family))


def body_of(error: TallyError) -> bytes:
    return _encode({"error": error.payload()})


def headers_of(error: TallyError, body: bytes) -> list[tuple[bytes, bytes]]:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    status = status_of(type(error))
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="tallystick"'))
    if isinstance(error, Unavailable):
        headers.append((b"retry-after", b"1"))
    if isinstance(error, errors.MethodNotAllowed):
        headers.append((b"allow", str(error.details["allow"]).encode()))
    return headers
