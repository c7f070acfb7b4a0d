"""From a tool call to an operation: which one it means, and what the workspace fills in where that was left out."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from msgspec import structs

from tallystick.capabilities.rooms.contract import Rooms
from tallystick.hub.registry import OPERATIONS
from tallystick.kernel import paths
from tallystick.kernel.errors import InvalidInput, NoRoomHere, TallyError, UnknownOperation
from tallystick.kernel.operation import Answer, AnyOperation
from tallystick.kernel.suggestions import did_you_mean
from tallystick.surfaces.mcp.tools import Portal, ToolSet

Ask: TypeAlias = Callable[[str, Mapping[str, object]], Awaitable[Answer]]
"""Another operation, asked for the same caller."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Routed:
    operation: AnyOperation
    given: Mapping[str, object]
    workspace: str | None = None
    portal: Portal | None = None

    def explained(self, error: TallyError) -> TallyError:
        """A portal's schema does not show an operation's fields, so a wrong input is answered with a right one."""
        if self.portal is None or not isinstance(error, InvalidInput):
            return error
        return self.portal.with_example(error, self.operation.name, hint=error.declared)


def route(tools: ToolSet, tool: str, arguments: Mapping[str, object]) -> Routed | None:
    """What a call of `tool` means; None when this set has no such tool."""
    if name := tools.named.get(tool):
        return Routed(operation=OPERATIONS[name], given=arguments)
    if portal := tools.portals.get(tool):
        command = portal.read(arguments)
        return Routed(operation=command.operation, given=command.given, workspace=command.workspace, portal=portal)
    return None


def unknown(tools: ToolSet, tool: str) -> UnknownOperation:
    names = [*tools.named, *tools.portals]
    meant = did_you_mean(tool, names)
    return UnknownOperation(
        f"There is no tool '{tool[:80]}'.{meant}", hint="Call one of the listed tools.", tool=tool[:80], valid=names
    )


async def filled(routed: Routed, ask: Ask, here: Callable[[], str | None]) -> Mapping[str, object]:
    """The operation's input, with the room or path that the workspace stands for; what was given wins."""
    given = routed.given
    if routed.workspace is not None:
        given = {**await _placed(routed.operation, routed.workspace, ask), **given}
    if routed.operation.name == "jobs.radar" and given.get("fmt", "lines") == "lines":
        # An agent pays for every byte, and can call what it is shown as it stands.
        given = {"fmt": "lines", "moves": "tool", **given}
    if routed.operation.name != "rooms.join" or given.get("context_path") or given.get("room_id"):
        return given
    path = here()
    return {**given, "context_path": path} if path else given


async def _placed(operation: AnyOperation, workspace: str, ask: Ask) -> Mapping[str, object]:
    fields = {field.encode_name: field for field in structs.fields(operation.ask)}
    room = fields.get("room_id")
    is_path = paths.is_absolute(workspace, windows=os.name == "nt")
    if is_path and "context_path" in fields and not (room and room.required):
        return {"context_path": workspace}
    if room is None:
        return {}
    return {"room_id": await _room_at(workspace, ask) if is_path else workspace}


async def _room_at(path: str, ask: Ask) -> str:
    answer = await ask("rooms.list", {"context_path": path, "limit": 1})
    if not isinstance(answer, Rooms) or not answer.rooms:
        raise NoRoomHere(f"There is no room at {path} or above it in its workspace.", workspace=path)
    return answer.rooms[0].room_id
