"""`actions.relay` and `actions.outcomes`: an owner drives others without ids of its own, and waits for what becomes."""

from __future__ import annotations

from tallystick.capabilities.actions import queries, rules
from tallystick.capabilities.actions.contract import ContextFields, ControlAction, MessageAction, SubmitActions
from tallystick.capabilities.actions.errors import GroupNotFound
from tallystick.capabilities.actions.model import Kind, MessageKind
from tallystick.capabilities.actions.relay_contract import (
    Done,
    GroupOutcomes,
    Outcomes,
    OutcomeView,
    Relay,
    RelayControl,
    Relayed,
    RelayMessage,
)
from tallystick.capabilities.actions.submitting import place
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.errors import InvalidField
from tallystick.kernel.operation import Pending, operation
from tallystick.ledger.tx import Tx

_ASK = {"type": "message", "dst": "worker", "text": "plan it", "plan": {"steps": ["read", "propose"]}}


@operation(
    "actions.relay",
    writes=True,
    examples=(
        {"room_id": "ROOM", "actions": [{"type": "control", "dst": "worker", "command": "new"}, _ASK]},
        {"room_id": "ROOM", "context_id": "CONTEXT", "done": {"summary": "planned and built"}},
    ),
)
def relay(tx: Tx, me: Caller, ask: Relay) -> Relayed:
    """Send messages and controls to other agents as the owner of a conversation, or end it with a summary.

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
    return Relayed(
        room_id=ask.room_id,
        context_id=context_id,
        task_id=task_id,
        group_id=group_id,
        actions=submitted.actions,
        done=False,
    )


def _finish(tx: Tx, me: Caller, ask: Relay, done: Done) -> Relayed:
    if ask.context_id is None:
        raise InvalidField("done needs the context_id of the conversation that is over.", field="context_id")
    room = rooms.open_room(tx, ask.room_id)
    src, scope_key = rules.speaker(queries.mine(tx, room.room_id, me), me)
    known = queries.conversation(tx, room.room_id, ask.context_id)
    rules.check_ending(known, src, ask.context_id)
    task_id = ask.task_id or ask.context_id
    context = {"context_id": ask.context_id, "owner_id": src}
    data: dict[str, object] = {"task_id": task_id, "status": "done", "context": context}
    if done.summary is not None:
        data["summary"] = done.summary
    tx.append(room.room_id, src, [Draft(kind=Kind.TASK_DONE, data=data, scope_key=scope_key)])
    return Relayed(
        room_id=room.room_id, context_id=ask.context_id, task_id=task_id, group_id=None, actions=[], done=True
    )


def _numbered(each: RelayMessage | RelayControl, index: int, action_id: str) -> MessageAction | ControlAction:
    if isinstance(each, RelayControl):
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


@operation("actions.outcomes", waits=True, examples=({"room_id": "ROOM", "group_id": "g1", "max_wait_ms": 30_000},))
def outcomes(tx: Tx, me: Caller, ask: GroupOutcomes) -> Outcomes | Pending[Outcomes]:
    """Show what came of each action of a group: its status, why, and the reply in its target's own words.

    With `max_wait_ms` it waits until every action is finished or blocked.
    """
    room_id = rooms.room(tx, ask.room_id).room_id
    found = queries.group(tx, room_id, agent_rules.principal(ask.agent_id or me.agent_id), ask.group_id)
    if not found:
        raise GroupNotFound(f"There is no group '{ask.group_id}' of that sender.", group_id=ask.group_id)
    settled = all(rules.settled(each.action) for each in found)
    seen = Outcomes(group_id=ask.group_id, settled=settled, actions=[OutcomeView.of(each) for each in found])
    return seen if settled else Pending(seen, wait_ms=ask.max_wait_ms)
