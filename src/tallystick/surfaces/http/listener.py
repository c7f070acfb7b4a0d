"""uvicorn on sockets of our own, some with TLS and some without, and with an end that streams can hear coming."""

from __future__ import annotations

import asyncio
import signal
import ssl
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from socket import AF_UNIX, socket
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from tallystick.kernel.errors import InvalidInput
from tallystick.surfaces.http.connection import Connection
from tallystick.surfaces.http.limits import Limits

GRACE_SECONDS = 10
IDLE_SECONDS = 75


class BadCertificate(InvalidInput):
    """The TLS certificate or its key cannot be used."""

    hint = "Give --tls-cert a certificate chain and --tls-key its private key, both in PEM format."


class Listener(uvicorn.Server):
    """At the first signal requests are finished and nothing new is taken; a second one does not wait for them."""

    def __init__(
        self, app: ASGIApp, limits: Limits, secure: ssl.SSLContext | None, *, dismiss: Callable[[], None]
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
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
                lambda: Connection(self.config, self.server_state, self._limits),
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
