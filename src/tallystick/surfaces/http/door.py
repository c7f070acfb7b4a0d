"""Who is calling.

Over TCP a request must name this hub as its host, come from no foreign page and carry a token or the browser's cookie;
over the Unix socket the kernel says which process it is.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from starlette.types import Scope

from tallystick.hub.tokens import TokenMissing
from tallystick.hub.tokens_reach import Visitor
from tallystick.surfaces.http import peers
from tallystick.surfaces.http.errors import ForeignOrigin, WrongHost
from tallystick.surfaces.http.keyring import Keyring

OPEN = frozenset({"/healthz", "/login"})
"""What needs no token."""
FILES = "/static/"
"""Styles and scripts of the page: the same for everybody, and needed to say that a token is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
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


class Door:
    def __init__(self, address: Address, keyring: Keyring) -> None:
        self._keyring = keyring
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
            return await self._keyring.visitor(secret)
        if secret := self._in_cookie(head.get(b"cookie", b"")):
            _check_page(scope["method"], head)
            return await self._keyring.visitor(secret)
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
