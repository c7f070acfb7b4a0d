"""The stick goes to who wants it: who waits, in turn order; being seen is not a place in that order."""

from __future__ import annotations

from typing import cast

from tests.scene import Actor, Row, Scene, refused


def seen(scene: Scene, name: str) -> Actor:
    """An agent whose window is open, as the hook at its start says."""
    actor = scene.agent(name)
    actor.join(in_order=False)
    return actor


def test_a_window_that_never_asked_for_the_stick_does_not_get_it(scene: Scene) -> None:
    idle, ada, bob = seen(scene, "idle"), *scene.joined("ada", "bob")

    released = bob.release(bob.claim())

    assert released["reserved_for"] == "ada"
    assert [member["agent_id"] for member in idle.members()] == ["idle", "ada", "bob"]
    assert ada.look()["status"] == "your_turn"


def test_the_first_wait_gives_a_place_at_the_end_of_the_order(scene: Scene) -> None:
    idle, _ada, bob = seen(scene, "idle"), *scene.joined("ada", "bob")
    turn = bob.claim()

    idle.look()
    idle.look()

    assert [member["agent_id"] for member in idle.members()] == ["ada", "bob", "idle"]
    entered = [event for event in idle.events() if event["kind"] == "x.tally.sequence.enter"]
    assert [(event["by"], event["data"]) for event in entered] == [("idle", {"actor_id": "idle", "ordinal": 3})]
    assert bob.release(turn)["reserved_for"] == "idle"


def test_an_explicit_join_gives_it_too_and_a_second_one_changes_nothing(scene: Scene) -> None:
    idle, ada = seen(scene, "idle"), *scene.joined("ada")

    idle.join()
    idle.join(in_order=False)

    assert [member["agent_id"] for member in ada.members()] == ["ada", "idle"]
    assert ada.release(ada.claim())["reserved_for"] == "idle"


def test_a_free_stick_is_claimed_by_the_first_wait(scene: Scene) -> None:
    idle = seen(scene, "idle")

    assert idle.look()["status"] == "your_turn"


def test_who_waits_comes_before_who_stands_idle_in_the_order(scene: Scene) -> None:
    ada, _bob, cyd = scene.joined("ada", "bob", "cyd")
    scene.clock.forward(minutes=2)
    turn = ada.claim()
    assert cyd.here("turns.wait", max_wait_ms=1)["status"] == "not_yet"

    assert ada.state()["waiting"] == ["cyd"]
    assert ada.release(turn)["reserved_for"] == "cyd"
    assert cyd.look()["status"] == "your_turn"
    assert cyd.state()["waiting"] == []


def test_a_look_and_a_wait_of_long_ago_are_no_claim(scene: Scene) -> None:
    ada, _bob, cyd = scene.joined("ada", "bob", "cyd")
    turn = ada.claim()
    cyd.look()
    assert ada.state()["waiting"] == []
    cyd.here("turns.wait", max_wait_ms=1)
    scene.clock.forward(minutes=2)

    assert ada.state()["waiting"] == []
    assert ada.release(turn)["reserved_for"] == "bob"


def test_it_can_be_passed_to_one_who_was_only_seen(scene: Scene) -> None:
    idle, ada = seen(scene, "idle"), *scene.joined("ada")

    ada.pass_to(ada.claim(), "idle")

    assert idle.look()["reason"] == "direct_pass"


def test_one_who_was_only_seen_may_take_over(scene: Scene) -> None:
    idle, ada = seen(scene, "idle"), *scene.joined("ada")
    ada.claim()
    scene.kill(ada)

    idle.take_over(1)

    assert [member["agent_id"] for member in idle.members()] == ["idle"]
    assert idle.state()["owner"] == "idle"


def test_the_first_wait_gives_a_place_even_where_it_brings_the_chance_to_take_over(scene: Scene) -> None:
    idle, ada, bob = seen(scene, "idle"), *scene.joined("ada", "bob")
    ada.claim()
    scene.kill(ada)

    assert idle.look()["status"] == "takeover_available"

    assert [member["agent_id"] for member in idle.members()] == ["bob", "idle"]
    bob.take_over(1)
    assert bob.state()["next"] == "idle"


def test_a_session_that_ends_leaves_and_one_that_holds_something_is_counted_as_gone(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    bob.here("reservations.reserve", path="notes.txt")

    left = [each.here("rooms.leave", resumable=True)["left"] for each in (bob, cyd)]

    state = ada.state()
    assert left == [False, True]
    assert ([member["agent_id"] for member in ada.members()], state["members_gone"]) == (["ada"], 1)
    (held,) = cast("list[Row]", ada.here("reservations.status")["reservations"])
    assert (held["agent_id"], held["liveness"]) == ("bob", "evicted")
    bob.join()
    (again,) = cast("list[Row]", ada.here("reservations.status")["reservations"])
    assert (again["reservation_id"], again["liveness"]) == (held["reservation_id"], "active")


def test_a_holder_whose_session_ends_leaves_the_stick_to_be_taken_over_when_its_process_has_gone(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()

    ada.here("rooms.leave", resumable=True)

    with refused("holds_stick"):
        ada.here("rooms.leave")
    scene.kill(ada)
    assert bob.look()["status"] == "takeover_available"


def test_many_members_are_listed_by_a_dozen_and_those_who_are_gone_by_number(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    others = scene.joined(*(f"a{number}" for number in range(20)))
    for other in others[:5]:
        scene.kill(other)

    for answer in (ada.state(), ada.here("rooms.show"), ada.join()):
        assert (len(cast("list[Row]", answer["members"])), answer["members_here"], answer["members_gone"]) == (
            12,
            16,
            5,
        )
        assert list(answer)[-1] == "members"


def test_who_is_gone_need_not_be_named_to_set_the_order(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    scene.kill(bob)

    ada.here("rooms.reorder", sequence=["cyd", "ada"])

    assert [member["agent_id"] for member in ada.members()] == ["cyd", "ada"]
    with refused("invalid_sequence"):
        cyd.here("rooms.reorder", sequence=["cyd"])
