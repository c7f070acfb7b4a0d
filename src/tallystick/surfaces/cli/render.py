"""What a person reads of an answer. Where a list of its fields would bury the point, an operation has words here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

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


Renderer: TypeAlias = Callable[[Mapping[str, object]], None]


def render(operation: str, data: Mapping[str, object]) -> None:
    RENDERERS.get(operation, screen.answer)(data)


class _Event(View):
    id: str
    ts: str
    seq: int
    kind: str
    by: str
    data: dict[str, object]


class _Letter(View, event=_Event):
    event: _Event
    read: bool
    needs_ack: bool
    acked_at: str | None

    @property
    def state(self) -> str:
        if self.acked_at:
            return "accepted"
        seen = "read" if self.read else "new"
        return f"{seen}, needs your ack" if self.needs_ack else seen


class _Awaited(View):
    event_id: str
    missing: list[str]


class _Inbox(View, messages=_Letter, awaiting=_Awaited):
    unread: int
    unacked: int
    more: bool
    messages: list[_Letter]
    awaiting: list[_Awaited]


def _inbox(data: Mapping[str, object]) -> None:
    inbox = _Inbox(data)
    for letter in inbox.messages:
        event, about = letter.event, letter.event.data
        screen.say(f"{event.id}  {event.ts}  {event.by}: {letter.state}")
        texts = [str(about[name]) for name in ("title", "text", "message") if about.get(name)]
        screen.paragraph(f"{event.kind} {event.seq}", texts)
    screen.say(f"{inbox.unread} unread, {inbox.unacked} to acknowledge.{' There is more.' if inbox.more else ''}")
    for each in inbox.awaiting:
        screen.say(f"You wait for the ack of {', '.join(each.missing)}: {each.event_id}")


class _Sent(View, event=_Event):
    event: _Event
    recipients: list[str]
    replayed: bool


def _sent(data: Mapping[str, object]) -> None:
    sent = _Sent(data)
    before = ", as it was before" if sent.replayed else ""
    screen.say(f"Sent to {', '.join(sent.recipients) or 'nobody'}{before}: {sent.event.id}")


class _Reservation(View):
    path: str
    name: str
    liveness: str
    mode: str
    until: str
    fence: int
    state: str


class _Holder(View):
    path: str
    name: str
    until: str


class _Reserved(View, reservation=_Reservation, overlaps=_Holder, took_over=_Holder):
    reservation: _Reservation
    overlaps: Sequence[_Holder] = ()
    took_over: Sequence[_Holder] = ()


def _reserved(data: Mapping[str, object]) -> None:
    found = _Reserved(data)
    mine = found.reservation
    screen.say(f"{mine.path} is reserved for {mine.name} until {mine.until} ({mine.mode}, fence {mine.fence}).")
    for each in found.took_over:
        screen.say(f"Taken over from {each.name}: {each.path}. Look at what was left uncommitted.")
    for each in found.overlaps:
        screen.say(f"Shared with {each.name}, who has {each.path} until {each.until}.")


class _Status(View, reservations=_Reservation):
    reservations: list[_Reservation]


def _status(data: Mapping[str, object]) -> None:
    found = _Status(data).reservations
    if not found:
        screen.say("Nothing is reserved.")
        return
    screen.table(
        ["path", "holder", "liveness", "mode", "state", "until"],
        [[each.path, each.name, each.liveness, each.mode, each.state, each.until] for each in found],
    )


class _Verdict(View):
    path: str
    verdict: str
    name: str | None = None
    until: str | None = None


class _Checked(View, paths=_Verdict):
    paths: list[_Verdict]


def _checked(data: Mapping[str, object]) -> None:
    found = _Checked(data).paths
    screen.table(
        ["path", "verdict", "holder", "until"], [[each.path, each.verdict, each.name, each.until] for each in found]
    )


class _Agent(View):
    agent_id: str
    name: str
    role: str
    liveness: str
    stalled: bool
    holds: list[str]
    last_seen_at: str


class _Agents(View, agents=_Agent):
    agents: list[_Agent]


def _agents(data: Mapping[str, object]) -> None:
    found = _Agents(data).agents
    screen.table(
        ["agent", "name", "role", "liveness", "holds", "last seen"],
        [[each.agent_id, each.name, each.role, _life(each), each.holds, each.last_seen_at] for each in found],
    )


def _life(agent: _Agent) -> str:
    return f"{agent.liveness}, stalled" if agent.stalled else agent.liveness


RENDERERS: Mapping[str, Renderer] = {
    "agents.list": _agents,
    "jobs.list": _jobs,
    "jobs.tail": _tail,
    "jobs.wait": _waited,
    "messages.inbox": _inbox,
    "messages.send": _sent,
    "reservations.check": _checked,
    "reservations.renew": _reserved,
    "reservations.reserve": _reserved,
    "reservations.status": _status,
    "tasks.macro.delegate": _delegated,
    "tasks.macro.merge_report": _merged,
    "tasks.snapshot": _snapshot,
}
