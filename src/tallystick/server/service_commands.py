"""`tally service install|remove`: a hub that is there at every login."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from tallystick.commandline import progress
from tallystick.commandline.command import Group, Invocation, Program

if TYPE_CHECKING:
    from tallystick.surfaces.http.hub_files import HubFiles

PATIENCE_S = 30.0


@click.group(cls=Group, subcommand_metavar="install|remove [ARGS]...")
def service() -> None:
    """Run the hub at every login: a systemd user unit, or a launchd agent on macOS."""


@service.command(cls=Program)
@click.option("--print", "look", is_flag=True, help="Show the file that would be written, and do nothing.")
@click.pass_obj
def install(invocation: Invocation, *, look: bool) -> None:
    """Run the hub now and at every login.

    It has this shell's TALLYSTICK_ settings for the store and the port, and takes the place of a hub that runs already.
    """
    from tallystick.hub.settings import Settings
    from tallystick.server import service as hub_service
    from tallystick.server.service import HubService
    from tallystick.surfaces.cli.install import this_program
    from tallystick.surfaces.http.control import stop_hub

    place = _place()
    wanted = HubService.of(this_program(), os.environ, place.log)
    if look:
        text = hub_service.manager().text(wanted).decode()
        if not invocation.finish({"file": str(hub_service.manager().file), "text": text}):
            print(text, end="")
        return
    Settings.of().make_data_dir()
    with progress.told("Starting the hub"):
        # There is one hub for a store: one that was started by hand makes way.
        file = hub_service.install(wanted, lambda: stop_hub(place))
        running = _started(place)
    if not invocation.finish({"file": str(file), "running": running}):
        print(f"The hub runs now and at every login: {file}")
        print("`tally status` gives the link to its page; `tally service remove` ends it.")
        if hub_service.manager().file.suffix == ".service":
            print("It ends when you log out; `loginctl enable-linger` keeps it.")


@service.command(cls=Program)
@click.pass_obj
def remove(invocation: Invocation) -> None:
    """Stop the service and delete its file; the store stays."""
    from tallystick.server import service as hub_service

    with progress.told("Stopping the hub"):
        file = hub_service.remove()
    if not invocation.finish({"removed": str(file) if file else None}):
        print(f"The service is removed: {file}" if file else "There is no service.")


def _place() -> HubFiles:
    from tallystick.hub.settings import Settings
    from tallystick.surfaces.http.hub_files import HubFiles

    return HubFiles(Settings.of().data_dir)


def _started(place: HubFiles) -> bool:
    """Whether the hub took its first connections in time: the service manager does not wait for that."""
    from tallystick.surfaces.http.errors import HubNotStarted

    until = time.monotonic() + PATIENCE_S
    while place.facts() is None:
        if time.monotonic() > until:
            raise HubNotStarted(f"The service is installed, but no hub has come up. Its log is {place.log}.")
        time.sleep(0.1)
    return True
