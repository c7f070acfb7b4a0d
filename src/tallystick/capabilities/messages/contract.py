"""Inputs and results of `messages.*`: the standard's own fields beside our `room_id`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tallystick.capabilities.messages.references import Attachment, Reference
from tallystick.kernel.operation import Answer, Ask, Moment
from tallystick.ledger.contract import SEQ_LIMIT, Envelope, RoomId, Text, WaitMs

TEXT_LIMIT = 64 * 1024
RECIPIENTS_LIMIT = 100
_CLIENT_ID = "Your own key: within 24 h the same message sent again counts once."

EventId = Annotated[Text, Field(max_length=200)]
GroupId = Annotated[Text, Field(max_length=200)]
Token = Annotated[str, Field(min_length=1, max_length=200)]
ClientId = Annotated[Text, Field(min_length=1, max_length=200)]
Recipients = Annotated[
    list[Token] | None,
    Field(max_length=RECIPIENTS_LIMIT, description="agent ids, @all, @peers, @foreman, @user; everyone if left out."),
]
Priority = Annotated[
    Literal["normal", "attention"], Field(description="`attention`: every recipient has to acknowledge it.")
]
ActorId = Annotated[Text | None, Field(max_length=200, description="Yourself when left out.")]


class SendMessage(Ask):
    room_id: RoomId
    text: Annotated[str, Field(max_length=TEXT_LIMIT, description="What you say; empty only when attachments say it.")]
    format: Annotated[Literal["plain", "markdown"], Field(description="How to show the text.")] = "plain"
    priority: Priority = "normal"
    to: Recipients = None
    reply_to: Annotated[EventId | None, Field(description="The event you answer.")] = None
    quote_text: Annotated[str | None, Field(max_length=16_384, description="What you quote of it.")] = None
    src_group_id: Annotated[GroupId | None, Field(description="Where it comes from; with src_event_id.")] = None
    src_event_id: Annotated[EventId | None, Field(description="What it comes from; with src_group_id.")] = None
    dst_group_id: Annotated[GroupId | None, Field(description="Where it was sent on to, for the record.")] = None
    dst_to: Annotated[list[Token] | None, Field(max_length=RECIPIENTS_LIMIT, description="To whom there.")] = None
    attachments: Annotated[list[Attachment] | None, Field(max_length=50, description="Files that go with it.")] = None
    refs: Annotated[list[Reference] | None, Field(max_length=100, description="What it points at.")] = None
    thread: Annotated[str | None, Field(max_length=200, description="Reserved; kept and ignored.")] = None
    client_id: Annotated[ClientId | None, Field(description=_CLIENT_ID)] = None
    client_ts: Annotated[str | None, Field(max_length=60, description="Your own time, for display only.")] = None


class Sent(Answer):
    event: Envelope
    recipients: list[str]
    """Who it was delivered to, resolved when it was appended."""
    replayed: bool
    """True when this client_id had already sent it."""


class RelayMessage(Ask):
    room_id: Annotated[RoomId, Field(description="The room to relay into.")]
    src_group_id: Annotated[GroupId, Field(description="The room it comes from.")]
    src_event_id: Annotated[EventId, Field(description="The message to relay.")]
    to: Recipients = None
    summary: Annotated[
        str | None, Field(min_length=1, max_length=TEXT_LIMIT, description="Send this instead, marked as a summary.")
    ] = None
    priority: Priority = "normal"
    record: Annotated[bool, Field(description="Note in the source room where it was sent.")] = False
    client_id: Annotated[ClientId | None, Field(description=_CLIENT_ID)] = None

    @property
    def also_locks(self) -> tuple[str, ...]:
        return (self.src_group_id,) if self.record else ()


class Relayed(Sent):
    record: Envelope | None
    """The note in the source room, when one was asked for and written now."""


class ReadInbox(Ask):
    room_id: RoomId
    actor_id: ActorId = None
    since_seq: Annotated[
        int | None, Field(ge=0, le=SEQ_LIMIT, description="After this seq; after your read mark when left out.")
    ] = None
    kind: Annotated[
        Literal["chat.message", "system.notify"] | None, Field(description="Only messages, or only notifications.")
    ] = None
    owed: Annotated[bool, Field(description="Only what still needs an ack, read or not.")] = False
    limit: Annotated[int, Field(ge=1, le=200, description="At most this many.")] = 50
    max_wait_ms: Annotated[WaitMs, Field(description="How long to wait for something new, in ms; 0 looks once.")] = 0


class ReactionView(Answer):
    actor_id: str
    emoji: str


class Received(Answer):
    """One event in an inbox, with what became of it."""

    event: Envelope
    read: bool
    needs_ack: bool
    """True as long as an ack is asked for and not given."""
    acked_at: Moment | None
    source_available: bool | None
    """For a relayed message: whether its source can be opened here."""
    reactions: list[ReactionView]


class Awaiting(Answer):
    """A message of yours that not everybody has acknowledged."""

    event_id: str
    seq: int
    sent_at: Moment
    missing: list[str]


class InboxView(Answer):
    actor_id: str
    messages: list[Received]
    cursor: int
    """Pass it as since_seq to page on."""
    more: bool
    read_seq: int
    unread: int
    unacked: int
    awaiting: list[Awaiting]
    """Your own messages that still lack an ack, oldest first."""


class MarkRead(Ask):
    room_id: RoomId
    event_id: Annotated[EventId, Field(description="The last one you read; everything before it counts as read too.")]
    actor_id: ActorId = None


class MarkedRead(Answer):
    actor_id: str
    event_id: str
    moved: bool
    """False when the read mark was already there or beyond."""
    read_seq: int
    unread: int


class AckMessage(Ask):
    room_id: RoomId
    event_id: Annotated[EventId, Field(description="The attention message you accept.")]
    actor_id: ActorId = None


class Acked(Answer):
    actor_id: str
    event_id: str
    already: bool
    """True when it was acknowledged before; nothing was written."""
    acked_at: Moment


class React(Ask):
    room_id: RoomId
    event_id: Annotated[EventId, Field(description="The event you react to.")]
    emoji: Annotated[Text, Field(min_length=1, max_length=64, description="One emoji, or a short word.")]


class Reacted(Answer):
    actor_id: str
    event_id: str
    emoji: str
    already: bool
