"""Refusals that only HTTP can give."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tallystick.hub.tokens import NotAuthenticated
from tallystick.kernel import hints
from tallystick.kernel.errors import (
    Conflict,
    Fault,
    InvalidInput,
    NotAllowed,
    NotFound,
    Refused,
    TallyError,
    TooLarge,
    Unavailable,
)
from tallystick.kernel.hints import Spelling


class WrongHost(NotAllowed):
    """This hub does not answer to the host name in the request."""

    hint = "Use the address that `tally status` shows, or a loopback name such as localhost."


class ForeignOrigin(NotAllowed):
    """This request was made by a page of another origin."""

    hint = "Only the hub's own pages may call it from a browser; programs leave the Origin header out."


class NamelessCaller(NotAllowed):
    """The process at the other end of the socket cannot be seen from here, so it has to say who it is."""

    hint = "Send the header Tally-Agent with the name of the agent."


class LoginExpired(NotAllowed):
    """That link was used already or is older than ten minutes."""

    hint = "Get a fresh one from `tally status`."


class MethodNotAllowed(Refused):
    """That address does not take this method."""

    hint = "Use POST, or GET for operations that only read; the Allow header says which."


class WrongMediaType(InvalidInput):
    """The body must be JSON."""

    hint = "Send the header Content-Type: application/json."


class HeadTooLarge(InvalidInput):
    """The address and headers of the request are too large or too many."""

    hint = "Send fewer and shorter headers; put content into the body."


class MalformedRequest(InvalidInput):
    """That is not a valid HTTP request."""

    hint = "Use an HTTP client library."


class NoSuchRange(InvalidInput):
    """The content has no such part."""

    hint = "Ask for `Range: bytes=FIRST-LAST` within the size that Content-Range says, or leave the header out."


class TooLate(Unavailable):
    """The request did not arrive in time."""

    hint = "Send it without pauses."


class TooManyRequests(Unavailable):
    """This principal sends requests faster than it may."""

    hint = "Wait as long as Retry-After says; TALLYSTICK_HTTP_RATE sets the hub's limit per principal."


class TooManyStreams(Unavailable):
    """This principal has too many streams and waits open."""

    hint = "Close some, or follow several rooms from fewer connections."


class DataDirUnusable(InvalidInput):
    """The data directory cannot be used."""

    hint = "Choose one that you may write to with --data-dir or TALLYSTICK_DATA_DIR."


class HubOutOfReach(Conflict):
    """The process that runs the hub cannot be reached from here."""

    hint = "Stop it where it runs: on its own machine, or in its container."


class HubNotStarted(Unavailable):
    """The hub was started and does not take connections."""

    hint = "Read its log, or run `tally up` to see what it says."


class HubStillStopping(Unavailable):
    """The hub was told to stop and is still finishing."""

    hint = "Look again with `tally status`."


# The first class that fits decides, so the special ones stand before their families.
STATUS: Mapping[type[TallyError], int] = {
    NotAuthenticated: 401,
    WrongHost: 421,
    MethodNotAllowed: 405,
    WrongMediaType: 415,
    HeadTooLarge: 431,
    NoSuchRange: 416,
    TooLate: 408,
    TooManyRequests: 429,
    TooManyStreams: 429,
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


DECLARED = b"declared"
"""What our own clients ask for in `Tally-Hints`: they say a hint in the words of whoever asked them."""


def spelling(path: str, head: Mapping[bytes, bytes]) -> Spelling | None:
    """In whose words a request wants hints and notices: the page calls operations below `/act/` and has buttons."""
    if head.get(b"tally-hints") == DECLARED:
        return None
    return hints.label if path.startswith("/act/") else hints.request


def body_of(error: TallyError, said: Spelling | None = hints.request) -> bytes:
    return _encode({"error": error.payload(said)})


def headers_of(error: TallyError, body: bytes) -> list[tuple[bytes, bytes]]:
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    status = status_of(type(error))
    if status == 401:
        headers.append((b"www-authenticate", b'Bearer realm="tallystick"'))
    if isinstance(error, Unavailable):
        headers.append((b"retry-after", b"1"))
    if isinstance(error, NoSuchRange) and "size" in error.details:
        headers.append((b"content-range", b"bytes */%d" % error.details["size"]))
    if isinstance(error, MethodNotAllowed):
        headers.append((b"allow", str(error.details["allow"]).encode()))
    return headers
