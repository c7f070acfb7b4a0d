"""`tasks.*`: what is to be done, what done means, and which one you are at; and the capability as a whole."""

from __future__ import annotations

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.rooms.model import TaskBoard
from tallystick.capabilities.tasks import anchors, cards, macros, merging, queries, rules, snapshot
from tallystick.capabilities.tasks.contract import (
    CreateTask,
    Focused,
    FocusTask,
    ListTasks,
    ShowTask,
    Tasks,
    TaskView,
    UpdateTask,
)
from tallystick.capabilities.tasks.creating import create_task
from tallystick.capabilities.tasks.model import Kind
from tallystick.capabilities.tasks.owning import OFFERS
from tallystick.capabilities.tasks.projections import PROJECTIONS, TABLES
from tallystick.capabilities.tasks.things import THINGS, Board, open_ref
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import operation
from tallystick.ledger.capability import Capability
from tallystick.ledger.tx import Tx


@operation(
    "tasks.create",
    writes=True,
    examples=(
        {
            "room_id": "ROOM",
            "title": "Rewrite the parser",
            "definition_of_done": ["all tests pass", "no new dependency"],
            "steps": [{"text": "pytest -q"}],
        },
    ),
)
def create(tx: Tx, me: Caller, ask: CreateTask) -> TaskView:
    """Write down a task: what it is, what has to be true when it is done, and how that is verified."""
    tx.check_open(ask.room_id)
    return create_task(tx, me, ask)


@operation("tasks.update", writes=True, examples=({"room_id": "ROOM", "task": "TASK-001", "status": "running"},))
def update(tx: Tx, me: Caller, ask: UpdateTask) -> TaskView:
    """Change a task: its status, who works on it, what was verified. Only the fields that are given change."""
    tx.check_open(ask.room_id)
    task, by = queries.task(tx, ask.room_id, ask.task), agent_rules.principal(me.agent_id)
    changes = rules.task_changes(task, ask)
    if ask.anchor:
        THINGS.ensure_anchor(tx, ask.room_id, by, ask.anchor)
    tx.append(ask.room_id, by, [Draft(kind=Kind.TASK_UPDATE, data={"task_id": task.task_id, **changes})])
    return TaskView.of(queries.task(tx, ask.room_id, ask.task))


@operation("tasks.list", examples=({"room_id": "ROOM", "status": "running"},))
def list_tasks(tx: Tx, me: Caller, ask: ListTasks) -> Tasks:
    """List tasks, the most recently changed first; filter by status, assignee or anchor."""
    rooms.room(tx, ask.room_id)
    found = queries.tasks(
        tx,
        ask.room_id,
        status=ask.status,
        assignee=ask.assignee,
        anchor=ask.anchor,
        before=ask.before_seq,
        limit=ask.limit + 1,
    )
    page, more = found[: ask.limit], len(found) > ask.limit
    return Tasks(
        tasks=[TaskView.of(task) for task in page], has_more=more, cursor=page[-1].updated_seq if more else None
    )


@operation("tasks.show", examples=({"room_id": "ROOM", "task": "TASK-001"},))
def show(tx: Tx, me: Caller, ask: ShowTask) -> TaskView:
    """Show one task as it is now."""
    return TaskView.of(queries.task(tx, ask.room_id, ask.task))


@operation("tasks.focus", writes=True, examples=({"room_id": "ROOM", "task": "TASK-001"},))
def focus(tx: Tx, me: Caller, ask: FocusTask) -> Focused:
    """Say which task you are at; what takes a task then means this one. Without a task, none."""
    tx.check_open(ask.room_id)
    by = agent_rules.principal(me.agent_id)
    task = queries.task(tx, ask.room_id, ask.task) if ask.task else None
    if queries.focus(tx, ask.room_id, by) != task:
        data: dict[str, object] = {"task_id": task.task_id if task else None}
        tx.append(ask.room_id, by, [Draft(kind=Kind.TASK_FOCUS, data=data)])
    return Focused(task=TaskView.of(task) if task else None)


CAPABILITY = Capability(
    name="tasks",
    package="tallystick.capabilities.tasks",
    operations=(
        create,
        list_tasks,
        show,
        update,
        focus,
        snapshot.snapshot,
        macros.delegate,
        macros.fanout_jobs,
        merging.merge_report,
        cards.create,
        cards.list_cards,
        cards.show,
        cards.update,
        anchors.create,
        anchors.list_anchors,
        anchors.show,
        anchors.update,
    ),
    projections=PROJECTIONS,
    tables=TABLES,
    offers={**OFFERS, TaskBoard: Board()},
    opens=open_ref,
)
