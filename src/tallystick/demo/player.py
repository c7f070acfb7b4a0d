"""An agent in its room, as a part is written in it: tools, records of what was done, and turns."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.demo import script
from tallystick.demo.workspace import DemoRepository
from tallystick.kernel.json_values import objects_of
from tallystick.kernel.operation import as_record

if TYPE_CHECKING:
    from mcp import Client


class Refusal(Exception):
    """The hub refused a call, with what it said."""

    def __init__(self, payload: Mapping[str, object]) -> None:
        self.payload = payload
        super().__init__(str(payload.get("message")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    turn_id: int
    lease_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Player:
    """An agent in its room: what a part is written in."""

    name: str
    client: Client
    workspace: DemoRepository
    memory: Path
    """Where it keeps what it would remember of an earlier life."""
    pace: float
    room_id: str

    async def call(self, tool: str, **given: object) -> dict[str, object]:
        return await call(self.client, tool, room_id=self.room_id, **given)

    async def beyond(self, operation: str, **given: object) -> dict[str, object]:
        """An operation that has no tool of its own, through the portal of its noun."""
        args = {"room_id": self.room_id, **given}
        return await call(self.client, "rooms", op="call", cmd=operation, args=args)

    async def do(self, text: str, *, kind: str = script.DID, **more: object) -> None:
        """Put on record what was done, and give the reader time to read it."""
        await self.beyond("events.append", kind=kind, data={"text": text, **more})
        await asyncio.sleep(self.pace)

    async def state(self) -> dict[str, object]:
        return await self.call("get_room_state")

    async def present(self, *names: str) -> None:
        """Wait until these members are here."""
        while True:
            members = objects_of((await self.state())["members"])
            if set(names) <= {member["agent_id"] for member in members if member["status"] == "active"}:
                return
            await asyncio.sleep(0.1)

    async def look(self) -> dict[str, object]:
        """Wait as long as it takes for a turn, or for a stick that somebody dropped."""
        while True:
            found = await self.call("wait_for_turn")
            if found["status"] != "not_yet":
                return found

    async def turn(self) -> Turn:
        """Wait for a turn; a stick that somebody dropped is left to others."""
        while True:
            found = await self.look()
            if found["status"] == "your_turn":
                # Long enough for a person to read the handoff as well.
                await asyncio.sleep(self.pace * 1.5)
                return taken(found)
            await asyncio.sleep(0.3)


def taken(answer: Mapping[str, object]) -> Turn:
    return as_record(Turn, answer)


async def call(client: Client, tool: str, **given: object) -> dict[str, object]:
    result = await client.call_tool(tool, given)
    content: dict[str, object] = result.structured_content or {}
    if result.is_error:
        raise Refusal(content)
    return content
