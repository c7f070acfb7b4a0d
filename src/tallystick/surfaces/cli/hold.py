"""`tally hold`: a person's turn, held by this very process, so that the others know at once when it is gone."""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from typing import Unpack

import click

from tallystick.commandline.command import Command
from tallystick.commandline.output import remark
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.errors import Refused, Unavailable
from tallystick.surfaces.cli import screen, views
from tallystick.surfaces.cli.errors import NoHandoff, TakeoverNeeded
from tallystick.surfaces.cli.failures import INTERRUPTED, NOT_YOUR_TURN
from tallystick.surfaces.cli.handoffs import Words, handoff, handoff_options
from tallystick.surfaces.cli.options import about_a_room
from tallystick.surfaces.cli.session import Session, absolute
from tallystick.surfaces.cli.signals import Stop
from tallystick.surfaces.cli.turns import LONGEST_WAIT_MS, waited


@click.command(cls=Command)
@about_a_room
@click.option("--takeover", metavar="REASON", help="Take the stick over if whoever has or expects it failed.")
@handoff_options
@click.pass_obj
def hold(
    session: Session, *, path: str | None, room_id: str | None, takeover: str | None, **words: Unpack[Words]
) -> int:
    """Wait for the turn and keep it while this command runs.

    Joins the room if you are not in it, shows the handoff you get, and renews the lease in time. Ctrl-C asks for your
    handoff, unless --status and --next-action already gave it, and passes the stick on. If this command is killed the
    others may take the stick over at once.
    """
    session.caller = guardian(session.caller)
    where = {"room_id": room_id} if room_id else {"context_path": absolute(path)}
    joined = session.call("rooms.join", where).view(views.Joined)
    with Stop() as stop:
        turn = _turn(session, joined, takeover, stop)
        if turn.status != "your_turn":
            remark("You stopped waiting before your turn came." if stop.stopped() else "The room was closed.")
            return INTERRUPTED if stop.stopped() else NOT_YOUR_TURN
        _announce(session, joined, turn)
        _keep(session, joined, turn, stop)
    fence = {"room_id": joined.room_id, "lease_id": turn.lease_id, "expected_turn_id": turn.turn_id}
    reply = session.call("turns.release", {**fence, "handoff": _handoff(words, stop)})
    if not session.finish({"turn_id": turn.turn_id, **reply.data}):
        to = reply.view(views.HandedOver).reserved_for
        screen.say(f"Handed over to {to}." if to else "Released; the next to come gets your handoff.")
    return 0


def guardian(caller: Caller) -> Caller:
    """The caller with this process behind it. A harness instance stays itself: it outlives this command."""
    from tallystick.harnesses import processes

    if caller.session is SessionKind.MCP_HARNESS:
        return caller
    return replace(caller, session=SessionKind.HUMAN_GUARDIAN, process=processes.facts(os.getpid()))


def _turn(session: Session, joined: views.Joined, takeover: str | None, stop: Stop) -> views.Turn:
    remark(f"Waiting for your turn in {joined.canonical_path or joined.room_id} as {joined.agent_id}.")
    turn = waited(session, joined.room_id, None, stop).view(views.Turn)
    if turn.status != "takeover_available":
        return turn
    if takeover is None:
        raise TakeoverNeeded(f"{turn.current_owner or turn.reserved_for} failed: {turn.reason}.", reason=turn.reason)
    ask = {"room_id": joined.room_id, "expected_turn_id": turn.turn_id, "reason": takeover}
    taken = session.call("turns.takeover", ask).view(views.TookOver)
    return views.Turn(status="your_turn", turn_id=taken.turn_id, lease_id=taken.lease_id, reason="takeover")


def _announce(session: Session, joined: views.Joined, turn: views.Turn) -> None:
    remark(f"It is your turn: turn {turn.turn_id} in room {joined.room_id}. Ctrl-C hands it over.")
    if turn.handoff and not session.as_json:
        screen.handoff(turn.handoff, by=turn.from_agent_id)
        sys.stdout.flush()


def _keep(session: Session, joined: views.Joined, turn: views.Turn, stop: Stop) -> None:
    """Renew the lease by the policy's interval, and at every event, since one of them may be our end."""
    cursor, interval = int(joined.cursor), joined.policy.heartbeat_interval_ms
    due = time.monotonic() + interval / 1000
    while not stop.stopped():
        left = max(0, int((due - time.monotonic()) * 1000))
        follow = {"room_id": joined.room_id, "since_seq": cursor, "max_wait_ms": min(left, LONGEST_WAIT_MS)}
        try:
            news = session.call("events.follow", follow, stop).view(views.Events)
            cursor = news.cursor
            if news.events or time.monotonic() >= due:
                interval = _renew(session, joined.room_id, turn)
                due = time.monotonic() + interval / 1000
        except Unavailable as trouble:
            remark(f"Could not renew the lease: {trouble.message} Trying again.")
            stop.pause(1)


def _renew(session: Session, room_id: str, turn: views.Turn) -> int:
    """Heartbeat; the result is when the policy, which may have changed, wants the next one."""
    try:
        session.call(
            "turns.heartbeat", {"room_id": room_id, "lease_id": turn.lease_id, "expected_turn_id": turn.turn_id}
        )
    except Refused:
        remark("The stick is no longer yours.")
        raise
    return session.call("turns.state", {"room_id": room_id}).view(views.State).policy.heartbeat_interval_ms


def _handoff(words: Words, stop: Stop) -> dict[str, object]:
    """The handoff from the options, or asked for; only somebody who pressed Ctrl-C at a terminal can be asked."""
    given = handoff(words)
    missing = [name for name in ("status", "next_action") if name not in given]
    if missing and (stop.signal != signal.SIGINT or not sys.stdin.isatty()):
        raise NoHandoff
    questions = {"status": "What did you do, learn and leave open", "next_action": "What should the next one do"}
    try:
        return {**given, **{name: click.prompt(questions[name], err=True) for name in missing}}
    except click.Abort:
        raise NoHandoff from None
