"""Who is calling.

Over TCP a request must name this hub as its host, come from no foreign page and carry a token or the browser's cookie;
over the Unix socket the kernel says which process it is.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import socket
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from starlette.types import Scope

from tallystick.hub import tokens
from tallystick.hub.serving import Serving
from tallystick.hub.tokens import TokenInvalid, TokenMissing
from tallystick.hub.visitor import Visitor
from tallystick.kernel.clock import system_clock
from tallystick.surfaces.http import peers
from tallystick.surfaces.http.errors import ForeignOrigin, LoginExpired, WrongHost

OPEN = frozenset({"/healthz", "/login"})
"""What needs no token."""
FILES = "/static/"
"""Styles and scripts of the page: the same for everybody, and needed to say that a token is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubAddress:
    """Where this hub listens, as a browser names it."""

    host: str
    port: int
    tls: bool = False

    @property
    def url(self) -> str:
        scheme = "https" if self.tls else "http"
        shown = "127.0.0.1" if self.host in {"0.0.0.0", "::", ""} else self.host  # noqa: S104 - shown, not bound
        return f"{scheme}://{f'[{shown}]' if ':' in shown else shown}:{self.port}"

    @property
    def cookie(self) -> str:
        """Browsers do not tell ports apart when they send cookies, so each hub has a name of its own."""
        return f"tally_session_{self.port}"


class Authenticator:
    def __init__(self, address: HubAddress, tokens: TokenCache) -> None:
        self._tokens = tokens
        self._cookie = address.cookie
        self._names = {"localhost", address.host.lower(), socket.gethostname().lower()}
        self._hosts: dict[bytes, bool] = {}

    async def admit(self, scope: Scope, head: Mapping[bytes, bytes]) -> Visitor | None:
        """The visitor behind a request; None where anybody may come."""
        if peer := peers.of(scope):
            if b"origin" in head:
                raise ForeignOrigin
            return Visitor(caller=peer.command(head), trusted=True)
        self._check_host(head.get(b"host", b""))
        if b"origin" in head and head[b"origin"] != b"%b://%b" % (scope["scheme"].encode(), head[b"host"]):
            raise ForeignOrigin
        if scope["path"] in OPEN or scope["path"].startswith(FILES):
            return None
        if secret := _bearer(head.get(b"authorization", b"")):
            return await self._tokens.visitor(secret)
        if secret := self._in_cookie(head.get(b"cookie", b"")):
            _check_page(scope["method"], head)
            return await self._tokens.visitor(secret)
        raise TokenMissing

    def _check_host(self, host: bytes) -> None:
        known = self._hosts.get(host)
        if known is None:
            if len(self._hosts) > 1000:
                self._hosts.clear()
            known = self._hosts[host] = self._ours(host)
        if not known:
            raise WrongHost(f"'{host.decode('latin-1')[:80]}' is not this hub.")

    def _ours(self, host: bytes) -> bool:
        """A page elsewhere can point its own name at us (DNS rebinding), but neither a number nor one of our names."""
        name = host.decode("latin-1").lower()
        if name.startswith("["):
            name = name[1:].partition("]")[0]
        elif name.count(":") == 1:
            name = name.partition(":")[0]
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _in_cookie(self, header: bytes) -> str | None:
        for part in header.decode("latin-1").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self._cookie and value:
                return value
        return None


def _check_page(method: str, head: Mapping[bytes, bytes]) -> None:
    """A cookie is sent by the browser, whichever page asked for it: the page must be shown to be ours."""
    site = head.get(b"sec-fetch-site")
    if method in {"GET", "HEAD"}:
        if site not in {None, b"same-origin", b"none"}:
            raise ForeignOrigin
    elif b"origin" not in head and site != b"same-origin":
        raise ForeignOrigin


def _bearer(header: bytes) -> str | None:
    scheme, _, secret = header.partition(b" ")
    return secret.strip().decode("latin-1") or None if scheme.lower() == b"bearer" else None


REMEMBERED_SECONDS = 5.0
REMEMBERED = 10_000
LINK_SECONDS = 600.0
LINKS = 100
SESSION_MS = 30 * 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class _CachedToken:
    visitor: Visitor
    until: float
    """When to ask again, by the monotonic clock."""


class TokenCache:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._known: dict[str, _CachedToken] = {}
        self._minded: set[tuple[str, asyncio.Event]] = set()

    async def visitor(self, secret: str) -> Visitor:
        """Whom the valid token with this secret stands for, or a refusal."""
        known = self._known.get(secret)
        if known is None or monotonic() > known.until:
            known = await self._ask(secret)
        return known.visitor

    @contextmanager
    def until_revoked(self, visitor: Visitor) -> Generator[asyncio.Event]:
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

    async def _ask(self, secret: str) -> _CachedToken:
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
        known = self._known[secret] = _CachedToken(visitor=visitor, until=monotonic() + min(left, REMEMBERED_SECONDS))
        if now - (token.last_used_at or 0) > tokens.USED_EVERY_MS:
            await self._serving.write(lambda tx: tokens.mark_used(tx, token))
        return known


class SignInLinks:
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
