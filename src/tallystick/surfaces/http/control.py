"""`tally status`, `tally down` and `tally token`: what runs here, its end, and who may reach it over the network."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallystick.surfaces.http.place import Place

DOWN_SECONDS = 30.0
STATUS_SECONDS = 5.0


def status_main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tally status", description="Show whether a hub runs here, and what it does.")
    parser.add_argument("--json", action="store_true", help="print one JSON envelope: ok, command, data, error")
    asked = parser.parse_args(argv)
    facts = _status(_place())
    if asked.json:
        print(json.dumps({"ok": True, "command": "status", "data": facts, "error": None}))
    elif not facts["running"]:
        print("no hub is running; commands work without one")
    else:
        _show(facts)
    return 0


def down_main(argv: Sequence[str] | None = None) -> int:
    """Stop the hub: requests are finished, streams are told, and nothing acknowledged is lost."""
    argparse.ArgumentParser(prog="tally down", description=down_main.__doc__).parse_args(argv)
    from tallystick.harnesses import processes
    from tallystick.kernel.caller import ProcessState

    place = _place()
    holder = place.holder()
    if holder is None:
        print("no hub is running")
        return 0
    if processes.state(holder) is not ProcessState.ALIVE:
        print(f"error: process {holder.pid}, which runs the hub, cannot be reached from here", file=sys.stderr)
        return 1
    os.kill(holder.pid, signal.SIGTERM)
    if not place.wait_until_free(DOWN_SECONDS):
        print(f"error: process {holder.pid} got the signal and is still finishing; look again later", file=sys.stderr)
        return 1
    print("the hub has stopped")
    return 0


def token_main(argv: Sequence[str] | None = None) -> int:
    from tallystick.surfaces.http import token_commands

    return token_commands.main(argv)


def already_running(folder: Path) -> int:
    """Say where the hub is that holds this data directory."""
    from tallystick.surfaces.http.place import HubRunning, Place

    facts = _status(Place(folder))
    print(f"error: a hub runs here already, at {facts.get('url', 'an address it is still choosing')}", file=sys.stderr)
    if "login" in facts:
        print(f"page: {facts['login']}", file=sys.stderr)
    print(f"hint: {HubRunning.hint}", file=sys.stderr)
    return 1


def _place() -> Place:
    from tallystick.hub.settings import Settings
    from tallystick.surfaces.http.place import Place

    return Place(Settings.of().data_dir)


def _status(place: Place) -> dict[str, object]:
    holder = place.holder()
    if holder is None:
        return {"running": False}
    # The card is there as soon as the hub takes connections, and gone as soon as it stops doing so.
    live = _live(place)
    return {"running": True, "pid": holder.pid, "answers": bool(live), **(place.facts() or {}), **live}


def _live(place: Place) -> dict[str, object]:
    """What the hub says of itself; nothing when it does not answer."""
    from tallystick.client import Client, HubNotRunning

    with Client(data_dir=place.folder) as client:
        try:
            return json.loads(client.get("/v1/status", seconds=STATUS_SECONDS).body)
        except (HubNotRunning, ValueError):
            return {}


def _show(facts: Mapping[str, object]) -> None:
    if not facts["answers"]:
        print(f"a hub runs as process {facts['pid']} and does not answer: it is starting or stopping")
        return
    print(f"Tallystick {facts['version']} runs at {facts['url']}")
    print(f"  since      {facts['started_at']}, process {facts['pid']}")
    print(f"  rooms      {facts['rooms']}")
    print(f"  open now   {facts['connections']} connections, {facts['followers']} followers, {facts['waits']} waits")
    print(f"  socket     {facts['http_socket']}")
    print(f"  page       {facts['login']}  (opens once, within 10 minutes)")
