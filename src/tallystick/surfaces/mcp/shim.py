"""`tally mcp` while a hub runs: it pumps lines between its client and the hub, and goes on alone when the hub stops.

It must be up before anybody notices, so it imports next to nothing. The hub learns who is calling from the process at
the socket's end; only what it cannot see from outside is told in the first line. What the client has asked and was not
answered yet is asked again by whoever goes on: each tool call has an idempotency key, so that repeats nothing.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket

from tallystick.commandline.global_options import VARIABLES, quickly
from tallystick.kernel import places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SOCKET = "mcp.sock"
WELCOME_SECONDS = 5.0
"""How long a hub that took the connection has to answer, before the client is served without it."""
ENVIRONMENT = (
    "TALLYSTICK_AGENT",
    "CLAUDE_PROJECT_DIR",
    "CODEX_THREAD_ID",
    "CODEX_SESSION_ID",
    "CODEX_CI",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_ENTRYPOINT",
    "GEMINI_CLI",
    "GEMINI_SESSION_ID",
)
"""All that a name or a workspace may depend on, and nothing that may be a secret."""

ENOUGH = 1024 * 1024
"""So much may wait to be sent before more is read from the client."""

TOOLS = "TALLYSTICK_MCP_TOOLS"
SETS = ("core", "daily", "full")

KEY = "tallystick/key"
"""In the `_meta` of a tool call: the same key with the same call gives the answer that was given before."""
OURS = "tallystick"
"""The only field of a line that is for the other end of the socket and not for the MCP client or server behind it."""


def main(args: list[str]) -> int | None:
    """The short cut of `tally mcp`, before click is loaded; None when click has to read the arguments."""
    settings = settings_in(args, os.environ)
    return None if settings is None else served(settings)


def served(settings: Mapping[str, str]) -> int:
    """Serve through the hub, or in this process when there is none, until the client leaves."""
    os.environ.update(settings)
    if not _through_the_hub():
        from tallystick.surfaces.mcp import stdio

        stdio.main()
    return 0


def settings_in(args: list[str], environ: Mapping[str, str]) -> dict[str, str] | None:
    """The options as environment variables; None when something else is there that click has to look at."""
    found = quickly(args, {**VARIABLES, "--tools": TOOLS})
    if found is None or found[0] or (found[1].get(TOOLS) or environ.get(TOOLS) or "daily") not in SETS:
        return None
    return found[1]


def _through_the_hub() -> bool:
    """Speak for the client to the running hub until it leaves. False when there is no hub, and nothing was read yet."""
    hub = _connected(os.environ)
    if hub is None:
        return False
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    exchange = PendingRequests()
    pump = Pump(exchange, 0, 1, hub)
    pump.run()
    if not pump.client_left:
        _go_on_alone(exchange, pump.rest)
    return True


def socket_in(environ: Mapping[str, str]) -> str:
    """Where the hub listens."""
    return f"{places.data_dir(environ)}/{SOCKET}"


def _connected(environ: Mapping[str, str]) -> socket.socket | None:
    """A hub that has bidden us welcome."""
    hub = socket.socket(socket.AF_UNIX)
    hub.settimeout(WELCOME_SECONDS)
    try:
        hub.connect(socket_in(environ))
        if not places.is_ours(hub):
            raise ConnectionRefusedError  # Somebody else listens where a hub of ours would.
        hub.sendall(json.dumps({OURS: _hello(environ)}).encode() + b"\n")
        if decoded(_line(hub)) == {OURS: {"welcome": True}}:
            hub.setblocking(False)
            return hub
    except (OSError, ValueError):
        pass  # No hub, or one that has nothing to say to us: not our client's concern.
    hub.close()
    return None


def _hello(environ: Mapping[str, str]) -> dict[str, object]:
    try:
        folder = os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        folder = None
    return {
        "pid": os.getpid(),
        "environ": {name: environ[name] for name in ENVIRONMENT if name in environ},
        "folder": folder,
        "database": places.database_mark(environ.get("TALLYSTICK_DATABASE_URL")),
        "tools": environ.get(TOOLS) or "daily",
    }


def _line(hub: socket.socket) -> bytes:
    """The one line that comes before anything was asked."""
    whole = b""
    while not whole.endswith(b"\n") and (chunk := hub.recv(4096)):
        whole += chunk
    return whole


class Pump:
    """Lines between a client's two descriptors and a server's socket, until either end is gone."""

    def __init__(self, exchange: PendingRequests, client_in: int, client_out: int, server: socket.socket) -> None:
        self.client_left = False
        self.rest = b""
        """What came of a line whose end has not come yet."""
        self._exchange = exchange
        self._in, self._out, self._server = client_in, client_out, server
        self._unsent = b""
        self._partial = b""

    def run(self, first: bytes = b"", rest: bytes = b"") -> None:
        self._unsent, self.rest = first, rest
        try:
            while self._turn():
                pass
        finally:
            self._hang_up(socket.SHUT_RDWR)

    def _turn(self) -> bool:
        """Wait for something to move, and move it; False when the server is gone or the client takes nothing more."""
        reading = [] if self.client_left or len(self._unsent) > ENOUGH else [self._in]
        readable, _, _ = select.select([self._server, *reading], [self._server] if self._unsent else [], [])
        if self._in in readable:
            self._take()
        try:
            if self._unsent:
                self._send()
            return self._server not in readable or self._give()
        except BlockingIOError:
            return True
        except ConnectionError:
            return False

    def _take(self) -> None:
        chunk = os.read(self._in, 65536)
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        self._unsent += b"".join(self._exchange.sent(line + b"\n") for line in lines)
        if not chunk:
            self.client_left = True
            self._unsent += self.rest
            if not self._unsent:
                self._hang_up()

    def _send(self) -> None:
        try:
            self._unsent = self._unsent[self._server.send(self._unsent) :]
        except BrokenPipeError:
            # What the server said last may still be there to be read; its end shows when that is done.
            self._unsent = b""
        if self.client_left and not self._unsent:
            self._hang_up()

    def _hang_up(self, how: int = socket.SHUT_WR) -> None:
        try:  # noqa: SIM105 - contextlib is slow to import
            self._server.shutdown(how)
        except OSError:
            pass  # It was faster.

    def _give(self) -> bool:
        chunk = self._server.recv(65536)
        *lines, self._partial = (self._partial + chunk).split(b"\n")
        shown = b"".join(self._exchange.received(line + b"\n") or b"" for line in lines)
        try:
            while shown:
                shown = shown[os.write(self._out, shown) :]
        except BrokenPipeError:
            self.client_left = True
            return False
        return bool(chunk)


def _go_on_alone(exchange: PendingRequests, rest: bytes) -> None:
    """The hub is gone: be the server, for a pump that has the client's descriptors, and take up what was left open."""
    import threading

    from tallystick.surfaces.mcp import stdio

    ours, servers = socket.socketpair()
    ours.setblocking(False)
    pump = Pump(exchange, os.dup(0), os.dup(1), ours)
    for descriptor in (0, 1):
        os.dup2(servers.fileno(), descriptor)
    thread = threading.Thread(target=pump.run, args=(b"".join(exchange.again()), rest), daemon=True)
    thread.start()
    try:
        stdio.main(called=exchange.called)
    finally:
        # However many descriptors the server has made of its end, this ends them all.
        servers.shutdown(socket.SHUT_WR)
        thread.join()


class PendingRequests:
    def __init__(self) -> None:
        self.called: str | None = None
        """The name the client gave itself with `agent_id_override`, as the server that knew it has told us."""
        self._keys = os.urandom(8).hex()
        self._count = 0
        self._handshake: list[bytes] = []
        self._handshake_id: str | int | None = None
        self._greeted = False
        self._waiting: dict[str | int, bytes] = {}

    def sent(self, line: bytes) -> bytes:
        """Note a line of the client and give it as it is to be sent on."""
        message = decoded(line)
        if message is None or not isinstance(method := message.get("method"), str):
            return line
        number = _id(message)
        if method == "tools/call":
            line = self._keyed(message, line)
        elif method == "initialize":
            self._handshake, self._handshake_id, self._greeted = [line], number, False
            return line
        elif method == "notifications/initialized":
            self._handshake.append(line)
        elif method == "notifications/cancelled":
            self._waiting.pop(_request_id(message), None)
        if number is not None:
            self._waiting[number] = line
        return line

    def received(self, line: bytes) -> bytes | None:
        """Note a line of the server; None when the client is not to see it."""
        message = decoded(line)
        if message is None:
            return line
        if OURS in message:
            self.called = str(_object(message[OURS]).get("called") or "") or self.called
            return None
        number = _id(message)
        if number is None or "method" in message:
            return line
        if number == self._handshake_id and number not in self._waiting:
            seen, self._greeted = self._greeted, True
            return None if seen else line
        self._waiting.pop(number, None)
        return line

    def again(self) -> list[bytes]:
        """What another server has to hear before it can go on."""
        return [*self._handshake, *self._waiting.values()]

    def _keyed(self, message: dict[str, object], line: bytes) -> bytes:
        params = _object(message.get("params"))
        meta = _object(params.get("_meta"))
        if not params or KEY in meta:
            return line
        self._count += 1
        keyed = {**params, "_meta": {**meta, KEY: f"{self._keys}-{self._count}"}}
        return json.dumps({**message, "params": keyed}).encode() + b"\n"


def decoded(line: bytes) -> dict[str, object] | None:
    """The JSON object in a line; None when it is anything else."""
    try:
        found: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return _object(found) or None


def _object(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType] - JSON has text keys


def _id(message: dict[str, object]) -> str | int | None:
    number = message.get("id")
    return number if isinstance(number, str | int) and not isinstance(number, bool) else None


def _request_id(message: dict[str, object]) -> str | int:
    number = _object(message.get("params")).get("requestId")
    return number if isinstance(number, str | int) else ""
