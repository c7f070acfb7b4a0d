"""`tally state`: whose turn it is, once or again whenever it changes."""

from __future__ import annotations

import sys
from typing import cast

import click

from tallystick.commandline.command import Command
from tallystick.commandline.visible import visible_json
from tallystick.kernel.clock import from_wire, system_clock
from tallystick.surfaces.cli import screen, views
from tallystick.surfaces.cli.options import about_a_room
from tallystick.surfaces.cli.session import Reply, Session, StopSignal

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
        show(reply.view(views.State))


def _watch(session: Session, room: str) -> None:
    shown: dict[str, object] | None = None
    with StopSignal() as stop:
        while not stop.stopped():
            reply = session.call("turns.state", {"room_id": room})
            if (now := _lasting(reply)) != shown:
                shown = now
                _show_again(session, reply)
            since = int(reply.view(views.State).cursor)
            follow = {"room_id": room, "since_seq": since, "max_wait_ms": LOOK_AGAIN_MS}
            session.call("events.follow", follow, stop)


def _lasting(reply: Reply) -> dict[str, object]:
    """A state without what moves although nothing changed."""
    members = [{**member, "last_seen_at": None} for member in cast("list[dict[str, object]]", reply.data["members"])]
    return {**reply.data, "members": members}


def _show_again(session: Session, reply: Reply) -> None:
    if session.as_json:
        print(visible_json(reply.data), flush=True)
        return
    if sys.stdout.isatty():
        click.clear()
    show(reply.view(views.State))
    print(flush=True)


def show(state: views.State) -> None:
    screen.pairs(
        {
            "room": state.room_id,
            "path": state.canonical_path,
            "state": state.state,
            "turn": state.turn_id,
            "holder": _with_time(state.owner, state.lease_expires_at, "lease"),
            "next": _with_time(state.reserved_for, state.claim_expires_at, "claim"),
        }
        | ({"your lease": state.lease_id} if state.lease_id else {})
    )
    if state.takeover:
        screen.say(f"The stick may be taken over ({state.takeover}) by: {screen.cell(state.takeover_candidates)}")
    print()
    screen.table(
        ["", "MEMBER", "STATUS", "LAST SEEN", "SESSION", "PID"],
        [
            [_mark(state, each.agent_id), each.agent_id, each.status, each.last_seen_at, each.session_kind, each.pid]
            for each in state.members
        ],
    )


def _mark(state: views.State, agent_id: str) -> str:
    return "*" if agent_id == state.owner else ">" if agent_id == state.reserved_for else " "


def _with_time(who: str | None, until: str | None, what: str) -> str | None:
    if who is None or until is None:
        return who
    left = (from_wire(until) - system_clock()) // 1000
    return f"{who} ({what} {_span(left)} left)" if left >= 0 else f"{who} ({what} ran out {_span(-left)} ago)"


def _span(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min" if minutes else f"{rest} s"
