"""Refusals about membership."""

from __future__ import annotations

from tallystick.kernel.errors import NotAllowed, NotFound


class UnknownMember(NotFound):
    """That agent is not an active member of this room."""

    hint = "Join the room first (`tally join`, MCP: join_path), or name one of the members that room state lists."


class AgentNotFound(NotFound):
    """There is no such agent in this room."""

    hint = "List them with `tally agents list`."


class NotYourAgent(NotAllowed):
    """Only the agent itself, a foreman or the user may change that."""

    hint = "Ask the user or a foreman, or leave agent_id out to change yourself."
