"""Pure decisions about messages: who speaks, whom it reaches, what may be acknowledged and marked read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import UNSET

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.errors import AgentNotFound
from tallystick.capabilities.agents.model import Participant, Role
from tallystick.capabilities.messages.contract import TEXT_LIMIT, ConversationRef, SendMessage
from tallystick.capabilities.messages.events import (
    MessageAcked,
    MessageConversation,
    MessageSent,
    NotificationAcked,
    NotificationSent,
)
from tallystick.capabilities.messages.model import (
    SYSTEM,
    USER,
    Author,
    AwaitedMessage,
    ClientIdUse,
    Delivery,
    InboxCounts,
    InboxListener,
    Selector,
)
from tallystick.kernel.caller import Caller, ProcessState, is_person
from tallystick.kernel.clock import Instant, to_wire
from tallystick.kernel.envelope import Event, or_none, or_unset, to_json
from tallystick.kernel.errors import Conflict, InvalidField, InvalidInput, NotAllowed, NotFound, TooLarge, did_you_mean
from tallystick.kernel.hints import known, step
from tallystick.kernel.ids import digest

REPLAY_MS = 24 * 60 * 60 * 1000
LISTENER_GRACE_MS = 5_000
"""How long after its time a wait still counts as listening."""
OVERDUE = "nudge"
"""The kind of notification that says that acks are overdue."""

RESERVED_SERVICES = ("svc:cccc.", "svc:tally.")
_OTHER_PRINCIPALS = frozenset({USER, SYSTEM})
_SELECTING = frozenset[str]({Selector.ALL, Selector.PEERS, Selector.FOREMAN})
_SERVICE = re.compile(r"svc:[^\s:]\S*")


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


def author(members: Sequence[Participant], me: Caller) -> Author:
    """Whom an event by this caller is ascribed to; refused unless it is a member or another principal."""
    name = agent_rules.principal(me.agent_id)
    if name.startswith(RESERVED_SERVICES):
        raise ReservedService(f"'{name}' is reserved.", principal=name)
    if name in _OTHER_PRINCIPALS or _SERVICE.fullmatch(name):
        return Author(principal=name)
    return Author(principal=name, scope_key=agent_rules.membership(members, me).scope_key)


def check_sender_name(members: Sequence[Participant], sender: str, name: str | None) -> None:
    """Readers may trust the name on a message: it is the sender's id or present name."""
    own = {sender, *(member.name for member in members if member.agent_id == sender)}
    if name is not None and name not in own:
        raise WrongSenderName(f"'{sender}' is not called '{name[:128]}'.", sender_name=name[:128], names=sorted(own))


def recipients(
    members: Sequence[Participant], to: Sequence[str], sender: str, *, answers: str | None = None
) -> list[str]:
    """Everyone the tokens reach right now, sorted; the sender only when it is named and not merely selected.

    Whoever is answered is reached, in the room or not: its inbox keeps the answer.
    """
    named, selected = set[str](), set[str]()
    for token in to or [answers or Selector.ALL]:
        chosen = {token} if token == answers else _chosen(members, token)
        (selected if token in _SELECTING else named).update(chosen)
    found = named | (selected - {sender})
    if not found:
        raise UnknownRecipient("Nobody but you is here to receive it.", to=list(to))
    return sorted(found)


def by_name(to: Sequence[str]) -> bool:
    """Whether a message is written to certain recipients and to no selection."""
    return bool(to) and _SELECTING.isdisjoint(to)


def notified(members: Sequence[Participant], target: str | None) -> str | None:
    """The one actor that a notification is for, by its id; None for everyone."""
    if target is None:
        return None
    if target in _SELECTING:
        raise InvalidField(
            f"A notification is for one actor or for everyone, not for {target}.", field="target_actor_id"
        )
    (found,) = _chosen(members, target)
    return found


def _chosen(members: Sequence[Participant], token: str) -> set[str]:
    if token in _SELECTING:
        chosen = _selected(members, token)
    else:
        who = USER if token == Selector.USER else agent_rules.principal(token)
        chosen = {who} if who == USER or _SERVICE.fullmatch(who) else _called(members, token)
    if not chosen:
        raise _unknown(token, _selected(members, Selector.ALL))
    return {agent_rules.principal(each) for each in chosen}


def _called(members: Sequence[Participant], token: str) -> set[str]:
    """The member of this id or name; nobody for a selector that is none, or a refusal that names who there is."""
    if token.startswith("@"):
        return set()
    try:
        return {agent_rules.named(members, token).agent_id}
    except AgentNotFound:
        raise _unknown(token, _selected(members, Selector.ALL)) from None


def _selected(members: Sequence[Participant], selector: str) -> set[str]:
    match selector:
        case Selector.PEERS:
            return {
                member.agent_id for member in members if member.role is Role.PEER and not is_person(member.agent_id)
            }
        case Selector.FOREMAN:
            return {agent_rules.principal(member.agent_id) for member in members if member.role is Role.FOREMAN}
        case _:
            return {agent_rules.principal(member.agent_id) for member in members} | {USER}


def _unknown(token: str, everyone: Iterable[str]) -> UnknownRecipient | AgentNotFound:
    known = sorted({*everyone, *Selector})
    if token in {Selector.PEERS, Selector.FOREMAN}:
        text = f"There is no {token[1:].rstrip('s')} in this room."
    else:
        text = f"'{token}' is not in this room.{did_you_mean(token, known)}"
    return (UnknownRecipient if token.startswith("@") else AgentNotFound)(text, recipient=token, known=known)


def message(ask: SendMessage) -> MessageSent:
    """A message as its author wrote it, without the recipients it will resolve to."""
    if (ask.src_group_id is None) != (ask.src_event_id is None):
        raise InvalidField("src_group_id and src_event_id belong together.", field="src_event_id")
    if ask.dst_to is not None and ask.dst_group_id is None:
        raise InvalidField("dst_to needs dst_group_id.", field="dst_group_id")
    if not ask.text.strip() and not ask.attachments:
        raise InvalidField("text may be empty only when attachments carry the message.", field="text")
    check_text(ask.text)
    return MessageSent(
        text=ask.text,
        format=ask.format,
        priority=ask.priority,
        to=ask.to or [],
        recipients=[],
        reply_to=or_unset(ask.reply_to),
        quote_text=or_unset(ask.quote_text),
        src_group_id=or_unset(ask.src_group_id),
        src_event_id=or_unset(ask.src_event_id),
        dst_group_id=or_unset(ask.dst_group_id),
        dst_to=or_unset(ask.dst_to),
        attachments=[attachment.data() for attachment in ask.attachments] if ask.attachments else UNSET,
        refs=[reference.data() for reference in ask.refs] if ask.refs else UNSET,
        thread=or_unset(ask.thread),
        conversation=_conversation(ask.conversation) if ask.conversation else UNSET,
        client_id=or_unset(ask.client_id),
        client_ts=or_unset(ask.client_ts),
    )


def _conversation(given: ConversationRef) -> MessageConversation:
    return MessageConversation(
        context_id=or_unset(given.context_id),
        owner_id=or_unset(given.owner_id),
        kind=or_unset(given.kind),
        reply_to_action_id=or_unset(given.reply_to_action_id),
        parent_message_id=or_unset(given.parent_message_id),
        task_id=or_unset(given.task_id),
        sender_name=or_unset(given.sender_name),
    )


def tasks(message: MessageSent) -> list[str]:
    """The tasks that a message's references name."""
    return [ref["task_id"] for ref in or_none(message.refs) or [] if ref.get("kind") == "task_ref"]


def blobs(message: MessageSent) -> list[str]:
    """The hashes of all files that a message refers to."""
    if message.attachments is UNSET and message.refs is UNSET:
        return []
    attachments, refs = or_none(message.attachments) or [], or_none(message.refs) or []
    paths: list[str] = [
        *(attachment["path"] for attachment in attachments),
        *(ref["snapshot"]["path"] for ref in refs if ref.get("snapshot")),
    ]
    return sorted({path.removeprefix("blobs/") for path in paths})


def check_text(text: str) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > TEXT_LIMIT:
        raise TooLarge(f"text is longer than {TEXT_LIMIT} bytes.", field="text", limit=TEXT_LIMIT)


def fingerprint(message: MessageSent) -> str:
    """What makes two submissions of a client_id the same message: all its author wrote, except when."""
    return digest(to_json(message.to_data(without={"recipients", "client_ts"})), length=64)


def check_replay(used: ClientIdUse | None, message: MessageSent, *, now: Instant) -> bool:
    """Whether this client_id has already sent exactly this message."""
    if used is None or used.sent_at + REPLAY_MS <= now:
        return False
    if used.digest != fingerprint(message):
        raise ClientIdConflict(client_id=message.client_id)
    return True


def asks_for_ack(body: MessageSent | NotificationSent) -> bool:
    """Whether each recipient, unless it is the sender, owes an acknowledgement once this is delivered."""
    return body.requires_ack if isinstance(body, NotificationSent) else body.priority == "attention"


def check_self(me: str, actor_id: str | None) -> None:
    if actor_id is not None and agent_rules.principal(actor_id) != me:
        raise NotYourAck(f"You are '{me}' and cannot acknowledge for '{actor_id}'.", actor_id=actor_id)


def check_ack(event: Event, delivery: Delivery | None, me: str) -> Delivery:
    """An attention message that was addressed to the one who acknowledges it."""
    message = event.content
    if not isinstance(message, MessageSent) or not asks_for_ack(message):
        raise NotAnAttentionMessage(event_id=event.id)
    if event.by == me:
        raise OwnMessage(event_id=event.id)
    return addressed(event, delivery, me)


def check_notify_ack(event: Event, delivery: Delivery | None, me: str) -> Delivery:
    if event.kind != NotificationSent.kind:
        raise InvalidField(
            f"'{event.id}' is a {event.kind}, not a notification.",
            field="notify_event_id",
            hint=f"{step('messages.inbox')} shows what may be acknowledged.",
        )
    return addressed(event, delivery, me)


def addressed(event: Event, delivery: Delivery | None, actor_id: str) -> Delivery:
    if delivery is None:
        raise NotAddressed(f"'{event.id}' was not addressed to '{actor_id}'.", event_id=event.id, actor_id=actor_id)
    return delivery


def check_reader(me: str, actor_id: str) -> None:
    """A read mark is moved by its owner, or by the user."""
    if me not in {actor_id, USER}:
        raise NotYourInbox(f"You are '{me}' and cannot mark for '{actor_id}'.", actor_id=actor_id)


def moves(inbox: InboxCounts, delivery: Delivery) -> bool:
    return delivery.seq > inbox.read_seq


def acknowledgement(event: Event, actor_id: str) -> MessageAcked | NotificationAcked:
    """What says that an actor accepted a message or a notification."""
    if event.kind == NotificationSent.kind:
        return NotificationAcked(actor_id=actor_id, notify_event_id=event.id)
    return MessageAcked(actor_id=actor_id, event_id=event.id)


def overdue_notification(awaited: AwaitedMessage, missing: Sequence[str]) -> NotificationSent:
    """What tells a sender who has not acknowledged."""
    who = ", ".join(missing)
    return NotificationSent(
        about=OVERDUE,
        priority="high",
        title="Acknowledgement overdue",
        message=f"Your message of {to_wire(awaited.sent_at)} still waits for the ack of {who}.",
        target_actor_id=awaited.sender,
        context={"waiting_for": list(missing)},
        requires_ack=False,
        related_event_id=awaited.event_id,
        recipients=[awaited.sender],
    )


def check_listener(present: InboxListener, process: ProcessState, *, now: Instant) -> None:
    """One listener per name: a second one is refused unless the first is over, out of time or provably dead."""
    if present.listener_id is None or process is ProcessState.GONE:
        return
    # A clock that was set back must not keep a dead wait alive.
    if present.since <= now < present.until:
        since, pid = to_wire(present.since), present.process.pid if present.process else None
        raise DuplicateListener(f"A wait of yours listens since {since}.", since=since, pid=pid)
