"""`/`: the web page over HTTP. Its templates and views are loaded when the first page is asked for.

Pages and files come from the surface as bytes. A button's call goes to `/act/<operation>`; `/live` tells a page that
shows many rooms when to look again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope, Send

from tallystick.hub import feed, registry
from tallystick.hub.serving import Serving
from tallystick.kernel.errors import TallyError
from tallystick.surfaces.http import errors, sse
from tallystick.surfaces.http.authentication import FILES, TokenCache
from tallystick.surfaces.http.calls import decoded, key_of
from tallystick.surfaces.http.errors import MethodNotAllowed
from tallystick.surfaces.http.middleware import Allowances, Limits
from tallystick.surfaces.http.request_context import RequestContext, answer, body, context_of, departure

if TYPE_CHECKING:
    from tallystick.surfaces.web.site import Site

CHANGED = b"event: changed\ndata: {}\n\n"
SPACED_SECONDS = 0.05
"""Between two signs that something changed, however much does."""


class Pages:
    def __init__(self, serving: Serving, tokens: TokenCache, limits: Limits, allowances: Allowances) -> None:
        self._serving, self._tokens, self._limits, self._allowances = serving, tokens, limits, allowances
        self._site: Site | None = None
        self._ending = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = context_of(scope)
        path: str = scope["path"]
        context.operation = "page"
        if path.startswith("/act/"):
            await self._act(context, scope, receive, send)
            return
        if scope["method"] not in {"GET", "HEAD"}:
            raise MethodNotAllowed(f"{path[:100]} takes GET.", allow="GET, HEAD")
        if path == "/live":
            context.operation = "page.live"
            context.visitor.may_see_all()
            await self._live(context, receive, send)
            return
        site = await self._loaded()
        if path.startswith(FILES):
            reply = site.file(path)
        else:
            query = scope["query_string"].decode("latin-1")
            reply = await site.get(context.visitor, path, query, part=b"tally-part" in context.head)
        await _send(send, reply.content, reply.headers)

    async def refuse(self, send: Send, error: TallyError) -> None:
        """Show a refusal as a page."""
        reply = (await self._loaded()).refusal(error)
        await _send(send, reply.content, reply.headers, status=errors.status_of(type(error)))

    def dismiss(self) -> None:
        self._ending.set()

    async def _loaded(self) -> Site:
        if self._site is None:
            self._site = await asyncio.to_thread(self._load)
        return self._site

    def _load(self) -> Site:
        from tallystick.surfaces.web.site import Site

        return Site(self._serving)

    async def _act(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "POST":
            raise MethodNotAllowed("An action takes POST.", allow="POST")
        # Found before it is counted: what a client makes up must not become a label of the metrics.
        operation = registry.find(scope["path"].removeprefix("/act/")).name
        context.operation = operation
        given = decoded(context, await body(scope, receive, self._limits.body_bytes))
        result = await (await self._loaded()).act(context.visitor, operation, given, key_of(context))
        await answer(send, result.to_json())

    async def _live(self, context: RequestContext, receive: Receive, send: Send) -> None:
        """Say `changed` whenever any room has a new event, until the reader leaves or the hub stops."""
        with (
            self._allowances.stream(context.visitor.caller.agent_id),
            self._tokens.until_revoked(context.visitor) as revoked,
            self._serving.feeds.listen(feed.EVERY_ROOM) as wake,
        ):
            await send({"type": "http.response.start", "status": 200, "headers": sse.HEADERS})
            await _put(send, sse.OPENING)
            reasons = (_tell(send, wake), departure(receive, revoked), self._ending.wait())
            everything: list[asyncio.Task[Any]] = [asyncio.ensure_future(reason) for reason in reasons]
            try:
                await asyncio.wait(everything, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in everything:
                    task.cancel()
                await asyncio.gather(*everything, return_exceptions=True)
            with suppress(OSError):
                await send({"type": "http.response.body", "body": b""})


async def _tell(send: Send, wake: feed.Wake) -> None:
    while True:
        rung = await wake.wait(feed.QUIET_SECONDS)
        await _put(send, CHANGED if rung else sse.KEEP_ALIVE)
        await asyncio.sleep(SPACED_SECONDS if rung else 0)


async def _put(send: Send, chunk: bytes) -> None:
    await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def _send(send: Send, content: bytes, headers: Mapping[str, str], *, status: int = 200) -> None:
    kind, *more = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await answer(send, content, *more, status=status, kind=kind)
