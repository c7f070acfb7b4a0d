"""When a member counts as seen, through which process, and how often that is written."""

from __future__ import annotations

from typing import cast

import pytest

from tallystick.capabilities.agents import queries
from tallystick.capabilities.agents.model import Member
from tallystick.capabilities.agents.rules import TOUCH_INTERVAL_MS
from tallystick.kernel.caller import SessionKind
from tallystick.kernel.envelope import Draft
from tallystick.kernel.errors import TallyError
from tallystick.ledger.tx import Tx
from tests.scene import START, Actor, Scene, Turn, refused


def seen(actor: Actor) -> str:
    """When the store last saw somebody, asked by nobody."""
    shown = actor.scene.stranger(actor.room_id).here("agents.show", agent_id=actor.caller.agent_id)
    return cast("str", shown["last_seen_at"])


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("turns.state", {}),
        ("turns.wait", {"max_wait_ms": 0}),
        ("events.list", {}),
        ("notes.add", {"body": "hello"}),
        ("agents.show", {"agent_id": "bob"}),
        ("rooms.join", {}),
    ],
)
def test_every_call_of_a_member_counts_as_seen(scene: Scene, operation: str, given: dict[str, object]) -> None:
    ada, _bob = scene.joined("ada", "bob")
    scene.clock.forward(minutes=10)
    ada.here(operation, **given)
    assert seen(ada) == "2026-09-21T14:23:20.000Z"


def test_joining_again_by_path_counts_as_seen(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    scene.clock.forward(minutes=10)
    ada.join()
    assert seen(ada) == "2026-09-21T14:23:20.000Z"


@pytest.mark.parametrize("how", ["turns.heartbeat", "turns.release", "turns.pass"])
def test_an_owners_actions_count_as_seen(scene: Scene, how: str) -> None:
    ada, _bob = scene.joined("ada", "bob")
    turn = ada.claim()
    scene.clock.forward(minutes=10)
    match how:
        case "turns.heartbeat":
            ada.owner(how, turn)
        case "turns.release":
            ada.release(turn)
        case _:
            ada.pass_to(turn, "bob")
    assert seen(ada) == "2026-09-21T14:23:20.000Z"


def test_a_takeover_refreshes_the_caller_before_it_is_judged(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.claim()
    scene.clock.forward(minutes=241)
    assert bob.take_over(1, "back after hours")["turn_id"] == 2
    assert (seen(bob), seen(cyd)) == ("2026-09-21T18:14:20.000Z", "2026-09-21T14:13:20.000Z")


@pytest.mark.parametrize(
    ("operation", "given", "code"),
    [
        ("turns.heartbeat", {"lease_id": "L", "expected_turn_id": 9}, "turn_mismatch"),
        ("turns.takeover", {"expected_turn_id": 0, "reason": "why not"}, "takeover_not_available"),
        ("rooms.reorder", {"sequence": ["ada"]}, "invalid_sequence"),
    ],
)
def test_a_refused_call_still_counts_as_seen(scene: Scene, operation: str, given: dict[str, object], code: str) -> None:
    ada, _bob = scene.joined("ada", "bob")
    scene.clock.forward(minutes=10)
    with refused(code):
        ada.here(operation, **given)
    assert seen(ada) == "2026-09-21T14:23:20.000Z"


def test_reading_about_another_never_touches_it(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    scene.clock.forward(minutes=10)
    ada.here("agents.show", agent_id="bob")
    ada.state()
    ada.here("rooms.show")
    ada.call("rooms.list")
    assert seen(bob) == "2026-09-21T14:13:20.000Z"


def test_presence_is_written_at_most_once_in_the_interval(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    scene.clock.forward(ms=TOUCH_INTERVAL_MS - 1)
    ada.state()
    assert seen(ada) == "2026-09-21T14:13:20.000Z"
    scene.clock.forward(ms=1)
    ada.state()
    assert seen(ada) == "2026-09-21T14:13:25.000Z"


def test_a_clock_that_was_set_back_does_not_leave_a_member_seen_in_the_future(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    scene.clock.forward(minutes=-60)
    ada.state()
    assert seen(ada) == "2026-09-21T13:13:20.000Z"


def test_a_call_from_a_new_process_is_written_at_once(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    scene.kill(ada)
    assert bob.here("agents.show", agent_id="ada")["process"] == "gone"
    reborn = scene.reborn("ada")
    reborn.room_id = ada.room_id
    reborn.state()
    shown = bob.here("agents.show", agent_id="ada")
    assert (shown["process"], shown["pid"]) == ("alive", reborn.caller.process.pid if reborn.caller.process else None)


def person(scene: Scene, session: SessionKind, room_id: str = "") -> Actor:
    actor = scene.agent("human:wren:pts1", session=session)
    actor.room_id = room_id
    return actor


def test_a_persons_one_shot_command_keeps_the_guardians_process_facts(scene: Scene) -> None:
    guardian = person(scene, SessionKind.HUMAN_GUARDIAN)
    guardian.join()
    before = guardian.here("agents.show")
    scene.clock.forward(minutes=10)
    one_shot = person(scene, SessionKind.HUMAN_CLI, guardian.room_id)
    one_shot.join()
    one_shot.state()
    assert one_shot.here("agents.show") == {**before, "last_seen_at": "2026-09-21T14:23:20.000Z"}


def test_a_guardian_replaces_what_a_one_shot_command_left(scene: Scene) -> None:
    one_shot = person(scene, SessionKind.HUMAN_CLI)
    one_shot.join()
    guardian = person(scene, SessionKind.HUMAN_GUARDIAN, one_shot.room_id)
    guardian.state()
    shown = guardian.here("agents.show")
    assert (shown["session_kind"], shown["pid"], shown["process"]) == ("human_guardian", 1000, "alive")


def test_when_the_guardian_has_ended_the_person_is_still_there(scene: Scene) -> None:
    guardian = person(scene, SessionKind.HUMAN_GUARDIAN)
    guardian.join()
    scene.kill(guardian)
    one_shot = person(scene, SessionKind.HUMAN_CLI, guardian.room_id)
    one_shot.state()
    shown = one_shot.here("agents.show")
    assert (shown["session_kind"], shown["pid"], shown["process"]) == ("human_cli", None, "unknown")
    assert one_shot.state()["state"] == "idle"


def test_a_one_shot_command_does_not_bring_a_dead_holder_back(scene: Scene) -> None:
    guardian = person(scene, SessionKind.HUMAN_GUARDIAN)
    guardian.join()
    turn = guardian.claim()
    scene.kill(guardian)
    one_shot = person(scene, SessionKind.HUMAN_CLI, guardian.room_id)
    assert one_shot.state()["state"] == "owner_gone"
    with refused("stale_lease"):
        one_shot.owner("turns.heartbeat", turn)


def test_a_member_without_process_facts_is_judged_by_time_alone(scene: Scene) -> None:
    ada = scene.stranger("")
    ada.join()
    (bob,) = scene.joined("bob")
    ada.claim()
    assert bob.here("agents.show", agent_id="stranger")["process"] == "unknown"
    scene.clock.forward(minutes=44)
    assert bob.look()["status"] == "not_yet"
    scene.clock.forward(minutes=1)
    assert bob.look()["reason"] == "owner_timeout"


def test_a_member_is_active_until_the_presence_time_is_over(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    for minutes, here in ((239, 2), (1, 0)):
        scene.clock.forward(minutes=minutes)
        state = scene.stranger(ada.room_id).state()
        assert (state["members_here"], state["members_gone"]) == (here, 2 - here)


def test_a_dead_member_is_inactive_however_recently_it_was_seen(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    scene.kill(bob)
    state = ada.state()
    assert [member["agent_id"] for member in ada.members()] == ["ada"]
    assert (state["members_here"], state["members_gone"]) == (1, 1)


def test_the_facts_behind_a_member_are_stored(scene: Scene) -> None:
    ada = scene.agent("ada")
    ada.join()
    (row,) = scene.rows("presence")
    assert dict(row) == {
        "room_id": ada.room_id,
        "agent_id": "ada",
        "last_seen_at": START,
        "session_kind": "mcp_harness",
        "host_id": "test-host",
        "pid": 1000,
        "process_started_at": "1",
        "progressed_at": None,
        "wants_until": 0,
    }


def test_a_member_shows_who_it_is(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    assert ada.here("agents.show") == {
        "agent_id": "ada",
        "name": "ada",
        "role": "peer",
        "harness": "",
        "ordinal": 0,
        "joined_at": "2026-09-21T14:13:20.000Z",
        "last_seen_at": "2026-09-21T14:13:20.000Z",
        "session_kind": "mcp_harness",
        "pid": 1000,
        "process": "alive",
        "liveness": "active",
        "progressed_at": "2026-09-21T14:13:20.000Z",
        "holds": [],
        "stalled": False,
        "branch": "main",
    }


@pytest.mark.parametrize("name", ["nobody", "stranger"])
def test_who_is_no_member_cannot_be_shown(scene: Scene, name: str) -> None:
    (ada,) = scene.joined("ada")
    with refused("agent_not_found") as caught:
        scene.stranger(ada.room_id).here("agents.show", agent_id=name)
    assert caught.value.details == {"agent_id": name}


def test_presence_is_never_an_event_and_wakes_nobody(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    before = len(ada.events())
    scene.clock.forward(minutes=10)
    ada.owner("turns.heartbeat", turn)
    with pytest.raises(TallyError):
        ada.owner("turns.heartbeat", Turn(ada.room_id, 9, "x"))
    assert len(ada.events()) == before


def test_whoever_was_seen_a_moment_ago_is_not_read_again_for_each_write_of_a_group(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the group itself adds to the room is no word of another process."""
    (ada,) = scene.joined("ada")
    ada.here("notes.add", body="hello")
    looked, member = list[str](), queries.member

    def counted(tx: Tx, room_id: str, agent_id: str) -> Member | None:
        looked.append(agent_id)
        return member(tx, room_id, agent_id)

    monkeypatch.setattr(queries, "member", counted)

    with scene.hub.writing() as tx:
        tx.lock(ada.room_id)
        for number in range(5):
            assert queries.come_in(tx, ada.room_id, ada.caller) is None
            tx.append(ada.room_id, "ada", [Draft(kind="x.acme.build", data={"number": number})])

    assert looked in ([], ["ada"])
