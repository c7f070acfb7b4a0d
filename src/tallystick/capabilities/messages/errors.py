"""Refusals about messages, notifications and those who listen for them."""

from __future__ import annotations

from tallystick.kernel.errors import Conflict, InvalidInput, NotAllowed, NotFound
from tallystick.kernel.hints import known, step


class UnknownRecipient(NotFound):
    """A recipient is not in this room."""

    hint = "Name members by their agent_id, or use @all, @peers, @foreman or @user; leave `to` out to reach everyone."


class WrongSenderName(NotAllowed):
    """A message is signed with its sender's own name, or not at all."""

    hint = f"Leave sender_name out, or take that name first: {step('agents.update', name='NAME')}."


class ReservedService(NotAllowed):
    """Service names that begin with svc:cccc. or svc:tally. are reserved."""

    hint = "Give the service a name of its own, such as svc:com.example.mybot."


class NotAnAttentionMessage(InvalidInput):
    """Only a message that asked for attention can be acknowledged."""

    hint = f"Mark it read instead: {step('messages.read', event_id=known('event_id', otherwise='ID'))}."


class NotAddressed(NotAllowed):
    """That event was not addressed to this recipient."""

    hint = f"{step('messages.inbox')} shows what is addressed to you."


class OwnMessage(NotAllowed):
    """You cannot acknowledge your own message."""

    hint = f"Wait for its recipients: {step('messages.inbox')} says who still owes you an ack."


class NotYourAck(NotAllowed):
    """Nobody acknowledges for somebody else."""

    hint = "Leave actor_id out and acknowledge for yourself; the recipient has to do the same."


class NotYourInbox(NotAllowed):
    """Only the recipient, or the user, may move that read mark."""

    hint = "Leave actor_id out to mark your own messages read."


class ClientIdConflict(Conflict):
    """That client_id was already used for a different message."""

    hint = "Use a new client_id for a new message; repeat one only with exactly the same message."


class SourceUnavailable(NotFound):
    """The message to relay cannot be read: its room or the event is not here."""

    hint = "Check src_group_id and src_event_id: the log of the source room has the event under that id."


class DuplicateListener(Conflict):
    """Somebody already listens under your name."""

    hint = "Let that wait end or stop it; if it is not yours, take a name of your own with TALLYSTICK_AGENT."
