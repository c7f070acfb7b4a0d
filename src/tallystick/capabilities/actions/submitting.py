"""`actions.submit`: a group of messages and controls, checked as a whole and put into its targets' queues."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from tallystick.capabilities.actions import queries, rules
from tallystick.capabilities.actions.contract import (
    ContextFields,
    ControlAction,
    MessageAction,
    Placed,
    SubmitActions,
    Submitted,
)
from tallystick.capabilities.actions.errors import ActionNotFound, DuplicateActionId, DuplicateGroup
from tallystick.capabilities.actions.model import Action, Conversation, Kind
from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents.model import Participant
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import Speech, Talk
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import operation
from tallystick.ledger import bodies, reading
from tallystick.ledger.tx import Tx

_MESSAGE = {"type": "message", "dst": "worker", "action_id": "a1", "action_index": 0, "kind": "user", "text": "plan it"}
_CONTROL = {"type": "control", "dst": "worker", "action_id": "a2", "action_index": 1, "command": "review"}


@operation(
    "actions.submit",
    writes=True,
    examples=({"room_id": "ROOM", "group_id": "g1", "actions": [_MESSAGE, _CONTROL]},),
)
def submit(tx: Tx, me: Caller, ask: SubmitActions) -> Submitted:
    """Ask other agents for something: messages and controls (new, compact, interrupt, review), each for one target.

    A target gets its actions in the order submitted, one at a time: the next one when the last was accepted or is
    finished, and after a control only when that is finished. An interrupt overtakes. Only the owner of a conversation
    (who opened its context_id) may follow up in it; others answer with kind reply, once. Messages are in inboxes too.
    """
    return place(tx, me, ask)


def place(tx: Tx, me: Caller, ask: SubmitActions) -> Submitted:
    """Put a group into its targets' queues, whichever operation it came by."""
    room = rooms.open_room(tx, ask.room_id)
    members = _involved(tx, room.room_id, me, ask)
    src, scope_key = rules.speaker(members, me)
    rules.check_group(ask.actions)
    _check_new(tx, src, ask)
    targets = [rules.target(members, each.dst, src) for each in ask.actions]
    talk = _conversation(tx, src, ask, targets)
    _check_queues(tx, room.room_id, ask.actions, targets)
    placed = list[Placed]()
    for each, dst in zip(ask.actions, targets, strict=True):
        data = _body(ask, each, dst, talk)
        if isinstance(each, MessageAction):
            speech = Speech(by=src, scope_key=scope_key, to=dst, text=each.text, about=_about(data))
            data["message_id"] = tx.use(Talk).say(tx, room, members, speech)
        bodies.check(data)
        (event,) = tx.append(room.room_id, src, [Draft(kind=Kind.SUBMIT, data=data, scope_key=scope_key)])
        placed.append(Placed(action_id=each.action_id, action_index=each.action_index, dst=dst, seq=event.seq))
    return Submitted(
        room_id=room.room_id,
        group_id=ask.group_id,
        context_id=talk.context_id,
        owner_id=talk.owner_id,
        actions=placed,
    )


def _involved(tx: Tx, room_id: str, me: Caller, ask: SubmitActions) -> Sequence[Participant]:
    """The sender and its targets; everybody only where a target is called by its name."""
    named = {each.dst for each in ask.actions}
    found = [member for name in (named | {me.agent_id}) if (member := agents.participant(tx, room_id, name))]
    return found if named <= {member.agent_id for member in found} else agents.roster(tx, room_id)


def _check_new(tx: Tx, src: str, ask: SubmitActions) -> None:
    if queries.has_group(tx, ask.room_id, src, ask.group_id):
        raise DuplicateGroup(f"You have already submitted '{ask.group_id}'.", group_id=ask.group_id)
    for each in ask.actions:
        if queries.action(tx, ask.room_id, each.action_id):
            raise DuplicateActionId(f"'{each.action_id}' was used before.", action_id=each.action_id)


def _conversation(tx: Tx, src: str, ask: SubmitActions, targets: Sequence[str]) -> Conversation:
    """Whose conversation this group goes on with: the sender's own, or by its replies somebody else's."""
    asked = ask.context or ContextFields()
    if asked.parent_message_id:
        reading.event_by_id(tx, ask.room_id, asked.parent_message_id)
    known = queries.conversation(tx, ask.room_id, asked.context_id or ask.group_id)
    if not rules.replies(ask.actions):
        talk = rules.conversation(known, asked, src, ask.group_id)
        for each in ask.actions:
            if isinstance(each, MessageAction) and each.reply_to_action_id:
                rules.check_follow_up(earlier_action(tx, ask.room_id, each.reply_to_action_id), talk)
        return talk
    context_id = asked.context_id
    for each, dst in zip(ask.actions, targets, strict=True):
        earlier = earlier_action(tx, ask.room_id, rules.answered_by(each))
        rules.check_reply(earlier, src, context_id=context_id, dst=dst)
        context_id = earlier.context_id
    found = queries.conversation(tx, ask.room_id, context_id or "")
    return rules.answering(found, asked)


def earlier_action(tx: Tx, room_id: str, action_id: str) -> Action:
    found = queries.action(tx, room_id, action_id)
    if found is None:
        raise ActionNotFound(f"There is no action '{action_id}' in this room.", action_id=action_id)
    return found


def _check_queues(
    tx: Tx, room_id: str, actions: Sequence[MessageAction | ControlAction], targets: Sequence[str]
) -> None:
    lanes = [rules.lane(each.command if isinstance(each, ControlAction) else None) for each in actions]
    for (dst, lane), more in Counter(zip(targets, lanes, strict=True)).items():
        rules.check_queue(dst, queries.waiting(tx, room_id, dst, lane, limit=rules.QUEUE_LIMIT), more)


def _body(ask: SubmitActions, each: MessageAction | ControlAction, dst: str, talk: Conversation) -> dict[str, object]:
    context = {"context_id": talk.context_id, "owner_id": talk.owner_id}
    if ask.context and ask.context.parent_message_id:
        context["parent_message_id"] = ask.context.parent_message_id
    shared: dict[str, object] = {"group_id": ask.group_id, "context": context, "dst": dst}
    if ask.task_id:
        shared["task_id"] = ask.task_id
    return {**each.present(), **shared}


def _about(data: dict[str, object]) -> dict[str, object]:
    """What the message of an action says of its conversation."""
    named = {name: data[name] for name in ("kind", "action_id", "reply_to_action_id", "task_id") if name in data}
    return {**named, **cast("dict[str, object]", data["context"])}
