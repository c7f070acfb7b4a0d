"""`GET /v1/events`: a room's events as a page, or with `follow=true` as a stream of Server-Sent Events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Literal, Protocol, TypeAlias, cast

from starlette.types import Receive, Scope, Send

from tallystick.hub import registry
from tallystick.hub.feed import Cursor, Follower
from tallystick.hub.serving import Serving
from tallystick.kernel import inputs
from tallystick.kernel.envelope import Event, to_json
from tallystick.kernel.errors import InvalidField, TallyError, TooSlow
from tallystick.surfaces.http import authentication, calls, errors
from tallystick.surfaces.http.authentication import TokenCache
from tallystick.surfaces.http.errors import MethodNotAllowed
from tallystick.surfaces.http.middleware import Allowances
from tallystick.surfaces.http.request_context import ClientGone, RequestContext, answer, context_of, departure

LAST_WORD_SECONDS = 30.0


class EventStream:
    def __init__(self, serving: Serving, tokens: TokenCache, allowances: Allowances) -> None:
        self._serving, self._tokens, self._allowances = serving, tokens, allowances

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = context_of(scope)
        context.operation = "events.list"
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed("/v1/events takes GET.", allow="GET, HEAD")
        follow, rest = _split(scope["query_string"])
        if not follow:
            given = calls.read(registry.find("events.list").ask, rest)
            result = await self._serving.call(context.visitor, "events.list", given)
            await answer(send, result.to_json())
            return
        context.operation = "events.stream"
        ask = inputs.read(Cursor, resumed(calls.read(Cursor, rest), context))
        context.visitor.may_see(ask.room_id)
        principal = context.visitor.caller.agent_id
        with self._allowances.stream(principal), self._tokens.until_revoked(context.visitor) as revoked:
            follower = await self._serving.feeds.follow(ask)
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
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
        return ending(self._follower.ending, self._cursor) if self._follower.ending else b""


def _split(text: bytes) -> tuple[bool, bytes]:
    """Whether to follow, and the rest of the query."""
    parts = [part for part in text.split(b"&") if part]
    flags = [part for part in parts if part.partition(b"=")[0] == b"follow"]
    values = {flag.partition(b"=")[2].lower() for flag in flags}
    if not values <= {b"true", b"1", b"false", b"0", b""}:
        raise InvalidField("follow is either true or false.", field="follow")
    return bool(values & {b"true", b"1", b""}), b"&".join(part for part in parts if part not in flags)


def resumed(given: dict[str, object], context: RequestContext) -> dict[str, object]:
    """A browser that connects again by itself names the last event it saw, which beats the address it was given."""
    last = context.head.get(b"last-event-id")
    if not last:
        return given
    if not last.isdigit() or len(last) > 18:
        raise InvalidField("Last-Event-ID must be the id of an event of this stream.", field="Last-Event-ID")
    cursors = {"since_seq", "since_event_id", "since_ts"}
    return {**{name: value for name, value in given.items() if name not in cursors}, "since_seq": int(last)}


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
    return b"event: error\ndata: %b\n\n" % errors.body_of(error)


Departure: TypeAlias = Coroutine[object, object, "ClientGone | TallyError"]


class StreamSource(Protocol):
    """Where a stream's frames come from."""

    def on_cut(self, interrupt: Callable[[], None]) -> None:
        """Call this when the reader is cut off for being too slow, so that the task that writes to it lets go."""
        ...

    def chunks(self) -> AsyncGenerator[bytes]:
        """Whole frames until the source ends; an empty chunk when it was quiet for a while."""
        ...

    def last_word(self) -> bytes:
        """The frame that says why the source ended."""
        ...


async def send_stream(
    scope: Scope, send: Send, source: StreamSource, departure: Departure, *, last_word_seconds: float
) -> None:
    """Send a stream's body to its end. `departure` returns once the reader left or may not stay.

    A reader that was cut off has so many seconds to take in the reason before the connection is dropped.
    """
    leaving = asyncio.ensure_future(departure)
    try:
        failed = await _send_chunks(send, source, leaving)
        left = leaving.result() if leaving.done() else None
    finally:
        leaving.cancel()
    if isinstance(left, ClientGone):
        raise left
    reason = failed or left
    last = failure(reason) if reason else source.last_word()
    try:
        async with asyncio.timeout(last_word_seconds):
            await send({"type": "http.response.body", "body": last})
    except TimeoutError:
        authentication.abort(scope)


async def _send_chunks(
    send: Send, source: StreamSource, leaving: asyncio.Future[ClientGone | TallyError]
) -> TallyError | None:
    """Send what comes until the source ends or this is interrupted; with what the source failed, if it did."""
    interruption = _Interruption()
    leaving.add_done_callback(interruption.of_departure)
    source.on_cut(interruption)
    try:
        await _put(send, OPENING)
        async with aclosing(source.chunks()) as chunks:
            async for chunk in chunks:
                await _put(send, chunk or KEEP_ALIVE)
    except asyncio.CancelledError:
        if not interruption.was_the_only_one():
            raise
    except TallyError as failed:
        return failed
    finally:
        interruption.over = True
    return None


class _Interruption:
    """Cancels the task that made it, once, and not after it has stopped sending."""

    def __init__(self) -> None:
        self.over = False
        self._done = False
        self._task = cast("asyncio.Task[object]", asyncio.current_task())

    def __call__(self) -> None:
        if not self.over and not self._done:
            self._done = True
            self._task.cancel()

    def of_departure(self, leaving: asyncio.Future[ClientGone | TallyError]) -> None:
        if not leaving.cancelled():
            self()

    def was_the_only_one(self) -> bool:
        """Whether the task was cancelled by this alone; if so, it goes on as if it had not been."""
        return self._done and not self._task.uncancel()


async def _put(send: Send, chunk: bytes) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": True})
