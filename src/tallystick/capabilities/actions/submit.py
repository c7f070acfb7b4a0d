"""`actions.submit`, `.relay` and `.outcomes`: a group of actions, put into its targets' queues, and what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import UNSET, structs

from tallystick.capabilities.actions import queries, rules
from tallystick.capabilities.actions.contract import (
    ContextFields,
    ControlAction,
    GroupOutcomes,
    MessageAction,
    OutcomeView,
    PlacedAction,
    ReadOutcomes,
    RelayControlAction,
    RelayDone,
    RelayMessageAction,
    RelayResult,
    RelayToAgents,
    SubmitActions,
    SubmitResult,
)
from tallystick.capabilities.actions.events import (
    ActionContext,
    ActionSubmitted,
    ActionType,
    PlanGiven,
    ReportedTaskStatus,
    TaskContext,
    TaskDoneReported,
)
from tallystick.capabilities.actions.model import Action, Conversation
from tallystick.capabilities.actions.rules import ActionGroupNotFound, ActionNotFound, DuplicateActionId, DuplicateGroup
from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.agents.model import Participant
from tallystick.capabilities.messages import rules as message_rules
from tallystick.capabilities.messages.events import MessageConversation, MessageKind
from tallystick.capabilities.messages.operations import send_for_action
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel import envelope
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, or_unset
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import Pending, Reach, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx

_MESSAGE = {"type": "message", "dst": "worker", "action_id": "a1", "action_index": 0, "kind": "user", "text": "plan it"}
_CONTROL = {"type": "control", "dst": "worker", "action_id": "a2", "action_index": 1, "command": "review"}


@operation(
    "actions.submit",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "group_id": "g1", "actions": [_MESSAGE, _CONTROL]},),
)
def submit(tx: Tx, me: Caller, ask: SubmitActions) -> SubmitResult:
    """Ask other agents for something: messages and controls (new, compact, interrupt, review), each for one target.

    A target gets its actions in the order submitted, one at a time: the next one when the last was accepted or is
    finished, and after a control only when that is finished. An interrupt overtakes. Only the owner of a conversation
    (who opened its context_id) may follow up in it; others answer with kind reply, once. Messages are in inboxes too.
    """
    return place(tx, me, ask)


def place(tx: Tx, me: Caller, ask: SubmitActions) -> SubmitResult:
    """Put a group into its targets' queues, whichever operation it came by."""
    room = rooms.open_room(tx, ask.room_id)
    members = _involved(tx, room.room_id, me, ask)
    author = message_rules.author(members, me)
    src = author.principal
    rules.check_group(ask.actions)
    _check_new(tx, src, ask)
    targets = [rules.target(members, each.dst, src) for each in ask.actions]
    conversation = _conversation(tx, src, ask, targets)
    if not rules.replies(ask.actions):
        _check_queues(tx, room.room_id, ask.actions, targets)
    placed = list[PlacedAction]()
    for each, dst in zip(ask.actions, targets, strict=True):
        body = _body(ask, each, dst, conversation)
        if isinstance(each, MessageAction):
            sent = send_for_action(
                tx, room, members, author, to=dst, text=each.text, conversation=_conversation_of(body)
            )
            body = structs.replace(body, message_id=sent.id)
        draft = Draft.of(body, scope_key=author.scope_key, text=envelope.check_body(body))
        (event,) = tx.append(room.room_id, src, [draft])
        placed.append(PlacedAction(action_id=each.action_id, action_index=each.action_index, dst=dst, seq=event.seq))
    return SubmitResult(
        room_id=room.room_id,
        group_id=ask.group_id,
        context_id=conversation.context_id,
        owner_id=conversation.owner_id,
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
        conversation = rules.conversation(known, asked, src, ask.group_id)
        for each in ask.actions:
            if isinstance(each, MessageAction) and each.reply_to_action_id:
                rules.check_follow_up(earlier_action(tx, ask.room_id, each.reply_to_action_id), conversation)
        return conversation
    context_id = asked.context_id
    for each, dst in zip(ask.actions, targets, strict=True):
        earlier = earlier_action(tx, ask.room_id, rules.answered_by(each))
        rules.check_reply(earlier, queries.heads(tx, ask.room_id, earlier.dst), src, context_id=context_id, dst=dst)
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


def _body(
    ask: SubmitActions, each: MessageAction | ControlAction, dst: str, conversation: Conversation
) -> ActionSubmitted:
    parent = ask.context.parent_message_id if ask.context else None
    context = ActionContext(
        context_id=conversation.context_id, owner_id=conversation.owner_id, parent_message_id=parent or UNSET
    )
    shared = ActionSubmitted(
        type=ActionType.CONTROL,
        action_id=each.action_id,
        action_index=each.action_index,
        group_id=ask.group_id,
        dst=dst,
        context=context,
        task_id=ask.task_id or UNSET,
    )
    if isinstance(each, ControlAction):
        return structs.replace(shared, command=each.command, args=or_unset(each.args))
    return structs.replace(
        shared,
        type=ActionType.MESSAGE,
        message_kind=each.kind,
        text=each.text,
        reply_to_action_id=or_unset(each.reply_to_action_id),
        plan=PlanGiven(steps=each.plan.steps, note=or_unset(each.plan.note)) if each.plan else UNSET,
    )


def _conversation_of(body: ActionSubmitted) -> MessageConversation:
    """What the message of an action says of its conversation."""
    return MessageConversation(
        context_id=body.context.context_id,
        owner_id=body.context.owner_id,
        parent_message_id=body.context.parent_message_id,
        kind=body.message_kind,
        action_id=body.action_id,
        reply_to_action_id=body.reply_to_action_id,
        task_id=body.task_id,
    )


_ASK = {"type": "message", "dst": "worker", "text": "plan it", "plan": {"steps": ["read", "propose"]}}


@operation(
    "actions.relay",
    reach=Reach.WORK,
    writes=True,
    examples=(
        {"room_id": "ROOM", "actions": [{"type": "control", "dst": "worker", "command": "new"}, _ASK]},
        {"room_id": "ROOM", "context_id": "CONTEXT", "done": {"summary": "planned and built"}},
    ),
)
def relay(tx: Tx, me: Caller, ask: RelayToAgents) -> RelayResult:
    """Send messages and controls to other agents as the owner of a conversation, or end the relay with a summary.

    Name targets by id or name; the hub numbers the actions. Pass the answer's context_id with every later call, and
    wait with actions.outcomes before you go on. Order holds per target: put a control before its message.
    """
    if bool(ask.actions) == (ask.done is not None):
        raise InvalidField("Give either actions, at least one, or done.", field="actions")
    if ask.done is not None:
        return _finish(tx, me, ask, ask.done)
    group_id = tx.new_id()
    context_id = ask.context_id or group_id
    task_id = ask.task_id or context_id
    submitted = place(
        tx,
        me,
        SubmitActions(
            room_id=ask.room_id,
            group_id=group_id,
            actions=[_numbered(each, index, f"{group_id}:{index}") for index, each in enumerate(ask.actions)],
            context=ContextFields(context_id=context_id),
            task_id=task_id,
        ),
    )
    return RelayResult(
        room_id=ask.room_id,
        context_id=context_id,
        task_id=task_id,
        group_id=group_id,
        actions=submitted.actions,
        done=False,
    )


def _finish(tx: Tx, me: Caller, ask: RelayToAgents, done: RelayDone) -> RelayResult:
    if ask.context_id is None:
        raise InvalidField("done needs the context_id of the conversation whose relay is over.", field="context_id")
    room = rooms.open_room(tx, ask.room_id)
    author = message_rules.author(queries.mine(tx, room.room_id, me), me)
    src = author.principal
    known = queries.conversation(tx, room.room_id, ask.context_id)
    rules.check_ending(known, src, ask.context_id)
    task_id = ask.task_id or ask.context_id
    body = TaskDoneReported(
        task_id=task_id,
        status=ReportedTaskStatus.DONE,
        summary=or_unset(done.summary),
        context=TaskContext(context_id=ask.context_id, owner_id=src),
    )
    tx.append(room.room_id, src, [Draft.of(body, scope_key=author.scope_key)])
    return RelayResult(
        room_id=room.room_id, context_id=ask.context_id, task_id=task_id, group_id=None, actions=[], done=True
    )


def _numbered(
    each: RelayMessageAction | RelayControlAction, index: int, action_id: str
) -> MessageAction | ControlAction:
    if isinstance(each, RelayControlAction):
        return ControlAction(
            dst=each.dst,
            action_id=action_id,
            action_index=index,
            command=each.command,
            args=each.args,
        )
    return MessageAction(
        dst=each.dst,
        action_id=action_id,
        action_index=index,
        kind=MessageKind.USER,
        text=each.text,
        plan=each.plan,
    )


@operation(
    "actions.outcomes",
    reach=Reach.READ,
    waits=True,
    examples=({"room_id": "ROOM", "group_id": "g1", "max_wait_ms": 30_000},),
)
def outcomes(tx: Tx, me: Caller, ask: ReadOutcomes) -> GroupOutcomes | Pending[GroupOutcomes]:
    """Show what came of each action of a group: its status, why, and the reply in its target's own words.

    With `max_wait_ms` it waits until every action is finished or blocked.
    """
    room_id = rooms.room(tx, ask.room_id).room_id
    whom = agents.principal_named(tx, room_id, ask.agent_id) if ask.agent_id else me.agent_id
    found = queries.group(tx, room_id, agent_rules.principal(whom), ask.group_id)
    if not found:
        raise ActionGroupNotFound(f"There is no group '{ask.group_id}' of that sender.", group_id=ask.group_id)
    settled = all(rules.settled(each.action) for each in found)
    seen = GroupOutcomes(group_id=ask.group_id, settled=settled, actions=[OutcomeView.of(each) for each in found])
    return seen if settled else Pending(seen, wait_ms=ask.max_wait_ms)
