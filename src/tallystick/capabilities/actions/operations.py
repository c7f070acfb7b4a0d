"""`actions.result`, `.pending`, `.task`, `.attach` and `.detach`, and the capability as a whole.

That an agent is attached is on the ledger, so a message is a request to it whether its program runs right now or comes
back tomorrow. Whether it is there is seen at the moment of sending, and said to the sender.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from tallystick.capabilities.actions import queries, rules
from tallystick.capabilities.actions.contract import (
    ActionQueue,
    ActionView,
    AttachAgent,
    AttachmentResult,
    ContextFields,
    DetachAgent,
    OpenAction,
    ReadPendingActions,
    ReportedResult,
    ReportResult,
    ReportTaskProgress,
    TaskProgressResult,
)
from tallystick.capabilities.actions.events import (
    ActionContext,
    ActionResultReported,
    ActionStatus,
    ActionSubmitted,
    ActionType,
    AgentAttached,
    AgentDetached,
    ReportedTaskStatus,
    TaskContext,
    TaskDoneReported,
    TaskProgressReported,
)
from tallystick.capabilities.actions.model import Action, Conversation, QueueLane
from tallystick.capabilities.actions.queries import FOLDS, TABLES
from tallystick.capabilities.actions.submit import earlier_action, outcomes, relay, submit
from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.model import Departures, Participant
from tallystick.capabilities.messages import rules as message_rules
from tallystick.capabilities.messages.contract import AskedAgent
from tallystick.capabilities.messages.events import MessageConversation, MessageKind, MessageSent
from tallystick.capabilities.messages.model import SYSTEM
from tallystick.capabilities.messages.operations import Conversations
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.tasks.tasks import record_progress
from tallystick.kernel import envelope
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, Event, or_none, or_unset
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import Pending, Reach, as_record, operation
from tallystick.ledger import reading
from tallystick.ledger.capability import Capability, Opened
from tallystick.ledger.tx import Tx

SHOWN = 50


@operation(
    "actions.result",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "action_id": "a1", "status": "completed", "detail": "tests are green"},),
)
def result(tx: Tx, me: Caller, ask: ReportResult) -> ReportedResult:
    """Say what became of an action that was delivered to you: accepted, queued, blocked; completed, rejected or error.

    The last three are final. Until you have sent one result the action counts as not received and is shown again.
    """
    room = rooms.open_room(tx, ask.room_id)
    author = message_rules.author(queries.mine(tx, room.room_id, me), me)
    action = earlier_action(tx, room.room_id, ask.action_id)
    rules.check_result(action, queries.heads(tx, room.room_id, action.dst), agent_rules.principal(me.agent_id), ask)
    opened = rules.new_context(ask.data)
    rules.check_new_context(
        queries.conversation(tx, room.room_id, opened) if opened else None,
        queries.conversation(tx, room.room_id, action.context_id),
    )
    body = ActionResultReported(
        action_id=action.action_id,
        group_id=action.group_id,
        action_index=action.action_index,
        dst=action.src,
        status=ask.status,
        detail=or_unset(ask.detail),
        data=or_unset(ask.data),
    )
    draft = Draft.of(body, scope_key=author.scope_key, text=envelope.check_body(body))
    (event,) = tx.append(room.room_id, action.dst, [draft])
    return ReportedResult(
        room_id=room.room_id,
        group_id=action.group_id,
        action_id=action.action_id,
        action_index=action.action_index,
        status=ask.status,
        terminal=ask.status.terminal,
        seq=event.seq,
    )


@operation("actions.pending", reach=Reach.READ, waits=True, examples=({"room_id": "ROOM", "max_wait_ms": 30_000},))
def pending(tx: Tx, me: Caller, ask: ReadPendingActions) -> ActionQueue | Pending[ActionQueue]:
    """Show the action that is yours to do now, how many wait behind it, and what you asked of others.

    It shows the same action until you have sent a result for it. With `max_wait_ms` it waits for one.
    """
    room_id = rooms.room(tx, ask.room_id).room_id
    whom = agents.principal_named(tx, room_id, ask.agent_id) if ask.agent_id else me.agent_id
    agent_id = agent_rules.principal(whom)
    head = rules.deliverable(queries.heads(tx, room_id, agent_id))
    waiting = [queries.waiting(tx, room_id, agent_id, lane, limit=rules.QUEUE_LIMIT) for lane in QueueLane]
    found = ActionQueue(
        agent_id=agent_id,
        next=ActionView.of(queries.written(tx, room_id, head)) if head else None,
        waiting=min(sum(waiting), rules.QUEUE_LIMIT),
        open=[OpenAction.of(each) for each in queries.owed(tx, room_id, agent_id, limit=SHOWN)],
        awaited=[OpenAction.of(each) for each in queries.awaited(tx, room_id, agent_id, limit=SHOWN)],
    )
    return found if found.next else Pending(found, wait_ms=ask.max_wait_ms)


@operation(
    "actions.task",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "task_id": "TASK-7", "status": "done", "summary": "shipped"},),
)
def task(tx: Tx, me: Caller, ask: ReportTaskProgress) -> TaskProgressResult:
    """Say how a task goes: running, blocked, ready, or done with a summary. Everyone who follows the room sees it.

    A task of this room (`TASK-…`) changes accordingly; any other id is a task of your own.
    """
    room = rooms.open_room(tx, ask.room_id)
    author = message_rules.author(queries.mine(tx, room.room_id, me), me)
    if ask.summary is not None and ask.status is not ReportedTaskStatus.DONE:
        raise InvalidField("A summary belongs to a task that is done.", field="summary")
    by, summary = author.principal, ask.summary
    record_progress(tx, room.room_id, by, task_id=ask.task_id, status=ask.status.value, summary=summary)
    kind = TaskDoneReported if ask.status is ReportedTaskStatus.DONE else TaskProgressReported
    body = kind(
        task_id=ask.task_id,
        status=ask.status,
        detail=or_unset(ask.detail),
        summary=or_unset(summary),
        context=as_record(TaskContext, ask.context.present()) if ask.context else UNSET,
    )
    (event,) = tx.append(room.room_id, by, [Draft.of(body, scope_key=author.scope_key)])
    return TaskProgressResult(room_id=room.room_id, task_id=ask.task_id, status=ask.status, seq=event.seq)


def open_action(tx: Tx, room_id: str, me: Caller, text: str) -> Opened | None:
    """An action by its id; ids are their senders' own, so what is none of ours is left to others."""
    found = queries.action(tx, room_id, text)
    return Opened.of("action", text, ActionView.of(queries.written(tx, room_id, found))) if found else None


class OpenConversations:
    """Answers `messages.operations.Conversations`."""

    def check_sender(self, tx: Tx, room_id: str, by: str, about: MessageConversation) -> str | None:
        """The rules for a message are those for an action: replies answer once, everything else is the owner's."""
        if parent := or_none(about.parent_message_id):
            reading.event_by_id(tx, room_id, parent)
        context_id = or_none(about.context_id)
        if about.kind is MessageKind.REPLY:
            if about.reply_to_action_id is UNSET:
                raise InvalidField("A reply names what it answers.", field="conversation.reply_to_action_id")
            asked = earlier_action(tx, room_id, about.reply_to_action_id)
            rules.check_reply(asked, queries.heads(tx, room_id, asked.dst), by, context_id=context_id, dst=None)
            return asked.src
        if context_id:
            known = queries.conversation(tx, room_id, context_id)
            fields = ContextFields(context_id=context_id, owner_id=or_none(about.owner_id))
            rules.conversation(known, fields, by, context_id)
        return None

    def request(self, tx: Tx, members: Sequence[Participant], me: Caller, event: Event) -> list[AskedAgent]:
        return request(tx, members, me, event)

    def asked_before(self, tx: Tx, event: Event) -> list[AskedAgent]:
        return asked_before(tx, event)


class RequestsLeftBehind:
    """Answers `agents.model.Departures`."""

    def left(self, tx: Tx, room_id: str, agent_id: str) -> None:
        abandon(tx, room_id, f"{agent_id} left the room", agent_id)

    def closed(self, tx: Tx, room_id: str) -> None:
        abandon(tx, room_id, "the room was closed")


def next_action(tx: Tx, room_id: str, me: Caller) -> ActionView | None:
    """What the caller is asked to do now."""
    head = rules.deliverable(queries.heads(tx, room_id, agent_rules.principal(me.agent_id)))
    return ActionView.of(queries.written(tx, room_id, head)) if head else None


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


CAPABILITY = Capability(
    name="actions",
    package="tallystick.capabilities.actions",
    operations=(submit, result, pending, task, relay, outcomes, attach, detach),
    folds=FOLDS,
    tables=TABLES,
    offers={Conversations: OpenConversations(), Departures: RequestsLeftBehind()},
    opens=open_action,
)
