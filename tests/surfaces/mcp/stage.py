"""Real MCP clients with real servers in processes of their own, on one store and one workspace."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, Implementation, TextContent

SERVER = (str(Path(sys.executable).with_name("tally")), "mcp")
MODES: Mapping[str, str] = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}
HANDOFF: Mapping[str, object] = {"status": "wrote the plan", "next_action": "review the plan"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Where the servers of one test meet."""

    env: Mapping[str, str]
    """What leads them to the store."""
    workspace: Path
    revision: str

    @asynccontextmanager
    async def agent(
        self, name: str = "", *command: str, env: Mapping[str, str] | None = None, client: str = "tests"
    ) -> AsyncGenerator[Agent]:
        """A client and its server; the agent is called `name`, or whatever the server makes of its surroundings."""
        program, *args = command or SERVER
        named = {"TALLYSTICK_AGENT": name} if name else {}
        server = StdioServerParameters(
            command=program,
            args=args,
            env={**self.env, **named, **(env or {})},
            cwd=self.workspace,
        )
        async with Client(
            server, mode=MODES[self.revision], client_info=Implementation(name=client, version="1")
        ) as connected:
            yield Agent(client=connected, workspace=self.workspace)


@dataclass
class Agent:
    client: Client
    workspace: Path
    agent_id: str = ""
    room_id: str = ""
    turn: Mapping[str, object] = field(default_factory=dict[str, object])

    async def result(self, tool: str, /, **arguments: object) -> CallToolResult:
        return await self.client.call_tool(tool, arguments)

    async def call(self, tool: str, /, **arguments: object) -> dict[str, object]:
        """The structured answer, which must be the text's JSON too."""
        result = await self.result(tool, **arguments)
        assert not result.is_error, result
        return both(result)

    async def refused(self, tool: str, /, **arguments: object) -> dict[str, object]:
        result = await self.result(tool, **arguments)
        assert result.is_error, result
        return both(result)

    async def join(self, **arguments: object) -> dict[str, object]:
        joined = await self.call("join_path", **arguments)
        self.agent_id, self.room_id = str(joined["agent_id"]), str(joined["room_id"])
        return joined

    async def wait(self, max_wait_ms: int = 0) -> dict[str, object]:
        """Wait for the turn, and remember it for what its holder may do."""
        found = await self.call("wait_for_turn", room_id=self.room_id, max_wait_ms=max_wait_ms)
        if found["status"] == "your_turn":
            self.turn = {
                "room_id": self.room_id,
                "lease_id": found["lease_id"],
                "expected_turn_id": found["turn_id"],
            }
        return found

    async def release(self) -> dict[str, object]:
        return await self.call("release_stick", **self.turn, handoff=dict(HANDOFF))

    async def state(self) -> dict[str, object]:
        return await self.call("get_room_state", room_id=self.room_id)


def rows(answer: Mapping[str, object], name: str) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", answer[name])


def both(result: CallToolResult) -> dict[str, object]:
    (content,) = result.content
    assert isinstance(content, TextContent)
    structured = cast("dict[str, object]", result.structured_content)
    assert json.loads(content.text) == structured
    return structured


def bare_environment() -> dict[str, str]:
    """This process's environment without the markers of a harness that may run these tests."""
    kept = ("PATH", "HOME", "LANG", "PYTHONPATH", "TMPDIR")
    return {name: value for name, value in os.environ.items() if name in kept}
