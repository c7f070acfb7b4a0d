"""Who is calling: the harness instance that started the server, whatever the connection says of itself."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.harnesses.trees import MARKERS
from tests.surfaces.mcp.stage import SERVER, Stage, rows

pytestmark = pytest.mark.anyio

PROGRAM = Path(__file__).parent / "programs" / "harness.py"
ASK = Path(__file__).parents[2] / "harnesses" / "programs" / "ask.py"


def harness(folder: Path, name: str) -> tuple[str, ...]:
    """A fake harness of that name that starts the server, after it asked a command in its shell who it is."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!{sys.executable}\n{PROGRAM.read_text('utf-8')}", "utf-8")
    program.chmod(0o755)
    return (str(program), str(folder / "said"), shlex.join([sys.executable, str(ASK), "cli"]), *SERVER)


@pytest.mark.parametrize(("command", "slug"), [("codex", "codex"), ("claude", "claude-code"), ("gemini", "gemini")])
async def test_the_server_and_a_command_in_the_harness_shell_are_one_agent(
    stage: Stage, tmp_path: Path, command: str, slug: str
) -> None:
    async with stage.agent("", *harness(tmp_path / "bin", command), client="somebody-else") as agent:
        joined = await agent.join()

    assert joined["agent_id"] == (tmp_path / "bin" / "said").read_text("utf-8")
    assert str(joined["agent_id"]).startswith(f"{slug}:")


async def test_two_instances_of_a_harness_are_two_agents(stage: Stage, tmp_path: Path) -> None:
    codex = harness(tmp_path / "bin", "codex")
    async with stage.agent("", *codex) as one, stage.agent("", *codex) as other:
        await one.join()
        await other.join()
        state = await one.state()

    assert [member["agent_id"] for member in rows(state, "members")] == [one.agent_id, other.agent_id]
    assert one.agent_id != other.agent_id


async def test_a_second_connection_of_a_harness_is_the_same_agent(stage: Stage) -> None:
    async with stage.agent("ada") as before:
        first = await before.join()
    async with stage.agent("ada") as after:
        second = await after.join()

    assert (first["agent_id"], second["joined_existing_room"]) == (second["agent_id"], True)


ORPHAN = (sys.executable, str(ASK.with_name("detached.py")), *SERVER)


@pytest.mark.parametrize("markers", [{}, MARKERS["claude"]], ids=["nobody", "claude"])
async def test_a_server_whose_starter_is_gone_joins_nothing(stage: Stage, markers: Mapping[str, str]) -> None:
    async with stage.agent("", *ORPHAN, client="Cool Client", env=markers) as agent:
        refusal = await agent.refused("join_path")

    assert refusal["error"] == "starter_gone"


async def test_two_servers_of_one_name_whose_starters_are_gone_have_one_stick_between_them(every_stage: Stage) -> None:
    async with every_stage.agent("worker", *ORPHAN) as older, every_stage.agent("worker", *ORPHAN) as newer:
        await older.join()
        await older.wait()
        await newer.join()

        found = await newer.wait()

    assert (found["status"], found["current_owner"], "other_session" in found) == ("not_yet", "worker", True)


async def test_a_killed_harness_is_gone_at_once_and_its_turn_can_be_taken_over(
    every_stage: Stage, tmp_path: Path
) -> None:
    codex = harness(tmp_path / "bin", "codex")
    async with every_stage.agent("", *codex) as owner, every_stage.agent("bob") as bob:
        await owner.join()
        await bob.join()
        await owner.wait()
        members = rows(await bob.state(), "members")
        (pid,) = [member["pid"] for member in members if member["agent_id"] == owner.agent_id]

        os.kill(pid, signal.SIGKILL)

        assert await bob.wait(60_000) == {
            "status": "takeover_available",
            "room_id": bob.room_id,
            "turn_id": 1,
            "room_state": "owner_gone",
            "reason": "owner_gone",
            "current_owner": owner.agent_id,
            "reserved_for": None,
        }
        taken = await bob.call("takeover_stick", room_id=bob.room_id, expected_turn_id=1, reason="it was killed")
        assert taken == {
            "status": "your_turn",
            "room_id": bob.room_id,
            "turn_id": 2,
            "lease_id": taken["lease_id"],
            "revoked_agent_id": owner.agent_id,
            "reason": "it was killed",
        }
        late = await owner.refused("release_stick", **owner.turn, handoff={"status": "late", "next_action": "none"})
        assert (late["error"], late["current_owner"], late["current_turn_id"]) == ("turn_mismatch", "bob", 2)


async def test_an_override_renames_every_later_call_and_keeps_the_process(served: Stage) -> None:
    async with served.agent("ada") as agent:
        before = await agent.join()
        after = await agent.join(agent_id_override="zoe")
        turn = await agent.wait()
        state = await agent.state()
        events = await agent.call("rooms", op="call", cmd="events.list", workspace=agent.room_id)

    assert (before["agent_id"], after["agent_id"], turn["status"]) == ("ada", "zoe", "your_turn")
    ada, zoe = rows(state, "members")
    assert (state["owner"], zoe["session_kind"], zoe["pid"]) == ("zoe", "named", ada["pid"])
    joins = [event["data"] for event in rows(events, "events") if event["kind"] == "actor.add"]
    assert [(each["actor_id"], each.get("agent_id_override")) for each in joins] == [("ada", None), ("zoe", True)]


async def test_a_refused_override_renames_nobody(served: Stage) -> None:
    async with served.agent("ada") as agent:
        refusal = await agent.refused("join_path", agent_id_override="user")
        joined = await agent.join()

    assert (refusal["error"], joined["agent_id"]) == ("reserved_name", "ada")


async def test_a_name_that_cannot_be_is_refused_at_every_call(served: Stage) -> None:
    async with served.agent("two words") as agent:
        refusals = [await agent.refused(tool) for tool in ("list_rooms", "join_path")]

    assert [(each["error"], each["field"]) for each in refusals] == [("invalid_input", "agent_id")] * 2


async def test_joining_without_a_path_joins_where_the_server_was_started(stage: Stage) -> None:
    async with stage.agent("ada") as agent:
        joined = await agent.join()

    assert joined["canonical_path"] == str(stage.workspace)


async def test_the_project_folder_that_claude_code_names_comes_first(stage: Stage, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    async with stage.agent("ada", env={"CLAUDE_PROJECT_DIR": str(project)}) as agent:
        joined = await agent.join()

    assert joined["canonical_path"] == str(project)


async def test_a_relative_path_is_refused(served: Stage) -> None:
    async with served.agent("ada") as agent:
        refusal = await agent.refused("join_path", context_path="src")

    assert refusal["error"] == "invalid_input"


async def test_a_server_whose_folder_was_removed_asks_for_a_path(stage: Stage, tmp_path: Path) -> None:
    async with stage.agent("ada") as agent:
        assert await agent.call("list_rooms", context_path=str(stage.workspace)) == {"rooms": []}
        shutil.rmtree(stage.workspace)

        assert (await agent.refused("join_path"))["error"] == "invalid_input"
        assert (await agent.join(context_path=str(tmp_path)))["agent_id"] == "ada"
