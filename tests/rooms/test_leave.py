"""Leaving: what becomes of the order, the stick and a turn that was kept for the one who leaves."""

from __future__ import annotations

from tests.scene import HANDOFF, Actor, Scene, refused


def order(actor: Actor) -> list[str]:
    return [member["agent_id"] for member in actor.members()]


def test_a_member_who_leaves_drops_out_of_the_order(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    assert bob.here("rooms.leave") == {"room_id": bob.room_id, "agent_id": "bob", "left": True}
    assert order(ada) == ["ada", "cyd"]
    assert ada.release(ada.claim())["reserved_for"] == "cyd"
    assert cyd.events(kinds=["actor.remove"])[0]["data"] == {"actor_id": "bob"}


def test_the_holder_cannot_leave_with_the_stick(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    with refused("holds_stick") as caught:
        ada.here("rooms.leave")
    assert caught.value.details == {"room_id": ada.room_id}
    ada.release(turn)
    assert ada.here("rooms.leave")["left"] is True


def test_when_the_recipient_leaves_its_turn_is_free_and_the_handoff_stays(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.release(ada.claim())
    bob.here("rooms.leave")
    state = cyd.state()
    assert (state["state"], state["reserved_for"], state["claim_expires_at"]) == ("idle", None, None)
    turn = cyd.look()
    assert (turn["status"], turn["reason"], turn["handoff"], turn["from_agent_id"]) == (
        "your_turn",
        "sequence",
        HANDOFF,
        "ada",
    )


def test_a_recipient_of_a_pass_who_leaves_and_returns_has_no_claim_left(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.pass_to(ada.claim(), "bob")
    bob.here("rooms.leave")
    bob.join()
    assert cyd.look()["status"] == "your_turn"
    assert bob.look()["status"] == "not_yet"


def test_leaving_a_room_one_never_joined_changes_nothing(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    before = scene.dump()
    stranger = scene.stranger(ada.room_id)
    assert stranger.here("rooms.leave") == {"room_id": ada.room_id, "agent_id": "stranger", "left": False}
    assert scene.dump() == before


def test_whoever_joins_again_goes_to_the_end(scene: Scene) -> None:
    ada, bob, _cyd = scene.joined("ada", "bob", "cyd")
    ada.here("rooms.leave")
    ada.join()
    assert order(bob) == ["bob", "cyd", "ada"]


def test_one_who_left_cannot_wait_or_note_any_more(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    ada.here("rooms.leave")
    with scene.refused("unknown_member"):
        ada.look()
    with scene.refused("unknown_member"):
        ada.here("notes.add", body="still here?")


def test_when_the_last_member_leaves_the_room_is_dormant_and_can_be_joined_again(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    room_id = ada.room_id
    ada.here("rooms.leave")
    assert scene.stranger(room_id).state()["state"] == "dormant"
    assert ada.join()["room_id"] == room_id
