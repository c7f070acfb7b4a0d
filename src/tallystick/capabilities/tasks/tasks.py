"""`tasks.*`: what is to be done, what done means, and which one you are at."""

from __future__ import annotations

from msgspec import UNSET, structs

from tallystick.capabilities.agents import queries as agents
from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.tasks import queries, rules
from tallystick.capabilities.tasks.anchors import ensure_anchor
from tallystick.capabilities.tasks.contract import (
    CardView,
    CreateTask,
    Focused,
    FocusTask,
    JobCountsView,
    ListTasks,
    ShowSnapshot,
    ShowTask,
    Tasks,
    TaskSnapshot,
    TaskView,
    UpdateTask,
)
from tallystick.capabilities.tasks.events import TaskCreated, TaskFocused, TaskState, TaskStep, TaskUpdated
from tallystick.capabilities.tasks.model import Task, number_of, numbered
from tallystick.capabilities.tasks.work import Work, WorkBrief
from tallystick.kernel.caller import Caller, is_person
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger.capability import Authors
from tallystick.ledger.tx import Tx


@operation(
    "tasks.create",
    reach=Reach.WORK,
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


@operation(
    "tasks.update",
    reach=Reach.WORK,
    writes=True,
    examples=({"room_id": "ROOM", "task": "TASK-001", "status": "running"},),
)
def update(tx: Tx, me: Caller, ask: UpdateTask) -> TaskView:
    """Change a task: its status, who works on it, what was verified. Only the fields that are given change."""
    tx.check_open(ask.room_id)
    task, by = queries.task(tx, ask.room_id, ask.task), agent_rules.principal(me.agent_id)
    if ask.assignee:
        ask = structs.replace(ask, assignee=assignee(tx, ask.room_id, ask.assignee))
    changes = rules.task_changes(task, ask)
    if ask.anchor:
        ensure_anchor(tx, ask.room_id, by, ask.anchor)
    tx.append(ask.room_id, by, [Draft.of(changes)])
    return TaskView.of(queries.task(tx, ask.room_id, ask.task))


@operation("tasks.list", reach=Reach.READ, examples=({"room_id": "ROOM", "status": "running"},))
def list_tasks(tx: Tx, me: Caller, ask: ListTasks) -> Tasks:
    """List tasks, the most recently changed first; filter by status, assignee or anchor."""
    rooms.room(tx, ask.room_id)
    found = queries.tasks(
        tx,
        ask.room_id,
        status=ask.status,
        assignee=agents.principal_named(tx, ask.room_id, ask.assignee) if ask.assignee else None,
        anchor=ask.anchor,
        before=ask.before_seq,
        limit=ask.limit + 1,
    )
    page, more = found[: ask.limit], len(found) > ask.limit
    return Tasks(
        tasks=[TaskView.of(task) for task in page], has_more=more, cursor=page[-1].updated_seq if more else None
    )


@operation("tasks.show", reach=Reach.READ, examples=({"room_id": "ROOM", "task": "TASK-001"},))
def show(tx: Tx, me: Caller, ask: ShowTask) -> TaskView:
    """Show one task as it is now."""
    return TaskView.of(queries.task(tx, ask.room_id, ask.task))


@operation("tasks.focus", reach=Reach.WORK, writes=True, examples=({"room_id": "ROOM", "task": "TASK-001"},))
def focus(tx: Tx, me: Caller, ask: FocusTask) -> Focused:
    """Say which task you are at; what takes a task then means this one. Without a task, none."""
    tx.check_open(ask.room_id)
    by = agent_rules.principal(me.agent_id)
    task = queries.task(tx, ask.room_id, ask.task) if ask.task else None
    if queries.focus(tx, ask.room_id, by) != task:
        tx.append(ask.room_id, by, [Draft.of(TaskFocused(task_id=task.task_id if task else None))])
    return Focused(task=TaskView.of(task) if task else None)


def assignee(tx: Tx, room_id: str, who: str) -> str:
    """Whose task it is to be: a member, by id or name, or the user."""
    return who if is_person(who) else agents.resolve(tx, room_id, who)


def create_task(tx: Tx, me: Caller, ask: CreateTask) -> TaskView:
    by, _ = tx.use(Authors).author(tx, ask.room_id, me)
    number = queries.next_task(tx, ask.room_id)
    if ask.anchor:
        ensure_anchor(tx, ask.room_id, by, ask.anchor)
    body = TaskCreated(
        task_id=numbered("TASK", number),
        number=number,
        title=ask.title,
        description=ask.description,
        definition_of_done=ask.definition_of_done,
        steps=[TaskStep(text=step.text, done=step.done) for step in ask.steps],
        status=TaskState(ask.status),
        assignee=assignee(tx, ask.room_id, ask.assignee) if ask.assignee else None,
        anchor=ask.anchor,
        paths=ask.paths,
        refs=ask.refs,
    )
    drafts = [Draft.of(body)]
    if ask.focus:
        drafts.append(Draft.of(TaskFocused(task_id=body.task_id)))
    tx.append(ask.room_id, by, drafts)
    return TaskView.of(queries.task(tx, ask.room_id, body.task_id))


def record_progress(tx: Tx, room_id: str, by: str, *, task_id: str, status: str, summary: str | None) -> None:
    """Change a task of ours as was said on the bus; an id that is none of ours is somebody else's task."""
    if number_of("TASK", task_id) is None:
        return
    task = queries.task(tx, room_id, task_id)
    if task.status != status or summary is not None:
        said = TaskUpdated(
            task_id=task.task_id, status=TaskState(status), summary=UNSET if summary is None else summary
        )
        tx.append(room_id, by, [Draft.of(said)])


PINNED = 5


@operation("tasks.snapshot", reach=Reach.READ, examples=({"room_id": "ROOM"},))
def snapshot(tx: Tx, me: Caller, ask: ShowSnapshot) -> TaskSnapshot:
    """Show the task in your focus: where it stands, its one most pressing job, and the pinned cards."""
    rooms.room(tx, ask.room_id)
    task = (
        queries.task(tx, ask.room_id, ask.task)
        if ask.task
        else queries.focus(tx, ask.room_id, agent_rules.principal(me.agent_id))
    )
    brief = tx.use(Work).brief(tx, ask.room_id, task.task_id if task else None)
    cards = queries.cards(tx, ask.room_id, tag=task.anchor_id if task else None, pinned=True, limit=PINNED)
    return TaskSnapshot(
        task=TaskView.of(task) if task else None,
        inbox=JobCountsView(running=brief.running, queued=brief.queued, runner=brief.runner),
        job=brief.job,
        cards=[CardView.of(card) for card in cards],
        text="\n".join(_lines(task, brief)),
    )


def _lines(task: Task | None, brief: WorkBrief) -> list[str]:
    token = f" job={brief.job.job_id} ({brief.job.status}{brief.job.marker})" if brief.job else ""
    head = [f"inbox running={brief.running} queued={brief.queued} runner={brief.runner}{token}"]
    head += [f"CMD: {brief.start}"] if brief.start else []
    if task is None:
        return [*head, "no task in focus | tasks focus task=TASK-…"]
    done = sum(step.done for step in task.details.steps)
    rows = [*head, f"{task.task_id} ({task.status.value}) {task.title} | open id={task.task_id}"]
    rows += [f"dod: {line}" for line in task.details.definition_of_done[:5]]
    if task.details.steps:
        rows.append(f"steps: {done}/{len(task.details.steps)} verified")
    return rows
