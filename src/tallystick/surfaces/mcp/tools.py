"""Which tools there are: Talking Stick's nine, the ones it put off, and the portals, in three sets.

Everything a client reads about a tool comes from the operation behind it; only names and hints are kept here.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mcp_types import Tool, ToolAnnotations

from tallystick.hub.registry import OPERATIONS
from tallystick.surfaces.mcp import schemas
from tallystick.surfaces.mcp.portals import PORTALS, Portal

NINE: Mapping[str, str] = {
    "list_rooms": "rooms.list",
    "join_path": "rooms.join",
    "wait_for_turn": "turns.wait",
    "heartbeat": "turns.heartbeat",
    "release_stick": "turns.release",
    "pass_stick": "turns.pass",
    "takeover_stick": "turns.takeover",
    "get_room_state": "turns.state",
    "get_room_events": "turns.history",
}
PUT_OFF: Mapping[str, str] = {
    "append_note": "notes.add",
    "leave_path": "rooms.leave",
    "close_room": "rooms.close",
    "reorder_members": "rooms.reorder",
    "set_room_policy": "rooms.set_policy",
}
DESTRUCTIVE = frozenset({"turns.takeover", "rooms.close"})
NOT_REPEATABLE = frozenset({"notes.add"})
"""Everything else is fenced or settles: the same call again adds nothing."""


class ToolSet(StrEnum):
    CORE = "core"
    """The nine."""
    DAILY = "daily"
    """The nine and the portals."""
    FULL = "full"
    """Those, and the tools that Talking Stick put off under names of their own."""

    @property
    def named(self) -> Mapping[str, str]:
        """Tools that are one operation each."""
        return {**NINE, **PUT_OFF} if self is ToolSet.FULL else NINE

    @property
    def portals(self) -> Mapping[str, Portal]:
        return {} if self is ToolSet.CORE else PORTALS

    def listed(self) -> list[Tool]:
        named = [_named(tool, name) for tool, name in self.named.items()]
        return [*named, *(_portal(portal) for portal in self.portals.values())]


def _named(tool: str, name: str) -> Tool:
    operation = OPERATIONS[name]
    return Tool(
        name=tool,
        description=operation.doc,
        input_schema=schemas.of_ask(operation.ask),
        output_schema=schemas.of_answer(operation.answer),
        annotations=_annotations(
            tool,
            reads=not operation.writes and not operation.waits,
            destructive=name in DESTRUCTIVE,
            repeatable=name not in NOT_REPEATABLE,
        ),
    )


def _portal(portal: Portal) -> Tool:
    commands = [OPERATIONS[name] for name in portal.commands]
    return Tool(
        name=portal.name,
        description=portal.description,
        input_schema=portal.schema,
        annotations=_annotations(
            portal.name,
            reads=not any(operation.writes for operation in commands),
            destructive=any(operation.name in DESTRUCTIVE for operation in commands),
            repeatable=False,
        ),
    )


def _annotations(tool: str, *, reads: bool, destructive: bool, repeatable: bool) -> ToolAnnotations:
    """Hints for a client that asks its user; what the protocol assumes anyway is left out."""
    title = tool.replace("_", " ").capitalize()
    if reads:
        return ToolAnnotations(title=title, read_only_hint=True, open_world_hint=False)
    return ToolAnnotations(
        title=title, destructive_hint=destructive, idempotent_hint=repeatable or None, open_world_hint=False
    )
