"""Two servers in two processes hand the stick to each other, in both revisions and on both engines."""

from __future__ import annotations

import json

import anyio
import pytest

from tests.surfaces.mcp.stage import HANDOFF, Stage, rows

pytestmark = pytest.mark.anyio


async def test_two_servers_hand_the_stick_over(every_stage: Stage) -> None:
    async with every_stage.agent("ada") as ada, every_stage.agent("bob") as bob:
        assert await ada.call("list_rooms", context_path=str(ada.workspace)) == {"rooms": []}
        joined = await ada.join()
        assert (joined["agent_id"], joined["joined_existing_room"]) == ("ada", False)
        assert (await bob.join())["room_id"] == ada.room_id

        first = await ada.wait()
        assert first == {
            "status": "your_turn",
            "room_id": ada.room_id,
            "turn_id": 1,
            "lease_id": first["lease_id"],
            "handoff": None,
            "from_agent_id": None,
            "reason": "open_claim",
        }
        beat = await ada.call("heartbeat", **ada.turn)
        assert beat == {
            "status": "ok",
            "room_id": ada.room_id,
            "turn_id": 1,
            "lease_id": first["lease_id"],
            "lease_expires_at": beat["lease_expires_at"],
        }
        released = await ada.release()
        assert released == {
            "status": "released",
            "room_id": ada.room_id,
            "reserved_for": "bob",
            "event_seq": released["event_seq"],
        }

        second = await bob.wait()
        assert second == {
            "status": "your_turn",
            "room_id": ada.room_id,
            "turn_id": 2,
            "lease_id": second["lease_id"],
            "handoff": HANDOFF,
            "from_agent_id": "ada",
            "reason": "sequence",
        }
        passed = await bob.call("pass_stick", **bob.turn, to_agent_id="ada", handoff=dict(HANDOFF))
        assert passed == {
            "status": "passed",
            "room_id": ada.room_id,
            "reserved_for": "ada",
            "event_seq": passed["event_seq"],
        }
        assert (await ada.wait())["reason"] == "direct_pass"

        history = await bob.call("get_room_events", room_id=bob.room_id)
        assert [event["event_type"] for event in rows(history, "events")] == [
            "claim",
            "release",
            "claim",
            "pass",
            "claim",
        ]
        state = await bob.state()
        assert (state["owner"], state["turn_id"], state["lease_id"]) == ("ada", 3, None)


async def test_a_waiting_server_is_woken_by_anothers_release(every_stage: Stage) -> None:
    async with every_stage.agent("ada") as ada, every_stage.agent("bob") as bob:
        await ada.join()
        await bob.join()
        await ada.wait()
        answers: list[dict[str, object]] = []

        async def wait() -> None:
            answers.append(await bob.wait(max_wait_ms=60_000))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await bob.state()
            await ada.release()

        (answer,) = answers
        assert (answer["status"], answer["handoff"]) == ("your_turn", HANDOFF)


async def test_an_agent_that_lost_its_context_finds_its_lease_again(served: Stage) -> None:
    async with served.agent("ada") as before:
        await before.join()
        held = await before.wait()

    async with served.agent("ada") as after:
        await after.join()
        assert await after.wait() == {**held, "reason": "already_owner"}


async def test_the_tools_that_were_put_off_work_in_the_full_set(served: Stage) -> None:
    full = {"TALLYSTICK_MCP_TOOLS": "full"}
    async with served.agent("ada", env=full) as ada, served.agent("bob", env=full) as bob:
        await ada.join()
        await bob.join()

        note = await bob.call("append_note", room_id=ada.room_id, body="CI is red")
        assert (note["by"], note["body"]) == ("bob", "CI is red")
        order = await ada.call("reorder_members", room_id=ada.room_id, sequence=["bob", "ada"])
        assert order == {"room_id": ada.room_id, "changed": True, "sequence": ["bob", "ada"]}
        policy = await ada.call("set_room_policy", room_id=ada.room_id, claim_ttl_ms=60_000)
        assert policy["changed"] is True
        left = await bob.call("leave_path", room_id=ada.room_id)
        assert left == {"room_id": ada.room_id, "agent_id": "bob", "left": True}
        closed = await ada.call("close_room", room_id=ada.room_id, reason="done")
        assert closed["status"] == "closed"


async def test_a_portal_reaches_the_same_operations(served: Stage) -> None:
    async with served.agent("ada") as ada:
        await ada.join()

        by_id = await ada.call("rooms", op="show", args={"room_id": ada.room_id})
        by_path = await ada.call("rooms", op="show", workspace=str(ada.workspace / "AGENTS.md"))
        by_name = await ada.call("rooms", op="call", cmd="rooms.show", workspace=ada.room_id)
        assert by_id == by_path == by_name
        noted = await ada.call("rooms", op="call", cmd="notes.add", args={"room_id": ada.room_id, "body": "hello"})
        assert noted["body"] == "hello"
        shown = await ada.call("agents", op="show", workspace=ada.room_id)
        assert shown["agent_id"] == "ada"
        joined = await ada.call("rooms", op="join", workspace=str(ada.workspace))
        assert joined["room_id"] == ada.room_id


async def test_a_path_without_a_room_fills_in_none(served: Stage) -> None:
    async with served.agent("ada") as ada:
        refusal = await ada.refused("rooms", op="show", workspace=str(ada.workspace))

    assert (refusal["error"], refusal["workspace"]) == ("no_room_here", str(ada.workspace))


async def test_the_radar_is_lines_whose_moves_are_tool_calls(every_stage: Stage) -> None:
    async with every_stage.agent("ada") as ada:
        await ada.join()
        await ada.call("jobs", op="create", args={"room_id": ada.room_id, "title": "parser", "prompt": "Do it."})

        found = await ada.call("jobs", op="radar", args={"room_id": ada.room_id})
        line = str(found["text"]).splitlines()[-1]
        tool, _, arguments = line.split(" | ")[1].partition(" ")
        opened = await ada.call(tool, **json.loads(arguments))
        whole = await ada.call("jobs", op="radar", args={"room_id": ada.room_id, "fmt": "json"})

    assert found["jobs"] == []
    assert (opened["kind"], opened["ref"]) == ("job_event", line.split(" ")[0])
    assert (whole["text"], len(rows(whole, "jobs"))) == (None, 1)


async def test_a_job_and_a_list_are_read_as_lines_where_that_is_asked_for(served: Stage) -> None:
    async with served.agent("ada") as ada:
        await ada.join()
        await ada.call("jobs", op="create", args={"room_id": ada.room_id, "title": "parser", "prompt": "Do it."})
        given = {"room_id": ada.room_id, "fmt": "lines"}

        listed = await ada.call("jobs", op="list", args=given)
        move = str(listed["text"]).splitlines()[-1].split(" | ")[1]
        tool, _, arguments = move.partition(" ")
        await ada.call(tool, **json.loads(arguments))
        opened = await ada.call("jobs", op="open", args={**given, "job": "JOB-001"})
        fields = await ada.call("jobs", op="open", args={"room_id": ada.room_id, "job": "JOB-001"})

    assert str(opened["text"]).startswith("JOB-001 (QUEUED) parser\n")
    assert (fields["text"], fields["why"]) == (None, "no runner is there")
