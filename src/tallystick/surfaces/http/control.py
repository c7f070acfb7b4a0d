"""`tally status` and `tally down`: what runs here, and its end."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.commandline import output, times
from tallystick.commandline.command import Invocation, Program
from tallystick.commandline.output import counted

if TYPE_CHECKING:
    from tallystick.kernel.caller import Process
    from tallystick.surfaces.http.hub_files import HubFiles, HubRunning

DOWN_SECONDS = 30.0
STATUS_SECONDS = 5.0


@click.command(cls=Program)
@click.pass_obj
def status(invocation: Invocation) -> None:
    """Say whether a hub runs here, and where.

    Shows what it does at the moment, and a link that opens its page.
    """
    facts = _status(_place())
    if invocation.finish(facts):
        return
    if not facts["running"]:
        print("No hub is running; commands work without one.")
    else:
        _show(facts)


@click.command(cls=Program)
@click.pass_obj
def down(invocation: Invocation) -> None:
    """Stop the hub that runs here.

    Requests are finished, streams are told, and nothing acknowledged is lost.
    """
    with output.progress("Stopping the hub"):
        holder = stop_hub(_place())
    if not invocation.finish({"stopped": holder is not None, "pid": holder.pid if holder else None}):
        print("The hub has stopped." if holder else "No hub is running.")


def stop_hub(place: HubFiles) -> Process | None:
    """End the hub of this data directory, if one runs; which process it was."""
    from tallystick.harnesses import processes
    from tallystick.kernel.caller import ProcessState
    from tallystick.surfaces.http.errors import HubOutOfReach, HubStillStopping

    holder = place.holder()
    if holder is None:
        return None
    if processes.state(holder) is not ProcessState.ALIVE:
        raise HubOutOfReach(f"Process {holder.pid}, which runs the hub, cannot be reached from here.")
    os.kill(holder.pid, signal.SIGTERM)
    if not place.wait_until_free(DOWN_SECONDS):
        raise HubStillStopping(f"Process {holder.pid} got the signal and is still finishing.")
    return holder


def already_running(folder: Path) -> HubRunning:
    """The refusal that says where the hub is that holds this data directory."""
    from tallystick.surfaces.http.hub_files import HubFiles, HubRunning

    facts = _status(HubFiles(folder))
    url, page = facts.get("url", "an address it is still choosing"), facts.get("login")
    link = f"Open its page with {page} (once, within 10 minutes). " if page else ""
    return HubRunning(f"A hub runs here already, at {url}.", hint=link + HubRunning.hint, url=url, page=page)


def _place() -> HubFiles:
    from tallystick.hub.settings import Settings
    from tallystick.surfaces.http.hub_files import HubFiles

    return HubFiles(Settings.of().data_dir)


def _status(place: HubFiles) -> dict[str, object]:
    holder = place.holder()
    if holder is None:
        return {"running": False}
    # The card is there as soon as the hub takes connections, and gone as soon as it stops doing so.
    live = _live(place)
    return {"running": True, "pid": holder.pid, "answers": bool(live), **(place.facts() or {}), **live}


def _live(place: HubFiles) -> dict[str, object]:
    """What the hub says of itself; nothing when it does not answer."""
    from tallystick.client import Client, HubNotRunning

    with Client(data_dir=place.folder) as client:
        try:
            return json.loads(client.get("/v1/status", seconds=STATUS_SECONDS).body)
        except (HubNotRunning, ValueError):
            return {}


def _show(facts: Mapping[str, object]) -> None:
    if not facts["answers"]:
        print(f"A hub runs as process {facts['pid']} and does not answer.")
        return
    print(f"Tallystick {facts['version']} runs. Open its page: {facts['login']}")
    print("  The link lets one browser in, within 10 minutes.")
    since = str(facts["started_at"])
    print(f"  since      {times.local(since)} ({times.relative(since)}), process {facts['pid']}")
    print(f"  rooms      {facts['rooms']}")
    open_now = [counted(int(str(facts[f"{each}s"])), each) for each in ("connection", "follower", "wait")]
    print(f"  open now   {open_now[0]}, {facts['bus_connections']} on the bus, {', '.join(open_now[1:])}")
    print(f"  socket     {facts['http_socket']}")
    print(f"  API        {facts['url']}/v1, with a token")
