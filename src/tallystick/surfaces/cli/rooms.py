"""`tally rooms|join|leave|close|note`: the room of a workspace."""

from __future__ import annotations

import sys

import click

from tallystick.commandline.command import Command
from tallystick.commandline.output import remark
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.options import about_a_room, path_option, room_option
from tallystick.surfaces.cli.session import Session, Usage, absolute


@click.command(cls=Command)
@click.argument("path", required=False, type=click.Path())
@click.option("--all", "everywhere", is_flag=True, help="Every room in the store, newest first.")
@click.pass_obj
def rooms(session: Session, *, path: str | None, everywhere: bool) -> None:
    """List the rooms of this workspace.

    They are the ones from PATH, by default the current directory, up to the root of its workspace, deepest first.
    Looking creates nothing.
    """
    reply = session.call("rooms.list", {} if everywhere else {"context_path": absolute(path)})
    if session.finish(reply.data):
        return
    from tallystick.capabilities.rooms.contract import Rooms

    found = reply.read(Rooms).rooms
    if not found:
        remark("No rooms yet. `tally join` opens one.")
        return
    screen.table(
        ["ROOM", "STATE", "HOLDER", "TURN", "MEMBERS", "PATH"],
        [
            [
                screen.short_id(room.room_id),
                room.room_state,
                room.owner or (f"kept for {room.reserved_for}" if room.reserved_for else "nobody"),
                room.turn_id,
                room.members,
                room.canonical_path or room.title,
            ]
            for room in found
        ],
    )


@click.command(cls=Command)
@about_a_room
@click.option("--force-new", is_flag=True, help="Open a nested room right here even if a folder above has one.")
@click.pass_obj
def join(session: Session, *, path: str | None, room_id: str | None, force_new: bool) -> None:
    """Join the room of this workspace, or open it.

    A room is opened where there is none. You go to the end of the turn order. Joining twice changes nothing.
    """
    if room_id is not None and (path is not None or force_new):
        raise Usage("--room goes with neither PATH nor --force-new.")
    where = (
        {"room_id": session.room(None, room_id)}
        if room_id
        else {"context_path": absolute(path), "force_new": force_new}
    )
    reply = session.call("rooms.join", where)
    if session.finish(reply.data):
        return
    from tallystick.capabilities.rooms.contract import JoinRoomResult

    joined = reply.read(JoinRoomResult)
    verb = "Joined" if joined.joined_existing_room else "Opened"
    screen.say(f"{verb} the room of {joined.canonical_path or joined.room_id} as {joined.agent_id}.")
    if joined.warning:
        remark(f"warning: {joined.warning}")
    screen.pairs(
        {
            "room": joined.room_id,
            "state": joined.room_state,
            "holder": joined.owner or "nobody",
            "members": [member.agent_id for member in joined.members],
        }
    )
    screen.say(f"Next: {session.typed('turns.wait')} for your turn, {session.typed('turns.state')} to look around.")


@click.command(cls=Command)
@click.argument("text")
@path_option
@room_option
@click.option("--turn", type=click.IntRange(min=0), help="The turn it is about; the present one if left out.")
@click.pass_obj
def note(session: Session, *, text: str, path: str | None, room_id: str | None, turn: int | None) -> None:
    """Leave a note for the others without taking a turn.

    TEXT may be - to read it from stdin.
    """
    body = sys.stdin.read() if text == "-" else text
    about = {} if turn is None else {"turn_id": turn}
    reply = session.call("notes.add", {"room_id": session.room(path, room_id), "body": body, **about})
    if not session.finish(reply.data):
        screen.say(f"Noted as {reply.data['ref']}.")


@click.command(cls=Command)
@about_a_room
@click.pass_obj
def leave(session: Session, *, path: str | None, room_id: str | None) -> None:
    """Leave the room.

    You drop out of the turn order. Whoever holds the stick must hand it over first.
    """
    reply = session.call("rooms.leave", {"room_id": session.room(path, room_id)})
    if session.finish(reply.data):
        return
    from tallystick.capabilities.rooms.contract import LeaveRoomResult

    left = reply.read(LeaveRoomResult)
    screen.say(f"{left.agent_id} left the room." if left.left else f"{left.agent_id} was not in this room.")


@click.command(cls=Command)
@about_a_room
@click.option("--reason", help="Why; it is kept in the history.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_obj
def close(session: Session, *, path: str | None, room_id: str | None, reason: str | None, yes: bool) -> None:
    """Close the room for good; its history stays readable.

    While somebody holds the stick only the holder may close. The path is free for a new room afterwards.
    """
    from tallystick.capabilities.turns.contract import ShowState, TurnState

    room = session.room(path, room_id)
    state = session.ask("turns.state", ShowState(room_id=room), TurnState)
    if not yes:
        if session.as_json or not sys.stdin.isatty():
            raise Usage(
                "Closing a room cannot be undone.",
                hint=f"{session.typed('rooms.close').removesuffix('`')} --yes` closes it.",
            )
        screen.say(f"The room of {state.canonical_path or room} has {len(state.members)} members.")
        click.confirm("Close it for good?", abort=True, err=True)
    given = {"room_id": room, "lease_id": state.lease_id, "expected_turn_id": state.turn_id, "reason": reason}
    reply = session.call("rooms.close", given)
    if not session.finish(reply.data):
        screen.say("Closed. `tally join` opens a new room here.")
