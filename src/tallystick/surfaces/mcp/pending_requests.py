"""What a client has asked and was not answered yet, so that one server can go on where another stopped.

Lines in, lines out; nothing here reads or writes. Every tool call gets an idempotency key, so that asking again repeats
nothing.
"""

from __future__ import annotations

import json
import os

KEY = "tallystick/key"
"""In the `_meta` of a tool call: the same key with the same call gives the answer that was given before."""
OURS = "tallystick"
"""The only field of a line that is for the other end of the socket and not for the MCP client or server behind it."""


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
