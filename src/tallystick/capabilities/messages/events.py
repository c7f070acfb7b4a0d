"""What the ledger says of messages, notifications and the shared context, in the standard's own fields (CCCS v1)."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from tallystick.kernel.envelope import Body
from tallystick.kernel.operation import JsonObject, Record

MessageFormat: TypeAlias = Literal["plain", "markdown"]
MessagePriority: TypeAlias = Literal["normal", "attention"]
NotificationPriority: TypeAlias = Literal["low", "normal", "high", "urgent"]


class MessageKind(StrEnum):
    """What a message is in a conversation among agents."""

    USER = "user"
    REPLY = "reply"
    CONTROL = "control"
    """About how an agent works, such as that it was interrupted; nobody has to answer."""
    SYSTEM = "system"
    """What a program says by itself; nobody has to answer."""


class MessageConversation(Record):
    """The conversation among agents that a message is part of; `capabilities/actions` has the rules."""

    context_id: str | UnsetType = UNSET
    owner_id: str | UnsetType = UNSET
    kind: MessageKind | UnsetType = UNSET
    action_id: str | UnsetType = UNSET
    """The action that the message was written for."""
    reply_to_action_id: str | UnsetType = UNSET
    parent_message_id: str | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    sender_name: str | UnsetType = UNSET


class MessageSent(Body, kind="chat.message"):
    """Somebody said something to agents of the room, or to the user."""

    text: str
    format: MessageFormat
    priority: MessagePriority
    to: list[str]
    """The ids and selectors that its author wrote; empty stands for everyone."""
    recipients: list[str]
    """Whom they stood for when it was appended."""
    reply_to: str | UnsetType = UNSET
    quote_text: str | UnsetType = UNSET
    src_group_id: str | UnsetType = UNSET
    src_event_id: str | UnsetType = UNSET
    dst_group_id: str | UnsetType = UNSET
    dst_to: list[str] | UnsetType = UNSET
    dst_event_id: str | UnsetType = UNSET
    attachments: list[JsonObject] | UnsetType = UNSET
    """As they were given, with the fields that another client may understand; always with `kind`, `path`, `sha256`."""
    refs: list[JsonObject] | UnsetType = UNSET
    """As they were given; always with `kind`."""
    thread: str | UnsetType = UNSET
    conversation: MessageConversation | UnsetType = UNSET
    client_id: str | UnsetType = UNSET
    client_ts: str | UnsetType = UNSET


class MessageAcked(Body, kind="chat.ack"):
    """A recipient accepted a message that had asked for attention."""

    actor_id: str
    event_id: str


class MessagesRead(Body, kind="chat.read"):
    """A recipient has read what was delivered to it, up to and with this event."""

    actor_id: str
    event_id: str


class ReactionAdded(Body, kind="chat.reaction"):
    """Somebody put an emoji on an event."""

    actor_id: str
    event_id: str
    emoji: str


class NotificationSent(Body, kind="system.notify"):
    """A tool, an agent or the hub itself notified one recipient or everyone."""

    about: str = field(name="kind")
    """Such as `status_change`, `nudge` or a word of the sender's own."""
    priority: NotificationPriority
    title: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    target_actor_id: str | None
    """Null stands for everyone."""
    context: JsonObject | UnsetType = UNSET
    """Facts for programs."""
    requires_ack: bool
    related_event_id: str | UnsetType = UNSET
    recipients: list[str]

    @property
    def words(self) -> str:
        """What a reader is shown of it."""
        return "\n".join(each for each in (self.title, self.message) if each)


class NotificationAcked(Body, kind="system.notify_ack"):
    """A recipient has taken note of a notification."""

    actor_id: str
    notify_event_id: str


class ContextOp(Record):
    """A value that was set, or deleted."""

    op: Literal["set", "delete"]
    name: str
    value: Any | UnsetType = UNSET


class ContextChanged(Body, kind="context.sync"):
    """Some of the values that a room shares changed."""

    ops: list[ContextOp]
