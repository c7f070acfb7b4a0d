"""`tally send|reply|inbox|ack|allow|deny`: talking to the others, and requests for permission.

Answers are read as plain data: see `session.CallReply`.
"""

from __future__ import annotations

import sys

import click

from tallystick.commandline import output
from tallystick.commandline.command import Command
from tallystick.kernel.errors import NotFound
from tallystick.surfaces.cli import options, render, screen, short_ids
from tallystick.surfaces.cli.options import path_option, period, room_option
from tallystick.surfaces.cli.session import CallReply, Session, StopSignal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

LONGEST_WAIT_MS = 110_000
"""What the hub takes in one call; a longer wait is several."""
PAGE = 200

attention = click.option("--attention", is_flag=True, help="Ask every recipient to accept it.")

DIFF_LINES = 40


def text_of(given: str) -> str:
    return sys.stdin.read() if given == "-" else given


@click.command(cls=Command)
@click.argument("to", shell_complete=options.complete_recipients)
@click.argument("text")
@attention
@path_option
@room_option
@click.pass_obj
def send(session: Session, *, to: str, text: str, attention: bool, path: str | None, room_id: str | None) -> None:
    """Say something to one or several.

    TO is an agent by id or name, or the beginning of either, or user, @all, @peers, @foreman; several with commas. TEXT
    may be - to read it from stdin.
    """
    room = session.room(path, room_id)
    reply = delivered(session, room, to.split(","), {"text": text_of(text), **_priority(attention)})
    if not session.finish(reply.data):
        render.render("messages.send", reply)


@click.command(cls=Command)
@click.argument("event")
@click.argument("text")
@attention
@path_option
@room_option
@click.pass_obj
def reply(session: Session, *, event: str, text: str, attention: bool, path: str | None, room_id: str | None) -> None:
    """Answer a message, or a job's question.

    Whoever sent it gets your words, marked as the answer to it. EVENT is its number as `tally inbox` and `tally log`
    show it, or its id. A message that asked to be accepted is accepted thereby; a job's question is answered to the
    job. TEXT may be - to read it from stdin.
    """
    room = session.room(path, room_id)
    event_id = short_ids.event(session, room, event)
    asked = session.call("open.ref", {"room_id": room, "id": event_id}).data["value"]
    if job := asked["data"].get("job_id"):
        told = session.call("jobs.message", {"room_id": room, "job": job, "message": text_of(text)})
        if not session.finish(told.data):
            render.render("jobs.message", told)
        return
    given = {"text": text_of(text), "reply_to": event_id, **_priority(attention)}
    sent = delivered(session, room, [asked["by"]], given)
    _accepted(session, room, event_id)
    if not session.finish(sent.data):
        render.render("messages.send", sent)


def _accepted(session: Session, room: str, event_id: str) -> None:
    """Accept what was answered, where that was still owed."""
    owed = session.call("messages.inbox", {"room_id": room, "owed": True, "limit": PAGE}).data["messages"]
    if any(each["event"]["id"] == event_id for each in owed):
        session.call("messages.ack", {"room_id": room, "event_id": event_id})


@click.command(cls=Command)
@click.option("--all", "everything", is_flag=True, help="Also what you have read, newest last.")
@click.option("--limit", type=click.IntRange(1, PAGE), default=50, show_default=True, help="At most this many.")
@click.option("--wait", type=period, metavar="TIME", default="0", help="How long to wait for something new.")
@click.option("--mark-read", is_flag=True, help="Count what is shown as read.")
@path_option
@room_option
@click.pass_obj
def inbox(
    session: Session,
    *,
    everything: bool,
    limit: int,
    wait: int,
    mark_read: bool,
    path: str | None,
    room_id: str | None,
) -> None:
    """Show what you have to read, to accept, and to allow or deny.

    Looking marks nothing as read; --mark-read does, and so does accepting.
    """
    room = session.room(path, room_id)
    # Before the mail, which is the answer that counts: beside it stands no notice of the mail itself.
    asked = waiting_requests(session, room)
    data = newest(session, room, limit) if everything else _unread(session, room, limit, wait)
    if mark_read and data["messages"]:
        last = data["messages"][-1]["event"]["id"]
        data |= {"unread": session.call("messages.read", {"room_id": room, "event_id": last}).data["unread"]}
    if session.finish({**data, "permissions": asked}):
        return
    show_requests(asked)
    render.render("messages.inbox", CallReply(data))
    if data["unread"] and not mark_read:
        screen.say(f"Looking marks nothing as read; {session.typed('messages.read')} does.")


def _unread(session: Session, room: str, limit: int, wait: int) -> dict[str, Any]:
    given = {"room_id": room, "limit": limit, "max_wait_ms": min(wait, LONGEST_WAIT_MS)}
    with StopSignal() as stop:
        data = session.call("messages.inbox", given, stop).data
    shown = {each["event"]["seq"] for each in data["messages"]}
    if data["unacked"] <= sum(1 for each in data["messages"] if each["needs_ack"]):
        return data
    owed = session.call("messages.inbox", {"room_id": room, "owed": True, "limit": limit}).data["messages"]
    return {**data, "messages": [*(each for each in owed if each["event"]["seq"] not in shown), *data["messages"]]}


def newest(
    session: Session, room: str, limit: int, state: str | None = None, whose: str | None = None
) -> dict[str, Any]:
    """The newest that were sent to the caller or to somebody else, in any state or in one.

    An inbox is read forwards, so from its start.
    """
    kept: list[dict[str, Any]] = []
    since = 0
    them = {"actor_id": whose} if whose else {}
    while True:
        page = session.call("messages.inbox", {"room_id": room, "since_seq": since, "limit": PAGE, **them}).data
        kept += [each for each in page["messages"] if state in {None, state_of(each)}]
        if not page["more"]:
            return {**page, "messages": kept[-limit:], "more": len(kept) > limit}
        since = page["cursor"]


def state_of(received: Mapping[str, Any]) -> str:
    return "acked" if received["acked_at"] else "read" if received["read"] else "unread"


@click.command(cls=Command)
@click.argument("event")
@path_option
@room_option
@click.pass_obj
def ack(session: Session, *, event: str, path: str | None, room_id: str | None) -> None:
    """Accept a message that asked for it.

    EVENT is its number as `tally inbox` and `tally log` show it, or its id.
    """
    room = session.room(path, room_id)
    given = {"room_id": room, "event_id": short_ids.event(session, room, event)}
    reply = session.call("messages.ack", given)
    if not session.finish(reply.data):
        render.render("messages.ack", reply)


def delivered(session: Session, room: str, to: list[str], given: Mapping[str, object]) -> CallReply:
    """Send it; where a recipient is not known as it was typed, to the one whose name begins like that."""
    words = [word for word in to if word]
    try:
        return session.call("messages.send", {"room_id": room, "to": words, **given})
    except NotFound as refusal:
        if refusal.code != "agent_not_found" or (meant := short_ids.agents(session, room, words)) == words:
            raise
    return session.call("messages.send", {"room_id": room, "to": meant, **given})


def _priority(attention: bool) -> dict[str, str]:
    return {"priority": "attention"} if attention else {}


@click.command(cls=Command)
@click.argument("request", type=click.IntRange(min=1))
@click.option("--option", "option_id", metavar="ID", help="One of the answers that the harness offers, by its id.")
@click.option("--message", metavar="TEXT", help="What the agent is told besides.")
@path_option
@room_option
@click.pass_obj
def allow(
    session: Session, *, request: int, option_id: str | None, message: str | None, path: str | None, room_id: str | None
) -> None:
    """Let an agent do what it asks permission for, this once.

    REQUEST is its number as `tally inbox` shows it. The first answer counts. For people at a terminal, and for agents
    that the room's policy names.
    """
    room = session.room(path, room_id)
    _answer_request(session, room, {"permission": request, "decision": "allow", **_given(message, option_id)})


@click.command(cls=Command)
@click.argument("request", type=click.IntRange(min=1))
@click.argument("message", required=False)
@click.option("--option", "option_id", metavar="ID", help="One of the answers that the harness offers, by its id.")
@path_option
@room_option
@click.pass_obj
def deny(
    session: Session, *, request: int, message: str | None, option_id: str | None, path: str | None, room_id: str | None
) -> None:
    """Keep an agent from what it asks permission for.

    REQUEST is its number as `tally inbox` shows it. The agent is told MESSAGE: say what it should do instead.
    """
    room = session.room(path, room_id)
    _answer_request(session, room, {"permission": request, "decision": "deny", **_given(message, option_id)})


def _given(message: str | None, option_id: str | None) -> dict[str, str]:
    found = {"message": message, "option_id": option_id}
    return {name: value for name, value in found.items() if value is not None}


def _answer_request(session: Session, room: str, given: Mapping[str, object]) -> None:
    reply = session.call("permissions.answer", {"room_id": room, **given})
    if not session.finish(reply.data):
        render.render("permissions.answer", reply)


def waiting_requests(session: Session, room: str) -> Sequence[Mapping[str, Any]]:
    """What waits for an answer that the caller may give."""
    found = session.call("permissions.list", {"room_id": room}).data
    return found["permissions"] if found["may_answer"] else []


def listed_requests(reply: CallReply) -> None:
    """`permissions.list`."""
    found = reply.data["permissions"]
    show_requests(found)
    if not found:
        screen.say("No request for permission is open.")
    screen.say(f"In this room {reply.data['policy']['summary']}")


def shown_request(reply: CallReply) -> None:
    """`permissions.ask` and `permissions.show`."""
    show_requests([reply.data])


def show_requests(found: Sequence[Mapping[str, Any]]) -> None:
    for each in found:
        when = output.relative_time(each["asked_at"])
        screen.say(f"{each['permission']}  {each['agent_id']}, {when}: {_request_state(each)}")
        screen.indented(f"{each['tool']}: {each['title']}")
        if each["command"] and each["command"] != each["title"]:
            screen.indented(each["command"])
        if each["paths"]:
            screen.indented(f"changes {', '.join(each['paths'])}")
        for line in (each["diff"] or "").splitlines()[:DIFF_LINES]:
            screen.indented(line)
        lasting = [option for option in each["options"] if option["kind"].endswith("_always")]
        for option in lasting if each["state"] == "open" else ():
            screen.indented(f"--option {option['option_id']}: {option['name']}")


def _request_state(each: Mapping[str, Any]) -> str:
    if each["state"] == "open":
        return f'asks permission; tally allow {each["permission"]}, or tally deny {each["permission"]} "why"'
    why = each["message"] or each["policy"]
    by = f" by {each['settled_by']}" if each["settled_by"] else ""
    return f"{each['state']}{by}{f': {why}' if why else ''}"
