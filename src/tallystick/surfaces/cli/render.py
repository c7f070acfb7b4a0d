"""What a person reads of an answer. Where a list of its fields would bury the point, an operation has words here.

Contracts are imported by the renderer that needs one: this module is loaded for every operation's command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.surfaces.cli import screen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from tallystick.capabilities.jobs.views import JobEvent
    from tallystick.capabilities.reservations.contract import ReservationView
    from tallystick.surfaces.cli.session import CallReply

    Renderer: TypeAlias = Callable[[CallReply], None]


def render(operation: str, reply: CallReply) -> None:
    if renderer := RENDERERS.get(operation):
        renderer(reply)
    else:
        screen.answer(reply.data)


def _agents(reply: CallReply) -> None:
    from tallystick.capabilities.agents.contract import Agents

    screen.table(
        ["agent", "name", "role", "liveness", "holds", "last seen"],
        [
            [
                each.agent_id,
                each.name,
                each.role,
                f"{each.liveness}, stalled" if each.stalled else each.liveness,
                each.holds,
                screen.time(each.last_seen_at),
            ]
            for each in reply.read(Agents).agents
        ],
    )


def _inbox(reply: CallReply) -> None:
    """Plain data: see `session.CallReply`."""
    inbox = reply.data
    for received in inbox["messages"]:
        event = received["event"]
        screen.say(f"{event['id']}  {event['ts']}  {event['by']}: {_received_state(received)}")
        texts = [str(event["data"][name]) for name in ("title", "text", "message") if event["data"].get(name)]
        screen.paragraph(f"{event['kind']} {event['seq']}", texts)
    more = " There is more." if inbox["more"] else ""
    screen.say(f"{inbox['unread']} unread, {inbox['unacked']} to acknowledge.{more}")
    for each in inbox["awaiting"]:
        screen.say(f"You wait for the ack of {', '.join(each['missing'])}: {each['event_id']}")


def _received_state(received: Mapping[str, Any]) -> str:
    if received["acked_at"]:
        return "accepted"
    seen = "read" if received["read"] else "new"
    return f"{seen}, needs your ack" if received["needs_ack"] else seen


def _sent(reply: CallReply) -> None:
    from tallystick.capabilities.messages.contract import SendMessageResult

    sent = reply.read(SendMessageResult)
    before = ", as it was before" if sent.replayed else ""
    screen.say(f"Sent to {', '.join(sent.recipients) or 'nobody'}{before}: {sent.event.id}")


def _reserved(reply: CallReply) -> None:
    from tallystick.capabilities.reservations.contract import ReserveResult

    found = reply.read(ReserveResult)
    _say_reserved(found.reservation)
    for each in found.took_over:
        screen.say(f"Taken over from {each.name}: {each.path}. Look at what was left uncommitted.")
    for each in found.overlaps:
        screen.say(f"Shared with {each.name}, who has {each.path} until {screen.time(each.until)}.")


def _renewed(reply: CallReply) -> None:
    from tallystick.capabilities.reservations.contract import RenewResult

    _say_reserved(reply.read(RenewResult).reservation)


def _say_reserved(mine: ReservationView) -> None:
    until = screen.time(mine.until)
    screen.say(f"{mine.path} is reserved for {mine.name} until {until} ({mine.mode}, fence {mine.fence}).")


def _reservations(reply: CallReply) -> None:
    from tallystick.capabilities.reservations.contract import ReservationList

    found = reply.read(ReservationList).reservations
    if not found:
        screen.say("Nothing is reserved.")
        return
    screen.table(
        ["path", "holder", "liveness", "mode", "state", "until"],
        [[each.path, each.name, each.liveness, each.mode, each.state, screen.time(each.until)] for each in found],
    )


def _checked(reply: CallReply) -> None:
    """Plain data: who holds a path, and until when, is left out where nobody does."""
    screen.table(
        ["path", "verdict", "holder", "until"],
        [[each["path"], each["verdict"], each.get("name"), each.get("until")] for each in reply.data["paths"]],
    )


def _jobs(reply: CallReply) -> None:
    from tallystick.capabilities.jobs.views import Jobs

    found = reply.read(Jobs)
    screen.table(
        ["last", "status", "priority", "title", "task", "runner"],
        [[each.last_ref, each.status, each.priority, each.title, each.task, each.runner] for each in found.jobs],
    )
    if found.has_more:
        screen.say("There is more: raise --limit, or page on with --cursor.")


def _job_events(events: Sequence[JobEvent]) -> None:
    """One line for each event; what was said stays on it."""
    for each in events:
        refs = f" [{', '.join(each.refs)}]" if each.refs else ""
        screen.say(f"{each.ref}  {each.kind}: {each.message}{refs}")


def _tail(reply: CallReply) -> None:
    from tallystick.capabilities.jobs.views import JobTail

    found = reply.read(JobTail)
    if found.text is not None:
        screen.say(*found.text.split("\n"))
        return
    _job_events(found.events)
    if found.has_more:
        screen.say(f"There is more: go on with --after-seq {found.next_after_seq}.")


def _waited(reply: CallReply) -> None:
    from tallystick.capabilities.jobs.views import JobWaited

    found = reply.read(JobWaited)
    _job_events(found.events)
    job = found.job
    if found.done:
        screen.say(f"{job.job_id} is {job.status}: {job.summary or 'nothing was said'}")
    elif found.timed_out:
        screen.say(f"{job.job_id} is still {job.status}. Wait again.")


def _delegated(reply: CallReply) -> None:
    from tallystick.capabilities.tasks.contract import Delegated

    found = reply.read(Delegated)
    screen.say(f"{found.task.task_id} {found.task.title}")
    screen.say(f"It is about {found.anchor_id}, and {found.card.card_id} says what done means.")
    screen.say(f"{found.job.job_id} is queued." if found.job else "No job was asked for.")


def _merged(reply: CallReply) -> None:
    from tallystick.capabilities.tasks.contract import Merged

    found = reply.read(Merged)
    screen.say(f"{found.card.card_id} {'is written' if found.changed else 'stays as it was'}.")
    screen.paragraph(found.card.title, [found.card.body.rstrip("\n")])
    if found.missing_proof:
        screen.say(f"Without proof: {', '.join(found.missing_proof)}")


def _snapshot(reply: CallReply) -> None:
    from tallystick.capabilities.tasks.contract import TaskSnapshot

    screen.say(*reply.read(TaskSnapshot).text.split("\n"))


RENDERERS: Mapping[str, Renderer] = {
    "agents.list": _agents,
    "jobs.list": _jobs,
    "jobs.tail": _tail,
    "jobs.wait": _waited,
    "messages.inbox": _inbox,
    "messages.send": _sent,
    "reservations.check": _checked,
    "reservations.renew": _renewed,
    "reservations.reserve": _reserved,
    "reservations.status": _reservations,
    "tasks.macro.delegate": _delegated,
    "tasks.macro.merge_report": _merged,
    "tasks.snapshot": _snapshot,
}
