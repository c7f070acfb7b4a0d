"""`GET /v1/events`: a room's events as a page, or with `follow=true` as a stream of Server-Sent Events."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from starlette.types import Receive, Scope, Send

from tallystick.hub import registry
from tallystick.hub.feed import Follow, Follower
from tallystick.hub.serving import Serving
from tallystick.kernel.errors import InvalidField, TallyError
from tallystick.surfaces.http import frames, query
from tallystick.surfaces.http.connection import EXTENSION, Connection
from tallystick.surfaces.http.door import Door
from tallystick.surfaces.http.errors import MethodNotAllowed
from tallystick.surfaces.http.limits import Allowances
from tallystick.surfaces.http.visit import ClientGone, Visit, answer, visit_of

LAST_WORD_SECONDS = 30.0
"""How long a reader that was cut off has to take in the reason before the connection is dropped."""

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),
]


class Stream:
    def __init__(self, serving: Serving, door: Door, allowances: Allowances) -> None:
        self._serving, self._door, self._allowances = serving, door, allowances

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        visit = visit_of(scope)
        visit.operation = "events.list"
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed("/v1/events takes GET.", allow="GET, HEAD")
        follow, rest = _split(scope["query_string"])
        if not follow:
            given = query.read(registry.find("events.list").ask, rest)
            result = await self._serving.call(visit.visitor, "events.list", given)
            await answer(send, result.model_dump_json().encode())
            return
        visit.operation = "events.stream"
        ask = Follow.of(_resumed(query.read(Follow, rest), visit))
        visit.visitor.may_see(ask.room_id)
        with self._allowances.stream(visit.visitor.caller.agent_id):
            follower = await self._serving.feeds.follow(ask)
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            await _Sending(self._door, visit, scope, receive, send).run(follower)


class _Sending:
    """One open stream. Its task is cancelled when the reader went away or was too slow."""

    def __init__(self, door: Door, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        self._door, self._visit, self._scope, self._receive, self._send = door, visit, scope, receive, send
        self._cursor = 0
        """The last seq that went out whole."""

    async def run(self, follower: Follower) -> None:
        mine = asyncio.current_task()
        assert mine is not None  # noqa: S101 - a request is always a task
        gone = asyncio.ensure_future(self._departure())
        gone.add_done_callback(lambda done: mine.cancel() if not done.cancelled() else None)
        follower.on_cut = mine.cancel
        last = b""
        try:
            await self._events(follower)
        except asyncio.CancelledError:
            if gone.done():
                mine.uncancel()
                raise ClientGone from None
            if follower.ending != "too_slow":
                raise
            mine.uncancel()
        except TallyError as failed:
            last = frames.failure(failed)
        finally:
            gone.cancel()
        await self._end(last or (frames.ending(follower.ending, self._cursor) if follower.ending else b""))

    async def _events(self, follower: Follower) -> None:
        self._cursor = follower.cursor
        await self._put(frames.OPENING)
        async with aclosing(follower.frames()) as chunks:
            async for chunk in chunks:
                if not chunk and not await self._still_welcome():
                    return
                await self._put(chunk or frames.KEEP_ALIVE)
                self._cursor = follower.cursor

    async def _end(self, last: bytes) -> None:
        try:
            async with asyncio.timeout(LAST_WORD_SECONDS):
                await self._send({"type": "http.response.body", "body": last})
        except TimeoutError:
            connection: Connection = self._scope["extensions"][EXTENSION]
            connection.abort()

    async def _still_welcome(self) -> bool:
        try:
            await self._door.admit(self._scope, self._visit.head)
        except TallyError:
            return False
        return True

    async def _put(self, chunk: bytes) -> None:
        await self._send({"type": "http.response.body", "body": chunk, "more_body": True})

    async def _departure(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _split(text: bytes) -> tuple[bool, bytes]:
    """Whether to follow, and the rest of the query."""
    parts = [part for part in text.split(b"&") if part]
    flags = [part for part in parts if part.partition(b"=")[0] == b"follow"]
    values = {flag.partition(b"=")[2].lower() for flag in flags}
    if not values <= {b"true", b"1", b"false", b"0", b""}:
        raise InvalidField("follow is either true or false.", field="follow")
    return bool(values & {b"true", b"1", b""}), b"&".join(part for part in parts if part not in flags)


def _resumed(given: dict[str, object], visit: Visit) -> dict[str, object]:
    """A browser that connects again by itself names the last event it saw, which beats the address it was given."""
    last = visit.head.get(b"last-event-id")
    if not last:
        return given
    if not last.isdigit() or len(last) > 18:
        raise InvalidField("Last-Event-ID must be the id of an event of this stream.", field="Last-Event-ID")
    cursors = {"since_seq", "since_event_id", "since_ts"}
    return {**{name: value for name, value in given.items() if name not in cursors}, "since_seq": int(last)}
