"""The person at a browser: under which name the page is served, the link that lets them in, and what they hold then.

Cookies are sent to every server of a host, whatever its port, and people open the servers of their agents on the same
host all day. So the page has a host name of its own that nobody else knows, and the cookie is good for the page alone.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic

from tallystick.hub import tokens
from tallystick.hub.serving import Serving
from tallystick.surfaces.http.errors import LoginExpired

LINK_SECONDS = 600.0
LINKS = 100


def label_of(secret: str) -> str:
    """The first part of the page's host name: the same at every start, and not to be guessed."""
    return "tally-" + hashlib.sha256(f"page {secret}".encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class HubAddress:
    """Where this hub listens, as a browser names it."""

    host: str
    port: int
    tls: bool = False
    label: str = field(default_factory=lambda: label_of(secrets.token_hex(32)), repr=False)
    """Names the page's host; known to those who were let in."""

    @property
    def url(self) -> str:
        scheme = "https" if self.tls else "http"
        shown = "127.0.0.1" if self.host in {"0.0.0.0", "::", ""} else self.host  # noqa: S104 - shown, not bound
        return f"{scheme}://{f'[{shown}]' if ':' in shown else shown}:{self.port}"

    @property
    def page_host(self) -> str:
        """The page's own name; empty where the hub is reached under a name that others chose."""
        return f"{self.label}.localhost" if _loopback(self.host) and not self.tls else ""

    @property
    def cookie(self) -> str:
        """Each hub has a name of its own: where there is no page host, browsers do not tell ports apart."""
        return f"__Host-tally_{self.port}" if self.tls else f"tally_page_{self.port}"

    def page_at(self, head: Mapping[bytes, bytes]) -> str | None:
        """Where the page is served, for a request that came to another name of this hub; None where it is right."""
        named = head.get(b"host", b"").decode("latin-1").lower()
        if not self.page_host or named.partition(":")[0] == self.page_host:
            return None
        port = named.rpartition(":")[2]
        return f"http://{self.page_host}:{port if port.isdigit() else self.port}"

    def secret_in_cookie(self, head: Mapping[bytes, bytes]) -> str | None:
        """What a browser shows of itself, and only at the page's own name."""
        if self.page_at(head):
            return None
        for part in head.get(b"cookie", b"").decode("latin-1").split(";"):
            name, _, value = part.strip().partition("=")
            if name == self.cookie and value.startswith(tokens.PAGE_PREFIX):
                return value
        return None

    def set_cookie(self, secret: str) -> bytes:
        secure = "; Secure" if self.tls else ""
        lasts = tokens.PAGE_LASTS_MS // 1000
        return f"{self.cookie}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={lasts}{secure}".encode()

    def forget_cookie(self) -> bytes:
        secure = "; Secure" if self.tls else ""
        return f"{self.cookie}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0{secure}".encode()


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class SignInLinks:
    """One-time links: each lets one browser in, once, within ten minutes."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._used: deque[str] = deque(maxlen=LINKS)

    def new(self) -> str:
        now = monotonic()
        self._until = {code: until for code, until in self._until.items() if until > now}
        while len(self._until) >= LINKS:
            self._until.pop(next(iter(self._until)))
        code = secrets.token_urlsafe(24)
        self._until[code] = now + LINK_SECONDS
        return code

    def check(self, code: str) -> None:
        """Refuse a code that lets nobody in, and leave one that does as it is."""
        if self._until.get(code, 0.0) < monotonic():
            raise LoginExpired

    def use(self, code: str) -> None:
        self.check(code)
        del self._until[code]
        self._used.append(code)

    def used(self, code: str) -> bool:
        """Whether it once let a browser in: whoever has it may be told where the page is, and nothing more."""
        return code in self._used


async def browser_session(serving: Serving) -> str:
    """A new session of the person at the browser: listed and revoked like any token, and of no use as one."""
    issued = await serving.read(lambda: tokens.issue_for_page(serving.hub))
    return issued.secret


_HOP = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Tallystick</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<script type="module" src="/static/0/signin.js"></script>
<main><h1>Tallystick</h1>
<p id="go" data-go="{page}/login?code={code}" data-try="{page}/healthz">
The page opens at <a href="{page}/login?code={code}">{host}</a> …</p>
<p id="unresolved" hidden>This browser does not find the name <b>{host}</b>. Put the line <code>127.0.0.1 {host}</code>
into the hosts file of the machine where the browser runs (<code>/etc/hosts</code>), then load this page again.</p>
</main>
"""


def hop(page: str, code: str) -> tuple[bytes, bytes]:
    """What sends a browser on to the page's own name, or says what to do if it does not find it; and its policy."""
    text = _HOP.format(page=page, code=code, host=page.removeprefix("http://").rpartition(":")[0])
    policy = f"default-src 'none'; script-src 'self'; connect-src {page}; base-uri 'none'; frame-ancestors 'none'"
    return text.encode(), policy.encode()
