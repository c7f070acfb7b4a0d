"""Server-Sent Events: how one event of a room, and the end of a stream, look on the wire."""

from __future__ import annotations

from typing import Literal

from tallystick.kernel.envelope import Event, to_json
from tallystick.kernel.errors import TallyError, TooSlow
from tallystick.surfaces.http import refusals

HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),
]
KEEP_ALIVE = b": still here\n\n"
OPENING = b"retry: 1000\n\n"
"""How long a browser waits before it connects again, in milliseconds."""


def event(fact: Event) -> bytes:
    """`id` is the seq, `event` the kind, `data` the envelope."""
    envelope = fact.canonical()
    if b"\n" in envelope or b"\r" in envelope:
        # An imported body keeps its white space, which would end the frame in the middle.
        envelope = to_json(fact.wire()).encode()
    kind = "".join(fact.kind.splitlines()).encode()
    return b"id: %d\nevent: %b\ndata: %b\n\n" % (fact.seq, kind, envelope)


def ending(why: Literal["too_slow", "bye"], cursor: int) -> bytes:
    if why == "bye":
        return b'event: bye\ndata: {"cursor":%d,"reason":"shutdown"}\n\n' % cursor
    return failure(TooSlow(cursor=cursor))


def failure(error: TallyError) -> bytes:
    """The last frame of a stream that cannot go on."""
    return b"event: error\ndata: %b\n\n" % refusals.body_of(error)
