"""`tally allow|deny` and how requests for permission are shown. Answers are read as plain data: see `CallReply`."""

from __future__ import annotations

import click

from tallystick.commandline import times
from tallystick.commandline.command import Command
from tallystick.surfaces.cli import render, screen
from tallystick.surfaces.cli.options import path_option, room_option
from tallystick.surfaces.cli.session import CallReply, Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

DIFF_LINES = 40


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
    _answer(session, room, {"permission": request, "decision": "allow", **_given(message, option_id)})


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
    _answer(session, room, {"permission": request, "decision": "deny", **_given(message, option_id)})


def _given(message: str | None, option_id: str | None) -> dict[str, str]:
    found = {"message": message, "option_id": option_id}
    return {name: value for name, value in found.items() if value is not None}


def _answer(session: Session, room: str, given: Mapping[str, object]) -> None:
    reply = session.call("permissions.answer", {"room_id": room, **given})
    if not session.finish(reply.data):
        render.render("permissions.answer", reply)


def waiting(session: Session, room: str) -> Sequence[Mapping[str, Any]]:
    """What waits for an answer that the caller may give."""
    found = session.call("permissions.list", {"room_id": room}).data
    return found["permissions"] if found["may_answer"] else []


def listed(reply: CallReply) -> None:
    """`permissions.list`."""
    found = reply.data["permissions"]
    show(found)
    if not found:
        screen.say("No request for permission is open.")
    screen.say(f"In this room {reply.data['policy']['summary']}")


def one(reply: CallReply) -> None:
    """`permissions.ask` and `permissions.show`."""
    show([reply.data])


def show(found: Sequence[Mapping[str, Any]]) -> None:
    for each in found:
        when = times.relative(each["asked_at"])
        screen.say(f"{each['permission']}  {each['agent_id']}, {when}: {_state(each)}")
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


def _state(each: Mapping[str, Any]) -> str:
    if each["state"] == "open":
        return f'asks permission; tally allow {each["permission"]}, or tally deny {each["permission"]} "why"'
    why = each["message"] or each["policy"]
    by = f" by {each['settled_by']}" if each["settled_by"] else ""
    return f"{each['state']}{by}{f': {why}' if why else ''}"
