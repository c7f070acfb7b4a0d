"""`GET /v1/events`: a room's events as a page, or with `follow=true` as a stream of Server-Sent Events."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import aclosing
from typing import cast

from starlette.types import Receive, Scope, Send

from tallystick.hub import asking, registry
from tallystick.hub.feed import Cursor, Follower
from tallystick.hub.serving import Serving
from tallystick.hub.tokens import TokenInvalid
from tallystick.kernel.errors import InvalidField, TallyError
from tallystick.surfaces.http import frames, query
from tallystick.surfaces.http.connection import EXTENSION, Connection
from tallystick.surfaces.http.errors import MethodNotAllowed
from tallystick.surfaces.http.keyring import Keyring
from tallystick.surfaces.http.limits import Allowances
from tallystick.surfaces.http.visit import ClientGone, Visit, answer, departure, visit_of

LAST_WORD_SECONDS = 30.0
"""How long a reader that was cut off has to take in the reason before the connection is dropped."""


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
        ask = asking.read(Cursor, resumed(query.read(Cursor, rest), visit))
        visit.visitor.may_see(ask.room_id)
        principal = visit.visitor.caller.agent_id
        with self._allowances.stream(principal), self._keyring.minding(visit.visitor) as revoked:
            follower = await self._serving.feeds.follow(ask)
            await send({"type": "http.response.start", "status": 200, "headers": frames.HEADERS})
            if scope["method"] == "HEAD":
                await send({"type": "http.response.body"})
                return
            await _Sending(scope, send).run(follower, departure(receive, revoked))


class _Sending:
    """One open stream. Its task is cancelled when the reader left, lost its token or was too slow."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send = scope, send
        self._cursor = 0
        """The last seq that went out whole."""

    async def run(self, follower: Follower, departure: Coroutine[object, object, ClientGone | TokenInvalid]) -> None:
        mine = cast("asyncio.Task[None]", asyncio.current_task())
        leaving = asyncio.ensure_future(departure)
        leaving.add_done_callback(lambda done: None if done.cancelled() else mine.cancel())
        follower.on_cut = mine.cancel
        last: bytes = b""
        try:
            await self._events(follower)
        except asyncio.CancelledError:
            if not leaving.done() and follower.ending != "too_slow":
                raise
            mine.uncancel()
        except TallyError as failed:
            last = frames.failure(failed)
        finally:
            leaving.cancel()
        await self._end(last or self._last_word(follower, leaving))

    async def _events(self, follower: Follower) -> None:
        self._cursor = follower.cursor
        await self._put(frames.OPENING)
        async with aclosing(follower.frames()) as chunks:
            async for chunk in chunks:
                await self._put(chunk or frames.KEEP_ALIVE)
                self._cursor = follower.cursor

    def _last_word(self, follower: Follower, leaving: asyncio.Future[ClientGone | TokenInvalid]) -> bytes:
        if leaving.done() and not leaving.cancelled():
            if isinstance(reason := leaving.result(), ClientGone):
                raise reason
            return frames.failure(reason)
        return frames.ending(follower.ending, self._cursor) if follower.ending else b""

    async def _end(self, last: bytes) -> None:
        try:
            async with asyncio.timeout(LAST_WORD_SECONDS):
                await self._send({"type": "http.response.body", "body": last})
        except TimeoutError:
            connection: Connection = self._scope["extensions"][EXTENSION]
            connection.abort()

    async def _put(self, chunk: bytes) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})


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
