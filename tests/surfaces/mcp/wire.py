"""A client that writes lines, so that it can write wrong ones."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, cast

from mcp_types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY

from tests.surfaces.mcp.stage import SERVER, Stage, bare_environment

HANDSHAKE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}


@dataclass
class Wire:
    process: subprocess.Popen[str]
    revision: str
    ids: Generator[int] = field(default_factory=lambda: (number for number in range(1, 1_000)))

    @property
    def _in(self) -> IO[str]:
        assert self.process.stdin
        return self.process.stdin

    def send(self, line: str) -> None:
        self._in.write(line + "\n")
        self._in.flush()

    def read(self) -> dict[str, object]:
        assert self.process.stdout
        return cast("dict[str, object]", json.loads(self.process.stdout.readline()))

    def request(self, method: str, **params: object) -> int:
        """Send a request and return its id."""
        number = next(self.ids)
        meta: dict[str, object] = {PROTOCOL_VERSION_META_KEY: self.revision, CLIENT_CAPABILITIES_META_KEY: {}}
        whole = {**params, "_meta": meta} if self.revision == "2026-07-28" else params
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": whole}))
        return number

    def call(self, tool: str, **arguments: object) -> dict[str, object]:
        number = self.request("tools/call", name=tool, arguments=arguments)
        answer = self.read()
        assert answer["id"] == number, answer
        return cast("dict[str, object]", cast("Mapping[str, object]", answer["result"])["structuredContent"])

    def hang_up(self) -> int:
        """Close the server's input and return its exit code."""
        self._in.close()
        return self.process.wait()


@contextmanager
def wired(stage: Stage, name: str, server: Sequence[str] = SERVER) -> Generator[Wire]:
    env = {**bare_environment(), **stage.env, "TALLYSTICK_AGENT": name}
    with subprocess.Popen(
        server, cwd=stage.workspace, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        wire = Wire(process, stage.revision)
        if stage.revision == "2025-11-25":
            wire.request("initialize", **HANDSHAKE)
            wire.read()
            wire.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        try:
            yield wire
        finally:
            process.kill()
