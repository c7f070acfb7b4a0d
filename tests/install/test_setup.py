"""`tally setup` on machines with no, one and three harnesses: one diff, one question, and all of it taken back."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tallystick.harnesses.install.plan import UNTRUSTED
from tallystick.surfaces.cli.install import TRUST_HOOKS
from tests.install.machine import FILES, Machine
from tests.surfaces.cli.place import TALLY, Done, Place, Terminal, at_terminal

EVERYBODY = ("claude", "codex", "gemini")
NAMED = {"claude": "Claude Code", "codex": "Codex", "gemini": "Gemini CLI"}


@pytest.fixture
def machine() -> Generator[Machine]:
    """A repository, in a short place: a hub's socket lies below it."""
    with tempfile.TemporaryDirectory(prefix="t-") as folder:
        place = Place(root=Path(folder))
        subprocess.run(["git", "init", "-q", str(place.workspace)], check=True)
        yield Machine(place)
        place.run("down")


def run(machine: Machine, harnesses: tuple[str, ...], *args: str) -> Done:
    """With these programs on the PATH, and no others."""
    return machine.place.run(*args, env=with_programs(machine, harnesses))


def terminal(machine: Machine, harnesses: tuple[str, ...], *args: str) -> AbstractContextManager[Terminal]:
    env = {**machine.place.env, **with_programs(machine, harnesses)}
    return at_terminal([TALLY, *args], env=env, cwd=machine.place.workspace)


def with_programs(machine: Machine, harnesses: tuple[str, ...]) -> dict[str, str]:
    folder = machine.place.root / "-".join(("bin", *harnesses))
    folder.mkdir(exist_ok=True)
    for name in harnesses:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o700)
    path = os.pathsep.join([str(folder), str(Path(TALLY).parent), "/usr/bin", "/bin"])
    return {"PATH": path, "TALLYSTICK_PORT": "0", "BROWSER": "true"}


@pytest.mark.parametrize("harnesses", [(), ("codex",), EVERYBODY], ids=["none", "one", "three"])
def test_a_dry_run_names_the_harnesses_and_their_files_and_changes_nothing(
    machine: Machine, harnesses: tuple[str, ...]
) -> None:
    run(machine, harnesses, "--version")
    before = machine.tree()

    done = run(machine, harnesses, "setup", "--dry-run")

    found = f"Found: {', '.join(NAMED[name] for name in harnesses)}." if harnesses else "No harness is on the PATH"
    files = {line.split()[1] for line in done.out.splitlines() if line.startswith("+++ ")}
    assert (done.code, done.out.startswith(found), machine.tree()) == (0, True, before)
    assert files == {str(machine.place.home / file) for name in harnesses for file in FILES[name, "user"]}


@pytest.mark.parametrize("harnesses", [(), ("codex",), EVERYBODY], ids=["none", "one", "three"])
def test_the_doctor_names_what_was_set_up(machine: Machine, harnesses: tuple[str, ...]) -> None:
    run(machine, harnesses, "setup", "--yes")

    done = run(machine, harnesses, "doctor")

    shown = [line.split("\t")[1:] for line in done.out.splitlines() if "\tharness" in line]
    told = {"codex": f", {UNTRUSTED}"}
    wanted = [[f"harness {name}", f"server (user), hooks (user){told.get(name, '')}"] for name in harnesses]
    assert (done.code, shown) == (0, wanted or [["harnesses", "none is set up: `tally setup` does that"]])


def test_everything_is_set_up_once_and_taken_back_to_the_last_byte(machine: Machine) -> None:
    run(machine, EVERYBODY, "--version")
    before = machine.tree()

    first = run(machine, EVERYBODY, "setup", "--yes")
    again = run(machine, EVERYBODY, "setup", "--yes")
    hooks = sorted(path.name for path in (machine.place.workspace / ".git/hooks").glob("pre-*") if not path.suffix)
    undone = run(machine, EVERYBODY, "setup", "--undo", "--yes")

    assert (first.code, again.code, undone.code) == (0, 0, 0), (first, again, undone)
    assert "Tallystick runs. Open its page: " in first.out
    assert "Start claude, codex, gemini anew, in your repository: each then knows of the others." in first.out
    assert TRUST_HOOKS in first.out
    assert "They are set up already." in again.out
    assert "The git hooks that guard commits are in this repository." in again.out
    assert "The hub runs already." in again.out
    assert hooks == ["pre-commit", "pre-merge-commit", "pre-push"]
    assert undone.out.splitlines()[-2:] == [
        "The hub has stopped.",
        f"The record stays in {machine.place.data_dir}; delete that folder to be rid of it.",
    ]
    assert machine.tree() == before


def test_another_store_has_a_hub_of_its_own(machine: Machine) -> None:
    other = ("--data-dir", str(machine.place.root / "other"))
    run(machine, (), "setup", "--yes")

    run(machine, (), "setup", "--yes", *other)
    undone = run(machine, (), "setup", "--undo", "--yes", *other)

    assert undone.out.splitlines()[-2] == "The hub has stopped."
    assert run(machine, (), "status", *other).out.startswith("No hub is running")
    assert run(machine, (), "status").out.startswith("Tallystick ")


@pytest.mark.parametrize("undo", [False, True], ids=["setup", "undo"])
def test_at_a_terminal_a_person_is_asked_once_and_may_say_no(machine: Machine, undo: bool) -> None:
    run(machine, ("claude",), *(["setup", "--yes"] if undo else ["--version"]))
    before = machine.tree()
    words = ("setup", "--undo") if undo else ("setup",)

    with terminal(machine, ("claude",), *words) as person:
        person.until("[Y/n]: ")
        person.type("n\n")
        declined = person.rest()
    unchanged = machine.tree()
    with terminal(machine, ("claude",), *words) as person:
        person.until("[Y/n]: ")
        person.type("\n")
        agreed = person.rest()

    end = "Claude Code: taken back." if undo else "Claude Code: set up."
    assert (declined.splitlines()[-1], unchanged == before) == ("Nothing was changed.", True)
    assert (agreed.count("[Y/n]"), end in agreed) == (1, True), agreed
    assert (machine.place.home / ".claude.json").exists() != undo


def test_with_nobody_to_ask_nothing_is_done(machine: Machine) -> None:
    done = run(machine, ("claude",), "setup")

    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "error: Nobody is there to be asked: give --yes, or --dry-run to look only.",
    )
    assert not (machine.place.home / ".claude.json").exists()
