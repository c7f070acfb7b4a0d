"""A bare MCP client over a child's stdin and stdout: what is measured is the server, not a client library."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO, Self, cast

import msgspec

from tallystick import __version__

REVISION = "2025-11-25"


class ServerFailed(RuntimeError):
    """The MCP server ended or answered with a protocol error."""


class StdioServer:
    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._stdin = cast("IO[bytes]", self._process.stdin)
        self._stdout = cast("IO[bytes]", self._process.stdout)
        self._last_id = 0
        self._begun = set[int]()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def initialize(self) -> None:
        client = {"name": "tally-bench", "version": __version__}
        self._request("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, object]:
        """The structured content of a tool's result."""
        result = self._request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise ServerFailed(str(result))
        return cast("dict[str, object]", result["structuredContent"])

    def begin(self, tool: str, arguments: Mapping[str, object]) -> None:
        """Call a tool without waiting for its result; it must not come while anything else is asked for."""
        self._ask("tools/call", {"name": tool, "arguments": arguments})
        self._begun.add(self._last_id)

    def kill(self) -> None:
        """End it as the system ends a process that used too much memory: without a word."""
        self._process.kill()

    def _ask(self, method: str, params: Mapping[str, object]) -> None:
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})

    def _request(self, method: str, params: Mapping[str, object]) -> dict[str, object]:
        self._ask(method, params)
        for line in self._stdout:
            reply = msgspec.json.decode(line, type=dict[str, object])
            if reply.get("id") in self._begun:
                raise ServerFailed(f"A call that was to last has ended: {reply}")
            if reply.get("id") != self._last_id:
                continue
            if "result" not in reply:
                raise ServerFailed(str(reply))
            return cast("dict[str, object]", reply["result"])
        raise ServerFailed(f"The server ended with code {self._process.wait()} before it answered {method}.")

    def _send(self, message: Mapping[str, object]) -> None:
        self._stdin.write(msgspec.json.encode(message) + b"\n")
        self._stdin.flush()
