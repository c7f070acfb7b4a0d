"""`tasks.*`: what is to be done, what done means, and which one you are at."""

from __future__ import annotations

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.tasks import queries, rules
from tallystick.capabilities.tasks.contract import (
    CardView,
    CreateTask,
    Focused,
    FocusTask,
    InboxView,
    JobToken,
    ListTasks,
    ShowSnapshot,
    ShowTask,
    Snapshot,
    Tasks,
    TaskView,
    UpdateTask,
)
from tallystick.capabilities.tasks.model import Kind, Task, number_of, numbered
from tallystick.capabilities.tasks.queries import THINGS
from tallystick.capabilities.tasks.work import Inbox, JobLine, Work
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import operation
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


class Board:
    """Answers the protocol `TaskBoard` of `rooms`: what is said of a task on the bus is true of the task."""

    def progress(self, tx: Tx, room_id: str, by: str, *, task_id: str, status: str, summary: str | None) -> None:
        if number_of("TASK", task_id) is None:
            return
        task = queries.task(tx, room_id, task_id)
        said: dict[str, object] = {"status": status} if summary is None else {"status": status, "summary": summary}
        if task.status != status or summary is not None:
            tx.append(room_id, by, [Draft(kind=Kind.TASK_UPDATE, data={"task_id": task.task_id, **said})])


PINNED = 5


@operation("tasks.snapshot", examples=({"room_id": "ROOM"},))
def snapshot(tx: Tx, me: Caller, ask: ShowSnapshot) -> Snapshot:
    """Show the task in your focus: where it stands, its one most pressing job, and the pinned cards."""
    rooms.room(tx, ask.room_id)
    task = (
        queries.task(tx, ask.room_id, ask.task)
        if ask.task
        else queries.focus(tx, ask.room_id, agent_rules.principal(me.agent_id))
    )
    work = tx.use(Work)
    inbox = work.inbox(tx, ask.room_id)
    job = work.active(tx, ask.room_id, task.task_id) if task else None
    cards = queries.cards(tx, ask.room_id, tag=task.anchor_id if task else None, pinned=True, limit=PINNED)
    return Snapshot(
        task=TaskView.of(task) if task else None,
        inbox=InboxView(running=inbox.running, queued=inbox.queued, runner=inbox.runner),
        job=JobToken(job_id=job.job_id, status=job.status.value, ref=job.ref, title=job.title) if job else None,
        cards=[CardView.of(card) for card in cards],
        text="\n".join(_lines(task, inbox, job)),
    )


def _lines(task: Task | None, inbox: Inbox, job: JobLine | None) -> list[str]:
    token = f" job={job.job_id} ({job.status.value})" if job else ""
    head = f"inbox running={inbox.running} queued={inbox.queued} runner={inbox.runner}{token}"
    if task is None:
        return [head, "no task in focus | tasks focus task=TASK-…"]
    done = sum(step.done for step in task.details.steps)
    rows = [head, f"{task.task_id} ({task.status.value}) {task.title} | open id={task.task_id}"]
    rows += [f"dod: {line}" for line in task.details.definition_of_done[:5]]
    if task.details.steps:
        rows.append(f"steps: {done}/{len(task.details.steps)} verified")
    return rows
