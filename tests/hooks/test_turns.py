"""What hooks do about turns: a stale one writes no file, and nobody is made to hand over to nobody."""

from __future__ import annotations

import json
from typing import cast

import pytest

from tallystick.harnesses import processes
from tallystick.kernel.caller import Caller, Process, SessionKind
from tests.hooks.hooked import EDITS, STOPS, HookedWorkspace, answer
from tests.hooks.test_protocols import HARNESSES, TOOLS
from tests.surfaces.cli.place import Done

every_harness = pytest.mark.parametrize("harness", HARNESSES)


def greeted(hooked: HookedWorkspace, harness: str) -> Done:
    """What a session is told when it begins; Gemini CLI's with its first prompt, since it would lose that otherwise."""
    started = hooked.hook(harness, "SessionStart", source="startup")
    if harness != "gemini":
        return started
    assert (started.code, started.out) == (0, "")
    return hooked.hook(harness, "BeforeAgent", prompt="go")


def taken_from_me(hooked: HookedWorkspace) -> str:
    """A room in which my turn was ended while I slept."""
    room_id = hooked.join("me", "bob")
    hooked.call("me", "turns.wait", room_id=room_id, max_wait_ms=0)
    hooked.call("user", "turns.revoke", room_id=room_id, expected_turn_id=1, reason="it hangs")
    return room_id


@every_harness
def test_an_agent_whose_turn_was_taken_edits_nothing_until_it_has_looked(hooked: HookedWorkspace, harness: str) -> None:
    room_id = taken_from_me(hooked)
    tool, given = TOOLS[harness][-1]

    denied = [hooked.edit(harness, tool, **given) for _ in range(2)]
    others = hooked.edit(harness, tool, "bob", **given)
    hooked.hook(harness, STOPS[harness])
    still = hooked.edit(harness, tool, **given)
    hooked.call("me", "turns.state", room_id=room_id)
    after = hooked.edit(harness, tool, **given)

    assert [each.code for each in (*denied, others, still, after)] == [2, 2, 0, 2, 0]
    assert 'turn 1 is no longer yours: user ended it, saying "it hangs".' in denied[0].err
    assert "get_room_state" in denied[0].err


def test_a_wait_is_a_look_too_and_so_is_a_turn_of_ones_own(hooked: HookedWorkspace) -> None:
    room_id = taken_from_me(hooked)

    hooked.call("me", "turns.wait", room_id=room_id, max_wait_ms=0)

    assert hooked.edit("claude", "Edit", file_path=str(hooked.root / "a.py")).code == 0


def test_where_agents_work_side_by_side_an_edit_needs_no_turn(hooked: HookedWorkspace) -> None:
    room_id = taken_from_me(hooked)
    hooked.call("bob", "rooms.set_policy", room_id=room_id, mode="parallel")

    assert hooked.edit("claude", "Edit", file_path=str(hooked.root / "a.py")).code == 0


def test_the_engine_makes_no_difference(any_hooked: HookedWorkspace) -> None:
    taken_from_me(any_hooked)

    assert any_hooked.edit("claude", "Edit", file_path=str(any_hooked.root / "a.py")).code == 2


def test_a_refused_edit_is_on_the_ledger_once_for_each_path_and_holder(hooked: HookedWorkspace) -> None:
    room_id = str(hooked.reserve("ann", "src/a.py")["room_id"])
    hooked.join("me")

    for name in ("a.py", "a.py", "b.py", "a.py"):
        hooked.edit("claude", "Edit", file_path=str(hooked.root / "src" / name))
    hooked.edit("claude", "Edit", "bob", file_path=str(hooked.root / "src/a.py"))

    listed = cast("list[dict[str, dict[str, object]]]", hooked.call("ann", "protocol.list", room_id=room_id)["events"])
    events = [each["event"] for each in listed]
    assert [(each["event_type"], each["scope"], each["from_agent"], each["to_agent"]) for each in events] == [
        ("INCURSION", "src/a.py", "me", "ann"),
        ("INCURSION", "src/a.py", "bob", "ann"),
    ]


def test_of_a_folder_only_what_is_reserved_in_it_is_named(hooked: HookedWorkspace) -> None:
    hooked.reserve("ann", "notes.txt")

    denied = hooked.edit("claude", "Bash", command="git checkout HEAD -- .")

    assert denied.code == 2
    assert denied.err.startswith("Tallystick: notes.txt is reserved by ann until ")
    assert f"{hooked.root} is reserved" not in denied.err


@every_harness
def test_who_is_alone_is_not_made_to_claim_or_to_hand_over(lone_desk: HookedWorkspace, harness: str) -> None:
    started = greeted(lone_desk, harness)
    room_id = str(lone_desk.call("me", "rooms.join", context_path=str(lone_desk.root))["room_id"])
    lone_desk.call("me", "turns.wait", room_id=room_id, max_wait_ms=0)

    stopped = lone_desk.hook(harness, STOPS[harness])

    assert "Nothing has to be claimed or handed over while you are alone" in started.out
    assert (stopped.code, stopped.out, stopped.err) == (0, "", "")


@pytest.mark.parametrize(
    ("mode", "advice"), [("turns", "Wait for your turn"), ("parallel", "Agents work side by side")]
)
def test_the_greeting_says_how_agents_work_in_this_room(hooked: HookedWorkspace, mode: str, advice: str) -> None:
    room_id = hooked.join("bob")
    hooked.call("bob", "rooms.set_policy", room_id=room_id, mode=mode)

    assert advice in hooked.hook("claude", "SessionStart", source="startup").out


def test_being_greeted_is_no_place_in_the_turn_order_and_the_end_of_a_session_leaves(hooked: HookedWorkspace) -> None:
    room_id = hooked.join("bob")

    hooked.hook("claude", "SessionStart", source="startup")
    hooked.call("bob", "turns.wait", room_id=room_id, max_wait_ms=0)
    state = hooked.call("bob", "turns.state", room_id=room_id)
    hooked.hook("claude", "SessionEnd", reason="clear")
    cleared = hooked.call("bob", "turns.state", room_id=room_id)
    hooked.hook("claude", "SessionEnd", reason="prompt_input_exit")
    after = hooked.call("bob", "turns.state", room_id=room_id)

    assert [(each["members_here"], each["next"]) for each in (state, cleared, after)] == [
        (2, None),
        (2, None),
        (1, None),
    ]


def test_a_thousand_sessions_that_have_ended_are_nobody_and_cost_nothing(lone_desk: HookedWorkspace) -> None:
    ended = Process(host_id=processes.host_id(), pid=2**22 + 1, started_at="1")
    here = {"context_path": str(lone_desk.root)}
    with lone_desk.hub() as hub:
        for number in range(1_000):
            past = Caller(agent_id=f"codex:{number:08x}", session=SessionKind.MCP_HARNESS, process=ended)
            hub.call("rooms.join", here, past)

    told = greeted(lone_desk, "claude").out
    joined = lone_desk.call("me", "rooms.join", **here)
    state = lone_desk.call("me", "turns.state", room_id=joined["room_id"])

    assert "Nobody else is here." in told
    assert (state["members_here"], state["members_gone"]) == (1, 1_000)
    assert max(len(json.dumps(each)) for each in (joined, state)) < 4 * 1_500


def test_a_resumed_session_is_told_what_it_still_has_reserved(hooked: HookedWorkspace) -> None:
    room_id = str(hooked.reserve("me", "notes.txt")["room_id"])
    hooked.hook("claude", "SessionEnd", reason="other")
    gone = hooked.call("bob", "agents.list", room_id=hooked.join("bob"))

    back = hooked.hook("claude", "SessionStart", source="resume")

    told = cast("dict[str, dict[str, str]]", answer(back))["hookSpecificOutput"]["additionalContext"]
    assert "Tallystick: you are me in room" in told
    assert "You still have reserved: notes.txt." in told
    me = next(each for each in cast("list[dict[str, object]]", gone["agents"]) if each["agent_id"] == "me")
    assert me["liveness"] == "evicted"
    assert hooked.edit("claude", "Edit", "bob", file_path=str(hooked.root / "notes.txt")).code == 2
    assert room_id in told


@pytest.mark.parametrize("variable", ["TALLYSTICK_ACTION", "TALLYSTICK_JOB"])
def test_a_worker_is_not_told_to_wait_for_a_turn(hooked: HookedWorkspace, variable: str) -> None:
    hooked.join("bob")
    working = HookedWorkspace(hooked.place, {**hooked.env, variable: "a1"})

    told = working.hook("claude", "SessionStart", source="startup").out

    assert "You work for whoever asks you" in told
    assert "Wait for your turn" not in told


@pytest.mark.parametrize("harness", ["claude", "codex"])
def test_a_subagent_is_told_whose_it_is(hooked: HookedWorkspace, harness: str) -> None:
    hooked.join("me")

    told = hooked.hook(harness, "SubagentStart", agent_id="a1", agent_type="default").out

    assert "you are a sub-agent of me in room" in told


def test_in_a_worktree_the_greeting_names_who_works_in_the_main_checkout(hooked: HookedWorkspace) -> None:
    import subprocess

    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.test"]
    beside = hooked.root.parent / "beside"
    for args in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"], ["worktree", "add", "-q", str(beside)]):
        subprocess.run([*git, *args], cwd=hooked.root, check=True)
    hooked.join("bob")

    told = hooked.hook("claude", "SessionStart", cwd=str(beside), source="startup").out

    assert f"In another checkout of this repository, {hooked.root} (room" in told
    assert "): bob." in told
    assert EDITS
