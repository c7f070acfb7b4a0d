"""A scripted model on loopback: three vendors' addresses, one script, and a record of what was asked."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import cast

from tests.loopback import anthropic, gemini, openai
from tests.loopback.saying import Ask, Refuse, Script

DIALECTS: dict[str, ModuleType] = {"/v1/messages": anthropic, "/v1/responses": openai}
COUNT = "/v1/messages/count_tokens"


def dialect_of(path: str) -> ModuleType | None:
    return gemini if path.endswith(gemini.STREAM) else DIALECTS.get(path)


def _frame(name: str, data: str) -> str:
    """A server-sent event, with its name where it has one."""
    return (f"event: {name}\n" if name else "") + f"data: {data}\n\n"


class Model:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Ask] = []
        """Every request that was answered, in order."""
        self.bodies: list[dict[str, object]] = []
        """The same as they came."""
        self._numbers = itertools.count(1)
        self._server = _Server(self)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, dialect: ModuleType, body: dict[str, object]) -> tuple[int, str, bytes]:
        """Status, type and body of the reply."""
        ask = cast("Ask", dialect.read(body))
        self.asked.append(ask)
        self.bodies.append(body)
        saying = self.script(ask)
        if isinstance(saying, Refuse):
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": saying.message}}
            return saying.status, "application/json", json.dumps(error).encode()
        events = cast("Iterable[tuple[str, object]]", dialect.write(saying, number=next(self._numbers)))
        frames = (_frame(name, json.dumps(data)) for name, data in events)
        return 200, "text/event-stream", "".join(frames).encode()

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A script may hold an answer back for ever; closing must not wait for it.
    block_on_close = False

    def __init__(self, model: Model) -> None:
        super().__init__(("127.0.0.1", 0), _ModelRequests)
        self.model = model

    def handle_error(self, request: object, client_address: object) -> None:
        """A harness that was killed hangs up in the middle; that is its right."""


class _ModelRequests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_HEAD(self) -> None:
        self._reply(200, "text/plain", b"")

    def do_GET(self) -> None:
        self._reply(404, "application/json", b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        path = self.path.partition("?")[0]
        if dialect := dialect_of(path):
            model = cast("_Server", self.server).model
            self._reply(*model.answer(dialect, cast("dict[str, object]", json.loads(body))))
        elif path.endswith(gemini.ASIDE):
            self._reply(200, "application/json", json.dumps(gemini.aside()).encode())
        elif path == COUNT:
            self._reply(200, "application/json", b'{"input_tokens": 1}')
        else:
            self._reply(404, "application/json", b"{}")

    def _reply(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Silence: what was asked is in `Model.asked`."""


@contextmanager
def scripted(script: Script) -> Generator[Model]:
    """A model that answers by this script while the block runs."""
    model = Model(script)
    thread = threading.Thread(target=model.serve, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.close()
        thread.join()
