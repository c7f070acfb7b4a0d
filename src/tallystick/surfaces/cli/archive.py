"""`tally archive`: a closed room in one file, out of the store, and back."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.commandline.command import Command
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.errors import FileUnusable, Usage
from tallystick.surfaces.cli.session import Session
from tallystick.surfaces.cli.store import whole_file

if TYPE_CHECKING:
    from tallystick.hub.archiving import ArchivePlan, ArchiveResult

DAY_MS = 86_400_000


def _days(_context: click.Context, _option: click.Parameter, given: str | None) -> int | None:
    if given is None:
        return None
    found = re.fullmatch(r"([1-9]\d{0,4})d", given)
    if not found:
        raise click.BadParameter("give days, such as 30d.")
    return int(found[1])


@click.command(cls=Command)
@click.argument("room", required=False)
@click.option("--to", "folder", metavar="FOLDER", default=".", show_default=True, help="Where the file goes.")
@click.option("--closed-for", "days", callback=_days, metavar="30d", help="Every room that was closed so long ago.")
@click.option("--dry-run", is_flag=True, help="Only say what would be archived.")
@click.option("--restore", metavar="FILE", help="Bring the room of this file back.")
@click.pass_obj
def archive(
    session: Session, *, room: str | None, folder: str, days: int | None, dry_run: bool, restore: str | None
) -> None:
    """Move a closed room into one file, and back.

    The file holds its events, its blobs and a signed checkpoint; it is read back and verified before anything is
    removed. Whoever asks for the room afterwards is told of the file (cursor_gone). Nothing is archived unasked.
    """
    if sum(each is not None for each in (room, days, restore)) != 1:
        raise Usage("Name a ROOM, or give --closed-for, or --restore FILE.")
    from tallystick.hub import archiving

    hub = session.existing_hub
    if restore is not None:
        if not Path(restore).is_file():
            raise FileUnusable(f"{restore} cannot be read: there is no such file.")
        _tell(session, restored=[archiving.restore(hub, Path(restore))])
        return
    rooms = [room] if room is not None else archiving.due(hub, (days or 0) * DAY_MS)
    if dry_run:
        _tell(session, planned=[archiving.plan(hub, each) for each in rooms])
    else:
        _tell(session, archived=[_archived(session, each, Path(folder)) for each in rooms])


def _archived(session: Session, room_id: str, folder: Path) -> ArchiveResult:
    from tallystick.hub import archiving
    from tallystick.hub.signing import SigningKey

    hub, file = session.existing_hub, folder / f"{room_id}.archive.jsonl"
    planned = archiving.plan(hub, room_id)
    if planned.missing_blobs:
        raise FileUnusable(
            f"{planned.missing_blobs} files of room {room_id} are not on this machine.",
            hint="Archive it where they are, or copy them into the folder blobs of this data directory.",
        )
    if file.exists():
        raise FileUnusable(f"{file} exists already.", hint="Name another folder with --to, or move the old one away.")
    with whole_file(file) as target:
        for line in archiving.lines(hub, SigningKey.of(session.settings), room_id):
            target.write(line)
    return archiving.prune(hub, file)


def _tell(
    session: Session,
    *,
    planned: list[ArchivePlan] | None = None,
    archived: list[ArchiveResult] | None = None,
    restored: list[ArchiveResult] | None = None,
) -> None:
    from msgspec import structs

    given = {"planned": planned, "archived": archived, "restored": restored}
    if session.finish({name: [structs.asdict(each) for each in some or []] for name, some in given.items()}):
        return
    for plan in planned or []:
        missing = f", {plan.missing_blobs} more are not here" if plan.missing_blobs else ""
        screen.say(f"Would archive {plan.room_id}: {plan.events} events, {plan.blobs} blobs{missing}.")
    for done in archived or []:
        screen.say(f"Archived {done.room_id} to {done.file}: {done.events} events. SHA-256 {done.sha256}")
    for done in restored or []:
        screen.say(f"Restored {done.room_id}: {done.events} events.")
    if not (planned or archived or restored):
        screen.say("No room has been closed for so long.")
