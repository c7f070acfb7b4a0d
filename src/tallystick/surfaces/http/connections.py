"""One connection: uvicorn's HTTP/1.1, with the peer's credentials, and with an end to requests that never end.

Bounds on headers and on the time a request may take to arrive are kept here, before any handler exists.
"""

from __future__ import annotations

import asyncio
import signal
import ssl
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import AF_UNIX, socket
from types import FrameType
from typing import cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from tallystick.kernel.errors import InvalidInput, TallyError
from tallystick.surfaces.http import authentication, errors, middleware
from tallystick.surfaces.http.errors import HeadTooLarge, MalformedRequest, TooLate
from tallystick.surfaces.http.middleware import Limits


class HttpConnection(HttpToolsProtocol):
    def __init__(self, config: Config, server_state: ServerState, limits: Limits) -> None:
        super().__init__(config, server_state, {})
        self._extensions: dict[str, object] = {authentication.ABORT: self.abort}
        """What the app learns about this connection with each request; see `authentication`."""
        self._limits = limits
        self._in_head = True
        self._last = False
        """The client asked for the connection to be closed after this request."""
        self._head_bytes = self._head_fields = self._head_length = self._body_bytes = 0
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def abort(self) -> None:
        """Drop the connection, and with it whatever was not sent yet."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if facts := authentication.facts_of(transport):
            self._extensions[authentication.PEER] = facts
        self._expect(self._limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
        else:
            self._body_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            self._rest()
        elif self._in_head and self._head_bytes > self._limits.head_bytes:
            self._refuse(HeadTooLarge(limit=self._limits.head_bytes))
        elif self._in_head:
            self._expect(self._limits.head_seconds)
        elif self._incomplete:
            self._expect(self._limits.body_seconds)
            if self.cycle.response_complete and self._body_bytes > self._limits.unwanted_bytes:
                self.abort()
        else:
            self._rest()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head, self._head_fields, self._head_length = True, 0, 0
        cast("dict[str, object]", cast("object", self.scope))["extensions"] = self._extensions

    def on_url(self, url: bytes) -> None:
        self._head_length += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_fields += 1
        self._head_length += len(name) + len(value)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._head_fields > self._limits.head_fields:
            raise HeadTooLarge(limit=self._limits.head_fields)
        if self._head_length > self._limits.head_bytes:
            raise HeadTooLarge(limit=self._limits.head_bytes)  # It came in one piece.
        self._rest()
        self._head_bytes = self._body_bytes = 0
        self._began = self.loop.time()
        super().on_headers_complete()
        # Closing while a refused body still comes in would destroy the answer on its way: first the body has to end.
        self._last = not self.cycle.keep_alive
        self.cycle.keep_alive = True

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._head_bytes = 0
        if self._last and self.cycle.response_complete:
            self.transport.close()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.more_body:
            self._rest()
            self._expect(self._limits.unwanted_seconds)
        elif self._last:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        crowded = self._head_fields > self._limits.head_fields
        if self._head_length > self._limits.head_bytes:
            self._refuse(HeadTooLarge(limit=self._limits.head_bytes))
        else:
            self._refuse(HeadTooLarge(limit=self._limits.head_fields) if crowded else MalformedRequest(msg))

    @property
    def _incomplete(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and cycle.more_body

    def _expect(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(seconds, self._overdue)

    def _rest(self) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _overdue(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        if self._in_head:
            self._refuse(TooLate())
        elif self.cycle.response_started:
            self.abort()
        elif self._on_time():
            self._expect(1)
        else:
            self._refuse(TooLate())

    def _on_time(self) -> bool:
        """Whether the body has come in fast enough, or has been held up by ourselves."""
        elapsed = self.loop.time() - self._began
        return self.flow.read_paused or elapsed < self._limits.body_seconds + self._body_bytes / self._limits.body_rate

    def _refuse(self, error: TallyError) -> None:
        """Answer by hand, since no handler has seen this request yet, and hang up."""
        self._rest()
        body = errors.body_of(error)
        lines = [*errors.headers_of(error, body), *middleware.SECURITY, (b"connection", b"close")]
        head = b"".join(b"%b: %b\r\n" % line for line in lines)
        self.transport.write(STATUS_LINE[errors.status_of(type(error))] + head + b"\r\n" + body)
        self.transport.close()


GRACE_SECONDS = 10
IDLE_SECONDS = 75


class BadCertificate(InvalidInput):
    """The TLS certificate or its key cannot be used."""

    hint = "Give --tls-cert a certificate chain and --tls-key its private key, both in PEM format."


class HttpServer(uvicorn.Server):
    """At the first signal requests are finished and nothing new is taken; a second one does not wait for them."""

    def __init__(
        self, app: ASGIApp, limits: Limits, secure: ssl.SSLContext | None, *, dismiss: Callable[[], None]
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=HttpConnection,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=IDLE_SECONDS,
                timeout_graceful_shutdown=GRACE_SECONDS,
            )
        )
        self._limits, self._secure, self._dismiss = limits, secure, dismiss
        self._ready: Callable[[], None] = lambda: None

    async def run_on(self, sockets: Sequence[socket], ready: Callable[[], None]) -> None:
        """Serve until a signal comes; `ready` is called when connections are taken."""
        self._ready = ready
        await self.serve(list(sockets))

    async def startup(self, sockets: list[socket] | None = None) -> None:
        loop = asyncio.get_running_loop()
        self.servers = [
            await loop.create_server(
                lambda: HttpConnection(self.config, self.server_state, self._limits),
                sock=sock,
                ssl=None if sock.family == AF_UNIX else self._secure,
                backlog=self.config.backlog,
            )
            for sock in sockets or []
        ]
        self.started = True
        self._ready()

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        self._dismiss()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        before = {each: signal.signal(each, self.handle_exit) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature is the system's
        self.force_exit = self.should_exit
        self.should_exit = True


def tls(certificate: Path, key: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as wrong:
        raise BadCertificate(f"The certificate {certificate} with the key {key} cannot be used: {wrong}.") from wrong
    return context
