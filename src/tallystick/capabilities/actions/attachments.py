"""`actions.attach` and `.detach`: agents to whom a message is a request, and what becomes of what waits for one.

That an agent is attached is on the ledger, so a message is a request whether its program runs right now or comes back
tomorrow. Whether it is there is seen at the moment of sending, and said to the sender.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from tallystick.capabilities.actions import queries, rules
from tallystick.capabilities.actions.contract import AttachAgent, AttachmentResult, DetachAgent
from tallystick.capabilities.actions.events import (
    ActionContext,
    ActionResultReported,
    ActionStatus,
    ActionSubmitted,
    ActionType,
    AgentAttached,
    AgentDetached,
)
from tallystick.capabilities.actions.model import Action, Conversation, QueueLane
from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.model import Participant
from tallystick.capabilities.messages.contract import AskedAgent
from tallystick.capabilities.messages.events import MessageKind, MessageSent
from tallystick.capabilities.messages.model import SYSTEM
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel import envelope
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, Event, or_none, or_unset
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx


@operation(
    "actions.attach",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "program": "claude"},),
)
def attach(tx: Tx, me: Caller, ask: AttachAgent) -> AttachmentResult:
    """Take what is said to you as requests: each message becomes an action in your queue, and its reply your answer.

    For programs that serve their queue, as `tally attach` does. It lasts until you leave the room.
    """
    room = rooms.open_room(tx, ask.room_id)
    member = agent_rules.membership(agents.roster(tx, room.room_id), me)
    known = queries.attachment(tx, room.room_id, member.agent_id)
    if known is None or known.away or known.program != ask.program:
        body = AgentAttached(agent_id=member.agent_id, program=ask.program)
        tx.append(room.room_id, member.agent_id, [Draft.of(body, scope_key=member.scope_key)])
    return AttachmentResult(room_id=room.room_id, agent_id=member.agent_id, away=False)


@operation(
    "actions.detach",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "reason": "told to end"},),
)
def detach(tx: Tx, me: Caller, ask: DetachAgent) -> AttachmentResult:
    """Say that you go away for now. Requests wait for you, and whoever sends one is told so."""
    room = rooms.open_room(tx, ask.room_id)
    member = agent_rules.membership(agents.roster(tx, room.room_id), me)
    known = queries.attachment(tx, room.room_id, member.agent_id)
    if known and not known.away:
        body = AgentDetached(agent_id=member.agent_id, reason=or_unset(ask.reason))
        tx.append(room.room_id, member.agent_id, [Draft.of(body, scope_key=member.scope_key)])
    return AttachmentResult(room_id=room.room_id, agent_id=member.agent_id, away=True)


def request(tx: Tx, members: Sequence[Participant], me: Caller, event: Event) -> list[AskedAgent]:
    """Put a message into the queue of every attached agent that it asks, in the transaction that sends it."""
    message = event.read(MessageSent)
    attached = queries.attached(tx, event.room_id)
    if not attached or _asks_nothing(tx, event, message):
        return []
    targets = rules.asked(message, members, event.by, attached)
    if targets:
        rules.check_may_ask(me, targets)
    talks = event.by in attached
    return [_put(tx, event, index, dst, talks=talks) for index, dst in enumerate(targets)]


def _asks_nothing(tx: Tx, event: Event, message: MessageSent) -> bool:
    """Whether it asks nothing: it says so, or its author was asked what it replies to."""
    about = or_none(message.conversation)
    if about and about.kind not in {UNSET, MessageKind.USER}:
        return True
    replied = _replied(tx, event.room_id, message)
    return replied is not None and any(action.dst == event.by for action in queries.of_message(tx, replied))


def _put(tx: Tx, event: Event, index: int, dst: str, *, talks: bool) -> AskedAgent:
    """`talks` says that the author is an attached agent itself."""
    message = event.read(MessageSent)
    conversation = _conversation(tx, event, message, dst)
    rules.check_exchanges(conversation, talks=talks)
    before = queries.waiting(tx, event.room_id, dst, QueueLane.ORDINARY, limit=rules.QUEUE_LIMIT)
    rules.check_queue(dst, before, 1)
    about = or_none(message.conversation)
    body = ActionSubmitted(
        type=ActionType.MESSAGE,
        action_id=rules.action_of_message(event.id, index),
        action_index=index,
        group_id=event.id,
        dst=dst,
        context=ActionContext(context_id=conversation.context_id, owner_id=conversation.owner_id),
        task_id=about.task_id if about else UNSET,
        message_kind=MessageKind.USER,
        text=rules.request_text(message),
        message_id=event.id,
    )
    draft = Draft.of(body, scope_key=event.scope_key, text=envelope.check_body(body))
    tx.append(event.room_id, event.by, [draft])
    return AskedAgent(agent_id=dst, action_id=body.action_id, before=before, away=is_away(tx, event.room_id, dst))


def _conversation(tx: Tx, event: Event, message: MessageSent, dst: str) -> Conversation:
    """What a request goes on with: the conversation it names, that of what it replies to, else the standing one."""
    about = or_none(message.conversation)
    context_id = or_none(about.context_id) if about else None
    if context_id is None and (replied := _replied(tx, event.room_id, message)):
        context_id = _context_of(replied)
    known = queries.conversation(tx, event.room_id, context_id) if context_id else None
    if known and known.owner_id == event.by:
        return known
    standing = rules.standing_conversation(event.by, dst)
    return queries.conversation(tx, event.room_id, standing.context_id) or standing


def _replied(tx: Tx, room_id: str, message: MessageSent) -> Event | None:
    replied = or_none(message.reply_to)
    return reading.event_by_id(tx, room_id, replied) if replied else None


def _context_of(event: Event) -> str | None:
    said = event.content
    about = or_none(said.conversation) if isinstance(said, MessageSent) else None
    return or_none(about.context_id) if about else None


def asked_before(tx: Tx, event: Event) -> list[AskedAgent]:
    """Whom a message that was sent before had asked."""
    return [
        AskedAgent(agent_id=each.dst, action_id=each.action_id, before=0, away=is_away(tx, event.room_id, each.dst))
        for each in queries.of_message(tx, event)
    ]


def is_away(tx: Tx, room_id: str, agent_id: str) -> bool:
    known, member = queries.attachment(tx, room_id, agent_id), agents.member(tx, room_id, agent_id)
    return rules.away(known, member, now=tx.now)


def abandon(tx: Tx, room_id: str, reason: str, agent_id: str | None = None) -> None:
    """End whatever waits for an agent that leaves, or for anybody in a room that closes: nobody waits for ever."""
    for action in queries.unfinished(tx, room_id, agent_id or ""):
        tx.append(room_id, SYSTEM, [Draft.of(_rejection(action, reason))])


def _rejection(action: Action, reason: str) -> ActionResultReported:
    return ActionResultReported(
        action_id=action.action_id,
        group_id=action.group_id,
        action_index=action.action_index,
        dst=action.src,
        status=ActionStatus.REJECTED,
        detail=reason,
    )
