"""Reads actions, queues and conversations; each query is an indexed row or range, however long the queues are."""

from __future__ import annotations

from tallystick.capabilities.actions.events import ActionResultReported
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
from tallystick.capabilities.agents.model import Participant
from tallystick.capabilities.messages.events import MessageSent
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import BodyT, Event
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx
from tallystick.storage.queries import Queries

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
