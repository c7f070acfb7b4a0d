"""Writing down a task, for `tasks.create` and for the macros."""

from __future__ import annotations

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.tasks import queries
from tallystick.capabilities.tasks.contract import CreateTask, TaskView
from tallystick.capabilities.tasks.model import Kind, numbered
from tallystick.capabilities.tasks.things import THINGS
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.ledger.tx import Tx


def create_task(tx: Tx, me: Caller, ask: CreateTask) -> TaskView:
    by, number = agent_rules.principal(me.agent_id), queries.next_task(tx, ask.room_id)
    if ask.anchor:
        THINGS.ensure_anchor(tx, ask.room_id, by, ask.anchor)
    task_id = numbered("TASK", number)
    given = ask.to_data(without={"room_id", "focus"})
    drafts = [Draft(kind=Kind.TASK_CREATE, data={"task_id": task_id, "number": number, **given})]
    if ask.focus:
        drafts.append(Draft(kind=Kind.TASK_FOCUS, data={"task_id": task_id}))
    tx.append(ask.room_id, by, drafts)
    return TaskView.of(queries.task(tx, ask.room_id, task_id))
