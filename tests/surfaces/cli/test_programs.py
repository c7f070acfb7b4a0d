"""The commands of other parts of the program: the global options mean the same to them, wherever they stand."""

from __future__ import annotations

import pytest

from tests.surfaces.cli.place import Place

NONE = {"running": False}


@pytest.fixture
def place(alone: Place) -> Place:
    """Without a hub: these commands are about having none, or about a store of their own."""
    return alone


def test_status_and_down_answer_in_the_one_envelope(place: Place) -> None:
    before, after = place.run("--json", "status"), place.run("status", "--json")
    down = place.run("--json", "down")

    assert before.envelope == {"ok": True, "command": "status", "data": NONE, "error": None}
    assert (after.envelope, down.data) == (before.envelope, {"stopped": False, "pid": None})
    assert place.files() == []


@pytest.mark.parametrize(
    "words",
    [
        ["token", "issue", "--any-room", "--for", "ann"],
        ["token", "issue", "--any-room", "--as", "ann"],
        ["token", "--as", "ann", "issue", "--any-room"],
        ["--as", "ann", "token", "issue", "--any-room"],
        ["--as", "ben", "token", "issue", "--any-room", "--for", "ann"],
    ],
)
def test_a_token_is_for_whom_it_names(place: Place, words: list[str]) -> None:
    done = place.run("--json", *words)

    assert (done.envelope["command"], done.data["principal"]) == ("token issue", "ann")


def test_the_store_is_the_named_one_wherever_it_is_named(place: Place) -> None:
    other = str(place.root / "other")
    made = place.run("--data-dir", other, "token", "issue", "--any-room", "--for", "ann", "--json").data

    listed = [
        place.run("--json", *words).rows("tokens")
        for words in (["token", "list", "--data-dir", other], [f"--data-dir={other}", "token", "list"])
    ]

    assert [[row["id"] for row in rows] for rows in listed] == [[made["id"]]] * 2
    assert place.run("--json", "token", "list").rows("tokens") == []


def test_a_runner_says_whom_it_served(place: Place) -> None:
    room = place.as_("ann", "join").data["room_id"]

    done = place.run("runner", "--once", "--id", "r1", "--command", "true", "--json")

    assert done.envelope == {
        "ok": True,
        "command": "runner",
        "data": {"runner_id": "r1", "room_id": room},
        "error": None,
    }


def test_a_wrong_setting_is_blamed_on_its_variable(place: Place) -> None:
    done = place.run("runner", "--json", env={"TALLYSTICK_RUNNER_SLICE_S": "soon"})

    where = "'--slice-s' (env var: 'TALLYSTICK_RUNNER_SLICE_S')"
    assert (done.code, done.error["message"]) == (
        2,
        f"Invalid value for {where}: 'soon' is no whole number from 1 to 86400.",
    )


@pytest.mark.parametrize("words", [["attach", "--as", "ann", "--", "true"], ["--as", "ann", "attach", "--", "true"]])
def test_an_agent_is_attached_under_the_name_it_speaks_for(place: Place, words: list[str]) -> None:
    done = place.run("--json", *words)

    assert (done.code, done.error["code"]) == (3, "hub_not_running")


def test_options_of_a_program_that_is_anothers_are_its_own(place: Place) -> None:
    done = place.run("attach", "--name", "ann", "--", "true", "--json", "--as", "ben")

    assert (done.code, done.out, done.err.startswith("error: No hub is running in ")) == (3, "", True)
