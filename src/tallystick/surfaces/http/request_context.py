"""One request while it is being served: who makes it, what it is for, and how handlers answer it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import TypeVar

from starlette.types import Message, Receive, Scope, Send

from tallystick.hub.tokens import TokenInvalid, TokenMissing
from tallystick.hub.visitor import Visitor
from tallystick.kernel.errors import InvalidField, TooLarge

T = TypeVar("T")

JSON = (b"content-type", b"application/json")


class ClientGone(Exception):
    """Nobody is left to answer."""


@dataclass(slots=True, kw_only=True)
class RequestContext:
    id: str
    head: dict[bytes, bytes]
    guest: Visitor | None = None
    """Nobody in particular, where no token is needed."""
    operation: str = "other"
    """For the log and the metrics."""
    status: int = 0
    notes: dict[str, object] = field(default_factory=dict[str, object])

    @property
    def visitor(self) -> Visitor:
        if self.guest is None:
            raise TokenMissing
        return self.guest


def context_of(scope: Scope) -> RequestContext:
    context: RequestContext = scope["state"]["context"]
    return context


async def body(scope: Scope, receive: Receive, limit: int) -> bytes:
    """The whole body, unless it is larger than allowed."""
    declared = context_of(scope).head.get(b"content-length", b"0")
    if not declared.isdigit():
        raise InvalidField("Content-Length is not a number.", field="Content-Length")
    if int(declared) > limit:
        raise _too_large(limit)
    message = await receive()
    if not message.get("more_body"):
        return _chunk(message, limit)
    whole = bytearray(_chunk(message, limit))
    while message.get("more_body"):
        message = await receive()
        whole += _chunk(message, limit - len(whole), limit)
    return bytes(whole)


def _chunk(message: Message, left: int, limit: int = 0) -> bytes:
    if message["type"] == "http.disconnect":
        raise ClientGone
    chunk: bytes = message.get("body", b"")
    if len(chunk) > left:
        raise _too_large(limit or left)
    return chunk


def _too_large(limit: int) -> TooLarge:
    return TooLarge(f"The body is larger than {limit} bytes.", limit=limit)


async def answer(
    send: Send, content: bytes, *more: tuple[bytes, bytes], status: int = 200, kind: tuple[bytes, bytes] = JSON
) -> None:
    headers = [kind, (b"content-length", b"%d" % len(content)), *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def while_welcome(receive: Receive, revoked: asyncio.Event, work: Coroutine[object, object, T]) -> T:
    """Do some long work, and stop it when the client leaves or its token ends. Call only after the body was read."""
    return await _unless(departure(receive, revoked), work)


async def while_connected(receive: Receive, work: Coroutine[object, object, T]) -> T:
    """Do some long work, and stop it when the client leaves. Call only after the body was read."""
    return await _unless(_disconnected(receive), work)


async def _unless(ends: Coroutine[object, object, Exception], work: Coroutine[object, object, T]) -> T:
    task, end = asyncio.ensure_future(work), asyncio.ensure_future(ends)
    try:
        await asyncio.wait({task, end}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise end.result()
        return task.result()
    finally:
        for each in (task, end):
            each.cancel()
        await asyncio.gather(task, end, return_exceptions=True)


async def departure(receive: Receive, revoked: asyncio.Event) -> ClientGone | TokenInvalid:
    """Why somebody who is being served has to be let go, as soon as there is a reason."""
    gone, ended = asyncio.ensure_future(_disconnected(receive)), asyncio.ensure_future(revoked.wait())
    try:
        await asyncio.wait({gone, ended}, return_when=asyncio.FIRST_COMPLETED)
        return gone.result() if gone.done() else TokenInvalid()
    finally:
        gone.cancel()
        ended.cancel()


async def _disconnected(receive: Receive) -> ClientGone:
    while (await receive())["type"] != "http.disconnect":
        pass
    return ClientGone()
