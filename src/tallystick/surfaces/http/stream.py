"""`GET /v1/events`: a room's events as a page, or with `follow=true` as a stream of Server-Sent Events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from starlette.types import Receive, Scope, Send

from tallystick.hub import registry
from tallystick.hub.feed import Cursor, Follower
from tallystick.hub.serving import Serving
from tallystick.kernel import inputs
from tallystick.kernel.errors import InvalidField
from tallystick.surfaces.http import frames, query
from tallystick.surfaces.http.errors import MethodNotAllowed
from tallystick.surfaces.http.keyring import Keyring
from tallystick.surfaces.http.limits import Allowances
from tallystick.surfaces.http.sending import send_stream
from tallystick.surfaces.http.visit import Visit, answer, departure, visit_of

LAST_WORD_SECONDS = 30.0


class Stream:
    def __init__(self, serving: Serving, keyring: Keyring, allowances: Allowances) -> None:
        self._serving, self._keyring, self._allowances = serving, keyring, allowances

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = visit_of(scope)
        visit.operation = "events.list"
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed("/v1/events takes GET.", allow="GET, HEAD")
        follow, rest = _split(scope["query_string"])
        if not follow:
            given = query.read(registry.find("events.list").ask, rest)
            result = await self._serving.call(visit.visitor, "events.list", given)
            await answer(send, result.to_json())
            return
        visit.operation = "events.stream"
        ask = inputs.read(Cursor, resumed(query.read(Cursor, rest), visit))
        visit.visitor.may_see(ask.room_id)
        principal = visit.visitor.caller.agent_id
        with self._allowances.stream(principal), self._keyring.minding(visit.visitor) as revoked:
            follower = await self._serving.feeds.follow(ask)
            await send({"type": "http.response.start", "status": 200, "headers": frames.HEADERS})
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body"})
                return
            leaving = departure(receive, revoked)
            await send_stream(scope, send, _Events(follower), leaving, last_word_seconds=LAST_WORD_SECONDS)


class _Events:
    """A follower's events as a source, which knows the last seq that went out whole."""

    def __init__(self, follower: Follower) -> None:
        self._follower, self._cursor = follower, follower.cursor

    def on_cut(self, interrupt: Callable[[], None]) -> None:
        self._follower.on_cut = interrupt

    async def chunks(self) -> AsyncGenerator[bytes]:
        async with aclosing(self._follower.frames()) as chunks:
            async for chunk in chunks:
                yield chunk
                # Only now has it been sent: the generator goes on when the next chunk is asked for.
                self._cursor = self._follower.cursor

    def last_word(self) -> bytes:
        return frames.ending(self._follower.ending, self._cursor) if self._follower.ending else b""


def _split(text: bytes) -> tuple[bool, bytes]:
    """Whether to follow, and the rest of the query."""
    parts = [part for part in text.split(b"&") if part]
    flags = [part for part in parts if part.partition(b"=")[0] == b"follow"]
    values = {flag.partition(b"=")[2].lower() for flag in flags}
    if not values <= {b"true", b"1", b"false", b"0", b""}:
        raise InvalidField("follow is either true or false.", field="follow")
    return bool(values & {b"true", b"1", b""}), b"&".join(part for part in parts if part not in flags)


def resumed(given: dict[str, object], visit: Visit) -> dict[str, object]:
    """A browser that connects again by itself names the last event it saw, which beats the address it was given."""
    last = visit.head.get(b"last-event-id")
    if not last:
        return given
    if not last.isdigit() or len(last) > 18:
        raise InvalidField("Last-Event-ID must be the id of an event of this stream.", field="Last-Event-ID")
    cursors = {"since_seq", "since_event_id", "since_ts"}
    return {**{name: value for name, value in given.items() if name not in cursors}, "since_seq": int(last)}
