"""The outermost layer: each request gets an id, a visitor, our headers, a line in the log and one shape of refusal."""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
import traceback
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, perf_counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tallystick.kernel import hints
from tallystick.kernel.errors import InternalFault, InvalidField, TallyError
from tallystick.kernel.hints import Spelling
from tallystick.surfaces.http import errors
from tallystick.surfaces.http.authentication import Authenticator
from tallystick.surfaces.http.errors import TooManyRequests, TooManyStreams
from tallystick.surfaces.http.logs import Log
from tallystick.surfaces.http.metrics import Metrics
from tallystick.surfaces.http.request_context import ClientGone, RequestContext, answer

CLIENT_GONE = 499
"""What the log says of a request whose client did not wait for the answer."""


class RequestMiddleware:
    def __init__(
        self,
        app: ASGIApp,
        *,
        authenticator: Authenticator,
        allowances: Allowances,
        metrics: Metrics,
        log: Log,
        page: Callable[[Send, TallyError], Awaitable[None]],
    ) -> None:
        self._app, self._authenticator, self._allowances, self._metrics, self._log = (
            app,
            authenticator,
            allowances,
            metrics,
            log,
        )
        self._page = page
        self._ids = itertools.count(1)
        self._boot = secrets.token_hex(4)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        context = RequestContext(id=f"{self._boot}-{next(self._ids)}", head=of(scope))
        scope["state"] = {"context": context}

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                context.status = message["status"]
                more = self._authenticator.renewal(scope, context.head) if context.guest else []
                message["headers"] = secured([*message["headers"], (b"x-request-id", context.id.encode()), *more])
            await send(message)

        try:
            await self._serve(context, scope, receive, sending)
        except ClientGone:
            context.status = CLIENT_GONE
        except asyncio.CancelledError:
            context.status = context.status or CLIENT_GONE
            raise
        except Exception:
            context.notes["traceback"] = traceback.format_exc()
            if context.status:
                raise
            await _refuse(sending, InternalFault(hint=f"Look for request {context.id} in the hub's log and report it."))
        finally:
            self._note(context, perf_counter() - started)

    async def _serve(self, context: RequestContext, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            if len(context.head) < len(scope["headers"]) and sum(name == b"host" for name, _ in scope["headers"]) > 1:
                raise InvalidField("The request names its host twice.", field="Host")
            context.guest = await self._authenticator.admit(scope, context.head)
            if context.guest:
                self._allowances.spend(context.guest.caller.agent_id)
            await self._app(scope, receive, send)
        except TallyError as refusal:
            if context.status:
                raise
            context.notes["code"] = refusal.code
            if _reads_pages(scope, context):
                await self._page(send, refusal)
            else:
                await _refuse(send, refusal, errors.spelling(scope["path"], context.head))

    def _note(self, context: RequestContext, seconds: float) -> None:
        self._metrics.request(context.operation, context.status, seconds)
        self._log.line(
            "error" if "traceback" in context.notes else "info",
            request=context.id,
            operation=context.operation,
            principal=context.guest.caller.agent_id if context.guest else "",
            status=context.status,
            ms=round(seconds * 1000, 2),
            **context.notes,
        )


def _reads_pages(scope: Scope, context: RequestContext) -> bool:
    """Whether a person looks at the answer, so that it had better be a page."""
    asked = context.head.get(b"accept", b"").partition(b",")[0]
    return scope["method"] == "GET" and asked == b"text/html" and not scope["path"].startswith(("/v1/", "/mcp"))


async def _refuse(send: Send, error: TallyError, said: Spelling | None = hints.request) -> None:
    body = errors.body_of(error, said)
    first, _, *more = errors.headers_of(error, body)
    await answer(send, body, *more, status=errors.status_of(type(error)), kind=first)


SECURITY: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_NAMES = frozenset(name for name, _ in SECURITY)


def secured(given: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """A response's headers with our own; what a handler has set itself is left as it is."""
    own = {name for name, _ in given} & _NAMES
    return [*given, *(field for field in SECURITY if field[0] not in own)] if own else [*given, *SECURITY]


def of(scope: Scope) -> dict[bytes, bytes]:
    """The request's headers by lower-case name; the last one wins."""
    return dict(scope["headers"])


MIB = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    rate: float = 500
    """Requests per second and principal; twice as many may come at once. 0 sets no limit."""
    streams: int = 1024
    """Open streams and waits per principal."""
    body_bytes: int = MIB
    """Of an operation; a blob has its own bound."""
    head_bytes: int = 32 * 1024
    head_fields: int = 100
    head_seconds: float = 10
    """From the first byte of a request, or from connecting, to the end of its headers."""
    body_seconds: float = 30
    """Grace for a body, after which it must have come in at `body_rate`."""
    body_rate: float = 16 * 1024
    unwanted_bytes: int = 64 * MIB
    """Of a body that was refused already, read and dropped so that the sender gets to see the answer."""
    unwanted_seconds: float = 5

    @classmethod
    def of(cls, environ: Mapping[str, str] = os.environ) -> Limits:
        try:
            rate = float(environ.get("TALLYSTICK_HTTP_RATE") or cls().rate)
        except ValueError:
            rate = cls().rate
        return cls(rate=max(rate, 0))


@dataclass(slots=True)
class _Allowance:
    left: float
    since: float
    streams: int = 0


class Allowances:
    """A token bucket and a count of open streams for every principal."""

    def __init__(self, limits: Limits) -> None:
        self._rate, self._streams = limits.rate, limits.streams
        self._of: dict[str, _Allowance] = {}

    def spend(self, principal: str) -> None:
        """Count one request, or refuse it."""
        if not self._rate:
            return
        now = monotonic()
        mine = self._mine(principal, now)
        mine.left = min(2 * self._rate, mine.left + (now - mine.since) * self._rate)
        mine.since = now
        if mine.left < 1:
            raise TooManyRequests(
                f"'{principal}' may send {self._rate:g} requests per second.", principal=principal, limit=self._rate
            )
        mine.left -= 1

    @contextmanager
    def stream(self, principal: str) -> Generator[None]:
        """Hold one of the principal's streams."""
        mine = self._mine(principal, monotonic())
        if mine.streams >= self._streams:
            raise TooManyStreams(
                f"'{principal}' has {mine.streams} streams and waits open.", principal=principal, limit=self._streams
            )
        mine.streams += 1
        try:
            yield
        finally:
            mine.streams -= 1

    def _mine(self, principal: str, now: float) -> _Allowance:
        found = self._of.get(principal)
        if found is None:
            found = self._of[principal] = _Allowance(left=2 * self._rate, since=now)
        return found
