"""`messages.send` and `messages.relay`, appending a message in general, and the capability as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import UNSET, structs

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents.model import Participant
from tallystick.capabilities.blobs import queries as blobs
from tallystick.capabilities.blobs.operations import share
from tallystick.capabilities.messages import context, inbox, notifications, queries, receipts, rules, search
from tallystick.capabilities.messages.contract import (
    AskedAgent,
    RelayMessage,
    RelayMessageResult,
    SendMessage,
    SendMessageResult,
)
from tallystick.capabilities.messages.events import MessageConversation, MessageSent
from tallystick.capabilities.messages.model import USER, Author
from tallystick.capabilities.messages.queries import FOLDS, TABLES
from tallystick.capabilities.messages.rules import SourceUnavailable
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Room
from tallystick.capabilities.tasks import queries as tasks
from tallystick.kernel import envelope
from tallystick.kernel.caller import Caller, ProcessState
from tallystick.kernel.envelope import Draft, Event, or_none, or_unset
from tallystick.kernel.errors import NotFound
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger import reading
from tallystick.ledger.capability import Authors, Capability
from tallystick.ledger.contract import Envelope
from tallystick.ledger.errors import EventNotFound, RoomClosed
from tallystick.ledger.tx import Tx

_ATTENTION = {"room_id": "ROOM", "text": "Please review src/parser.py", "to": ["@foreman"], "priority": "attention"}


@operation("messages.send", reach=Reach.SPEAK, writes=True, examples=(_ATTENTION,))
def send(tx: Tx, me: Caller, ask: SendMessage) -> SendMessageResult:
    """Say something to agents of the room, or to the user. Whom it reaches is settled now and never changes later.

    With `priority: attention` every recipient has to acknowledge it. With a `client_id` sending it twice counts once.
    """
    room = rooms.room(tx, ask.room_id)
    members = agents.roster(tx, room.room_id)
    return append_once(tx, room, members, me, rules.message(ask))


LOOK_INTERVAL_MS = 1000
"""How old the knowledge may be that a recipient's process has not ended."""


class Conversations(Protocol):
    """What messages need to know of conversations among agents; answered by `actions`."""

    def check_sender(self, tx: Tx, room_id: str, by: str, about: MessageConversation) -> str | None:
        """Refuse a message that its author may not send in that conversation; whom it answers, if anybody."""
        ...

    def request(self, tx: Tx, members: Sequence[Participant], me: Caller, event: Event) -> list[AskedAgent]:
        """Have the attached agents among its recipients answer a message that was just sent."""
        ...

    def asked_before(self, tx: Tx, event: Event) -> list[AskedAgent]:
        """Whom a message asked when it was sent."""
        ...


def append_once(
    tx: Tx, room: Room, members: Sequence[Participant], me: Caller, message: MessageSent
) -> SendMessageResult:
    """Append a message for its author, unless its client_id shows that this was already done."""
    author = rules.author(members, me)
    known = queries.client_id_use(tx, room.room_id, author.principal, or_none(message.client_id))
    if known and rules.check_replay(known, message, now=tx.now):
        event = reading.event_at(tx, room.room_id, known.seq)
        return _result(tx, event, tx.use(Conversations).asked_before(tx, event), replayed=True)
    if room.closed_at is not None:
        raise RoomClosed(room_id=room.room_id)
    answers = None
    if message.conversation is not UNSET:
        rules.check_sender_name(members, author.principal, or_none(message.conversation.sender_name))
        answers = tx.use(Conversations).check_sender(tx, room.room_id, author.principal, message.conversation)
    if message.reply_to is not UNSET:
        reading.event_by_id(tx, room.room_id, message.reply_to)
    if message.src_group_id is not UNSET and message.src_event_id is not UNSET:
        _check_source(tx, message.src_group_id, message.src_event_id)
    for sha256 in rules.blobs(message):
        blobs.blob(tx, room.room_id, sha256)
    for task_id in rules.tasks(message):
        tasks.check_ref(tx, room.room_id, task_id)
    notifications.notify_overdue(tx, room)
    event = _append(tx, room, members, author, message, answers=answers)
    return _result(tx, event, tx.use(Conversations).request(tx, members, me, event), replayed=False)


def _check_source(tx: Tx, room_id: str, event_id: str) -> None:
    """A source in a room of this store has to be there; what other hubs have cannot be known."""
    try:
        tx.head(room_id)
    except NotFound:
        return
    try:
        reading.event_by_id(tx, room_id, event_id)
    except EventNotFound:
        raise SourceUnavailable(src_group_id=room_id, src_event_id=event_id) from None


def _append(
    tx: Tx,
    room: Room,
    members: Sequence[Participant],
    author: Author,
    message: MessageSent,
    *,
    answers: str | None = None,
) -> Event:
    body = structs.replace(message, recipients=rules.recipients(members, message.to, author.principal, answers=answers))
    draft = Draft.of(body, scope_key=author.scope_key, text=envelope.check_body(body))
    (event,) = tx.append(room.room_id, author.principal, [draft])
    return event


def _gone(tx: Tx, event: Event) -> list[str]:
    """Of those it was written to by name, whose process has provably ended. `@all` promises nobody."""
    message = event.read(MessageSent)
    if not rules.by_name(message.to):
        return []
    return [agent_id for agent_id in message.recipients if _has_ended(tx, event.room_id, agent_id)]


def _has_ended(tx: Tx, room_id: str, agent_id: str) -> bool:
    """Whether its process has provably ended; in a burst of messages a look for each would take as long as the rest."""
    cache = tx.cache(room_id)
    looked = cache.alive.get(agent_id)
    if looked is not None and 0 <= tx.now - looked < LOOK_INTERVAL_MS:
        return False
    known = agents.member(tx, room_id, agent_id)
    if known is not None and known.process_state is ProcessState.GONE:
        return True
    cache.lives(agent_id, tx.now)
    return False


def _result(tx: Tx, event: Event, asked: list[AskedAgent], *, replayed: bool) -> SendMessageResult:
    recipients, later = event.read(MessageSent).recipients, {each.agent_id for each in asked}
    gone = [each for each in _gone(tx, event) if each not in later]
    return SendMessageResult(event=Envelope.of(event), recipients=recipients, asked=asked, gone=gone, replayed=replayed)


def send_for_action(
    tx: Tx,
    room: Room,
    members: Sequence[Participant],
    author: Author,
    *,
    to: str,
    text: str,
    conversation: MessageConversation,
) -> Event:
    """Send the message that an action consists of; whether its author may send it is decided there."""
    rules.check_text(text)
    message = MessageSent(
        text=text, format="plain", priority="normal", to=[to], recipients=[], conversation=conversation
    )
    return _append(tx, room, members, author, message)


def send_text(tx: Tx, room: Room, me: Caller, *, to: str, text: str, attention: bool) -> Event:
    """Send a message to one recipient for another capability; with `attention` it has to be acknowledged."""
    members = agents.roster(tx, room.room_id)
    rules.check_text(text)
    priority = "attention" if attention else "normal"
    message = MessageSent(text=text, format="plain", priority=priority, to=[to], recipients=[])
    sent = append_once(tx, room, members, me, message)
    return reading.event_at(tx, room.room_id, sent.event.seq)


class RoomAuthors:
    """Answers `ledger.capability.Authors`."""

    def named(self, tx: Tx, room_id: str, who: str) -> str:
        return agents.author_named(tx, room_id, who)

    def author(self, tx: Tx, room_id: str, me: Caller) -> tuple[str, str]:
        member = agents.participant(tx, room_id, me.agent_id)
        found = rules.author([member] if member else [], me)
        return found.principal, found.scope_key


SUMMARIZED = "[Summarized]"
_BOUND_TO_ITS_ROOM = {"presentation_ref", "task_ref"}


def _noted_in(ask: RelayMessage) -> tuple[str, ...]:
    """The room it comes from, where a note of it is asked for."""
    return (ask.src_group_id,) if ask.record else ()


@operation(
    "messages.relay",
    reach=Reach.SPEAK,
    writes=True,
    also_locks=_noted_in,
    examples=({"room_id": "ROOM", "src_group_id": "OTHER", "src_event_id": "EVENT", "to": ["@all"]},),
)
def relay(tx: Tx, me: Caller, ask: RelayMessage) -> RelayMessageResult:
    """Bring a message from another room into this one, word for word and with a pointer to where it came from.

    Give a `summary` to send that instead; it is marked as one. Attached files come along; references to tasks and slots
    of the source room stay behind. `record` notes in the source room where the message went.
    """
    room = rooms.room(tx, ask.room_id)
    members = agents.roster(tx, room.room_id)
    author = rules.author(members, me)
    source = _source(tx, ask)
    message = _relayed(source.read(MessageSent), ask)
    for sha256 in rules.blobs(message):
        share(tx, sha256, source=source.room_id, target=room.room_id, by=author.principal)
    sent = append_once(tx, room, members, me, message)
    record = _record(tx, me, ask, room, sent.event) if ask.record and not sent.replayed else None
    return RelayMessageResult(
        event=sent.event,
        recipients=sent.recipients,
        asked=sent.asked,
        gone=sent.gone,
        replayed=sent.replayed,
        record=record,
    )


def _source(tx: Tx, ask: RelayMessage) -> Event:
    try:
        source = reading.event_by_id(tx, ask.src_group_id, ask.src_event_id)
    except EventNotFound:
        source = None
    if source is None or source.kind != MessageSent.kind:
        raise SourceUnavailable(src_group_id=ask.src_group_id, src_event_id=ask.src_event_id)
    return source


def _relayed(source: MessageSent, ask: RelayMessage) -> MessageSent:
    refs = [ref for ref in or_none(source.refs) or [] if ref["kind"] not in _BOUND_TO_ITS_ROOM]
    message = MessageSent(
        text=f"{SUMMARIZED} {ask.summary}" if ask.summary else source.text,
        format=source.format,
        priority=ask.priority,
        to=ask.to or [],
        recipients=[],
        src_group_id=ask.src_group_id,
        src_event_id=ask.src_event_id,
        client_id=or_unset(ask.client_id),
        attachments=source.attachments if ask.summary is None else UNSET,
        refs=refs if ask.summary is None and refs else UNSET,
    )
    rules.check_text(message.text)
    return message


def _record(tx: Tx, me: Caller, ask: RelayMessage, room: Room, relayed: Envelope) -> Envelope:
    """The note in the source room. It is for the user's eyes, so it adds to nobody else's inbox."""
    tx.lock(ask.src_group_id)
    source = rooms.open_room(tx, ask.src_group_id)
    author = rules.author(agents.roster(tx, source.room_id), me)
    note = MessageSent(
        text=f"Relayed to '{room.title}'.",
        format="plain",
        priority="normal",
        to=["@user"],
        recipients=[USER] if author.principal != USER else [],
        reply_to=ask.src_event_id,
        dst_group_id=room.room_id,
        dst_to=ask.to or [],
        dst_event_id=relayed.id,
    )
    (event,) = tx.append(source.room_id, author.principal, [Draft.of(note, scope_key=author.scope_key)])
    return Envelope.of(event)


CAPABILITY = Capability(
    name="messages",
    package="tallystick.capabilities.messages",
    operations=(
        send,
        inbox.read_inbox,
        receipts.mark_read,
        receipts.ack,
        receipts.react,
        relay,
        search.search,
        receipts.receipts,
        notifications.notify,
        notifications.ack,
        context.sync,
    ),
    folds=FOLDS,
    tables=TABLES,
    deferred_folds=search.DEFERRED_FOLDS,
    deferred_tables=search.DEFERRED_TABLES,
    offers={Authors: RoomAuthors()},
    notice=inbox.notice,
)
