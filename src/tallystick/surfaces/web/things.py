"""Pages for what an id stands for: an agent, a task, a card, a runner, an action, a file."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.capabilities.agents.contract import AgentView
from tallystick.capabilities.blobs.events import BlobAdded
from tallystick.capabilities.jobs.runners_contract import Runners, RunnerView
from tallystick.capabilities.jobs.views import Jobs, JobView
from tallystick.capabilities.reservations.contract import ReservationList
from tallystick.capabilities.tasks.contract import CardView, Tasks, TaskView
from tallystick.kernel.errors import NotFound
from tallystick.kernel.hints import step
from tallystick.ledger.contract import Events
from tallystick.surfaces.web import chat, page, people, rows
from tallystick.surfaces.web.page import PageReader, PageRequest, PageView
from tallystick.surfaces.web.rows import EventRow

ROWS = 30
RUNNERS = 200
JOBS = 200
FILES = 1000


class NotThere(NotFound):
    """Nothing in this room has that name."""

    hint = f"{step('agents.list')} lists the agents; the search finds everything else."


def agent(snapshot: PageReader, asked: PageRequest) -> PageView:
    """One agent: what it does now, what it holds, and the part of the conversation that is its own."""
    frame = page.framed(snapshot, asked)
    found = _called(frame.agents, asked.item)
    person = next(p for p in people.people_in(snapshot, frame) if p.agent_id == found.agent_id)

    def concerns(row: EventRow) -> bool:
        return found.agent_id in {row.by, *row.to} or found.agent_id in row.data.get("recipients", ())

    shown = rows.stretch(snapshot, asked.room_id, limit=ROWS, wanted=concerns)
    held = {"room_id": asked.room_id, "agent_id": found.agent_id}
    context: dict[str, object] = {
        **frame.context,
        "agent": found,
        "person": person,
        "held": snapshot.read("reservations.status", ReservationList, **held).reservations,
        "tasks": snapshot.read("tasks.list", Tasks, room_id=asked.room_id, assignee=found.agent_id).tasks,
        "entries": chat.conversation(shown.rows),
    }
    return PageView(template="agent.html", context=context)


def _called(agents: Sequence[AgentView], name: str) -> AgentView:
    found = next((each for each in agents if name in {each.agent_id, each.name}), None)
    if found is None:
        raise NotThere(f"There is no agent '{name[:80]}' in this room.", agent_id=name[:80])
    return found


def task(snapshot: PageReader, asked: PageRequest) -> PageView:
    frame = page.framed(snapshot, asked)
    found = snapshot.read("tasks.show", TaskView, room_id=asked.room_id, task=asked.item)
    shown = rows.stretch(snapshot, asked.room_id, limit=ROWS, task=found.task_id)
    jobs = snapshot.read("jobs.list", Jobs, room_id=asked.room_id, task=found.task_id).jobs
    context = {**frame.context, "task": found, "jobs": jobs, "entries": chat.conversation(shown.rows)}
    return PageView(template="task.html", context=context)


def card(snapshot: PageReader, asked: PageRequest) -> PageView:
    frame = page.framed(snapshot, asked)
    found = snapshot.read("cards.show", CardView, room_id=asked.room_id, card=asked.item)
    return PageView(template="card.html", context={**frame.context, "card": found})


def runner(snapshot: PageReader, asked: PageRequest) -> PageView:
    """One runner, and the jobs that it has or had."""
    frame = page.framed(snapshot, asked)
    every = snapshot.read("runners.list", Runners, room_id=asked.room_id, limit=RUNNERS).runners
    found = next((each for each in every if each.runner_id == asked.item), None)
    if found is None:
        raise NotThere(f"There is no runner '{asked.item[:80]}' in this room.", runner_id=asked.item[:80])
    jobs = snapshot.read("jobs.list", Jobs, room_id=asked.room_id, limit=JOBS).jobs
    context = {**frame.context, "runner": found, "jobs": _of_runner(jobs, found)}
    return PageView(template="runner.html", context=context)


def _of_runner(jobs: Sequence[JobView], runner: RunnerView) -> list[JobView]:
    return [job for job in jobs if job.runner == runner.runner_id or job.job_id in runner.job_ids]


def action(snapshot: PageReader, asked: PageRequest) -> PageView:
    """A request to an agent and what became of it."""
    frame = page.framed(snapshot, asked)
    opened = snapshot.answer("open.ref", {"room_id": asked.room_id, "id": asked.item}).to_data()

    said = opened["value"].get("message_id")

    def concerns(row: EventRow) -> bool:
        return row.id == said or asked.item in {row.action, row.answered_action}

    shown = rows.stretch(snapshot, asked.room_id, limit=ROWS, wanted=concerns)
    context = {**frame.context, "item": asked.item, "opened": opened, "entries": chat.conversation(shown.rows)}
    return PageView(template="action.html", context=context)


def blob(snapshot: PageReader, asked: PageRequest) -> PageView:
    """A file: what it is, who brought it, and a look at it where a browser can show it."""
    frame = page.framed(snapshot, asked)
    given: dict[str, object] = {"kinds": [BlobAdded.kind], "newest": True, "limit": FILES}
    added = snapshot.read("events.list", Events, room_id=asked.room_id, **given).events
    for event in added:
        if isinstance(body := event.content, BlobAdded) and body.sha256 == asked.item:
            shown = {"mime_type": body.mime_type}
            context = {**frame.context, "blob": body, "event": event, "picture": rows.is_image(shown)}
            return PageView(template="blob.html", context=context)
    raise NotThere(f"There is no file '{asked.item[:80]}' in this room.", sha256=asked.item[:80])
