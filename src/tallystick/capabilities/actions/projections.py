"""`x.tally.action.*` events, and the conversations that messages name, folded into queues and owners."""

from __future__ import annotations

from msgspec import UNSET, structs

from tallystick.capabilities.actions import queries, rules
from tallystick.capabilities.actions.events import (
    ActionResultReported,
    ActionStatus,
    ActionSubmitted,
    AgentAttached,
    AgentDetached,
)
from tallystick.capabilities.actions.model import Action
from tallystick.capabilities.actions.queries import SQL
from tallystick.capabilities.agents.events import MemberRemoved
from tallystick.capabilities.messages.events import MessageKind, MessageSent
from tallystick.kernel.envelope import Event, or_none
from tallystick.ledger.capability import fold
from tallystick.ledger.tx import Tx


@fold(ActionSubmitted)
def submitted(tx: Tx, event: Event, body: ActionSubmitted) -> None:
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
    queries.remember(tx, event.room_id, action)
    _open_conversation(tx, event, body.context.context_id, body.context.owner_id)


@fold(ActionResultReported)
def resulted(tx: Tx, event: Event, body: ActionResultReported) -> None:
    action = queries.action(tx, event.room_id, body.action_id)
    if action is None:
        return
    # What was let through once stays through: a message that was accepted may still be blocked later.
    released = action.released or rules.releases(action.type, body.status)
    tx.run(
        SQL["settle"],
        room_id=event.room_id,
        action_id=body.action_id,
        status=body.status.value,
        released=int(released),
        finished=int(body.status.terminal),
        result_seq=event.seq,
    )
    settled = structs.replace(action, status=body.status, released=released, finished=body.status.terminal)
    queries.remember(tx, event.room_id, settled)
    opened = rules.new_context(or_none(body.data))
    former = queries.conversation(tx, event.room_id, action.context_id) if opened else None
    if opened and former:
        _open_conversation(tx, event, opened, former.owner_id)


@fold(MessageSent)
def message_sent(tx: Tx, event: Event, body: MessageSent) -> None:
    """A message that belongs to a conversation opens it, and as a reply settles what it answers."""
    about = body.conversation
    if about is UNSET:
        return
    if context_id := or_none(about.context_id):
        _open_conversation(tx, event, context_id, or_none(about.owner_id) or event.by)
    answered = or_none(about.reply_to_action_id)
    if about.kind is MessageKind.REPLY and answered and (asked := queries.action(tx, event.room_id, answered)):
        tx.run(SQL["reply"], room_id=event.room_id, action_id=asked.action_id, reply_seq=event.seq)
        tx.run(SQL["exchange"], room_id=event.room_id, context_id=asked.context_id)
        queries.remember(tx, event.room_id, structs.replace(asked, replied=True))
        queries.forget_conversation(tx, event.room_id, asked.context_id)


@fold(AgentAttached)
def agent_attached(tx: Tx, event: Event, body: AgentAttached) -> None:
    tx.run(SQL["attach"], room_id=event.room_id, agent_id=body.agent_id, program=body.program)
    tx.forget(event.room_id, "attached")


@fold(AgentDetached)
def agent_detached(tx: Tx, event: Event, body: AgentDetached) -> None:
    tx.run(SQL["detach"], room_id=event.room_id, agent_id=body.agent_id)


@fold(MemberRemoved)
def member_left(tx: Tx, event: Event, body: MemberRemoved) -> None:
    tx.run(SQL["forget_attachment"], room_id=event.room_id, agent_id=body.actor_id)
    tx.forget(event.room_id, "attached")


def _open_conversation(tx: Tx, event: Event, context_id: str, owner_id: str) -> None:
    if queries.known_conversation(tx, event.room_id, context_id) is None:
        tx.run(SQL["converse"], room_id=event.room_id, context_id=context_id, owner_id=owner_id, opened_seq=event.seq)


FOLDS = (submitted, resulted, message_sent, agent_attached, agent_detached, member_left)
TABLES = ("actions", "conversations", "attachments")
