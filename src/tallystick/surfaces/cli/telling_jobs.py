"""What a person reads of delegated work: lines and sentences where the fields would bury the point."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.views import View


class _Job(View):
    job_id: str
    status: str
    title: str
    priority: str
    task: str | None
    runner: str | None
    last_ref: str
    summary: str | None
    refs: list[str]


class _Jobs(View, jobs=_Job):
    jobs: list[_Job]
    has_more: bool


def _jobs(data: Mapping[str, object]) -> None:
    found = _Jobs(data)
    screen.table(
        ["last", "status", "priority", "title", "task", "runner"],
        [[each.last_ref, each.status, each.priority, each.title, each.task, each.runner] for each in found.jobs],
    )
    if found.has_more:
        screen.say("There is more: raise --limit, or page on with --cursor.")


class _Said(View):
    ref: str
    kind: str
    message: str
    refs: list[str]


def _entries(events: list[_Said]) -> None:
    """One line for each event; what was said stays on it."""
    for each in events:
        refs = f" [{', '.join(each.refs)}]" if each.refs else ""
        screen.say(f"{each.ref}  {each.kind}: {each.message}{refs}")


class _Tail(View, events=_Said):
    events: list[_Said]
    next_after_seq: int
    has_more: bool
    text: str | None


def _tail(data: Mapping[str, object]) -> None:
    found = _Tail(data)
    if found.text is not None:
        screen.say(*found.text.split("\n"))
        return
    _entries(found.events)
    if found.has_more:
        screen.say(f"There is more: go on with --after-seq {found.next_after_seq}.")


class _Waited(View, job=_Job, events=_Said):
    job: _Job
    done: bool
    timed_out: bool
    events: list[_Said]


def _waited(data: Mapping[str, object]) -> None:
    found = _Waited(data)
    _entries(found.events)
    job = found.job
    if found.done:
        screen.say(f"{job.job_id} is {job.status}: {job.summary or 'nothing was said'}")
    elif found.timed_out:
        screen.say(f"{job.job_id} is still {job.status}. Wait again.")


class _Card(View):
    card_id: str
    title: str
    body: str


class _Task(View):
    task_id: str
    title: str


class _JobRef(View):
    job_id: str


class _Delegated(View, task=_Task, card=_Card, job=_JobRef):
    task: _Task
    anchor_id: str
    card: _Card
    job: _JobRef | None


def _delegated(data: Mapping[str, object]) -> None:
    found = _Delegated(data)
    screen.say(f"{found.task.task_id} {found.task.title}")
    screen.say(f"It is about {found.anchor_id}, and {found.card.card_id} says what done means.")
    screen.say(f"{found.job.job_id} is queued." if found.job else "No job was asked for.")


class _Merged(View, card=_Card):
    card: _Card
    changed: bool
    missing_proof: list[str]


def _merged(data: Mapping[str, object]) -> None:
    found = _Merged(data)
    screen.say(f"{found.card.card_id} {'is written' if found.changed else 'stays as it was'}.")
    screen.paragraph(found.card.title, [found.card.body.rstrip("\n")])
    if found.missing_proof:
        screen.say(f"Without proof: {', '.join(found.missing_proof)}")


class _Snapshot(View):
    text: str


def _snapshot(data: Mapping[str, object]) -> None:
    screen.say(*_Snapshot(data).text.split("\n"))


TELLERS: Mapping[str, Callable[[Mapping[str, object]], None]] = {
    "jobs.list": _jobs,
    "jobs.tail": _tail,
    "jobs.wait": _waited,
    "tasks.macro.delegate": _delegated,
    "tasks.macro.merge_report": _merged,
    "tasks.snapshot": _snapshot,
}
