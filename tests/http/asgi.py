"""A hub in this process: its app and its bus on an event loop in a thread, and connections that call the app directly.

It has the face of a hub in a process of its own, so that a test does not see which one it has. What needs the process
or its sockets (kills, signals, bounds on bytes, other users) needs the other one.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import unquote

import uvloop
from starlette.types import ASGIApp, Message

from tallystick.hub import tokens
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.operation import Reach
from tallystick.server import asgi
from tallystick.surfaces import bus as bus_socket
from tallystick.surfaces.http import authentication
from tallystick.surfaces.http.browser_sessions import HubAddress
from tallystick.surfaces.http.logs import Log
from tallystick.surfaces.http.middleware import Limits
from tests.http.running import RunningHub

T = TypeVar("T")

PORT = 7433
DEADLINE_S = 60.0


@dataclass
class HubHere(RunningHub):
    """A hub of this process, reached through its app alone."""

    def start(self, *args: str) -> HubHere:
        assert not args, "options are for a hub in a process of its own"
        self.port = PORT
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._hub = Hub.open(Settings(data_dir=self.data_dir, database_url=self.database_url), grouped=True)
        self._log = Log(self.data_dir / "hub.log")
        (self.data_dir / "token").write_text(tokens.issue(self._hub, principal="user", reach=Reach.MANAGE).secret)
        self._loop = uvloop.new_event_loop()
        self._stopping = asyncio.Event()
        started: Future[ASGIApp] = Future()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._serve(started)])
        self._thread.start()
        self._app = started.result(DEADLINE_S)
        return self

    async def _serve(self, started: Future[ASGIApp]) -> None:
        address = HubAddress(host="127.0.0.1", port=PORT)
        async with (
            asgi.opened(self._hub, log=self._log, address=address, limits=Limits.of(self.environ)) as opened,
            bus_socket.opened(opened.bus, self.data_dir / "bus.sock"),
        ):
            started.set_result(opened.asgi)
            await self._stopping.wait()

    def stop(self) -> int:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive(), "the hub did not stop"
        self._loop.close()
        self._log.close()
        self._hub.close()
        return 0

    def connect(self, *, over_socket: bool) -> Connection:
        return Connection(self, peer={"pid": os.getpid(), "uid": os.geteuid()} if over_socket else None)

    def run(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start some work on the hub's event loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def serve(self, request: Request, response: Response) -> None:
        """Call the app with one request."""
        messages = iter([{"type": "http.request", "body": request.body, "more_body": False}])

        async def receive() -> Message:
            if (message := next(messages, None)) is not None:
                return message
            await response.left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            response.take(message)

        try:
            await self._app(request.scope(), receive, send)
        finally:
            response.over()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    path: str
    headers: list[tuple[bytes, bytes]]
    body: bytes
    peer: authentication.Facts | None

    def scope(self) -> dict[str, object]:
        path, _, query = self.path.partition("?")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": self.headers,
            "client": None,
            "server": ("127.0.0.1", PORT),
            **({"extensions": {authentication.PEER: self.peer}} if self.peer else {}),
        }


class Response:
    """What comes back, as `http.client` gives it: a status, headers, and a body that may still be on its way."""

    def __init__(self, *, method: str) -> None:
        self.left = asyncio.Event()
        self.status = 0
        self._has_body = method != "HEAD"
        self._headers: list[tuple[str, str]] = []
        self._started = threading.Event()
        self._chunks: queue.Queue[bytes | None] = queue.Queue()
        self._rest = b""
        self._ended = False

    def take(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]]
            self._started.set()
        elif self._has_body and message.get("body"):
            self._chunks.put(message["body"])

    def over(self) -> None:
        self._chunks.put(None)
        self._started.set()

    def started(self) -> None:
        assert self._started.wait(DEADLINE_S), "no answer came"
        assert self.status, "the app ended without an answer"

    def getheaders(self) -> list[tuple[str, str]]:
        return self._headers

    def read(self) -> bytes:
        found, self._rest = self._rest, b""
        while chunk := self._next():
            found += chunk
        return found

    def __iter__(self) -> Iterator[bytes]:
        """Its lines, each as soon as it is whole."""
        while True:
            while b"\n" not in self._rest:
                if (chunk := self._next()) is None:
                    break
                self._rest += chunk
            line, end, self._rest = self._rest.partition(b"\n")
            if not line + end:
                return
            yield line + end

    def close(self) -> None:
        pass

    def _next(self) -> bytes | None:
        if not self._ended and (chunk := self._chunks.get(timeout=DEADLINE_S)) is not None:
            return chunk
        self._ended = True
        return None


class Connection:
    """One request at a time to a hub in this process."""

    def __init__(self, hub: HubHere, peer: authentication.Facts | None) -> None:
        self._hub, self._peer = hub, peer
        self._response: Response | None = None

    def request(
        self, method: str, path: str, body: bytes | str | None = None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        content = body.encode("latin-1") if isinstance(body, str) else body or b""
        fields = [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in headers.items()]
        given = {name for name, _ in fields}
        if b"host" not in given:
            fields.append((b"host", b"localhost" if self._peer else b"127.0.0.1:%d" % PORT))
        if b"content-length" not in given and (content or method in {"POST", "PUT"}):
            fields.append((b"content-length", b"%d" % len(content)))
        request = Request(method=method, path=path, headers=fields, body=content, peer=self._peer)
        self._response = Response(method=method)
        self._hub.run(self._hub.serve(request, self._response))

    def getresponse(self) -> Response:
        assert self._response, "nothing was asked"
        self._response.started()
        return self._response

    def close(self) -> None:
        """Leave, whether or not the answer came."""
        if self._response:
            self._hub.run(_set(self._response.left))


async def _set(event: asyncio.Event) -> None:
    event.set()
