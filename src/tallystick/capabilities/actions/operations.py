"""`actions.result`, `.pending` and `.task`, what messages and waits need of actions, and the capability as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from tallystick.capabilities.actions import attachments, queries, rules
from tallystick.capabilities.actions.contract import (
    ActionQueue,
    ActionView,
    ContextFields,
    OpenAction,
    ReadPendingActions,
    ReportedResult,
    ReportResult,
    ReportTaskProgress,
    TaskProgressResult,
)
from tallystick.capabilities.actions.events import (
    ActionResultReported,
    ReportedTaskStatus,
    TaskContext,
    TaskDoneReported,
    TaskProgressReported,
)
from tallystick.capabilities.actions.model import QueueLane
from tallystick.capabilities.actions.projections import FOLDS, TABLES
from tallystick.capabilities.actions.submit import earlier_action, outcomes, relay, submit
from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.model import Departures, Participant
from tallystick.capabilities.messages import rules as message_rules
from tallystick.capabilities.messages.contract import AskedAgent
from tallystick.capabilities.messages.events import MessageConversation, MessageKind
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
        return attachments.request(tx, members, me, event)

    def asked_before(self, tx: Tx, event: Event) -> list[AskedAgent]:
        return attachments.asked_before(tx, event)


class RequestsLeftBehind:
    """Answers `agents.model.Departures`."""

    def left(self, tx: Tx, room_id: str, agent_id: str) -> None:
        attachments.abandon(tx, room_id, f"{agent_id} left the room", agent_id)

    def closed(self, tx: Tx, room_id: str) -> None:
        attachments.abandon(tx, room_id, "the room was closed")


def next_action(tx: Tx, room_id: str, me: Caller) -> ActionView | None:
    """What the caller is asked to do now."""
    head = rules.deliverable(queries.heads(tx, room_id, agent_rules.principal(me.agent_id)))
    return ActionView.of(queries.written(tx, room_id, head)) if head else None


CAPABILITY = Capability(
    name="actions",
    package="tallystick.capabilities.actions",
    operations=(submit, result, pending, task, relay, outcomes, attachments.attach, attachments.detach),
    folds=FOLDS,
    tables=TABLES,
    offers={Conversations: OpenConversations(), Departures: RequestsLeftBehind()},
    opens=open_action,
)
