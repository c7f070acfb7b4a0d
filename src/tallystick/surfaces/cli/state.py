"""`tally state`: whose turn it is, once or again whenever it changes."""

from __future__ import annotations

import sys

import click

from tallystick.commandline.command import Command
from tallystick.commandline.visible import visible_json
from tallystick.kernel.clock import from_wire, system_clock
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.options import about_a_room
from tallystick.surfaces.cli.session import CallReply, Session, StopSignal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LOOK_AGAIN_MS = 2_000
"""A lease that runs out and a process that dies leave no event, so watching also looks by itself."""


@click.command(cls=Command)
@about_a_room
@click.option("--watch", is_flag=True, help="Show it again whenever it changes, until Ctrl-C.")
@click.pass_obj
def state(session: Session, *, path: str | None, room_id: str | None, watch: bool) -> None:
    """Show whose turn it is, who is here and who comes next.

    With --watch and --json each state is one line of JSON, without the envelope.
    """
    room = session.room(path, room_id)
    if watch:
        _watch(session, room)
        return
    reply = session.call("turns.state", {"room_id": room})
    if not session.finish(reply.data):
        show(reply.data)


def _watch(session: Session, room: str) -> None:
    shown: dict[str, object] | None = None
    with StopSignal() as stop:
        while not stop.stopped():
            reply = session.call("turns.state", {"room_id": room})
            if (now := _lasting(reply)) != shown:
                shown = now
                _show_again(session, reply)
            since = int(reply.data["cursor"])
            follow = {"room_id": room, "since_seq": since, "max_wait_ms": LOOK_AGAIN_MS}
            session.call("events.follow", follow, stop)


def _lasting(reply: CallReply) -> dict[str, object]:
    """A state without what moves although nothing changed."""
    members = [{**member, "last_seen_at": None} for member in reply.data["members"]]
    return {**reply.data, "members": members}


def _show_again(session: Session, reply: CallReply) -> None:
    if session.as_json:
        print(visible_json(reply.data), flush=True)
        return
    if sys.stdout.isatty():
        click.clear()
    show(reply.data)
    print(flush=True)


def show(state: Mapping[str, Any]) -> None:
    """A `TurnState` as plain data: see `session.CallReply`."""
    owner, reserved_for = state["owner"], state["reserved_for"]
    screen.pairs(
        {
            "room": state["room_id"],
            "path": state["canonical_path"],
            "state": state["state"],
            "turn": state["turn_id"],
            "holder": _with_time(owner, state["lease_expires_at"], "lease"),
            "next": _with_time(reserved_for, state["claim_expires_at"], "claim"),
        }
        | ({"your lease": state["lease_id"]} if state["lease_id"] else {})
    )
    if state["takeover"]:
        candidates = screen.cell(state["takeover_candidates"])
        screen.say(f"The stick may be taken over ({state['takeover']}) by: {candidates}")
    print()
    marks = {reserved_for: ">", owner: "*"}
    fields = ("agent_id", "status", "last_seen_at", "session_kind", "pid")
    screen.table(
        ["", "MEMBER", "STATUS", "LAST SEEN", "SESSION", "PID"],
        [[marks.get(each["agent_id"], " "), *(each[name] for name in fields)] for each in state["members"]],
    )


def _with_time(who: str | None, until: str | None, what: str) -> str | None:
    if who is None or until is None:
        return who
    left = (from_wire(until) - system_clock()) // 1000
    return f"{who} ({what} {_span(left)} left)" if left >= 0 else f"{who} ({what} ran out {_span(-left)} ago)"


def _span(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{rest} s"
