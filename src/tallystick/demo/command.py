"""The program: a scratch folder, a store, a play, a reckoning, and how to look at it again.

The demo of the first start is played into the store that is served afterwards, and skipped by Enter.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from tallystick.commandline import output
from tallystick.demo import page, terminal
from tallystick.demo.agent import DemoRepository
from tallystick.demo.options import Arguments
from tallystick.demo.run import AgentProcesses, DemoRun, Ending, reckon
from tallystick.demo.terminal import DemoStopped, StopRequest
from tallystick.hub.hub import Hub
from tallystick.hub.maintenance import DemoRooms, keeper
from tallystick.hub.settings import Settings
from tallystick.kernel.errors import TallyError
from tallystick.surfaces.cli import screen

PACE_S = 0.9
FAST_PACE_S = 0.1


def run(arguments: Arguments) -> Ending:
    folder = Path(tempfile.mkdtemp(prefix="tally-demo-")).resolve()
    stop = StopRequest()
    try:
        with stop.noted():
            return _perform(arguments, folder, stop)
    except DemoStopped:
        raise KeyboardInterrupt from None
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)


def play_first(arguments: Arguments) -> bool:
    """Into the store that `tally up` serves afterwards, so that its page is alive; once."""
    settings = Settings.of()
    rooms = DemoRooms(settings=settings)
    if not first_wanted(rooms):
        return False
    rooms.folder.mkdir(parents=True)
    try:
        with skippable() as stop:
            _perform(replace(arguments, here=True, keep=True), rooms.folder, stop)
    except (TallyError, subprocess.CalledProcessError) as failed:
        # `make up` goes on to the hub, which needs no demo.
        print(f"\nThe demo ended early: {failed}", flush=True)
    print("`tally demo --remove` deletes the demo's rooms again.\n", flush=True)
    return True


def remove() -> bool:
    rooms = DemoRooms(settings=Settings.of())
    there = rooms.there
    if there:
        with output.progress("Deleting the demo's rooms"), closing(Hub.open(rooms.settings)) as hub:
            rooms.remove(hub)
    print("The demo's rooms are deleted." if there else "There is no demo to delete.", flush=True)
    return there


def _perform(arguments: Arguments, folder: Path, stop: StopRequest) -> Ending:
    environ = _environ(arguments, folder)
    settings = Settings.of(environ)
    workspace = DemoRepository.made(folder / "lighthouse")
    rooms, hub = DemoRooms(settings=settings), Hub.open(settings)
    pace = FAST_PACE_S if arguments.fast else PACE_S
    processes = AgentProcesses(folder=folder, workspace=workspace.root, environ=environ, pace=pace)
    with ExitStack() as stack:
        stack.callback(hub.close)
        if arguments.page:
            print(f"Watch it on the page: {stack.enter_context(page.served(environ))}\n", flush=True)
        with terminal.raised() as shown:
            opened = rooms.keep if arguments.first else _forgotten
            played = DemoRun(hub, processes, shown, workspace, stop=stop, opened=opened)
            try:
                played.play()
            finally:
                shown.wait("The agents go home.")
                processes.dismiss()
        found = reckon(hub, keeper(), played.room_id, played.seen, workspace)
        _summarise(found)
        if arguments.first:
            rooms.keep(played.room_id, page.fill(hub, played.room_id))
            return found
        _look_again(arguments, settings, workspace)
        if arguments.page:
            page.fill(hub, played.room_id)
            _stay(arguments, stop)
        if not arguments.keep and (arguments.here or arguments.postgres):
            hub.call("rooms.close", {"room_id": played.room_id, "reason": "the demo is over"}, keeper())
        return found


def _forgotten(_room_id: str) -> None:
    """It goes with its scratch folder, or stays for good."""


def _stay(arguments: Arguments, stop: StopRequest) -> None:
    """Leave the page to its reader; the end is a Ctrl-C."""
    what = "" if arguments.keep else " and deletes everything it made"
    print(f"\nA second team has started work; the page stays open. Ctrl-C ends the demo{what}.", flush=True)
    stop.wait()


def _environ(arguments: Arguments, folder: Path) -> Mapping[str, str]:
    """The agents' environment: a store of their own, unless the reader's own was asked for."""
    inherited = {name: value for name, value in os.environ.items() if name != "TALLYSTICK_AGENT"}
    if arguments.here:
        return inherited
    url = {"TALLYSTICK_DATABASE_URL": arguments.postgres or ""}
    return {**inherited, **url, "TALLYSTICK_DATA_DIR": str(folder / "data")}


def _summarise(found: Ending) -> None:
    print()
    screen.table(["turn", "agent", "began", "ended"], found.turns)
    print(
        f"\n{found.events} events, every hash checked; the tables equal a fresh fold of the ledger; the tests pass."
        f"\nThe stick changed hands in {found.handover_ms} ms, and the death was noticed after {found.noticed_ms} ms."
    )


def _look_again(arguments: Arguments, settings: Settings, workspace: DemoRepository) -> None:
    if not arguments.keep:
        print("\n`tally demo --keep` leaves it all behind to look at; `tally join` starts a room of your own.")
        return
    where = "" if arguments.here or arguments.postgres else f" --data-dir {settings.data_dir}"
    # The address may hold a password, so it is not shown.
    when = ", with TALLYSTICK_DATABASE_URL set to that database" if arguments.postgres else ""
    print(
        f"\nLook at it again{when}:\n  tally{where} state {workspace.root}\n  tally{where} events {workspace.root}"
        f"\n  tally{where} verify\n  git -C {workspace.root} log -p"
    )


def first_wanted(rooms: DemoRooms) -> bool:
    """Whether this is the first start, and the demo can be played; if not, say why."""
    if rooms.played:
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
