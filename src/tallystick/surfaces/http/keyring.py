"""Tokens as a running hub remembers them, and the links and cookies that let a browser in.

What is remembered is asked again after a few seconds, and at once when a token was revoked anywhere.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from tallystick.hub import tokens
from tallystick.hub.serving import Serving
from tallystick.hub.tokens import TokenInvalid
from tallystick.hub.tokens_reach import Visitor
from tallystick.kernel.clock import system_clock
from tallystick.surfaces.http.errors import LoginExpired

REMEMBERED_SECONDS = 5.0
REMEMBERED = 10_000
LINK_SECONDS = 600.0
LINKS = 100
SESSION_MS = 30 * 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    visitor: Visitor
    until: float
    """When to ask again, by the monotonic clock."""


class Keyring:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._known: dict[str, _Known] = {}
        self._minded: set[tuple[str, asyncio.Event]] = set()

    async def visitor(self, secret: str) -> Visitor:
        """Whom the valid token with this secret stands for, or a refusal."""
        known = self._known.get(secret)
        if known is None or monotonic() > known.until:
            known = await self._ask(secret)
        return known.visitor

    @contextmanager
    def minding(self, visitor: Visitor) -> Generator[asyncio.Event]:
        """Set as soon as the visitor's token is revoked or expires, for whoever is served for longer than a moment."""
        ended = asyncio.Event()
        mine = (visitor.token_id, ended)
        self._minded.add(mine)
        left = None if visitor.expires_at is None else (visitor.expires_at - system_clock()) / 1000
        timer = None if left is None else asyncio.get_running_loop().call_later(left, ended.set)
        try:
            yield ended
        finally:
            self._minded.discard(mine)
            if timer:
                timer.cancel()

    async def watch(self) -> None:
        """Whenever a token was revoked, forget everything and tell those who are still being served by it."""
        with self._serving.feeds.listen(tokens.CHANGED) as wake:
            while True:
                await wake.wait(3600)
                self._known.clear()
                if self._minded:
                    valid = await self._serving.read(lambda: tokens.valid_ids(self._serving.hub))
                    for token_id, revoked in self._minded:
                        if token_id and token_id not in valid:
                            revoked.set()

    async def _ask(self, secret: str) -> _Known:
        hub = self._serving.hub
        token = await self._serving.read(lambda: tokens.find(hub, secret))
        if token is None:
            self._known.pop(secret, None)
            raise TokenInvalid
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        visitor = Visitor(caller=token.caller, room_id=token.room_id, token_id=token.id, expires_at=token.expires_at)
        now = system_clock()
        left = REMEMBERED_SECONDS if token.expires_at is None else (token.expires_at - now) / 1000
        known = self._known[secret] = _Known(visitor=visitor, until=monotonic() + min(left, REMEMBERED_SECONDS))
        if now - (token.last_used_at or 0) > tokens.USED_EVERY_MS:
            await self._serving.write(lambda tx: tokens.mark_used(tx, token))
        return known


class Links:
    """One-time links: each lets one browser in, once, within ten minutes."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    def new(self) -> str:
        now = monotonic()
        self._until = {code: until for code, until in self._until.items() if until > now}
        while len(self._until) >= LINKS:
            self._until.pop(next(iter(self._until)))
        code = secrets.token_urlsafe(24)
        self._until[code] = now + LINK_SECONDS
        return code

    def use(self, code: str) -> None:
        if self._until.pop(code, 0.0) < monotonic():
            raise LoginExpired


async def browser_session(serving: Serving) -> str:
    """A new session of the person at the browser: a token like any other, so it can be listed and revoked."""
    issued = await serving.read(
        lambda: tokens.issue(serving.hub, principal="user", label="browser", lasts_ms=SESSION_MS)
    )
    return issued.secret
