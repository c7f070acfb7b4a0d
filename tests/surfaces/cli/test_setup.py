"""`tally whoami` and `tally completion`."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tallystick.harnesses import identity
from tests.surfaces.cli.place import Place


def test_whoami_explains_a_name_that_was_given(place: Place) -> None:
    named = place.run("--json", "whoami", "--explain", "--as", "ann").data
    by_variable = place.run("--json", "whoami", "--explain", env={"TALLYSTICK_AGENT": "ben"}).data

    assert (named["agent_id"], named["session_kind"], named["may_hold"]) == ("ann", "named", True)
    assert named["why"] == "You named it with --as."
    assert (by_variable["agent_id"], by_variable["why"]) == ("ben", "TALLYSTICK_AGENT names it.")


def test_whoami_knows_a_person(place: Place) -> None:
    person = place.orphaned("whoami", "--explain").data

    assert str(person["agent_id"]).startswith("human:")
    assert (person["session_kind"], person["may_hold"], person["pid"]) == ("human_cli", False, None)
    assert str(person["why"]).startswith("No harness is above this command")


def test_a_user_without_an_account_has_a_name_too() -> None:
    assert identity.user({}, 4_000_000_001) == "4000000001"
    assert identity.user({"USER": "wren"}, 4_000_000_001) == "wren"


def test_whoami_creates_nothing(alone: Place) -> None:
    assert alone.run("whoami").code == 0
    assert alone.files() == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_completion_script(place: Place, shell: str) -> None:
    done = place.run("completion", shell)

    assert (done.code, done.err) == (0, "")
    assert f"_TALLY_COMPLETE={shell}_complete" in done.out


@pytest.mark.parametrize(
    ("line", "word", "offered"),
    [
        (["tally", "sta"], 1, ["state", "status"]),
        (["tally", "turns", "re"], 2, ["release", "revoke"]),
        (["tally", "state", "--wa"], 2, ["--watch"]),
        (["tally", "turns", "release", "--expected"], 3, ["--expected-turn-id"]),
        (["tally", "completion", "z"], 2, ["zsh"]),
        (["tally", "token", "re"], 2, ["revoke"]),
        (["tally", "token", "issue", "--an"], 3, ["--any-room"]),
        (["tally", "runner", "--slice-g"], 2, ["--slice-grace-s"]),
        (["tally", "mcp", "--tools", "f"], 3, ["full"]),
        (["tally", "attach", "--sandbox", "read"], 3, ["read-only"]),
    ],
)
def test_completion_offers_commands_and_flags(alone: Place, line: list[str], word: int, offered: list[str]) -> None:
    env = {"_TALLY_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(line), "COMP_CWORD": str(word)}

    done = alone.run(env=env)

    assert [each.partition(",")[2] for each in done.out.splitlines()] == offered
    assert alone.files() == []


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_the_script_for_bash_is_one_that_bash_takes(place: Place) -> None:
    script = place.run("completion", "bash").out

    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
