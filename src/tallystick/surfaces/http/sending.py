"""One open stream of Server-Sent Events, whatever it carries: frames go out as they come until somebody ends it.

The request's own task writes. It may be stuck doing so, because the reader takes nothing in; whoever ends the stream
therefore interrupts it: the reader left, its token was revoked, or its source cut it off as too slow.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing
from typing import Protocol, TypeAlias, cast

from starlette.types import Scope, Send

from tallystick.kernel.errors import TallyError
from tallystick.surfaces.http import frames, peers
from tallystick.surfaces.http.visit import ClientGone

Departure: TypeAlias = Coroutine[object, object, "ClientGone | TallyError"]


class Source(Protocol):
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
    scope: Scope, send: Send, source: Source, departure: Departure, *, last_word_seconds: float
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
    last = frames.failure(reason) if reason else source.last_word()
    try:
        async with asyncio.timeout(last_word_seconds):
            await send({"type": "http.response.body", "body": last})
    except TimeoutError:
        peers.abort(scope)


async def _send_chunks(
    send: Send, source: Source, leaving: asyncio.Future[ClientGone | TallyError]
) -> TallyError | None:
    """Send what comes until the source ends or this is interrupted; with what the source failed, if it did."""
    interruption = _Interruption()
    leaving.add_done_callback(interruption.of_departure)
    source.on_cut(interruption)
    try:
        await _put(send, frames.OPENING)
        async with aclosing(source.chunks()) as chunks:
            async for chunk in chunks:
                await _put(send, chunk or frames.KEEP_ALIVE)
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
