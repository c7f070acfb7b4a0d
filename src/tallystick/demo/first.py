"""The demo of the first start: played into the store that is served afterwards, skipped by Enter, and removed again."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from tallystick.demo.run import keeper
from tallystick.demo.stopping import DemoStopped, StopRequest
from tallystick.hub import maintenance
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.hub.signing import SigningKey
from tallystick.kernel.errors import Refused
from tallystick.ledger.errors import RoomClosed

FOLDER, ROOMS = "demo", "rooms.json"


def folder_of(settings: Settings) -> Path:
    """Where the demo's repository stays; that it is there says that the demo was played."""
    return settings.data_dir / FOLDER


def wanted(settings: Settings) -> bool:
    """Whether this is the first start, and the demo can be played; if not, say why."""
    if folder_of(settings).exists():
        return False
    if not shutil.which("git"):
        print("There is no git on this machine: the demo is left out, and everything else works.", flush=True)
        return False
    return True


@contextmanager
def skippable() -> Generator[StopRequest]:
    """Enter or Ctrl-C ends what is played in here, and the program goes on."""
    watched = sys.stdin.isatty()
    stop = StopRequest(enter=watched)
    try:
        with stop.noted():
            # Said when it is true: before that, a Ctrl-C would end the `make` that this runs under.
            if watched:
                print("A demo of half a minute; Enter skips it.", flush=True)
            yield stop
    except DemoStopped:
        print("\nSkipped.", flush=True)
    if stop.terminated:
        raise KeyboardInterrupt


def keep_rooms(settings: Settings, *room_ids: str) -> None:
    """Remember which rooms to remove."""
    (folder_of(settings) / ROOMS).write_text(json.dumps([each for each in room_ids if each]))


def remove(settings: Settings) -> bool:
    """Delete the demo's rooms from the store, and its repository; False where there is none."""
    folder = folder_of(settings)
    if not folder.exists():
        return False
    hub = Hub.open(settings)
    try:
        with suppress(FileNotFoundError):
            for room_id in json.loads((folder / ROOMS).read_text()):
                _delete(hub, settings, room_id, folder / f"{room_id}.jsonl")
    finally:
        hub.close()
    shutil.rmtree(folder)
    return True


def _delete(hub: Hub, settings: Settings, room_id: str, file: Path) -> None:
    why = {"room_id": room_id, "reason": "the demo is over"}
    turn = hub.call("turns.state", {"room_id": room_id}, keeper()).to_data()["turn_id"]
    with suppress(Refused):  # A person ends turns only where they are a member.
        hub.call("rooms.join", {"room_id": room_id}, keeper())
    for end in ("turns.revoke", "turns.takeover"):  # One is for a holder who lives, one for a holder who is gone.
        with suppress(Refused):
            hub.call(end, {**why, "expected_turn_id": turn}, keeper())
    with suppress(RoomClosed):
        hub.call("rooms.close", why, keeper())
    with file.open("wb") as target:
        for line in maintenance.archive_lines(hub, SigningKey.of(settings), room_id):
            target.write(line)
    maintenance.prune_archived(hub, file)
