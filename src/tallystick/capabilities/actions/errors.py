"""Refusals about actions, their results and the conversations they belong to."""

from __future__ import annotations

from typing import ClassVar

from tallystick.kernel.errors import Conflict, InvalidInput, NotAllowed, NotFound, Unavailable
from tallystick.kernel.hints import step


class NotConversationOwner(NotAllowed):
    """Only the owner of a conversation may send follow-ups in it."""

    code: ClassVar[str] = "not_owner"
    hint = "Answer with kind reply what you were asked, or open a conversation of your own with a new context_id."


class NotTarget(NotAllowed):
    """Only the target of an action may say what became of it."""

    hint = f"Send results for the actions that were delivered to you: {step('actions.pending')} lists them."


class SelfTarget(InvalidInput):
    """An action cannot be sent to oneself."""

    hint = "Name another agent of the room in dst."


class ActionNotFound(NotFound):
    """There is no such action in this room."""

    hint = f"Use the action_id that was delivered: {step('actions.pending')} lists what is open."


class ActionGroupNotFound(NotFound):
    """There is no such group of actions of that sender in this room."""

    hint = "Use the group_id that the submission answered; agent_id names another sender."


class DuplicateActionId(Conflict):
    """That action_id was already used in this room."""

    hint = "Give every action a new id; to repeat a lost call, send it with the same idempotency key."


class DuplicateGroup(Conflict):
    """You have already submitted a group with that id."""

    hint = "Give every group a new id; to repeat a lost call, send it with the same idempotency key."


class DuplicateResult(Conflict):
    """The action has that status already."""

    hint = "Nothing is to be done; send the next status when it changes."


class ActionFinished(Conflict):
    """The action is finished: its last result was terminal, and a later one changes nothing."""

    hint = "Drop this result; whatever comes next needs an action of its own."


class NotDelivered(Conflict):
    """That action has not been delivered yet: others come before it."""

    hint = f"Answer the actions in the order in which they are delivered: {step('actions.pending')} shows the next one."


class ReplyChain(Conflict):
    """A reply ends the exchange: nobody replies to a reply."""

    hint = "Do not answer replies; the conversation's owner may follow up with a message of kind user."


class AlreadyReplied(Conflict):
    """That action has its reply already."""

    hint = "One reply answers one action; say how the work goes on with action.result or task events."


class ConversationExhausted(Conflict):
    """This conversation has gone to and fro as often as one may."""

    hint = "Sum up what is known and, if there is a reason to go on, open a new conversation with another context_id."


class NotAsked(NotAllowed):
    """Only a message of kind user that was delivered to you can be replied to, and only to its sender."""

    hint = "Name in reply_to_action_id what you were asked, and send the reply to who asked."


class MayNotAsk(NotAllowed):
    """Your token may speak, and an attached agent takes what is said to it as work."""

    hint = "Leave attached agents out of `to`, or use a token with the reach work."


class QueueFull(Unavailable):
    """Too many actions are waiting for that agent."""

    hint = f"Wait until it has worked some of them off: {step('actions.pending')} shows how many there are."
