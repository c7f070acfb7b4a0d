"""What a person reads of an answer. Where a list of its fields would bury the point, an operation has words here.

Contracts are imported by the renderer that needs one: this module is loaded for every operation's command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.commandline import output
from tallystick.surfaces.cli import commands, screen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeAlias

    from tallystick.capabilities.jobs.views import JobEvent
    from tallystick.surfaces.cli.session import CallReply

    Renderer: TypeAlias = Callable[[CallReply], None]


def render(operation: str, reply: CallReply) -> None:
    if renderer := RENDERERS.get(operation):
        renderer(reply)
    elif sentence := sentence_of(operation, reply.data):
        screen.say(*sentence.split("\n"))
    else:
        screen.answer(reply.data)


def _agents(reply: CallReply) -> None:
    agents(reply.data["agents"])


def agents(found: Sequence[Mapping[str, Any]]) -> None:
    """Plain data: see `session.CallReply`."""
    if not found:
        screen.say("Nobody is here.")
        return
    screen.table(
        ["agent", "name", "role", "liveness", "holds", "last seen"],
        [
            [
                each["agent_id"],
                each["name"],
                each["role"],
                f"{each['liveness']}, stalled" if each["stalled"] else each["liveness"],
                ", ".join(each["holds"]) or "nothing",
                output.relative_time(each["last_seen_at"]),
            ]
            for each in found
        ],
    )


def _inbox(reply: CallReply) -> None:
    """Plain data: see `session.CallReply`."""
    inbox = reply.data
    for received in inbox["messages"]:
        event = received["event"]
        when = output.relative_time(event["ts"])
        screen.say(f"{event['seq']}  {event['by']}, {when}: {_received_state(received)}")
        for line in _content(event["data"], received):
            screen.indented(line)
    more = " There is more: --limit." if inbox["more"] else ""
    waiting = inbox["messages"] or inbox["unread"] or inbox["unacked"]
    count = f"{inbox['unread']} unread, {inbox['unacked']} to accept."
    screen.say(f"{count}{more}" if waiting else "Nothing to read, nothing to accept.")
    for each in inbox["awaiting"]:
        screen.say(f"You wait for {', '.join(each['missing'])} to accept event {each['seq']}.")


def _content(data: Mapping[str, Any], received: Mapping[str, Any]) -> Iterator[str]:
    """What a message says, carries, points at and comes from."""
    yield from (str(data[name]) for name in ("title", "text", "message") if data.get(name))
    for each in data.get("attachments") or ():
        yield f"attached: {each.get('title') or each.get('name') or each['path']} ({each['path']})"
    for each in data.get("refs") or ():
        yield f"about: {' '.join(str(value) for value in each.values())}"
    if data.get("src_event_id"):
        source = f"event {data['src_event_id']} of room {data.get('src_group_id')}"
        yield f"relayed from {source}{'' if received['source_available'] else ': source unavailable'}"


def _received_state(received: Mapping[str, Any]) -> str:
    if received["acked_at"]:
        return "accepted"
    seen = "read" if received["read"] else "new"
    return f"{seen}, needs your ack" if received["needs_ack"] else seen


def _sent(reply: CallReply) -> None:
    """Plain data: see `session.CallReply`."""
    sent = reply.data
    before = ", as it was before" if sent.get("replayed") else ""
    screen.say(f"Sent to {', '.join(sent['recipients']) or 'nobody'} as event {sent['event']['seq']}{before}.")
    for each in sent.get("asked") or ():
        when = "is away, and is asked when it returns" if each["away"] else "takes it as a request"
        screen.say(f"{each['agent_id']} {when}; its answer will be in your inbox.")
    for gone in sent.get("gone") or ():
        screen.say(f"{gone} has ended: it reads this when its session is resumed, if it ever is.")


def _reserved(reply: CallReply) -> None:
    """Plain data: see `session.CallReply`."""
    found = reply.data
    _renewed(reply)
    for each in found["took_over"]:
        screen.say(f"Taken over from {each['name']}: {each['path']}. Look at what was left uncommitted.")
    for each in found["overlaps"]:
        screen.say(f"Shared with {each['name']}, who has {each['path']} until {output.time_until(each['until'])}.")


def _renewed(reply: CallReply) -> None:
    mine = reply.data["reservation"]
    shared = ", shared" if mine["mode"] == "shared" else ""
    screen.say(f"{mine['path']} is reserved for {mine['name']} until {output.time_until(mine['until'])}{shared}.")


def _reservations(reply: CallReply) -> None:
    found = reply.data["reservations"]
    if not found:
        screen.say("Nothing is reserved.")
        return
    fields = ("path", "name", "liveness", "mode", "state")
    screen.table(
        ["path", "holder", "liveness", "mode", "state", "until"],
        [[*(each[name] for name in fields), output.time_until(each["until"])] for each in found],
    )


def _checked(reply: CallReply) -> None:
    """Who holds a path, and until when, is left out where nobody does."""
    screen.table(
        ["path", "verdict", "holder", "until"],
        [
            [each["path"], each["verdict"], each.get("name"), output.time_until(each.get("until"))]
            for each in reply.data["paths"]
        ],
    )


def _jobs(reply: CallReply) -> None:
    from tallystick.capabilities.jobs.views import Jobs

    found = reply.read(Jobs)
    if found.text is not None:
        _elsewhere("jobs:opened")(reply)
        return
    if not found.jobs:
        screen.say("There are no such jobs.")
        return
    screen.table(
        ["last", "status", "priority", "title", "task", "runner"],
        [[each.last_ref, each.status, each.priority, each.title, each.task, each.runner] for each in found.jobs],
    )
    if found.has_more:
        screen.say(f"There is more: raise --limit, or page on with --cursor {found.cursor}.")


def job_events(events: Sequence[JobEvent]) -> None:
    """One line for each event; what was said stays on it."""
    for each in events:
        refs = f" [{', '.join(each.refs)}]" if each.refs else ""
        screen.say(f"{each.ref}  {each.said}{refs}")


def _tail(reply: CallReply) -> None:
    from tallystick.capabilities.jobs.views import JobTail

    found = reply.read(JobTail)
    if found.text is not None:
        screen.say(*found.text.split("\n"))
        return
    job_events(found.events)
    if found.has_more:
        screen.say(f"There is more: go on with --after-seq {found.next_after_seq}.")


def _waited(reply: CallReply) -> None:
    from tallystick.capabilities.jobs.views import JobWaited

    found = reply.read(JobWaited)
    job_events(found.events)
    job = found.job
    if found.done:
        screen.say(*f"{job.job_id} is {job.status}: {job.summary or 'nothing was said'}".split("\n"))
    elif found.timed_out:
        screen.say(f"{job.job_id} is still {job.status}. Wait again.")


JOB_ENDS = {"DONE": 0, "FAILED": 3, "CANCELED": 4}
STILL_WAITING = 5


def exit_code(name: str, reply: CallReply) -> int:
    """What the exit code says of an answer: for `jobs.wait` how the job ended, or that it has not; else nothing."""
    if name != "jobs.wait":
        return 0
    from tallystick.capabilities.jobs.views import JobWaited

    found = reply.read(JobWaited)
    if found.done:
        return JOB_ENDS[found.job.status]
    return STILL_WAITING if found.timed_out else 0


def _created(reply: CallReply) -> None:
    """Plain data: see `session.CallReply`."""
    job = reply.data["job"]
    screen.say(f"{job['job_id']} is queued: {job['title']}")
    if reply.data["runner_bootstrap"]:
        screen.say("No runner is there to take it. Start one where it is to work: `tally runner`")


def _told(reply: CallReply) -> None:
    """Plain data: see `session.CallReply`."""
    if reply.data["text"] is not None:
        _elsewhere("jobs:opened")(reply)
        return
    job = reply.data["job"]
    running = "inside its running slice where its harness can, else first thing in the next one"
    reads = "first thing in its next slice" if job["status"] == "QUEUED" else running
    screen.say(f"Told {job['job_id']}. Its agent reads it {reads}.")


def _runners(reply: CallReply) -> None:
    from tallystick.capabilities.jobs.runners_contract import Runners

    found = reply.read(Runners)
    if not found.runners:
        screen.say("No runner has been here.")
        return
    rows = [
        [each.runner_id, each.state, each.job_ids, each.executors, each.max_parallel, _where(each.meta)]
        for each in found.runners
    ]
    screen.table(["runner", "state", "jobs", "executors", "at once", "where"], rows)


def _where(meta: Mapping[str, Any]) -> str:
    """The folder, machine and process that a runner told of itself."""
    told = {"cwd": "{}", "host": "on {}", "pid": "process {}"}
    return ", ".join(words.format(meta[name]) for name, words in told.items() if name in meta)


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


def _elsewhere(place: str) -> Renderer:
    """A renderer of another module, which is loaded when there is something to render."""
    return lambda reply: commands.loaded(commands.HERE + place)(reply)


RENDERERS: Mapping[str, Renderer] = {
    "agents.list": _agents,
    "attention.list": _elsewhere("events:attention"),
    "events.follow": _elsewhere("events:listed_events"),
    "events.list": _elsewhere("events:listed_events"),
    "jobs.create": _created,
    "jobs.list": _jobs,
    "jobs.message": _told,
    "jobs.open": _elsewhere("jobs:opened"),
    "jobs.radar": _elsewhere("jobs:opened"),
    "jobs.tail": _tail,
    "jobs.wait": _waited,
    "messages.inbox": _inbox,
    "messages.relay": _sent,
    "messages.send": _sent,
    "notes.list": _elsewhere("events:notes"),
    "notifications.send": _sent,
    "permissions.ask": _elsewhere("messages:shown_request"),
    "permissions.list": _elsewhere("messages:listed_requests"),
    "permissions.show": _elsewhere("messages:shown_request"),
    "protocol.list": _elsewhere("events:protocol"),
    "reservations.check": _checked,
    "reservations.renew": _renewed,
    "reservations.reserve": _reserved,
    "reservations.status": _reservations,
    "runners.list": _runners,
    "tasks.focus": _elsewhere("events:focus"),
    "tasks.macro.delegate": _delegated,
    "tasks.macro.fanout_jobs": _elsewhere("events:fanned_out"),
    "tasks.macro.merge_report": _merged,
    "tasks.snapshot": _snapshot,
    "turns.history": _elsewhere("events:history"),
    "turns.state": _elsewhere("state:shown"),
    "turns.wait": _elsewhere("turns:waited_for"),
}


SENTENCES: Mapping[str, str] = {
    "actions.attach": "{agent_id} takes requests.",
    "actions.detach": "{agent_id} takes no requests.",
    "actions.relay": "Sent as group {group_id} in conversation {context_id}.",
    "actions.result": "Action {action_id} is {status}.",
    "actions.submit": "Submitted as group {group_id} in conversation {context_id}.",
    "actions.task": "{task_id} is {status}.",
    "agents.adopt": "You go on for {name} ({reason}): {evidence}",
    "agents.allow_adoption": "The session {session_id} may go on for {agent_id}.",
    "agents.heartbeat": "{name} is {liveness}.",
    "agents.register": "You are {agent[name]} ({agent[agent_id]}), {agent[role]}.",
    "agents.update": "{agent[agent_id]} is called {agent[name]}, {agent[role]}{unchanged}.",
    "anchors.create": "{anchor_id} is there: {title}",
    "anchors.update": "{anchor_id} is now: {title}",
    "attention.dismiss": "{item} is off your list{unchanged}.",
    "attention.restore": "{item} is on your list again{unchanged}.",
    "attention.snooze": "{item} is off your list for a while{unchanged}.",
    "blobs.put": "Stored {size} bytes as {path}.",
    "cards.create": "{card_id} is written: {title}",
    "cards.update": "{card_id} is now: {title}",
    "context.sync": "The context is at revision {revision}{unchanged}.",
    "events.append": "Appended as event {event[seq]}.",
    "jobs.artifact.put": "Stored {size} characters as {ref}.",
    "jobs.cancel": "{job[job_id]} is canceled.",
    "jobs.claim": "You have {job[job_id]} under claim {claim_revision}: {job[title]}",
    "jobs.complete": "{job[job_id]} is {job[status]}: {job[title]}",
    "jobs.release": "{job[job_id]} is {job[status]} again: {job[title]}",
    "jobs.waive": "{job[job_id]} may be DONE without proof, and that stays on its record: {event[message]}",
    "jobs.report": "Reported on {job[job_id]}.",
    "jobs.requeue": "{job[job_id]} is queued again: {job[title]}",
    "messages.ack": "Accepted{already}.",
    "messages.react": "Reacted with {emoji}{already}.",
    "messages.read": "Read up to event {read_seq}; {unread} unread.",
    "notes.add": "Noted as {ref}.",
    "jobs.acknowledge": "Seen: {count} jobs.",
    "notifications.ack": "Accepted{already}.",
    "permissions.answer": "Request {permission} of {agent_id} is {state}: {title}",
    "permissions.set_policy": "{summary}",
    "permissions.withdraw": "Request {permission} is withdrawn.",
    "protocol.send": "Sent to {event[to_agent]} as event {seq}.",
    "reservations.attempt": "Recorded: {recorded} attempts.",
    "reservations.release": "{path} is free again.",
    "rooms.attach_scope": "{root} belongs to this room{unchanged}.",
    "rooms.close": "Closed.",
    "rooms.create": "Opened the room {room_id}.",
    "rooms.join": "{agent_id} is in the room {room_id}.",
    "rooms.leave": "{agent_id} left the room.",
    "rooms.remove": "{agent_id} is out of the room.",
    "rooms.reorder": "The order is now: {sequence}{unchanged}.",
    "rooms.set_policy": "The policy of the room is set{unchanged}.",
    "runners.heartbeat": "The runner {lease[runner_id]} is here.",
    "runners.set_executors": "The executors of this room are set.",
    "tasks.create": "{task_id} is open: {title}",
    "tasks.update": "{task_id} is {status}: {title}",
    "turns.heartbeat": "The stick is yours: turn {turn_id}.",
    "turns.pass": "Handed over to {next}.",
    "turns.release": "Handed over to {next}.",
    "turns.revoke": "{revoked_agent_id}'s turn {turn_id} is over. The stick goes to {next}.",
    "turns.takeover": "It is your turn: turn {turn_id}.",
}


def sentence_of(operation: str, data: Mapping[str, Any]) -> str | None:
    """One sentence for what an operation changed; None for an operation that is better shown in another way."""
    text = SENTENCES.get(operation)
    if text is None:
        return None
    known = {
        **data,
        "already": ", as it was before" if data.get("already") else "",
        "unchanged": ", as it was before" if data.get("changed") is False else "",
        "sequence": ", ".join(data.get("sequence") or ()),
        "next": data.get("reserved_for") or "whoever comes next",
    }
    return text.format_map(known)
