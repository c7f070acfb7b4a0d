"""`tasks.snapshot`: the task you are at in a few lines, with at most one job, so that it can be looked at all day."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.tasks import queries
from tallystick.capabilities.tasks.contract import CardView, TaskId, TaskView
from tallystick.capabilities.tasks.model import Inbox, JobLine, Task, Work
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import Answer, Ask, operation
from tallystick.ledger.contract import RoomId
from tallystick.ledger.tx import Tx

PINNED = 5


class ShowSnapshot(Ask):
    room_id: RoomId
    task: Annotated[TaskId | None, Meta(description="Which task; the one in your focus when left out.")] = None


class InboxView(Answer):
    running: int
    queued: int
    """Both are counted up to 100."""
    runner: str
    """offline, idle or live."""


class JobToken(Answer):
    job_id: str
    status: str
    ref: str
    title: str


class Snapshot(Answer):
    task: TaskView | None
    inbox: InboxView
    job: JobToken | None
    """The one active job of the task that most needs to be seen."""
    cards: list[CardView]
    """The pinned ones under the task's anchor, else the room's."""
    text: str
    """All of it in a few lines."""


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
