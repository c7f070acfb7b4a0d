"""`tally wait|release|pass|takeover`: the stick, from one-shot commands."""

from __future__ import annotations

import time
from typing import Unpack

import click

from tallystick.commandline.command import Command
from tallystick.surfaces.cli import screen, views
from tallystick.surfaces.cli.failures import INTERRUPTED, NOT_YOUR_TURN
from tallystick.surfaces.cli.handoffs import Words, handoff, handoff_options, stdin_option
from tallystick.surfaces.cli.options import about_a_room, period
from tallystick.surfaces.cli.session import Reply, Session
from tallystick.surfaces.cli.signals import Stop

LONGEST_WAIT_MS = 110_000
"""What the hub takes in one call; a longer wait is several."""


def waited(session: Session, room_id: str, timeout_ms: int | None, stop: Stop) -> Reply:
    """Wait for a turn, for as long as it takes when no time is given."""
    deadline = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
    while True:
        left = LONGEST_WAIT_MS if deadline is None else max(0, int((deadline - time.monotonic()) * 1000))
        reply = session.call("turns.wait", {"room_id": room_id, "max_wait_ms": min(left, LONGEST_WAIT_MS)}, stop)
        over = left <= LONGEST_WAIT_MS if deadline is not None else False
        if reply.data["status"] != "not_yet" or over or stop.stopped():
            return reply


@click.command(cls=Command)
@about_a_room
@click.option(
    "--timeout", type=period, metavar="TIME", default="30s", show_default=True, help="How long to wait; 0 looks once."
)
@click.pass_obj
def wait(session: Session, *, path: str | None, room_id: str | None, timeout: int) -> int:
    """Wait for your turn and claim it.

    Exits 0 when it is your turn and 5 when it is not, so that `tally wait && work` is safe. On not_yet wait again; on
    takeover_available decide whether to take over.
    """
    room = session.room(path, room_id)
    with Stop() as stop:
        reply = waited(session, room, timeout, stop)
    turn = reply.view(views.Turn)
    if not session.finish(reply.data):
        show_turn(turn)
    if turn.status == "your_turn":
        return 0
    return INTERRUPTED if stop.stopped() else NOT_YOUR_TURN


def show_turn(turn: views.Turn) -> None:
    match turn.status:
        case "your_turn":
            screen.say(f"It is your turn: turn {turn.turn_id}, lease {turn.lease_id} ({turn.reason}).")
            if turn.handoff:
                screen.handoff(turn.handoff, by=turn.from_agent_id)
            screen.say("Next: work, `tally turns heartbeat` now and then, and hand over with `tally release`.")
        case "takeover_available":
            who = turn.current_owner or turn.reserved_for
            screen.say(f"Not your turn, but {screen.cell(who)} failed ({turn.reason}) at turn {turn.turn_id}.")
            screen.say('Next: `tally takeover --reason "why"`, if you mean it.')
        case "closed":
            screen.say("This room is closed.")
        case _:
            screen.say(f"Not yet: the room is {turn.room_state}. Next: `tally wait` again.")


_lease = click.option("--lease", metavar="ID", help="The lease; the one you hold if left out.")
_turn = click.option("--turn", type=click.IntRange(min=0), help="The turn you believe is current.")


def _owned(session: Session, room: str, lease: str | None, turn: int | None) -> dict[str, object]:
    """What fences an owner's call: as given, else what the room shows its holder."""
    if lease is None or turn is None:
        state = session.call("turns.state", {"room_id": room}).view(views.State)
        lease = lease if lease is not None else state.lease_id or ""
        turn = turn if turn is not None else state.turn_id
    return {"room_id": room, "lease_id": lease, "expected_turn_id": turn}


@click.command(cls=Command)
@about_a_room
@handoff_options
@stdin_option
@_lease
@_turn
@click.pass_obj
def release(
    session: Session,
    *,
    path: str | None,
    room_id: str | None,
    lease: str | None,
    turn: int | None,
    from_stdin: bool,
    **words: Unpack[Words],
) -> None:
    """Hand the stick to the next in turn, with a handoff.

    --status and --next-action are needed: they are what the next one goes on from.
    """
    given = {"handoff": handoff(words, from_stdin=from_stdin)}
    fence = _owned(session, session.room(path, room_id), lease, turn)
    _handed_over(session, session.call("turns.release", {**fence, **given}))


@click.command(cls=Command, name="pass")
@click.argument("agent")
@about_a_room
@handoff_options
@stdin_option
@_lease
@_turn
@click.pass_obj
def pass_(
    session: Session,
    *,
    agent: str,
    path: str | None,
    room_id: str | None,
    lease: str | None,
    turn: int | None,
    from_stdin: bool,
    **words: Unpack[Words],
) -> None:
    """Hand the stick to one member, with a handoff.

    AGENT is an active member of the room; the turn order goes on from there.
    """
    given = {"handoff": handoff(words, from_stdin=from_stdin), "to_agent_id": agent}
    fence = _owned(session, session.room(path, room_id), lease, turn)
    _handed_over(session, session.call("turns.pass", {**fence, **given}))


def _handed_over(session: Session, reply: Reply) -> None:
    if session.finish(reply.data):
        return
    to = reply.view(views.HandedOver).reserved_for
    screen.say(f"Handed over to {to}." if to else "Released. Nobody else is here; the next to come gets your handoff.")


@click.command(cls=Command)
@about_a_room
@click.option("--reason", required=True, help="Why; it is kept in the history.")
@_turn
@click.pass_obj
def takeover(session: Session, *, path: str | None, room_id: str | None, reason: str, turn: int | None) -> None:
    """Take the stick from a holder or recipient who failed.

    Possible once `tally wait` or `tally state` says so. The old lease is fenced off at once.
    """
    room = session.room(path, room_id)
    if turn is None:
        turn = session.call("turns.state", {"room_id": room}).view(views.State).turn_id
    reply = session.call("turns.takeover", {"room_id": room, "expected_turn_id": turn, "reason": reason})
    if session.finish(reply.data):
        return
    taken = reply.view(views.TookOver)
    screen.say(f"It is your turn: turn {taken.turn_id}, lease {taken.lease_id}. It was {taken.revoked_agent_id}'s.")
    screen.say("Next: `tally turns history --newest` shows what was going on.")
