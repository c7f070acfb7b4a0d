"""`tally export|import|backup|rebuild`: care of the whole store."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Iterable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from tallystick.commandline import output
from tallystick.commandline.command import Command
from tallystick.surfaces.cli import progress, screen
from tallystick.surfaces.cli.errors import FileUnusable, Usage
from tallystick.surfaces.cli.failures import REFUSED
from tallystick.surfaces.cli.session import Session


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
    with whole_file(Path(file)) as target, progress.told("Writing every event"):
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
    "--keep-oversized", is_flag=True, help="Also take events that an older version let in too deep or too large."
)
@click.pass_obj
def import_(session: Session, *, file: str, keep_oversized: bool) -> None:
    """Read an export into an empty store.

    FILE is - for stdin. Every event is verified; all of them are taken or none.
    """
    from tallystick.hub import maintenance

    with _lines(file) as lines, progress.told("Reading the export"):
        end = maintenance.import_(session.hub, lines, keep_oversized=keep_oversized)
    if not session.finish({"rooms": end.rooms, "events": end.events}):
        screen.say(f"Imported {end.events} events in {end.rooms} rooms.")


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
    with progress.told("Copying the store"):
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
        with progress.told("Comparing the projections with the ledger"):
            differing = maintenance.check(session.existing_hub)
        if not session.finish({"differing": differing}):
            screen.say(f"Differing from the ledger: {', '.join(differing) or 'nothing'}.")
        return REFUSED if differing else 0
    with progress.told("Folding the ledger"):
        events = maintenance.rebuild(session.existing_hub)
    if not session.finish({"events": events}):
        screen.say(f"Folded {events} events.")
    return 0
