"""Many threads at once: one winner, no error, nothing lost, whether each write commits alone or in a group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar, cast

import pytest

from tallystick.hub import maintenance
from tallystick.hub.hub import Hub
from tallystick.kernel.errors import TallyError
from tests.scene import HANDOFF, Actor, Row, Scene

T = TypeVar("T")
CROWD = 16


@pytest.fixture(params=["direct", "grouped"])
def crowded(request: pytest.FixtureRequest, scene: Scene) -> Iterator[Scene]:
    """A scene whose hub commits each write alone, or concurrent ones together."""
    hub = Hub(
        scene.store,
        clock=scene.clock,
        process_state=scene.hub.world.process_state,
        machine_id="test-machine",
        grouped=request.param == "grouped",
    )
    yield replace_hub(scene, hub)
    if hub.committer:
        hub.committer.close()


def replace_hub(scene: Scene, hub: Hub) -> Scene:
    scene.hub = hub
    return scene


def at_once(work: list[Callable[[], T]]) -> list[T]:
    """Run everything as nearly at the same moment as threads can."""
    start = Barrier(len(work))

    def run(each: Callable[[], T]) -> T:
        start.wait()
        return each()

    with ThreadPoolExecutor(len(work)) as pool:
        return [future.result() for future in [pool.submit(run, each) for each in work]]


def test_of_many_simultaneous_claims_one_wins_and_the_others_wait(crowded: Scene) -> None:
    crowd = crowded.joined(*(f"agent-{number}" for number in range(CROWD)))
    found = at_once([actor.look for actor in crowd])
    statuses = [answer["status"] for answer in found]
    assert sorted(map(str, statuses)) == ["not_yet"] * (CROWD - 1) + ["your_turn"]
    winner = crowd[statuses.index("your_turn")]
    assert winner.state()["owner"] == winner.caller.agent_id
    assert [row["event_type"] for row in winner.history()] == ["claim"]


def test_of_many_simultaneous_takeovers_one_wins_and_the_others_are_told_the_turn_moved_on(crowded: Scene) -> None:
    owner, *crowd = crowded.joined(*(f"agent-{number}" for number in range(CROWD + 1)))
    owner.claim()
    crowded.kill(owner)

    def take(actor: Actor) -> str:
        try:
            return str(actor.take_over(1)["status"])
        except TallyError as refusal:
            return refusal.code

    outcomes = at_once([lambda actor=actor: take(actor) for actor in crowd])
    assert sorted(outcomes) == ["turn_mismatch"] * (CROWD - 1) + ["your_turn"]


def test_of_many_simultaneous_joins_of_a_new_path_one_creates_the_room(crowded: Scene) -> None:
    crowd = [crowded.agent(f"agent-{number}") for number in range(CROWD)]
    joined = at_once([actor.join for actor in crowd])
    assert len({answer["room_id"] for answer in joined}) == 1
    assert [answer["joined_existing_room"] for answer in joined].count(False) == 1
    members = cast("list[Row]", crowd[0].here("agents.list")["agents"])
    assert sorted(member["ordinal"] for member in members) == list(range(CROWD))


def test_simultaneous_appends_give_a_dense_ledger_with_every_event_in_it(crowded: Scene) -> None:
    crowd = crowded.joined(*(f"agent-{number}" for number in range(8)))
    start = len(crowd[0].events())

    def append(actor: Actor) -> list[int]:
        appended: list[int] = []
        for number in range(10):
            event: Row = actor.here("events.append", kind="x.acme.tick", data={"number": number})
            appended.append(event["event"]["seq"])
        return appended

    seqs = at_once([lambda actor=actor: append(actor) for actor in crowd])
    assert sorted(seq for each in seqs for seq in each) == list(range(start + 1, start + 81))
    assert all(each == sorted(each) for each in seqs)
    assert crowd[0].call("events.verify", room_id=crowd[0].room_id)["ok"] is True


def test_a_stick_that_goes_round_among_racing_threads_is_held_once_per_turn(crowded: Scene) -> None:
    crowd = crowded.joined(*(f"agent-{number}" for number in range(4)))

    def work(actor: Actor) -> list[int]:
        turns: list[int] = []
        for _ in range(25):
            found: Row = actor.look()
            if found["status"] == "your_turn":
                turns.append(found["turn_id"])
                actor.here(
                    "turns.release", lease_id=found["lease_id"], expected_turn_id=found["turn_id"], handoff=HANDOFF
                )
        return turns

    held = sorted(turn for turns in at_once([lambda actor=actor: work(actor) for actor in crowd]) for turn in turns)
    assert held == list(range(1, len(held) + 1))
    assert held
    assert maintenance.check(crowded.hub) == []


def test_a_refused_write_in_a_crowd_harms_nobody_elses(crowded: Scene) -> None:
    crowd = crowded.joined(*(f"agent-{number}" for number in range(8)))

    def note(actor: Actor, number: int) -> str:
        try:
            if number % 2:
                actor.here("rooms.reorder", sequence=["nobody"])
            return str(actor.here("notes.add", body=str(number))["body"])
        except TallyError as refusal:
            return refusal.code

    outcomes = at_once([lambda each=each, actor=actor: note(actor, each) for each, actor in enumerate(crowd)])
    assert outcomes == [
        "0",
        "agent_not_found",
        "2",
        "agent_not_found",
        "4",
        "agent_not_found",
        "6",
        "agent_not_found",
    ]
    assert len(crowd[0].events(kinds=["x.tally.note.add"])) == 4
