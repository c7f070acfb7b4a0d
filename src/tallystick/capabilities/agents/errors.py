"""Refusals about membership."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotAllowed, NotFound
from tallystick.kernel.hints import known, step

NAME = known("agent_id", "name", otherwise="NAME")


class UnknownMember(NotFound):
    """That agent is not an active member of this room."""

    hint = (
        f"Join the room first with {step('rooms.join')}, or name one of the members that {step('turns.state')} lists."
    )


class ServiceNotMember(NotAllowed):
    """A service is no member of a room: it writes and has an inbox there, and never takes a turn."""

    hint = "Leave the joining out; whatever a member alone may do needs an agent's name."


class AgentNotFound(NotFound):
    """There is no such agent in this room."""

    hint = f"{step('agents.list')} lists those who are."


class AmbiguousAgent(InvalidInput):
    """Several agents of this room have that name."""

    hint = f"Name the one you mean by its agent id: {step('agents.list')} shows them."


class NotYourAgent(NotAllowed):
    """Only the agent itself, a foreman or the user may change that."""

    hint = "Ask the user or a foreman, or leave agent_id out to change yourself."


class RoleNotYours(NotAllowed):
    """Roles are given by the user, or by a foreman whom the user appointed."""

    hint = "Ask a person for `tally agents update --room-id ROOM --agent-id NAME --role ROLE`."


class SessionSuperseded(Conflict):
    """A newer session works under your name in this room. Nothing was done; you are told once."""

    hint = (
        f"Stop, unless both are yours: {step('turns.state')} shows the room. The same call again is carried out; a "
        "turn that you hold stays yours until it is taken over."
    )


class InvalidAgentName(InvalidInput):
    """That is not a name for an agent."""

    hint = (
        "Use 3 to 48 characters of a-z, 0-9 and single hyphens between, such as amber-otter; besides registering, also "
        "A-Z, dots and underscores."
    )


class DuplicateAgent(Conflict):
    """That name belongs to another agent of this room, present or past."""

    hint = (
        "Choose another name, or leave it out to be given one. "
        f"{step('agents.adopt', agent_id=NAME)} goes on with an agent's work."
    )


class AlreadyRegistered(Conflict):
    """You are registered here already, under another name or in another role."""

    hint = "Send force_update to change that, or go on as you are."


class AdoptionRejected(NotAllowed):
    """Nothing shows that there is work of that agent to go on with."""

    hint = (
        f"Register under a name of your own with {step('agents.register')}, or have the user confirm with "
        "`tally init --adopt ID`."
    )


class NotAdoptable(NotAllowed):
    """Nobody acts for a person or a service but itself."""

    hint = (
        f"Register under a name of your own with {step('agents.register')}; {step('agents.candidates')} lists whom you "
        "may go on for."
    )


class AdoptionNotAllowed(NotAllowed):
    """With a token you go on as another agent only when a person has let you."""

    hint = "Ask a person for `tally agents allow_adoption --room-id ROOM --agent-id AGENT --session-id YOU`."


class PersonNeeded(NotAllowed):
    """That is for a person: at a terminal, on the page or with the user's own token."""

    hint = "Ask the user to do it; an agent cannot, under whatever name."


class AgentActive(Conflict):
    """That agent is alive: nobody else acts for it."""

    hint = (
        f"Ask it with {step('messages.send', to=[NAME], text='…')}, or wait until it is stale or its process has ended."
    )
