"""Refusals about membership."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotAllowed, NotFound


class UnknownMember(NotFound):
    """That agent is not an active member of this room."""

    hint = "Join the room first (`tally join`, MCP: join_path), or name one of the members that room state lists."


class AgentNotFound(NotFound):
    """There is no such agent in this room."""

    hint = "List them with `tally agents list`."


class NotYourAgent(NotAllowed):
    """Only the agent itself, a foreman or the user may change that."""

    hint = "Ask the user or a foreman, or leave agent_id out to change yourself."


class InvalidAgentName(InvalidInput):
    """That is not a name for an agent."""

    hint = "Use 3 to 48 characters of a-z, 0-9 and single hyphens between, such as amber-otter; or leave the name out."


class DuplicateAgent(Conflict):
    """That name belongs to another agent of this room, present or past."""

    hint = "Choose another name, or leave it out to be given one; an agent's work is taken on with agents.adopt."


class AlreadyRegistered(Conflict):
    """You are registered here already, under another name or in another role."""

    hint = "Send force_update to change that, or go on as you are."


class AdoptionRejected(NotAllowed):
    """Nothing shows that there is work of that agent to go on with."""

    hint = "Register under a name of your own (agents.register), or have the user confirm with `tally init --adopt ID`."


class AgentActive(Conflict):
    """That agent is alive: nobody else acts for it."""

    hint = "Send it a message, or wait until it is stale or its process has ended."
