"""Waits: cancelled, hung up on, many at a time, and reported on."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio.abc import TaskGroup

from tests.surfaces.mcp.stage import Agent, Stage, both, rows
from tests.surfaces.mcp.wire import wired

LONG = 100_000


@asynccontextmanager
async def waiting(agent: Agent, times: int = 1) -> AsyncGenerator[TaskGroup]:
    """The agent's server has read its waits; they end with the cancel scope."""
    async with anyio.create_task_group() as tasks:
        for _ in range(times):
            tasks.start_soon(agent.wait, LONG)
        await anyio.wait_all_tasks_blocked()
        # Lines are read in order, so whoever has this answer has had its waits read.
        await agent.state()
        yield tasks


@pytest.mark.anyio
async def test_a_cancelled_wait_claims_nothing_afterwards(every_stage: Stage) -> None:
    async with every_stage.agent("ada") as ada:
        async with every_stage.agent("bob") as bob:
            await ada.join()
            await bob.join()
            await ada.wait()
            async with waiting(bob) as tasks:
                tasks.cancel_scope.cancel()
            await bob.state()
            await ada.release()
        # Bob's server has ended, and with it everything that worked for the wait.
        state = await ada.state()

    assert (state["state"], state["reserved_for"], state["turn_id"]) == ("reserved", "bob", 1)


@pytest.mark.anyio
async def test_a_cancelled_wait_leaves_the_server_in_good_order(served: Stage) -> None:
    async with served.agent("ada") as ada, served.agent("bob") as bob:
        await ada.join()
        await bob.join()
        await ada.wait()
        async with waiting(bob) as tasks:
            tasks.cancel_scope.cancel()
        await ada.release()

        assert (await bob.wait(LONG))["status"] == "your_turn"


@pytest.mark.anyio
async def test_very_many_waits_of_one_client_keep_nobody_from_being_answered(stage: Stage) -> None:
    async with stage.agent("ada") as ada, stage.agent("bob") as bob:
        await ada.join()
        await bob.join()
        await ada.wait()
        async with waiting(bob, times=200) as tasks:
            assert await bob.call("list_rooms", context_path=str(bob.workspace))
            assert (await bob.state())["owner"] == "ada"
            tasks.cancel_scope.cancel()
        await ada.release()

        assert (await bob.wait(LONG))["status"] == "your_turn"


@pytest.mark.anyio
async def test_of_many_waits_of_one_agent_all_learn_of_the_same_turn(served: Stage) -> None:
    found: list[dict[str, object]] = []

    async def wait(agent: Agent) -> None:
        found.append(await agent.wait(LONG))

    async with served.agent("ada") as ada, served.agent("bob") as bob:
        await ada.join()
        await bob.join()
        await ada.wait()
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(wait, bob)
            await anyio.wait_all_tasks_blocked()
            await ada.release()

    assert [each["status"] for each in found] == ["your_turn"] * 5
    assert len({str(each["lease_id"]) for each in found}) == 1
    assert sorted(str(each["reason"]) for each in found) == [*["already_owner"] * 4, "sequence"]


@pytest.mark.anyio
async def test_following_events_ends_with_the_first_one(served: Stage) -> None:
    found: list[dict[str, object]] = []
    async with served.agent("ada") as ada, served.agent("bob") as bob:
        joined = await ada.join()
        await bob.join()
        cursor = int(str((await bob.state())["cursor"]))

        async def follow() -> None:
            args = {"room_id": bob.room_id, "since_seq": cursor, "max_wait_ms": LONG}
            found.append(await bob.call("rooms", op="call", cmd="events.follow", args=args))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await anyio.wait_all_tasks_blocked()
            await ada.call("rooms", op="call", cmd="notes.add", workspace=joined["room_id"], args={"body": "look"})

    (answer,) = found
    assert [(event["kind"], event["data"]["body"]) for event in rows(answer, "events")] == [
        ("x.tally.note.add", "look")
    ]


def test_a_server_whose_input_ends_leaves_its_wait_and_claims_nothing(stage: Stage) -> None:
    with wired(stage, "ada") as ada, wired(stage, "bob") as bob:
        room_id = ada.call("join_path")["room_id"]
        bob.call("join_path")
        turn = ada.call("wait_for_turn", room_id=room_id, max_wait_ms=0)
        bob.request("tools/call", name="wait_for_turn", arguments={"room_id": room_id, "max_wait_ms": LONG})
        bob.call("get_room_state", room_id=room_id)

        assert bob.hang_up() == 0
        ada.call(
            "release_stick",
            room_id=room_id,
            lease_id=turn["lease_id"],
            expected_turn_id=turn["turn_id"],
            handoff={"status": "done", "next_action": "go on"},
        )
        state = ada.call("get_room_state", room_id=room_id)

    assert (state["state"], state["reserved_for"], state["turn_id"]) == ("reserved", "bob", 1)


@pytest.mark.slow
@pytest.mark.anyio
async def test_a_long_wait_tells_a_client_that_asks_how_far_it_is(served: Stage) -> None:
    told: list[tuple[float, float | None]] = []
    heard = anyio.Event()

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total))
        heard.set()

    async with served.agent("ada") as ada, served.agent("bob") as bob:
        await ada.join()
        await bob.join()
        await ada.wait()

        async def wait() -> None:
            arguments = {"room_id": bob.room_id, "max_wait_ms": LONG}
            result = await bob.client.call_tool("wait_for_turn", arguments, progress_callback=tell)
            assert both(result)["status"] == "your_turn"

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await heard.wait()
            await ada.release()

    (first, *_) = told
    assert (0 < first[0] < LONG / 1000, first[1]) == (True, LONG / 1000)
