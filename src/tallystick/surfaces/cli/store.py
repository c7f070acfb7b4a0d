"""`tally archive|checkpoint|export|import|backup|rebuild`: care of the store, and of a closed room in one file."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from tallystick.commandline import output
from tallystick.commandline.command import Command, Group
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.failures import REFUSED
from tallystick.surfaces.cli.session import FileUnusable, Session, Usage

if TYPE_CHECKING:
    from tallystick.hub.maintenance import ArchivePlan, ArchiveResult


@click.command(cls=Command)
@click.argument("file", default="-", type=click.Path())
@click.pass_obj
def export(session: Session, *, file: str) -> None:
    """Write every event as JSON lines.

    FILE is - for stdout. The last line counts what was written, so an import notices when something is missing.
    """
    from tallystick.hub import maintenance

    if file == "-" and session.as_json:
        raise Usage("The export itself goes to stdout: name a FILE to get the envelope.")
    hub = session.existing_hub
    if file == "-":
        for line in maintenance.export(hub):
            if sys.stdout.isatty():
                print(output.visible_json(json.loads(line)))
            else:
                sys.stdout.buffer.write(line)
        return
    with whole_file(Path(file)) as target, output.progress("Writing every event"):
        lines = sum(1 for line in maintenance.export(hub) if target.write(line))
    if not session.finish({"file": file, "events": lines - 1}):
        screen.say(f"Exported {lines - 1} events to {file}.")


@contextmanager
def whole_file(file: Path) -> Generator[BinaryIO]:
    """A file that appears when it is complete and not before; what rooms said is for its owner's eyes only."""
    part = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
            yield target
        part.replace(file)
    except OSError as wrong:
        raise FileUnusable(f"{file} cannot be written: {wrong.strerror}.") from wrong
    finally:
        part.unlink(missing_ok=True)


@click.command(cls=Command, name="import")
@click.argument("file", type=click.Path())
@click.option(
    "--keep-oversized",
    is_flag=True,
    help="Also take events that an older version let in too deep or too large, or whose time is years ahead.",
)
@click.pass_obj
def import_(session: Session, *, file: str, keep_oversized: bool) -> None:
    """Read an export into an empty store.

    FILE is - for stdin. Every event is verified; all of them are taken or none.
    """
    from tallystick.hub import maintenance

    with _lines(file) as lines, output.progress("Reading the export"):
        end = maintenance.import_(session.hub, lines, keep_oversized=keep_oversized)
    if not session.finish({"rooms": end.rooms, "events": end.events}):
        screen.say(f"Imported {output.counted(end.events, 'event')} in {output.counted(end.rooms, 'room')}.")


@contextmanager
def _lines(file: str) -> Generator[Iterable[bytes]]:
    if file == "-":
        yield sys.stdin.buffer
        return
    with ExitStack() as open_files:
        try:
            lines = open_files.enter_context(Path(file).open("rb"))
        except OSError as wrong:
            raise FileUnusable(f"{file} cannot be read: {wrong.strerror}.") from wrong
        yield lines


@click.command(cls=Command)
@click.argument("file", type=click.Path())
@click.pass_obj
def backup(session: Session, *, file: str) -> None:
    """Copy the store into one file while it is in use.

    FILE must not exist yet.
    """
    from tallystick.hub import maintenance

    target = Path(file)
    if target.exists():
        raise FileUnusable(f"{file} exists already.", hint="Name a new file, or move the old one away first.")
    if not target.parent.is_dir():
        raise FileUnusable(f"{file} cannot be written: there is no such folder.")
    with output.progress("Copying the store"):
        maintenance.backup(session.existing_hub, target)
    if not session.finish({"file": file}):
        screen.say(f"Backed up to {file}.")


@click.command(cls=Command)
@click.option("--dry-run", is_flag=True, help="Only say which projections differ from the ledger; exits 1 if any does.")
@click.pass_obj
def rebuild(session: Session, *, dry_run: bool) -> int:
    """Fold the ledger into its projections again.

    The ledger itself, leases and presence stay as they are.
    """
    from tallystick.hub import maintenance

    if dry_run:
        with output.progress("Comparing the projections with the ledger"):
            differing = maintenance.check(session.existing_hub)
        if not session.finish({"differing": differing}):
            screen.say(f"Differing from the ledger: {', '.join(differing) or 'nothing'}.")
        return REFUSED if differing else 0
    with output.progress("Folding the ledger"):
        events = maintenance.rebuild(session.existing_hub)
    if not session.finish({"events": events}):
        screen.say(f"Folded {events} events.")
    return 0


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
    from tallystick.hub import maintenance

    hub = session.existing_hub
    if restore is not None:
        if not Path(restore).is_file():
            raise FileUnusable(f"{restore} cannot be read: there is no such file.")
        with output.progress("Bringing the room back"):
            restored = maintenance.restore_archive(hub, Path(restore))
        _tell(session, restored=[restored])
        return
    rooms = [session.room(None, room)] if room is not None else maintenance.due_for_archive(hub, (days or 0) * DAY_MS)
    if dry_run:
        _tell(session, planned=[maintenance.plan_archive(hub, each) for each in rooms])
    else:
        with output.progress("Archiving"):
            archived = [_archived(session, each, Path(folder)) for each in rooms]
        _tell(session, archived=archived)


def _archived(session: Session, room_id: str, folder: Path) -> ArchiveResult:
    from tallystick.hub import maintenance
    from tallystick.hub.signing import SigningKey

    hub, file = session.existing_hub, folder / f"{room_id}.archive.jsonl"
    planned = maintenance.plan_archive(hub, room_id)
    if planned.missing_blobs:
        raise FileUnusable(
            f"{planned.missing_blobs} files of room {room_id} are not on this machine.",
            hint="Archive it where they are, or copy them into the folder blobs of this data directory.",
        )
    if file.exists():
        raise FileUnusable(f"{file} exists already.", hint="Name another folder with --to, or move the old one away.")
    with whole_file(file) as target:
        for line in maintenance.archive_lines(hub, SigningKey.of(session.settings), room_id):
            target.write(line)
    return maintenance.prune_archived(hub, file)


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


@click.group(cls=Group, subcommand_metavar="sign|export [ARGS]...")
def checkpoint() -> None:
    """Sign where the ledger ends, and keep that elsewhere.

    A running hub signs every ten minutes by itself; `tally verify` checks all of it.
    """


@checkpoint.command(cls=Command)
@click.pass_obj
def sign(session: Session) -> None:
    """Sign the rooms that moved since the last checkpoint, now.

    The key is checkpoint.key in the data directory, or what TALLYSTICK_CHECKPOINT_KEY names.
    """
    from tallystick.hub import signing

    key = signing.SigningKey.of(session.settings)
    with output.progress("Signing"):
        made = signing.sign(session.existing_hub, key)
    facts = {"number": made.number if made else None, "rooms": len(made.said.heads) if made else 0, "key": key.public}
    if not session.finish(facts):
        said = f"Checkpoint {made.number} of {len(made.said.heads)} rooms." if made else "No room has moved."
        screen.say(f"{said} The key is {key.public}.")


@checkpoint.command("export", cls=Command)
@click.argument("file", type=click.Path())
@click.pass_obj
def export_checkpoint(session: Session, *, file: str) -> None:
    """Write a signed checkpoint of every room to FILE.

    Keep it where nobody who can write to the store can change it; `tally verify --checkpoint FILE` checks it later.
    """
    import msgspec

    from tallystick.hub import signing

    key = signing.SigningKey.of(session.settings)
    with output.progress("Signing"):
        made = signing.export(session.existing_hub, key)
    with whole_file(Path(file)) as target:
        target.write(msgspec.json.encode(made) + b"\n")
    if not session.finish({"file": file, "rooms": len(made.said.heads), "key": key.public}):
        screen.say(f"Wrote the heads of {len(made.said.heads)} rooms to {file}. The key is {key.public}.")
