"""Actions, queues and conversations, read, and `x.tally.action.*` events and messages folded into them.

Each query is an indexed row or range, however long the queues are.
"""

from __future__ import annotations

from msgspec import UNSET, structs

from tallystick.capabilities.actions import rules
from tallystick.capabilities.actions.events import (
    ActionResultReported,
    ActionStatus,
    ActionSubmitted,
    AgentAttached,
    AgentDetached,
)
from tallystick.capabilities.actions.model import (
    Action,
    ActionOutcome,
    AttachedProgram,
    Conversation,
    QueueHeads,
    QueueLane,
    SubmittedAction,
)
from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.agents.model import Participant
from tallystick.capabilities.messages.events import MessageKind, MessageSent
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import BodyT, Event, or_none
from tallystick.ledger import reading
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx
from tallystick.storage.sql_files import Queries

SQL = Queries("tallystick.capabilities.actions")


def mine(tx: Tx, room_id: str, me: Caller) -> list[Participant]:
    """The caller as a member, if it is one."""
    found = agents.participant(tx, room_id, me.agent_id)
    return [found] if found else []


def action(tx: Tx, room_id: str, action_id: str) -> Action | None:
    if not tx.holds(room_id):
        return tx.one(SQL["action"], Action.of_row, room_id=room_id, action_id=action_id)
    known = tx.folded(room_id).get(("action", action_id))
    if isinstance(known, Action):
        return known
    if found := tx.one(SQL["action"], Action.of_row, room_id=room_id, action_id=action_id):
        remember(tx, room_id, found)
    return found


def remember(tx: Tx, room_id: str, known: Action | Conversation) -> None:
    key = ("action", known.action_id) if isinstance(known, Action) else ("conversation", known.context_id)
    tx.remember(room_id, key, known)


def has_group(tx: Tx, room_id: str, src: str, group_id: str) -> bool:
    return tx.one(SQL["group"], dict[str, str], room_id=room_id, src=src, group_id=group_id) is not None


def heads(tx: Tx, room_id: str, dst: str) -> QueueHeads:
    found = {each.lane: each for each in tx.all(SQL["heads"], Action.of_row, room_id=room_id, dst=dst)}
    return QueueHeads(ordinary=found.get(QueueLane.ORDINARY), interrupt=found.get(QueueLane.INTERRUPT))


def waiting(tx: Tx, room_id: str, dst: str, lane: QueueLane, *, limit: int) -> int:
    """How many actions of a lane are not released yet, counted no further than `limit`."""
    return tx.one(SQL["waiting"], _number, room_id=room_id, dst=dst, lane=lane.value, limit=limit) or 0


def _number(*, number: int) -> int:
    return number


def owed(tx: Tx, room_id: str, dst: str, *, limit: int) -> list[Action]:
    return tx.all(SQL["owed"], Action.of_row, room_id=room_id, dst=dst, limit=limit)


def awaited(tx: Tx, room_id: str, src: str, *, limit: int) -> list[Action]:
    return tx.all(SQL["awaited"], Action.of_row, room_id=room_id, src=src, limit=limit)


def unfinished(tx: Tx, room_id: str, dst: str) -> list[Action]:
    """What waits for an agent, or for anybody when none is named, oldest first."""
    return tx.all(SQL["unfinished"], Action.of_row, room_id=room_id, dst=dst)


def of_message(tx: Tx, message: Event) -> list[Action]:
    """The requests that a message became: its id is their group."""
    room_id = message.room_id
    return tx.all(SQL["group_actions"], Action.of_row, room_id=room_id, src=message.by, group_id=message.id)


def attachment(tx: Tx, room_id: str, agent_id: str) -> AttachedProgram | None:
    return tx.one(SQL["attachment"], AttachedProgram.of_row, room_id=room_id, agent_id=agent_id)


def attached(tx: Tx, room_id: str) -> list[str]:
    """The agents to whom a message is a request."""
    return list(tx.kept(room_id, ("attached",), lambda: tx.all(SQL["attached"], _agent, room_id=room_id)))


def _agent(*, agent_id: str) -> str:
    return agent_id


def conversation(tx: Tx, room_id: str, context_id: str) -> Conversation | None:
    if not tx.holds(room_id):
        return tx.one(SQL["conversation"], Conversation, room_id=room_id, context_id=context_id)
    known = known_conversation(tx, room_id, context_id)
    if known is None and (known := tx.one(SQL["conversation"], Conversation, room_id=room_id, context_id=context_id)):
        remember(tx, room_id, known)
    return known


def known_conversation(tx: Tx, room_id: str, context_id: str) -> Conversation | None:
    """The same from the cache only: None does not say that there is none."""
    known = tx.folded(room_id).get(("conversation", context_id))
    return known if isinstance(known, Conversation) else None


def forget_conversation(tx: Tx, room_id: str, context_id: str) -> None:
    """Its row has changed."""
    tx.folded(room_id).pop(("conversation", context_id), None)


def written(tx: Tx, room_id: str, action: Action) -> SubmittedAction:
    """The action with its words, as they were submitted."""
    return SubmittedAction(action=action, event=reading.event_at(tx, room_id, action.seq))


def group(tx: Tx, room_id: str, src: str, group_id: str) -> list[ActionOutcome]:
    """What came of every action of a group, in its order."""
    found = tx.all(SQL["group_actions"], Action.of_row, room_id=room_id, src=src, group_id=group_id)
    return [
        ActionOutcome(
            action=each,
            result=_body(tx, room_id, each.result_seq, ActionResultReported),
            reply=_body(tx, room_id, each.reply_seq, MessageSent),
        )
        for each in found
    ]


def _body(tx: Tx, room_id: str, seq: int | None, body: type[BodyT]) -> BodyT | None:
    return reading.event_at(tx, room_id, seq).read(body) if seq else None


@fold(ActionSubmitted)
def _submitted(tx: Tx, event: Event, body: ActionSubmitted) -> None:
    command = or_none(body.command)
    # A reply asks nothing: it is settled by being on the ledger, and never stands in a queue.
    settled = body.message_kind is MessageKind.REPLY
    status = ActionStatus.COMPLETED if settled else None
    action = Action(
        action_id=body.action_id,
        seq=event.seq,
        group_id=body.group_id,
        action_index=body.action_index,
        src=event.by,
        dst=body.dst,
        type=body.type,
        kind=or_none(body.message_kind),
        command=command,
        context_id=body.context.context_id,
        lane=rules.lane(command),
        status=status,
        released=settled,
        finished=settled,
        replied=False,
    )
    tx.run(
        SQL["submit"],
        room_id=event.room_id,
        action_id=action.action_id,
        seq=action.seq,
        group_id=action.group_id,
        action_index=action.action_index,
        src=action.src,
        dst=action.dst,
        type=action.type.value,
        kind=action.kind.value if action.kind else None,
        command=command.value if command else None,
        context_id=action.context_id,
        lane=action.lane.value,
        status=status.value if status else None,
        settled=int(settled),
    )
    remember(tx, event.room_id, action)
    _open_conversation(tx, event, body.context.context_id, body.context.owner_id)


@fold(ActionResultReported)
def _resulted(tx: Tx, event: Event, body: ActionResultReported) -> None:
    answered = action(tx, event.room_id, body.action_id)
    if answered is None:
        return
    # What was let through once stays through: a message that was accepted may still be blocked later.
    released = answered.released or rules.releases(answered.type, body.status)
    tx.run(
        SQL["settle"],
        room_id=event.room_id,
        action_id=body.action_id,
        status=body.status.value,
        released=int(released),
        finished=int(body.status.terminal),
        result_seq=event.seq,
    )
    settled = structs.replace(answered, status=body.status, released=released, finished=body.status.terminal)
    remember(tx, event.room_id, settled)
    opened = rules.new_context(or_none(body.data))
    former = conversation(tx, event.room_id, answered.context_id) if opened else None
    if opened and former:
        _open_conversation(tx, event, opened, former.owner_id)


@fold(MessageSent)
def _message_sent(tx: Tx, event: Event, body: MessageSent) -> None:
    """A message that belongs to a conversation opens it, and as a reply settles what it answers."""
    about = body.conversation
    if about is UNSET:
        return
    if context_id := or_none(about.context_id):
        _open_conversation(tx, event, context_id, or_none(about.owner_id) or event.by)
    answered = or_none(about.reply_to_action_id)
    if about.kind is MessageKind.REPLY and answered and (asked := action(tx, event.room_id, answered)):
        tx.run(SQL["reply"], room_id=event.room_id, action_id=asked.action_id, reply_seq=event.seq)
        tx.run(SQL["exchange"], room_id=event.room_id, context_id=asked.context_id)
        remember(tx, event.room_id, structs.replace(asked, replied=True))
        forget_conversation(tx, event.room_id, asked.context_id)


@fold(AgentAttached)
def _agent_attached(tx: Tx, event: Event, body: AgentAttached) -> None:
    tx.run(SQL["attach"], room_id=event.room_id, agent_id=body.agent_id, program=body.program)
    tx.forget(event.room_id, "attached")


@fold(AgentDetached)
def _agent_detached(tx: Tx, event: Event, body: AgentDetached) -> None:
    tx.run(SQL["detach"], room_id=event.room_id, agent_id=body.agent_id)


@fold(MemberRemoved)
def _member_left(tx: Tx, event: Event, body: MemberRemoved) -> None:
    tx.run(SQL["forget_attachment"], room_id=event.room_id, agent_id=body.actor_id)
    tx.forget(event.room_id, "attached")


def _open_conversation(tx: Tx, event: Event, context_id: str, owner_id: str) -> None:
    if known_conversation(tx, event.room_id, context_id) is None:
        tx.run(SQL["converse"], room_id=event.room_id, context_id=context_id, owner_id=owner_id, opened_seq=event.seq)


FOLDS = (_submitted, _resulted, _message_sent, _agent_attached, _agent_detached, _member_left)
TABLES = ("actions", "conversations", "attachments")
