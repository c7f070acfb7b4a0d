"""Inputs and results of `messages.*`, `notifications.*` and `context.sync`, in the standard's own fields."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from tallystick.capabilities.messages.events import MessageFormat, MessageKind, MessagePriority, NotificationPriority
from tallystick.capabilities.messages.model import Attachment, Reference, Searched
from tallystick.kernel.operation import Answer, Ask, JsonObject, Moment
from tallystick.ledger.contract import SEQ_LIMIT, Envelope, RoomId, Text, WaitMs

TEXT_LIMIT = 64 * 1024
RECIPIENTS_LIMIT = 100

EventId = Annotated[Text, Meta(min_length=1, max_length=200)]
GroupId = Annotated[Text, Meta(min_length=1, max_length=200)]
Token = Annotated[str, Meta(min_length=1, max_length=200)]
ClientId = Annotated[
    Annotated[Text, Meta(min_length=1, max_length=200)] | None,
    Meta(description="Your own key: within 24 h the same message sent again counts once."),
]
Recipients = Annotated[
    Annotated[list[Token], Meta(max_length=RECIPIENTS_LIMIT)] | None,
    Meta(description="agent ids, @all, @peers, @foreman, @user; everyone if left out."),
]
Priority = Annotated[MessagePriority, Meta(description="`attention`: every recipient has to acknowledge it.")]
ActorId = Annotated[Annotated[Text, Meta(max_length=200)] | None, Meta(description="Yourself when left out.")]


class ConversationRef(Ask):
    """The conversation among agents that a message belongs to, as actions have them."""

    context_id: Annotated[EventId | None, Meta(description="The conversation.")] = None
    owner_id: Annotated[ActorId, Meta(description="Who owns it.")] = None
    kind: Annotated[
        MessageKind | None, Meta(description="`user` asks, `reply` answers, `control` and `system` are for reading.")
    ] = None
    reply_to_action_id: Annotated[EventId | None, Meta(description="The action it answers.")] = None
    parent_message_id: Annotated[EventId | None, Meta(description="The message it follows.")] = None
    task_id: Annotated[EventId | None, Meta(description="The task it is about.")] = None
    sender_name: Annotated[
        Annotated[Text, Meta(min_length=1, max_length=128)] | None,
        Meta(description="Your present name or id, for display."),
    ] = None


class SendMessage(Ask):
    rooms = ("room_id", "src_group_id", "dst_group_id")

    room_id: RoomId
    text: Annotated[str, Meta(max_length=TEXT_LIMIT, description="What you say; empty only when attachments say it.")]
    format: Annotated[MessageFormat, Meta(description="How to show the text.")] = "plain"
    priority: Priority = "normal"
    to: Recipients = None
    reply_to: Annotated[EventId | None, Meta(description="The event you answer.")] = None
    quote_text: Annotated[Annotated[str, Meta(max_length=16_384)] | None, Meta(description="What you quote of it.")] = (
        None
    )
    src_group_id: Annotated[GroupId | None, Meta(description="Where it comes from; with src_event_id.")] = None
    src_event_id: Annotated[EventId | None, Meta(description="What it comes from; with src_group_id.")] = None
    dst_group_id: Annotated[GroupId | None, Meta(description="Where it was sent on to, for the record.")] = None
    dst_to: Annotated[
        Annotated[list[Token], Meta(max_length=RECIPIENTS_LIMIT)] | None, Meta(description="To whom there.")
    ] = None
    attachments: Annotated[
        Annotated[list[Attachment], Meta(max_length=50)] | None, Meta(description="Files that go with it.")
    ] = None
    refs: Annotated[Annotated[list[Reference], Meta(max_length=100)] | None, Meta(description="What it points at.")] = (
        None
    )
    thread: Annotated[Annotated[str, Meta(max_length=200)] | None, Meta(description="Reserved; kept and ignored.")] = (
        None
    )
    conversation: Annotated[ConversationRef | None, Meta(description="The agents' conversation it is part of.")] = None
    client_id: ClientId = None
    client_ts: Annotated[
        Annotated[str, Meta(max_length=60)] | None, Meta(description="Your own time, for display only.")
    ] = None


class AskedAgent(Answer):
    """An attached agent that takes a message as a request."""

    agent_id: str
    action_id: str
    before: int
    """How many requests wait before this one."""
    away: bool
    """It does not run right now; it is asked when it returns."""


class SendMessageResult(Answer):
    event: Envelope
    recipients: list[str]
    """Who it was delivered to, resolved when it was appended."""
    asked: list[AskedAgent]
    """The recipients that answer by themselves; `actions.outcomes` with the event's id as group_id waits for them."""
    gone: list[str]
    """Those named whose process has ended, and who are not asked when they return: they read it if they are resumed."""
    replayed: bool
    """True when this client_id had already sent it."""


class RelayMessage(Ask):
    rooms = ("room_id", "src_group_id")

    room_id: Annotated[RoomId, Meta(description="The room to relay into.")]
    src_group_id: Annotated[GroupId, Meta(description="The room it comes from.")]
    src_event_id: Annotated[EventId, Meta(description="The message to relay.")]
    to: Recipients = None
    summary: Annotated[
        Annotated[str, Meta(min_length=1, max_length=TEXT_LIMIT)] | None,
        Meta(description="Send this instead, marked as a summary."),
    ] = None
    priority: Priority = "normal"
    record: Annotated[bool, Meta(description="Note in the source room where it was sent.")] = False
    client_id: ClientId = None


class RelayMessageResult(SendMessageResult):
    record: Envelope | None
    """The note in the source room, when one was asked for and written now."""


class ReadInbox(Ask):
    room_id: RoomId
    actor_id: ActorId = None
    since_seq: Annotated[
        Annotated[int, Meta(ge=0, le=SEQ_LIMIT)] | None,
        Meta(description="After this seq; after your read mark when left out."),
    ] = None
    kind: Annotated[
        Literal["chat.message", "system.notify"] | None, Meta(description="Only messages, or only notifications.")
    ] = None
    owed: Annotated[bool, Meta(description="Only what still needs an ack, read or not.")] = False
    limit: Annotated[int, Meta(ge=1, le=200, description="At most this many.")] = 50
    max_wait_ms: Annotated[WaitMs, Meta(description="How long to wait for something new, in ms; 0 looks once.")] = 0


class ReactionView(Answer):
    actor_id: str
    emoji: str


class ReceivedEvent(Answer):
    """One event in an inbox, with what became of it."""

    event: Envelope
    read: bool
    needs_ack: bool
    """True as long as an ack is asked for and not given."""
    acked_at: Moment | None
    source_available: bool | None
    """For a relayed message: whether you could open its source here."""
    reactions: list[ReactionView]


class ReadReceipts(Ask):
    room_id: RoomId
    first_seq: Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="The first event of the stretch.")]
    last_seq: Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="The last one, at most 1000 events on.")]


class DeliveryReceipt(Answer):
    """What became of one message at one recipient."""

    seq: int
    event_id: str
    recipient: str
    read: bool
    needs_ack: bool
    """True as long as an ack is asked for and not given."""
    acked_at: Moment | None


class DeliveryReceipts(Answer):
    receipts: list[DeliveryReceipt]


class AwaitedAck(Answer):
    """A message of yours that not everybody has acknowledged."""

    event_id: str
    seq: int
    sent_at: Moment
    missing: list[str]


class InboxView(Answer):
    actor_id: str
    messages: list[ReceivedEvent]
    cursor: int
    """Pass it as since_seq to page on."""
    more: bool
    read_seq: int
    unread: int
    unacked: int
    awaiting: list[AwaitedAck]
    """Your own messages that still lack an ack, oldest first."""


class MarkRead(Ask):
    room_id: RoomId
    event_id: Annotated[EventId, Meta(description="The last one you read; everything before it counts as read too.")]
    actor_id: ActorId = None


class MarkReadResult(Answer):
    actor_id: str
    event_id: str
    moved: bool
    """False when the read mark was already there or beyond."""
    read_seq: int
    unread: int


class AckMessage(Ask):
    room_id: RoomId
    event_id: Annotated[EventId, Meta(description="The attention message you accept.")]
    actor_id: ActorId = None


class AckResult(Answer):
    actor_id: str
    event_id: str
    already: bool
    """True when it was acknowledged before; nothing was written."""
    acked_at: Moment


class React(Ask):
    room_id: RoomId
    event_id: Annotated[EventId, Meta(description="The event you react to.")]
    emoji: Annotated[Text, Meta(min_length=1, max_length=64, description="One emoji, or a short word.")]


class ReactResult(Answer):
    actor_id: str
    event_id: str
    emoji: str
    already: bool


class SearchMessages(Ask):
    room_id: RoomId
    query: Annotated[str, Meta(max_length=1000, description="Words, or beginnings of words; all have to occur.")]
    by: Annotated[
        Annotated[Text, Meta(min_length=1, max_length=200)] | None, Meta(description="Only what this author wrote.")
    ] = None
    kinds: Annotated[
        Annotated[list[Searched], Meta(max_length=8)] | None, Meta(description="Only these; all when left out.")
    ] = None
    since_ts: Annotated[Annotated[str, Meta(max_length=60)] | None, Meta(description="Not before this time.")] = None
    until_ts: Annotated[Annotated[str, Meta(max_length=60)] | None, Meta(description="Before this time.")] = None
    limit: Annotated[int, Meta(ge=1, le=100, description="At most this many.")] = 20


class SearchHit(Answer):
    kind: Searched
    ref: str | None
    """What it is about, by an id that can be opened: a job, a task, a card."""
    event_id: str
    seq: int
    by: str
    ts: Moment
    snippet: str
    """The words around the first hit, hits marked «so»."""


class SearchHits(Answer):
    hits: list[SearchHit]


class Notify(Ask):
    room_id: RoomId
    kind: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=100,
            description="nudge, keepalive, help_nudge, actor_idle, silence_check, automation, status_change, error, "
            "info, or a word of your own.",
        ),
    ]
    priority: Annotated[NotificationPriority, Meta(description="How pressing it is.")] = "normal"
    title: Annotated[Annotated[str, Meta(max_length=500)] | None, Meta(description="One line.")] = None
    message: Annotated[Annotated[str, Meta(max_length=16_384)] | None, Meta(description="The whole of it.")] = None
    target_actor_id: Annotated[
        Annotated[str, Meta(min_length=1, max_length=200)] | None,
        Meta(description="Whom it is for, one member or the user; everyone when left out."),
    ] = None
    context: Annotated[JsonObject | None, Meta(description="Facts for programs.")] = None
    requires_ack: Annotated[bool, Meta(description="Whether each recipient has to acknowledge it.")] = False
    related_event_id: Annotated[EventId | None, Meta(description="The event it is about.")] = None


class NotifyResult(Answer):
    event: Envelope
    recipients: list[str]


class AckNotification(Ask):
    room_id: RoomId
    notify_event_id: Annotated[EventId, Meta(description="The notification you have taken note of.")]
    actor_id: ActorId = None


class ContextChange(Ask):
    op: Annotated[Literal["set", "delete"], Meta(description="What to do.")]
    name: Annotated[Text, Meta(min_length=1, max_length=200, description="Which value.")]
    value: Annotated[Any, Meta(description="Its new content, any JSON; for `set`.")] = None


class SyncContext(Ask):
    room_id: RoomId
    ops: Annotated[
        Annotated[list[ContextChange], Meta(max_length=100)] | None,
        Meta(description="Changes; without any, this only reads."),
    ] = None


class ContextView(Answer):
    revision: int
    """The seq of the newest change; 0 when there never was one."""
    changed: bool
    entries: JsonObject
