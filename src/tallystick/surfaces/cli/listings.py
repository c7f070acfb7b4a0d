"""Lists whose rows are sentences: events, turns, notes, what the protocol has an envelope for, what waits for a person.

Each is a renderer of `render.RENDERERS`, in a module of its own so that other commands need not load it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.commandline import times
from tallystick.ledger.contract import Events
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.events import tell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from tallystick.surfaces.cli.session import CallReply


def events(reply: CallReply) -> None:
    """`events.list` and `events.follow`."""
    found = reply.read(Events).events
    for each in found:
        tell(each)
    if not found:
        screen.say("Nothing more yet.")


def notes(reply: CallReply) -> None:
    """`notes.list`."""
    for each in reply.data["notes"]:
        screen.event(each["seq"], each["ts"], f"{each['by']}: {each['body']}")
    if not reply.data["notes"]:
        screen.say("There are no notes.")


def protocol(reply: CallReply) -> None:
    """`protocol.list`."""
    for each in reply.data["events"]:
        screen.event(each["seq"], each["event"]["created_at"], "\n".join(_envelope(each["event"], each["ack"])))
    if not reply.data["events"]:
        screen.say("No work was handed over or blocked, and nobody came into another's way.")


def _envelope(event: Mapping[str, Any], ack: Mapping[str, Any]) -> Iterator[str]:
    to = f" to {event['to_agent']}" if event["to_agent"] else ""
    about = ", ".join(each for each in (event["bead_id"], event["scope"]) if each)
    yield f"{event['event_type']} from {event['from_agent'] or 'nobody'}{to}{f', about {about}' if about else ''}"
    for name, value in event["payload"].items():
        if isinstance(value, str):
            yield f"{name.replace('_', ' ')}: {times.told(value)}"
    if ack["required"]:
        yield f"accepted {times.relative(ack['acked_at'])}" if ack["acked_at"] else "to be accepted"


_STICK = {
    "claim": "{to} has the stick: turn {turn}",
    "release": "{by} released the stick",
    "pass": "{by} passed the stick to {to}",
    "takeover": "{to} took the stick over from {by}: {why}",
    "revoke": "{by} lost the stick: {why}",
    "close": "The room was closed: {why}",
}


def history(reply: CallReply) -> None:
    """`turns.history`."""
    for each in reply.data["events"]:
        known = {"by": each["from_agent_id"] or "nobody", "to": each["to_agent_id"], "turn": each["turn_id"]}
        said = [_STICK[each["event_type"]].format_map({**known, "why": each["reason"] or "no reason was given"})]
        if handoff := each["handoff"]:
            said += [handoff["status"], f"Next: {handoff['next_action']}"]
        screen.event(each["event_seq"], each["created_at"], "\n".join(said))
    if not reply.data["events"]:
        screen.say("Nobody has had the stick yet.")


def attention(reply: CallReply) -> None:
    """`attention.list`."""
    found = reply.data["items"]
    if not found:
        screen.say("Nothing waits for you.")
        return
    fields = ("sign", "item", "who", "reason", "said")
    screen.table(
        ["", *fields[1:], "since"],
        [[*(each[name] for name in fields), times.relative(each["since"])] for each in found],
    )


def focus(reply: CallReply) -> None:
    """`tasks.focus`."""
    task = reply.data["task"]
    screen.say(f"You are at {task['task_id']}: {task['title']}" if task else "You are at no task.")


def fanned_out(reply: CallReply) -> None:
    """`tasks.macro.fanout_jobs`."""
    for each in reply.data["jobs"]:
        screen.say(f"{each['job_id']} is queued: {each['anchor']}")
