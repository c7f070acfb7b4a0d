"""`tally service`: a hub at every login, by a small program that stands in for systemd and launchd."""

from __future__ import annotations

import os
import plistlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.surfaces.cli.place import TALLY, Done, Place

UNIT = ".config/systemd/user/tallystick.service"
PLIST = "Library/LaunchAgents/dev.tallystick.hub.plist"
MANAGER = Path(__file__).parent / "service_manager.py"


@pytest.fixture
def place() -> Generator[Place]:
    """In a short place: a hub's socket lies below it."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        here = Place(root=Path(folder))
        yield here
        here.run("down")


def run(place: Place, manager: str, *args: str, **settings: str) -> Done:
    """With this service manager on the PATH, and no other."""
    folder = place.root / f"bin-{manager}"
    folder.mkdir(exist_ok=True)
    if manager:
        (folder / manager).write_text(f'#!/bin/sh\nexec {sys.executable} {MANAGER} {manager} "$@"\n')
        (folder / manager).chmod(0o700)
    path = os.pathsep.join([str(folder), str(Path(TALLY).parent)])
    return place.run(*args, env={"PATH": path, "TALLYSTICK_PORT": "0", **settings})


@pytest.mark.parametrize(("manager", "file"), [("systemctl", UNIT), ("launchctl", PLIST)])
def test_a_service_is_started_answers_and_is_removed_without_a_trace(place: Place, manager: str, file: str) -> None:
    data = str(place.root / "it's 100% $HOME")
    before = place.files()

    installed = run(place, manager, "--data-dir", data, "service", "install")
    status = run(place, manager, "--data-dir", data, "--json", "status").data
    removed = run(place, manager, "service", "remove")
    after = run(place, manager, "--data-dir", data, "status")

    assert (installed.code, installed.out.splitlines()[0]) == (
        0,
        f"The hub runs now and at every login: {place.home / file}",
    ), installed
    assert (status["running"], status["answers"]) == (True, True)
    assert (removed.code, removed.out) == (0, f"The service is removed: {place.home / file}\n")
    assert after.out == "No hub is running; commands work without one.\n"
    assert [name for name in place.files() if Path(name).name not in parents(file) and name not in before] == []


def parents(file: str) -> set[str]:
    """Folders that stay, since others may use them."""
    return set(Path(file).parent.parts)


def test_what_is_written_is_private_and_is_what_the_manager_reads(place: Place) -> None:
    url = "postgresql://me:secret@db/tally"
    run(place, "systemctl", "service", "install", "--print")
    shown = run(place, "systemctl", "service", "install", "--print", TALLYSTICK_DATABASE_URL=url)
    apple = run(place, "launchctl", "service", "install", "--print", TALLYSTICK_DATABASE_URL=url)

    assert f'ExecStart="{TALLY}" "up"' in shown.out.splitlines()
    assert f'Environment="TALLYSTICK_DATABASE_URL={url}"' in shown.out.splitlines()
    assert "StandardOutput=null" in shown.out.splitlines(), "the greeting has a link that signs in"
    assert not (place.home / UNIT).exists()
    found = plistlib.loads(apple.out.encode())
    assert (found["ProgramArguments"], found["EnvironmentVariables"]["TALLYSTICK_DATABASE_URL"]) == (
        [TALLY, "up"],
        url,
    )
    run(place, "systemctl", "service", "install")
    assert (place.home / UNIT).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_has_nothing_to_say_against_the_unit(place: Place) -> None:
    unit = place.root / "tallystick.service"
    unit.write_text(run(place, "systemctl", "--data-dir", str(place.root / "a b"), "service", "install", "--print").out)

    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", str(unit)],
        env={"PATH": os.environ["PATH"], "HOME": str(place.home), "XDG_RUNTIME_DIR": str(place.root)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert [line for line in done.stderr.splitlines() if unit.name in line] == []


def test_a_hub_that_was_started_by_hand_makes_way_and_a_second_install_starts_anew(place: Place) -> None:
    run(place, "systemctl", "up", "--detach")
    by_hand = run(place, "systemctl", "--json", "status").data["pid"]

    run(place, "systemctl", "service", "install")
    first = run(place, "systemctl", "--json", "status").data["pid"]
    run(place, "systemctl", "service", "install")
    second = run(place, "systemctl", "--json", "status").data["pid"]

    assert len({by_hand, first, second}) == 3


def test_setup_undo_takes_the_service_back_too(place: Place) -> None:
    run(place, "systemctl", "service", "install")

    undone = run(place, "systemctl", "setup", "--undo", "--yes")

    assert undone.code == 0, undone
    assert not (place.home / UNIT).exists()
    assert run(place, "systemctl", "status").out == "No hub is running; commands work without one.\n"


def test_where_no_manager_runs_services_it_is_said_and_nothing_is_left(place: Place) -> None:
    run(place, "", "up", "--detach")
    none = run(place, "", "service", "install")
    refuses = run(place, "systemctl", "service", "install", TALLY_TEST_MANAGER_FAILS="Failed to connect to bus")
    removed = run(place, "", "service", "remove")

    assert (none.code, none.err.splitlines()) == (
        3,
        [
            "error: Neither systemd nor launchd runs services for you on this machine.",
            "hint: `tally up --detach` runs a hub in the background until the machine stops.",
        ],
    )
    assert (refuses.code, refuses.err.splitlines()[0]) == (
        3,
        "error: systemctl does not run services for you: Failed to connect to bus",
    )
    assert not (place.home / UNIT).exists()
    assert removed.out == "There is no service.\n"
    assert run(place, "", "--json", "status").data["running"], "the hub that was started by hand goes on"
