"""A workspace with agents in it, and the hooks of a harness run as the harness would run them."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tallystick.harnesses import processes
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller, Process, SessionKind
from tests.surfaces.cli.place import Done, Place

EDITS = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool"}
STOPS = {"claude": "Stop", "codex": "Stop", "gemini": "AfterAgent"}
BASE: Mapping[str, Mapping[str, object]] = {
    "claude": {"transcript_path": "/t.jsonl", "permission_mode": "default"},
    "codex": {"transcript_path": None, "model": "m", "turn_id": "1", "permission_mode": "default"},
    "gemini": {"transcript_path": "/t.json", "timestamp": "2026-01-01T00:00:00Z"},
}


@dataclass(frozen=True, slots=True)
class HookedWorkspace:
    place: Place
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def root(self) -> Path:
        return self.place.workspace

    def hook(self, harness: str, event: str, agent: str = "me", **fields: object) -> Done:
        """Run a hook for an agent with the documented input."""
        given = {
            "session_id": "s-1",
            "cwd": str(self.root),
            "hook_event_name": event,
            **BASE[harness],
            **fields,
        }
        return self.raw(harness, event, json.dumps(given), agent)

    def raw(self, harness: str, event: str, text: str, agent: str = "me") -> Done:
        env = {**self.env, "TALLYSTICK_AGENT": agent}
        return self.place.run("hook", harness, event, stdin=text, env=env)

    def edit(self, harness: str, tool: str, agent: str = "me", **given: object) -> Done:
        return self.hook(harness, EDITS[harness], agent, tool_name=tool, tool_input=given)

    @contextmanager
    def hub(self) -> Generator[Hub]:
        """The same store, opened here, since a process for every step of a story would take its time."""
        data_dir = self.env.get("TALLYSTICK_DATA_DIR")
        url = self.env.get("TALLYSTICK_DATABASE_URL")
        hub = Hub.open(Settings(data_dir=Path(data_dir) if data_dir else self.place.data_dir, database_url=url))
        try:
            yield hub
        finally:
            hub.close()

    def call(self, agent: str, operation: str, **given: object) -> dict[str, object]:
        with self.hub() as hub:
            return hub.call(operation, given, caller(agent)).to_data()

    def join(self, *agents: str) -> str:
        """Let agents join the workspace's room; the room."""
        joined = [self.call(agent, "rooms.join", context_path=str(self.root)) for agent in agents]
        return cast("str", joined[-1]["room_id"])

    def reserve(self, agent: str, path: str, **given: object) -> dict[str, object]:
        granted = self.call(agent, "reservations.reserve", room_id=self.join(agent), path=path, **given)
        return cast("dict[str, object]", granted["reservation"])


GONE = "gone"
"""The name of an agent whose process has ended."""


def caller(name: str) -> Caller:
    ended = Process(host_id=processes.host_id(), pid=2**22 + 1, started_at="1") if name == GONE else None
    return Caller(agent_id=name, session=SessionKind.MCP_HARNESS if ended else SessionKind.NAMED, process=ended)


def answer(done: Done) -> dict[str, object]:
    return cast("dict[str, object]", json.loads(done.out))
