"""The outermost layer: each request gets an id, a visitor, our headers, a line in the log and one shape of refusal."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import traceback
from collections.abc import Awaitable, Callable
from time import perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tallystick.kernel.errors import InternalFault, TallyError
from tallystick.surfaces.http import headers, refusals
from tallystick.surfaces.http.door import Door
from tallystick.surfaces.http.limits import Allowances
from tallystick.surfaces.http.logs import Log
from tallystick.surfaces.http.metrics import Metrics
from tallystick.surfaces.http.visit import ClientGone, Visit, answer

CLIENT_GONE = 499
"""What the log says of a request whose client did not wait for the answer."""


class Front:
    def __init__(
        self,
        app: ASGIApp,
        *,
        door: Door,
        allowances: Allowances,
        metrics: Metrics,
        log: Log,
        page: Callable[[Send, TallyError], Awaitable[None]],
    ) -> None:
        self._app, self._door, self._allowances, self._metrics, self._log = app, door, allowances, metrics, log
        self._page = page
        self._ids = itertools.count(1)
        self._boot = secrets.token_hex(4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        visit = Visit(id=f"{self._boot}-{next(self._ids)}", head=headers.of(scope))
        scope["state"] = {"visit": visit}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                message["headers"] = headers.secured([*message["headers"], (b"x-request-id", visit.id.encode())])
            await send(message)

        try:
            await self._serve(visit, scope, receive, sending)
        except ClientGone:
            visit.status = CLIENT_GONE
        except asyncio.CancelledError:
            visit.status = visit.status or CLIENT_GONE
            raise
        except Exception:
            visit.notes["traceback"] = traceback.format_exc()
            if visit.status:
                raise
            await _refuse(sending, InternalFault(hint=f"Look for request {visit.id} in the hub's log and report it."))
        finally:
            self._note(visit, perf_counter() - started)

    async def _serve(self, visit: Visit, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            visit.guest = await self._door.admit(scope, visit.head)
            if visit.guest:
                self._allowances.spend(visit.guest.caller.agent_id)
            await self._app(scope, receive, send)
        except TallyError as refusal:
            if visit.status:
                raise
            visit.notes["code"] = refusal.code
            if _reads_pages(scope, visit):
                await self._page(send, refusal)
            else:
                await _refuse(send, refusal)

    def _note(self, visit: Visit, seconds: float) -> None:
        self._metrics.request(visit.operation, visit.status, seconds)
        self._log.line(
            "error" if "traceback" in visit.notes else "info",
            request=visit.id,
            operation=visit.operation,
            principal=visit.guest.caller.agent_id if visit.guest else "",
            status=visit.status,
            ms=round(seconds * 1000, 2),
            **visit.notes,
        )


def _reads_pages(scope: Scope, visit: Visit) -> bool:
    """Whether a person looks at the answer, so that it had better be a page."""
    asked = visit.head.get(b"accept", b"").partition(b",")[0]
    return scope["method"] == "GET" and asked == b"text/html" and not scope["path"].startswith(("/v1/", "/mcp"))


async def _refuse(send: Send, error: TallyError) -> None:
    body = refusals.body_of(error)
    first, _, *more = refusals.headers_of(error, body)
    await answer(send, body, *more, status=refusals.status_of(type(error)), kind=first)
