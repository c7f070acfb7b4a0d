"""`tally wait|release|pass|takeover`, and `tally hold`: a person's turn, held by this very process."""

from __future__ import annotations

import signal
import sys
import time
from typing import TYPE_CHECKING, TypeAlias, Unpack

import click

from tallystick.capabilities.rooms.contract import JoinRoomResult
from tallystick.capabilities.turns.contract import (
    Closed,
    Handoff,
    NotYet,
    PassStickResult,
    ReleaseStickResult,
    ShowState,
    TakeoverAvailable,
    TakeOverStick,
    TakeOverStickResult,
    TurnState,
    YourTurn,
)
from tallystick.commandline import output
from tallystick.commandline.command import Command
from tallystick.commandline.output import remark
from tallystick.kernel.errors import Refused, Unavailable
from tallystick.kernel.operation import as_record
from tallystick.ledger.contract import Events
from tallystick.surfaces.cli import options, screen
from tallystick.surfaces.cli.failures import INTERRUPTED, NOT_YET
from tallystick.surfaces.cli.options import HandoffWords, about_a_room, handoff, handoff_options, period, stdin_option
from tallystick.surfaces.cli.session import CallReply, NoHandoff, Session, StopSignal, TakeoverNeeded, absolute
from tallystick.surfaces.cli.state import fenced, owned
from tallystick.surfaces.cli.work import give_back

if TYPE_CHECKING:
    from collections.abc import Mapping

Turn: TypeAlias = YourTurn | NotYet | TakeoverAvailable | Closed
WAITED = (YourTurn, NotYet, TakeoverAvailable, Closed)
"""What waiting may bring."""
LONGEST_WAIT_MS = 110_000
"""What the hub takes in one call; a longer wait is several."""
REASONS: Mapping[str, str] = {"already_owner": ", which you have already", "direct_pass": ", passed to you"}
"""What is worth saying of why it is somebody's turn; that it was free, or next in order, is not."""
AGAIN_MS = 50
"""A hub that is going down answers those who wait at once. Whoever waits on gives it the time to be gone."""


def waited(session: Session, room_id: str, timeout_ms: int | None, stop: StopSignal) -> CallReply:
    """Wait for a turn, for as long as it takes when no time is given."""
    deadline = None if timeout_ms is None else time.monotonic() + timeout_ms / 1000
    while True:
        left = LONGEST_WAIT_MS if deadline is None else max(0, int((deadline - time.monotonic()) * 1000))
        reply = session.call("turns.wait", {"room_id": room_id, "max_wait_ms": min(left, LONGEST_WAIT_MS)}, stop)
        over = deadline is not None and time.monotonic() >= deadline
        if reply.data["status"] != "not_yet" or over or stop.stopped():
            return reply
        if deadline is None or left > AGAIN_MS:
            stop.pause(AGAIN_MS / 1000)


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
    with StopSignal() as stop, output.progress("Waiting for your turn"):
        reply = waited(session, room, timeout, stop)
    turn = reply.read(*WAITED)
    if not session.finish(reply.data):
        show_turn(session, turn)
    if isinstance(turn, YourTurn):
        return 0
    return INTERRUPTED if stop.stopped() else NOT_YET


def show_turn(session: Session, turn: Turn) -> None:
    match turn:
        case YourTurn():
            screen.say(f"It is your turn: turn {turn.turn_id}{REASONS.get(turn.reason, '')}.")
            _show_handoff(turn)
            release = session.typed("turns.release", handoff={"status": "…", "next_action": "…"})
            screen.say(f"Next: work, {session.typed('turns.heartbeat')} now and then, and hand over with {release}.")
        case TakeoverAvailable():
            who = turn.current_owner or turn.reserved_for
            screen.say(f"Not your turn, but {screen.cell(who)} failed ({turn.reason}) at turn {turn.turn_id}.")
            screen.say(f"Next: {session.typed('turns.takeover', reason='why')}, if you mean it.")
        case Closed():
            screen.say("This room is closed.")
        case NotYet():
            screen.say(f"Not yet: {_why_not(turn)}. Next: {session.typed('turns.wait')} again.")


def waited_for(reply: CallReply) -> None:
    """`tally turns wait`: the same as `tally wait`."""
    show_turn(click.get_current_context().ensure_object(Session), reply.read(*WAITED))


def _why_not(turn: NotYet) -> str:
    if turn.current_owner:
        elsewhere = ", in another session" if turn.other_session else ""
        return f"{screen.cell(turn.current_owner)} has the stick{elsewhere}"
    if turn.reserved_for:
        return f"the stick is kept for {screen.cell(turn.reserved_for)}"
    return f"the room is {turn.room_state}"


def _show_handoff(turn: YourTurn) -> None:
    if turn.handoff:
        screen.handoff(as_record(Handoff, turn.handoff), by=turn.from_agent_id)


_lease = click.option("--lease", metavar="ID", help="The lease; the one you hold if left out.")
_turn = click.option("--turn", type=click.IntRange(min=0), help="The turn you believe is current.")


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
    **words: Unpack[HandoffWords],
) -> None:
    """Hand the stick on, or give back a reserved path.

    The stick goes to the next in turn, with a handoff: --status and --next-action are what the next one goes on from.
    `tally release PATH` without them gives back the file or folder that you reserved.
    """
    given = {"handoff": handoff(words, from_stdin=from_stdin)}
    if path is not None and not given["handoff"] and lease is None and turn is None:
        give_back(session, path, room_id)
        return
    fence = owned(session, session.room(path, room_id), lease, turn)
    _handed_over(session, fenced(session, "turns.release", {**fence, **given}), ReleaseStickResult)


@click.command(cls=Command, name="pass")
@click.argument("agent", shell_complete=options.complete_agents)
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
    **words: Unpack[HandoffWords],
) -> None:
    """Hand the stick to one member, with a handoff.

    AGENT is an active member of the room; the turn order goes on from there.
    """
    given = {"handoff": handoff(words, from_stdin=from_stdin), "to_agent_id": agent}
    fence = owned(session, session.room(path, room_id), lease, turn)
    _handed_over(session, fenced(session, "turns.pass", {**fence, **given}), PassStickResult)


def _handed_over(session: Session, reply: CallReply, answer: type[ReleaseStickResult | PassStickResult]) -> None:
    if session.finish(reply.data):
        return
    to = reply.read(answer).reserved_for
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
        turn = session.ask("turns.state", ShowState(room_id=room), TurnState).turn_id
    asked = TakeOverStick(room_id=room, expected_turn_id=turn, reason=reason)
    reply = session.call("turns.takeover", asked.present())
    if session.finish(reply.data):
        return
    taken = reply.read(TakeOverStickResult)
    screen.say(f"It is your turn: turn {taken.turn_id}. It was {taken.revoked_agent_id}'s.")
    screen.say(f"Next: {session.typed('events.list')} shows what was going on.")


@click.command(cls=Command)
@about_a_room
@click.option("--takeover", metavar="REASON", help="Take the stick over if whoever has or expects it failed.")
@handoff_options
@click.pass_obj
def hold(
    session: Session, *, path: str | None, room_id: str | None, takeover: str | None, **words: Unpack[HandoffWords]
) -> int:
    """Wait for the turn and keep it while this command runs.

    Joins the room if you are not in it, shows the handoff you get, and renews the lease in time. Ctrl-C asks for your
    handoff, unless --status and --next-action already gave it, and passes the stick on. If this command is killed the
    others may take the stick over at once.
    """
    session.guard()
    where = {"room_id": session.room(None, room_id)} if room_id else {"context_path": absolute(path)}
    joined = session.call("rooms.join", where).read(JoinRoomResult)
    with StopSignal() as stop:
        turn = _wait_for_stick(session, joined, takeover, stop)
        if not isinstance(turn, YourTurn | TakeOverStickResult):
            remark("You stopped waiting before your turn came." if stop.stopped() else "The room was closed.")
            return INTERRUPTED if stop.stopped() else NOT_YET
        _announce(session, joined, turn)
        _keep(session, joined, turn, stop)
    fence = {"room_id": joined.room_id, "lease_id": turn.lease_id, "expected_turn_id": turn.turn_id}
    reply = session.call("turns.release", {**fence, "handoff": _asked_handoff(words, stop)})
    if not session.finish({"turn_id": turn.turn_id, **reply.data}):
        to = reply.read(ReleaseStickResult).reserved_for
        screen.say(f"Handed over to {to}." if to else "Released; the next to come gets your handoff.")
    return 0


def _wait_for_stick(
    session: Session, joined: JoinRoomResult, takeover: str | None, stop: StopSignal
) -> Turn | TakeOverStickResult:
    remark(f"Waiting for your turn in {joined.canonical_path or joined.room_id} as {joined.agent_id}.")
    turn = waited(session, joined.room_id, None, stop).read(*WAITED)
    if not isinstance(turn, TakeoverAvailable):
        return turn
    if takeover is None:
        raise TakeoverNeeded(f"{turn.current_owner or turn.reserved_for} failed: {turn.reason}.", reason=turn.reason)
    asked = TakeOverStick(room_id=joined.room_id, expected_turn_id=turn.turn_id, reason=takeover)
    return session.ask("turns.takeover", asked, TakeOverStickResult)


def _announce(session: Session, joined: JoinRoomResult, turn: YourTurn | TakeOverStickResult) -> None:
    remark(f"It is your turn: turn {turn.turn_id} in room {joined.room_id}. Ctrl-C hands it over.")
    if isinstance(turn, YourTurn) and not session.as_json:
        _show_handoff(turn)
        sys.stdout.flush()


def _keep(session: Session, joined: JoinRoomResult, turn: YourTurn | TakeOverStickResult, stop: StopSignal) -> None:
    """Renew the lease by the policy's interval, and at every event, since one of them may be our end."""
    cursor, interval = int(joined.cursor), joined.policy.heartbeat_interval_ms
    due = time.monotonic() + interval / 1000
    while not stop.stopped():
        left = max(0, int((due - time.monotonic()) * 1000))
        follow = {"room_id": joined.room_id, "since_seq": cursor, "max_wait_ms": min(left, LONGEST_WAIT_MS)}
        try:
            news = session.call("events.follow", follow, stop).read(Events)
            cursor = news.cursor
            if news.events or time.monotonic() >= due:
                interval = _renew(session, joined.room_id, turn)
                due = time.monotonic() + interval / 1000
        except Unavailable as trouble:
            remark(f"Could not renew the lease: {trouble.message} Trying again.")
            stop.pause(1)


def _renew(session: Session, room_id: str, turn: YourTurn | TakeOverStickResult) -> int:
    """Heartbeat; the result is when the policy, which may have changed, wants the next one."""
    try:
        session.call(
            "turns.heartbeat", {"room_id": room_id, "lease_id": turn.lease_id, "expected_turn_id": turn.turn_id}
        )
    except Refused:
        remark("The stick is no longer yours.")
        raise
    return session.ask("turns.state", ShowState(room_id=room_id), TurnState).policy.heartbeat_interval_ms


def _asked_handoff(words: HandoffWords, stop: StopSignal) -> dict[str, object]:
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
