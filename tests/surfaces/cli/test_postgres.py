"""The command line on a PostgreSQL server: the same commands, nothing in the data directory."""

from __future__ import annotations

import pytest

from tests.surfaces.cli.place import Done, Place

pytestmark = pytest.mark.postgres


@pytest.fixture
def place(alone: Place) -> Place:
    """Without a hub: the store is a server."""
    return alone


def test_a_turn_goes_round_on_a_server(place: Place, postgres_url: str) -> None:
    def run(*args: str) -> Done:
        return place.run("--json", *args, env={"TALLYSTICK_DATABASE_URL": postgres_url})

    fresh = run("doctor", "--as", "ann")
    for agent in ("ann", "ben"):
        run("join", "--as", agent)
    turn = run("wait", "--as", "ann")
    handed = run("release", "--as", "ann", "--status", "done", "--next-action", "go on")
    taken = run("wait", "--as", "ben")
    doctor = run("doctor", "--deep", "--as", "ann")

    assert [done.code for done in (fresh, turn, handed, taken, doctor)] == [0] * 5
    assert taken.data["handoff"] == {"status": "done", "next_action": "go on"}
    assert [check["name"] for check in fresh.rows("checks")] == [
        "data directory",
        "engine",
        "schema",
        "hub",
        "identity",
        "harnesses",
    ]
    assert {str(check["name"]): check["verdict"] for check in doctor.rows("checks")} == dict.fromkeys(
        ["data directory", "engine", "schema", "write lock", "ledger", "wake", "hub", "identity", "harnesses"], "ok"
    )
    assert place.files() == []


def test_a_server_that_does_not_answer_is_unavailable(place: Place) -> None:
    nowhere = {"TALLYSTICK_DATABASE_URL": "postgresql://nobody:secret@127.0.0.1:1/none"}

    state, doctor = place.run("--json", "rooms", env=nowhere), place.run("doctor", "--as", "ann", env=nowhere)

    assert (state.code, state.error["code"], state.error["retryable"]) == (3, "store_unreachable", True)
    assert doctor.code == 1
    assert "secret" not in state.out + state.err + doctor.out + doctor.err
