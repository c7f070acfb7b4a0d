"""A session that goes on as another agent is that agent for its hooks and for `tally whoami` too."""

from __future__ import annotations

from typing import cast

import pytest

from tests.hooks.hooked import GONE, HookedWorkspace, answer


@pytest.fixture
def adopted(hooked: HookedWorkspace) -> HookedWorkspace:
    """The agent that is gone had reserved src and was in the middle of a task; `me` goes on as it."""
    hooked.reserve(GONE, "src")
    room_id = hooked.join("ann")
    hooked.call(GONE, "tasks.create", room_id=room_id, title="parser", assignee=GONE, status="running")
    done = hooked.place.run("--json", "--as", "me", "init", "--adopt", GONE)
    assert done.data["agent_id"] == GONE
    return hooked


def test_a_session_that_begins_again_is_greeted_as_whom_it_adopted(adopted: HookedWorkspace) -> None:
    done = adopted.hook("claude", "SessionStart", source="compact")

    said = str(cast("dict[str, object]", answer(done)["hookSpecificOutput"])["additionalContext"])
    assert said.splitlines()[0].startswith(f"Tallystick: you are {GONE} in room ")
    assert said.splitlines()[1] == "Others here: ann."
    assert "Reserved:" not in said


def test_it_edits_what_that_agent_had_reserved_and_others_do_not(adopted: HookedWorkspace) -> None:
    file = str(adopted.root / "src" / "a.py")

    assert adopted.edit("claude", "Edit", file_path=file).code == 0
    assert adopted.edit("claude", "Edit", "ann", file_path=file).code == 2


def test_it_is_reminded_of_the_stick_that_it_holds_as_that_agent(adopted: HookedWorkspace) -> None:
    room_id = adopted.join("ann")
    turn = adopted.call("me", "turns.wait", room_id=room_id, max_wait_ms=0)
    adopted.call("ann", "turns.wait", room_id=room_id, max_wait_ms=1)

    done = adopted.hook("claude", "Stop", stop_hook_active=False)

    assert f"lease_id {turn['lease_id']}" in str(answer(done)["reason"])


def test_whoami_says_for_whom_it_acts(adopted: HookedWorkspace) -> None:
    said = adopted.place.run("--json", "--as", "me", "whoami").data
    plain = adopted.place.run("--json", "--as", "ann", "whoami").data

    assert (said["agent_id"], said["acting_for"]) == ("me", GONE)
    assert "acting_for" not in plain
