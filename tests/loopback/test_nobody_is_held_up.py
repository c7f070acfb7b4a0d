"""Whatever is wrong on our side, a real harness starts, edits and stops, and its model is not asked again and again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from tallystick.harnesses.install import config_entries
from tests.loopback.saying import Say, lines
from tests.loopback.workplace import EDIT, HARNESSES, HarnessHome, hub_for, workplace
from tests.surfaces.cli.place import TALLY

pytestmark = [
    pytest.mark.npm,
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk"),
]

CONFIGURED = (
    ".claude.json",
    ".claude/settings.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".gemini/settings.json",
)


@contextmanager
def no_tally(place: HarnessHome) -> Generator[None]:
    """As in a checkout with our server and hooks at somebody who has no `tally`."""
    for name in CONFIGURED:
        path = place.home.path / name
        if path.exists():
            path.write_text(path.read_text("utf-8").replace("/bin/tally", "/gone/tally"), "utf-8")
    yield


@contextmanager
def failing_tally(place: HarnessHome) -> Generator[None]:
    """As after an upgrade of Python, when the program is there and ends at once."""
    program = place.home.path / "gone/tally"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    for name in CONFIGURED:
        path = place.home.path / name
        if path.exists():
            path.write_text(path.read_text("utf-8").replace(TALLY, str(program)), "utf-8")
    yield


@contextmanager
def broken_store(place: HarnessHome) -> Generator[None]:
    for extra in place.data.glob("tally.sqlite-*"):
        extra.unlink()
    (place.data / "tally.sqlite").write_bytes(b"not a database at all" * 1000)
    yield


@contextmanager
def killed_hub(place: HarnessHome) -> Generator[None]:
    with hub_for(place) as hub:
        hub.process.kill()
        hub.process.wait()
        yield


@contextmanager
def small_disk(place: HarnessHome) -> Generator[None]:
    """The data directory moved to a disk of its own."""
    kept = place.data.with_name("kept")
    place.data.rename(kept)
    place.data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs", place.data], check=True)
    try:
        shutil.copytree(kept, place.data, dirs_exist_ok=True)
        place.data.chmod(0o700)
        yield
    finally:
        subprocess.run(["umount", "--lazy", place.data], check=True)


@contextmanager
def read_only_home(place: HarnessHome) -> Generator[None]:
    with small_disk(place):
        subprocess.run(["mount", "-o", "remount,ro", place.data], check=True)
        yield


@contextmanager
def full_disk(place: HarnessHome) -> Generator[None]:
    with small_disk(place), (place.data / "ballast").open("wb") as file:
        about = os.statvfs(place.data)
        os.posix_fallocate(file.fileno(), 0, about.f_bavail * about.f_frsize)
        yield


Fault: TypeAlias = "Callable[[HarnessHome], AbstractContextManager[None]]"
FAULTS: Sequence[Fault] = (no_tally, failing_tally, broken_store, killed_hub, read_only_home, full_disk)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("harness", HARNESSES)
def test_a_harness_starts_edits_and_stops(tmp_path: Path, harness: str, fault: Fault) -> None:
    written = tmp_path / "repository/sheep.txt"
    script = lines(EDIT[harness](str(written)), Say(text="There is one sheep."))

    with workplace(tmp_path, harness, script, "--hooks") as (place, model):
        # Somebody holds what nobody edits, so that every hook has something to look up.
        room_id = str(place.tally("join", agent="ann")["room_id"])
        reserve = ["reservations", "reserve", "--room-id", room_id, "--path", "other.txt"]
        place.tally(*reserve, agent="ann")
        with fault(place):
            done = place.run()

    assert (done.returncode, "There is one sheep." in done.stdout) == (0, True), (
        done.stdout[-1500:],
        done.stderr[-1500:],
    )
    assert written.read_text() == "one\n"
    assert len(model.asked) == 2
    if harness == "codex":
        # It would not start without our server, so somebody has to answer.
        speaks = fault not in {no_tally, failing_tally}
        assert place.tool("join_path" if speaks else config_entries.MISSING_TOOL) in model.asked[0].tools
