"""`actions.result`, `.pending` and `.task`, what messages and waits need of actions, and the capability as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from tallystick.capabilities.actions import queries, rules
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
from tallystick.capabilities.actions.model import Kind, MessageKind, QueueLane, ReportedTaskStatus
from tallystick.capabilities.actions.projections import PROJECTIONS, TABLES
from tallystick.capabilities.actions.submit import earlier_action, outcomes, relay, submit
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Conversations, Errands, TaskBoard
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import Pending, operation
from tallystick.ledger import bodies, reading
from tallystick.ledger.capability import Capability, Opened
from tallystick.ledger.tx import Tx

SHOWN = 50


@operation(
    "actions.result",
    writes=True,
    examples=({"room_id": "ROOM", "action_id": "a1", "status": "completed", "detail": "tests are green"},),
)
def result(tx: Tx, me: Caller, ask: ReportResult) -> ReportedResult:
    """Say what became of an action that was delivered to you: accepted, queued, blocked; completed, rejected or error.

    The last three are final. Until you have sent one result the action counts as not received and is shown again.
    """
    room = rooms.open_room(tx, ask.room_id)
    _, scope_key = rules.speaker(queries.mine(tx, room.room_id, me), me)
    action = earlier_action(tx, room.room_id, ask.action_id)
    rules.check_result(action, queries.heads(tx, room.room_id, action.dst), agent_rules.principal(me.agent_id), ask)
    opened = rules.new_context(ask.data)
    rules.check_new_context(
        queries.conversation(tx, room.room_id, opened) if opened else None,
        queries.conversation(tx, room.room_id, action.context_id),
    )
    data = {
        **ask.present(without={"room_id"}),
        "group_id": action.group_id,
        "action_index": action.action_index,
        "dst": action.src,
    }
    bodies.check(data)
    (event,) = tx.append(room.room_id, action.dst, [Draft(kind=Kind.RESULT, data=data, scope_key=scope_key)])
    return ReportedResult(
        room_id=room.room_id,
        group_id=action.group_id,
        action_id=action.action_id,
        action_index=action.action_index,
        status=ask.status,
        terminal=ask.status.terminal,
        seq=event.seq,
    )


@operation("actions.pending", waits=True, examples=({"room_id": "ROOM", "max_wait_ms": 30_000},))
def pending(tx: Tx, me: Caller, ask: ReadPendingActions) -> ActionQueue | Pending[ActionQueue]:
    """Show the action that is yours to do now, how many wait behind it, and what you asked of others.

    It shows the same action until you have sent a result for it. With `max_wait_ms` it waits for one.
    """
    room_id = rooms.room(tx, ask.room_id).room_id
    agent_id = agent_rules.principal(ask.agent_id or me.agent_id)
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
    writes=True,
    examples=({"room_id": "ROOM", "task_id": "TASK-7", "status": "done", "summary": "shipped"},),
)
def task(tx: Tx, me: Caller, ask: ReportTaskProgress) -> TaskProgressResult:
    """Say how a task goes: running, blocked, ready, or done with a summary. Everyone who follows the room sees it.

    A task of this room (`TASK-…`) changes accordingly; any other id is a task of your own.
    """
    room = rooms.open_room(tx, ask.room_id)
    src, scope_key = rules.speaker(queries.mine(tx, room.room_id, me), me)
    if ask.summary is not None and ask.status is not ReportedTaskStatus.DONE:
        raise InvalidField("A summary belongs to a task that is done.", field="summary")
    tx.use(TaskBoard).progress(tx, room.room_id, src, task_id=ask.task_id, status=ask.status.value, summary=ask.summary)
    data = ask.present(without={"room_id"})
    kind = Kind.TASK_DONE if ask.status is ReportedTaskStatus.DONE else Kind.TASK_UPDATED
    (event,) = tx.append(room.room_id, src, [Draft(kind=kind, data=data, scope_key=scope_key)])
    return TaskProgressResult(room_id=room.room_id, task_id=ask.task_id, status=ask.status, seq=event.seq)


def open_action(tx: Tx, room_id: str, me: Caller, text: str) -> Opened | None:
    """An action by its id; ids are their senders' own, so what is none of ours is left to others."""
    found = queries.action(tx, room_id, text)
    return Opened.of("action", text, ActionView.of(queries.written(tx, room_id, found))) if found else None


class OpenConversations:
    def admit(self, tx: Tx, room_id: str, by: str, about: Mapping[str, object]) -> None:
        """The rules for a message are those for an action: replies answer once, everything else is the owner's."""
        said = cast("Mapping[str, str]", about)
        if parent := said.get("parent_message_id"):
            reading.event_by_id(tx, room_id, parent)
        answered = said.get("reply_to_action_id")
        if said.get("kind") == MessageKind.REPLY:
            if answered is None:
                raise InvalidField("A reply names what it answers.", field="conversation.reply_to_action_id")
            asked = earlier_action(tx, room_id, answered)
            rules.check_reply(asked, by, context_id=said.get("context_id"), dst=None)
        elif context_id := said.get("context_id"):
            known = queries.conversation(tx, room_id, context_id)
            fields = ContextFields(context_id=context_id, owner_id=said.get("owner_id"))
            rules.conversation(known, fields, by, context_id)


class NextErrands:
    def next(self, tx: Tx, room_id: str, me: Caller) -> Mapping[str, object] | None:
        head = rules.deliverable(queries.heads(tx, room_id, agent_rules.principal(me.agent_id)))
        return ActionView.of(queries.written(tx, room_id, head)).to_data() if head else None


OFFERS: dict[type, object] = {Conversations: OpenConversations(), Errands: NextErrands()}


CAPABILITY = Capability(
    name="actions",
    package="tallystick.capabilities.actions",
    operations=(submit, result, pending, task, relay, outcomes),
    projections=PROJECTIONS,
    tables=TABLES,
    offers=OFFERS,
    opens=open_action,
)
