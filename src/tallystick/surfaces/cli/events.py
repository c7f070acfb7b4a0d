"""`tally events` and `tally verify`: the ledger, read, followed and proven."""

from __future__ import annotations

import click

from tallystick.capabilities.rooms.events import NoteAdded
from tallystick.capabilities.turns.events import StickPassed, StickReleased
from tallystick.commandline.command import Command
from tallystick.commandline.visible import visible_json
from tallystick.ledger.contract import Envelope, Events, Verified
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.failures import FAULT
from tallystick.surfaces.cli.options import about_a_room
from tallystick.surfaces.cli.session import CallReply, Session, StopSignal

PAGE = 1_000
WAIT_MS = 30_000


@click.command(cls=Command)
@about_a_room
@click.option("--follow", is_flag=True, help="Go on with what happens, until Ctrl-C.")
@click.option("--since", type=click.IntRange(min=0), help="Events after this seq; 0 is the start.")
@click.option("--kinds", multiple=True, metavar="KIND[,KIND]", help="Only these kinds. Repeatable.")
@click.option("--limit", type=click.IntRange(1, PAGE), default=50, show_default=True, help="At most this many.")
@click.pass_obj
def events(
    session: Session,
    *,
    path: str | None,
    room_id: str | None,
    follow: bool,
    since: int | None,
    kinds: tuple[str, ...],
    limit: int,
) -> None:
    """Read or follow what happened in the room.

    Without --since you get the latest events, with it the first ones after it. With --follow and --json each event is
    one line of JSON, without the envelope.
    """
    wanted = [kind for each in kinds for kind in each.split(",") if kind]
    room = session.room(path, room_id)
    start = {"newest": True} if since is None else {"since_seq": since}
    reply = session.call("events.list", {"room_id": room, "kinds": wanted, "limit": limit, **start})
    if follow:
        _follow(session, reply, {"room_id": room, "kinds": wanted, "max_wait_ms": WAIT_MS, "limit": PAGE})
    elif not session.finish(reply.data):
        found = reply.read(Events).events
        screen.table(["SEQ", "TIME", "BY", "KIND", "WHAT"], [_row(event) for event in found])


def _follow(session: Session, reply: CallReply, ask: dict[str, object]) -> None:
    with StopSignal() as stop:
        while True:
            _stream(session, reply)
            if stop.stopped():
                return
            since = reply.read(Events).cursor
            reply = session.call("events.follow", {**ask, "since_seq": since}, stop)


def _stream(session: Session, reply: CallReply) -> None:
    if session.as_json:
        for event in reply.data["events"]:
            print(visible_json(event), flush=True)
        return
    for event in reply.read(Events).events:
        print("\t".join(screen.cell(value) for value in _row(event)), flush=True)


def _row(event: Envelope) -> list[object]:
    return [event.seq, event.ts, event.by, event.kind, _what(event)]


def _what(event: Envelope) -> object:
    """What an event says, whole: a handoff or a note in its words, anything else as it is stored."""
    match event.content:
        case StickReleased(handoff=handoff) | StickPassed(handoff=handoff):
            return f"{handoff['status']} -> {handoff['next_action']}"
        case NoteAdded(body=body):
            return body
        case _:
            return {name: value for name, value in event.data.items() if value is not None}


@click.command(cls=Command)
@click.option("--room", "room_id", metavar="ID", help="One room; all rooms when left out.")
@click.pass_obj
def verify(session: Session, *, room_id: str | None) -> int:
    """Prove that no event was changed, removed or reordered.

    Recomputes the hash chain of every room. Exits 4 when something does not fit.
    """
    reply = session.call("events.verify", {"room_id": room_id})
    verdict = reply.read(Verified)
    if not session.finish(reply.data):
        for room in verdict.rooms:
            if not room.ok:
                screen.say(f"{room.room_id}: event {room.bad_seq}: {room.problem}.")
        end = "All is as it was written." if verdict.ok else "The ledger is damaged."
        screen.say(f"{verdict.events} events in {len(verdict.rooms)} rooms. {end}")
    return 0 if verdict.ok else FAULT
