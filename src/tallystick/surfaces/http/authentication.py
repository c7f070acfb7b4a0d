"""Who is calling, and who is at the other end of the connection, as the server that runs the app knows it.

Over TCP a request must name this hub as its host, come from no foreign page and carry a token or the browser's cookie;
over the Unix socket the kernel says which process it is. ASGI has no field for that, so it travels in two scope
extensions, both of which a server may leave out:

    scope["extensions"]["tallystick.peer"]   {"pid": 4711, "uid": 1000}: the process at the other end of a Unix socket.
                                             Absent: a client from the network, which has to show a token.
    scope["extensions"]["tallystick.abort"]  a callable that drops the connection with whatever was not sent yet.
                                             Absent: a reader that takes nothing in is left to the server's own bounds.

A server that puts the same dict into every request of a connection saves looking up the same process again.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from asyncio import BaseTransport
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any, NotRequired, TypedDict

from starlette.types import Scope

from tallystick.harnesses import identity, processes
from tallystick.harnesses.identity import Surface
from tallystick.harnesses.processes import Ancestor
from tallystick.harnesses.registry import HarnessSession
from tallystick.hub import local_sockets, tokens
from tallystick.hub.serving import Serving
from tallystick.hub.tokens import TokenInvalid, TokenMissing
from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import system_clock
from tallystick.kernel.operation import Reach
from tallystick.surfaces.http.browser_sessions import HubAddress
from tallystick.surfaces.http.errors import ForeignOrigin, NamelessCaller, WrongHost

OPEN = frozenset({"/healthz", "/login"})
"""What needs no token."""
FILES = "/static/"
"""Styles and scripts of the page: the same for everybody, and needed to say that a token is missing."""

PEER = "tallystick.peer"
ABORT = "tallystick.abort"


class Authenticator:
    def __init__(self, address: HubAddress, tokens: TokenCache) -> None:
        self._tokens = tokens
        self._address = address
        self._names = {"localhost", address.host.lower(), socket.gethostname().lower(), address.page_host} - {""}
        self._hosts: dict[bytes, bool] = {}

    async def admit(self, scope: Scope, head: Mapping[bytes, bytes]) -> Visitor | None:
        """The visitor behind a request; None where anybody may come."""
        if peer := peer_of(scope):
            if b"origin" in head:
                raise ForeignOrigin
            return Visitor(caller=peer.command(head), trusted=True)
        self._check_host(head.get(b"host", b""))
        if b"origin" in head and head[b"origin"] != b"%b://%b" % (scope["scheme"].encode(), head[b"host"]):
            raise ForeignOrigin
        if scope["path"] in OPEN or scope["path"].startswith(FILES):
            return None
        if secret := _bearer(head.get(b"authorization", b"")):
            if secret.startswith(tokens.PAGE_PREFIX):
                raise TokenInvalid
            return await self._tokens.visitor(secret)
        if secret := self._address.secret_in_cookie(head):
            _check_page(scope["method"], head)
            return await self._tokens.visitor(secret)
        raise TokenMissing

    def renewal(self, scope: Scope, head: Mapping[bytes, bytes]) -> list[tuple[bytes, bytes]]:
        """The cookie again, whenever a person goes to a page: a session that is used goes on."""
        if head.get(b"sec-fetch-dest") != b"document" or b"cookie" not in head or peer_of(scope):
            return []
        secret = self._address.secret_in_cookie(head)
        return [(b"set-cookie", self._address.set_cookie(secret))] if secret else []

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
            name, _, port = name[1:].partition("]")
            if port and not (port.startswith(":") and port[1:].isdigit()):
                return False
        elif name.count(":") == 1:
            name = name.partition(":")[0]
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _CachedToken:
    visitor: Visitor
    until: float
    """When to ask again, by the monotonic clock."""


class TokenCache:
    def __init__(self, serving: Serving) -> None:
        self._serving = serving
        self._known: dict[str, _CachedToken] = {}
        self._minded: set[tuple[str, Callable[[], None]]] = set()

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
        with self._minding(visitor, ended.set):
            yield ended

    @contextmanager
    def cancelled_when_revoked(self, visitor: Visitor) -> Generator[None]:
        """Cancel what the current task does in here as soon as the visitor's token ends, and refuse it instead."""
        task, over = asyncio.current_task(), False

        def end() -> None:
            nonlocal over
            if task and not over:
                over = True
                task.cancel()

        with self._minding(visitor, end):
            try:
                yield
            except asyncio.CancelledError:
                if over and task and task.uncancel() <= 0:
                    raise TokenInvalid from None
                raise

    @contextmanager
    def _minding(self, visitor: Visitor, end: Callable[[], None]) -> Generator[None]:
        mine = (visitor.token_id, end)
        self._minded.add(mine)
        left = None if visitor.expires_at is None else (visitor.expires_at - system_clock()) / 1000
        timer = None if left is None else asyncio.get_running_loop().call_later(left, end)
        try:
            yield
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
                    for token_id, end in tuple(self._minded):
                        if token_id and token_id not in valid:
                            end()

    async def _ask(self, secret: str) -> _CachedToken:
        hub = self._serving.hub
        token = await self._serving.read(lambda: tokens.find(hub, secret))
        if token is None:
            self._known.pop(secret, None)
            raise TokenInvalid
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        visitor = Visitor(
            caller=token.caller,
            room_id=token.room_id,
            reach=Reach(token.reach),
            token_id=token.id,
            expires_at=token.expires_at,
        )
        now = system_clock()
        left = REMEMBERED_SECONDS if token.expires_at is None else (token.expires_at - now) / 1000
        known = self._known[secret] = _CachedToken(visitor=visitor, until=monotonic() + min(left, REMEMBERED_SECONDS))
        if now - (token.last_used_at or 0) > tokens.USED_EVERY_MS:
            page = secret.startswith(tokens.PAGE_PREFIX)
            await self._serving.write(lambda tx: tokens.mark_used(tx, token, renewed=page))
        return known


class Facts(TypedDict):
    """The value of `tallystick.peer`. Where the system does not name the process, `pid` is 0."""

    pid: int
    uid: int
    seen: NotRequired[PeerFacts]
    """Ours: what was seen of this process."""


@dataclass(kw_only=True)
class PeerFacts:
    """What was seen of a connected process, once and for all its requests."""

    pid: int
    callers: dict[tuple[object, ...], Caller] = field(default_factory=dict[tuple[object, ...], Caller])

    @cached_property
    def environ(self) -> Mapping[str, str]:
        return processes.environment(self.pid)

    @cached_property
    def terminal(self) -> str | None:
        return processes.terminal(self.pid)

    @cached_property
    def above(self) -> Sequence[Ancestor]:
        return tuple(processes.ancestors(self.pid))

    @cached_property
    def shares_environment(self) -> bool:
        """Whether its environment may be that of another window, which started the service above it."""
        window = identity.nearest_window(self.above)
        return window is not None and window.serves_many


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerProcess:
    """One connected process. Without a pid the socket's mode is the only check."""

    pid: int
    uid: int
    seen: PeerFacts

    def caller(
        self,
        explicit: str | None,
        surface: Surface = "cli",
        client_name: str | None = None,
        told: HarnessSession | None = None,
    ) -> Caller:
        """The agent behind this process; with the same things told it cannot change while the connection lasts."""
        local_sockets.check_user(self.uid)
        if not self.pid and not explicit:
            raise NamelessCaller
        key = (explicit, surface, told)
        if key not in self.seen.callers:
            # Whoever says its name is not asked for what only tells who is nameless: three files of /proc.
            environ: Mapping[str, str] = self.seen.environ if explicit is None else {}
            self.seen.callers[key] = identity.resolve(
                environ,
                pid=self.pid,
                user=identity.user(environ, self.uid),
                tty=self.seen.terminal if explicit is None else None,
                surface=surface,
                client_name=client_name,
                explicit=explicit,
                told=told,
                above=self.seen.above,
            )
        return self.seen.callers[key]

    def command(self, head: Mapping[bytes, bytes]) -> Caller:
        """The agent behind a request, by its headers: its name, its session, and the number it has for itself.

        A process that goes by another number there is in a namespace of its own, where its ancestors are others.
        """
        if head.get(b"tally-pid", b"%d" % self.pid) != b"%d" % self.pid:
            raise NamelessCaller
        name = head.get(b"tally-agent")
        if name is None and not (self.pid and self.seen.shares_environment):
            name = head.get(b"tally-agent-variable")
        told = HarnessSession.read(head.get(b"tally-told", b"").decode("ascii", "replace"))
        caller = self.caller(name.decode("utf-8", "replace") if name else None, told=told)
        return identity.guardian(caller, self.pid) if head.get(b"tally-session") == b"guardian" else caller

    @property
    def folder(self) -> str | None:
        """Where the process works."""
        try:
            return str(Path(f"/proc/{self.pid}/cwd").readlink())
        except OSError:
            return None


def peer_of(scope: Scope) -> PeerProcess | None:
    """The process behind a request; None for a client from the network."""
    facts: Facts | None = _extension(scope, PEER)
    if facts is None:
        return None
    return PeerProcess(pid=facts["pid"], uid=facts["uid"], seen=facts.setdefault("seen", PeerFacts(pid=facts["pid"])))


def abort(scope: Scope) -> None:
    """Drop the connection of a request, where the server can."""
    drop: Callable[[], object] | None = _extension(scope, ABORT)
    if drop is not None:
        drop()


def facts_of(transport: BaseTransport) -> Facts | None:
    """What the kernel says about the peer of a Unix socket; None for TCP."""
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is None or sock.family != socket.AF_UNIX:
        return None
    pid, uid = local_sockets.peer(sock)
    return {"pid": pid or 0, "uid": uid}


def _extension(scope: Scope, name: str) -> Any:
    extensions: dict[str, Any] = scope.get("extensions") or {}
    return extensions.get(name)
