"""`tally checkpoint sign|export`: where the ledger ends, under a signature."""

from __future__ import annotations

from pathlib import Path

import click

from tallystick.commandline.command import Command, Group
from tallystick.surfaces.cli import screen
from tallystick.surfaces.cli.session import Session
from tallystick.surfaces.cli.store import whole_file


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
    made = signing.sign(session.existing_hub, key)
    facts = {"number": made.number if made else None, "rooms": len(made.said.heads) if made else 0, "key": key.public}
    if not session.finish(facts):
        said = f"Checkpoint {made.number} of {len(made.said.heads)} rooms." if made else "No room has moved."
        screen.say(f"{said} The key is {key.public}.")


@checkpoint.command(cls=Command)
@click.argument("file", type=click.Path())
@click.pass_obj
def export(session: Session, *, file: str) -> None:
    """Write a signed checkpoint of every room to FILE.

    Keep it where nobody who can write to the store can change it; `tally verify --checkpoint FILE` checks it later.
    """
    import msgspec

    from tallystick.hub import signing

    key = signing.SigningKey.of(session.settings)
    made = signing.export(session.existing_hub, key)
    with whole_file(Path(file)) as target:
        target.write(msgspec.json.encode(made) + b"\n")
    if not session.finish({"file": file, "rooms": len(made.said.heads), "key": key.public}):
        screen.say(f"Wrote the heads of {len(made.said.heads)} rooms to {file}. The key is {key.public}.")
