"""Timeouts, dead processes and taking over."""

from __future__ import annotations

import pytest

from tallystick.kernel.caller import SessionKind
from tallystick.kernel.errors import TallyError
from tests.scene import HANDOFF, Scene, refused


def test_a_heartbeat_extends_the_lease(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    scene.clock.forward(minutes=40)
    beat = ada.owner("turns.heartbeat", turn)
    assert beat == {
        "status": "ok",
        "room_id": ada.room_id,
        "turn_id": 1,
        "lease_id": turn.lease_id,
        "lease_expires_at": ada.state()["lease_expires_at"],
    }
    scene.clock.forward(minutes=44)
    assert ada.state()["state"] == "owned"
    scene.clock.forward(minutes=2)
    assert ada.state()["state"] == "stale_owner"


def test_a_heartbeat_is_not_an_event(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    before = ada.state()["cursor"]
    ada.owner("turns.heartbeat", turn)
    assert ada.state()["cursor"] == before


def test_an_expired_owner_may_heartbeat_until_a_takeover_commits(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    scene.clock.forward(minutes=46)
    assert bob.look()["status"] == "takeover_available"
    ada.owner("turns.heartbeat", turn)
    assert bob.look() == {
        "status": "not_yet",
        "cursor": bob.state()["cursor"],
        "room_state": "owned",
        "current_owner": "ada",
    }


@pytest.mark.parametrize("how", ["release", "pass"])
def test_an_expired_owner_may_hand_over_until_a_takeover_commits(scene: Scene, how: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    scene.clock.forward(minutes=46)
    given: dict[str, object] = {"to_agent_id": "bob"} if how == "pass" else {}
    ada.owner(f"turns.{how}", turn, handoff=HANDOFF, **given)
    assert bob.look()["status"] == "your_turn"


def test_waiting_shows_that_an_expired_owner_can_be_taken_over(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    scene.clock.forward(minutes=45)
    assert bob.look() == {
        "status": "takeover_available",
        "room_id": bob.room_id,
        "turn_id": 1,
        "room_state": "stale_owner",
        "reason": "owner_timeout",
        "current_owner": "ada",
        "reserved_for": None,
    }
    assert bob.state()["owner"] == "ada"


def test_a_takeover_grants_a_new_turn_and_says_whom_it_revoked(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    scene.clock.forward(minutes=46)
    taken = bob.take_over(turn.turn_id, "owner lease expired")
    assert taken == {
        "status": "your_turn",
        "room_id": bob.room_id,
        "turn_id": 2,
        "lease_id": taken["lease_id"],
        "revoked_agent_id": "ada",
        "reason": "owner lease expired",
    }
    assert bob.state()["lease_id"] == taken["lease_id"] != turn.lease_id


def test_a_takeover_is_refused_while_the_owner_is_within_its_time(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    with pytest.raises(TallyError) as caught:
        bob.take_over(turn.turn_id)
    assert (caught.value.code, caught.value.details["current_owner"]) == ("takeover_not_available", "ada")


def test_a_takeover_needs_the_current_turn_then_membership_then_eligibility(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    stranger = scene.agent("stranger")
    stranger.room_id = ada.room_id
    for actor, turn_id, code in (
        (stranger, 99, "turn_mismatch"),
        (stranger, turn.turn_id, "unknown_member"),
        (bob, turn.turn_id, "takeover_not_available"),
    ):
        with pytest.raises(TallyError) as caught:
            actor.take_over(turn_id)
        assert caught.value.code == code


def test_a_takeover_needs_a_reason(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    scene.clock.forward(minutes=46)
    for reason in ("", "   ", "\u200b"):
        with scene.refused("invalid_input"):
            bob.take_over(1, reason)


def test_a_handoff_of_characters_without_width_says_nothing(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    for blank in ("  ", "\u200b", "\u2060 \ufeff"):
        with scene.refused("invalid_handoff"):
            ada.release(turn, handoff={"status": blank, "next_action": "go on"})


def test_a_takeover_is_refused_while_the_recipient_is_within_its_time(scene: Scene) -> None:
    ada, _bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.release(ada.claim())
    scene.clock.forward(minutes=19)
    with scene.refused("takeover_not_available"):
        cyd.take_over(1)


def test_an_idle_room_is_claimed_and_not_taken_over(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with scene.refused("takeover_not_available"):
        ada.take_over(0)


def test_the_owner_cannot_take_over_its_own_turn(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.claim()
    scene.clock.forward(minutes=46)
    with refused("takeover_ineligible") as caught:
        ada.take_over(1)
    assert caught.value.message == "You own the stick: heartbeat, release or pass instead of taking it over."


def test_the_recipient_claims_and_does_not_take_over(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    scene.clock.forward(minutes=21)
    with refused("takeover_ineligible") as caught:
        bob.take_over(1)
    assert caught.value.message.startswith("The stick is reserved for you")


def test_a_one_shot_command_cannot_take_over(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    person = scene.agent("human:wren:pts1", session=SessionKind.HUMAN_CLI)
    person.join()
    ada.claim()
    scene.clock.forward(minutes=46)
    with scene.refused("observer_cannot_hold"):
        person.take_over(1)


def test_waiting_shows_that_a_missed_claim_can_be_taken_over(scene: Scene) -> None:
    ada, _bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.release(ada.claim())
    scene.clock.forward(minutes=20)
    assert cyd.look() == {
        "status": "takeover_available",
        "room_id": cyd.room_id,
        "turn_id": 1,
        "room_state": "reserved",
        "reason": "claim_timeout",
        "current_owner": None,
        "reserved_for": "bob",
    }


def test_the_recipient_may_still_claim_after_its_time_until_a_takeover_commits(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.release(ada.claim())
    scene.clock.forward(minutes=21)
    assert cyd.look()["status"] == "takeover_available"
    assert bob.look()["status"] == "your_turn"
    with pytest.raises(TallyError) as caught:
        cyd.take_over(1)
    assert caught.value.code == "turn_mismatch"


def test_after_a_takeover_the_late_recipient_waits_like_anybody_else(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.release(ada.claim())
    scene.clock.forward(minutes=21)
    assert cyd.take_over(1)["revoked_agent_id"] == "bob"
    assert bob.look()["status"] == "not_yet"


def test_the_prior_owner_may_not_grab_a_missed_claim_while_another_can(scene: Scene) -> None:
    ada, _bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.release(ada.claim())
    scene.clock.forward(minutes=21)
    assert ada.look()["status"] == "not_yet"
    with pytest.raises(TallyError) as caught:
        ada.take_over(1)
    assert (caught.value.code, caught.value.details["candidates"]) == ("takeover_ineligible", ["cyd"])
    assert cyd.take_over(1)["turn_id"] == 2


def test_the_prior_owner_may_take_a_missed_claim_when_nobody_else_can(scene: Scene) -> None:
    ada, _bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.release(ada.claim())
    scene.clock.forward(minutes=241)
    assert cyd.caller.agent_id == "cyd"
    assert ada.look()["status"] == "takeover_available"
    assert ada.take_over(1)["turn_id"] == 2


def test_a_dead_owner_opens_recovery_at_once(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    scene.kill(ada)
    seen = bob.look()
    assert (seen["status"], seen["room_state"], seen["reason"]) == ("takeover_available", "owner_gone", "owner_gone")
    assert bob.take_over(1, "process is gone")["turn_id"] == 2


def test_a_dead_recipient_opens_recovery_at_once(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.pass_to(ada.claim(), "bob")
    scene.kill(bob)
    seen = cyd.look()
    assert (seen["room_state"], seen["reason"]) == ("recipient_gone", "recipient_gone")
    assert cyd.take_over(1)["revoked_agent_id"] == "bob"


def test_the_prior_owner_may_take_over_at_once_when_the_recipient_died(scene: Scene) -> None:
    ada, bob, _cyd = scene.joined("ada", "bob", "cyd")
    ada.pass_to(ada.claim(), "bob")
    scene.kill(bob)
    assert ada.take_over(1)["turn_id"] == 2


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("turns.heartbeat", {}),
        ("turns.release", {"handoff": HANDOFF}),
        ("turns.pass", {"handoff": HANDOFF, "to_agent_id": "bob"}),
    ],
)
def test_a_dead_owner_can_neither_renew_nor_hand_over(scene: Scene, operation: str, given: dict[str, object]) -> None:
    ada, _bob = scene.joined("ada", "bob")
    turn = ada.claim()
    scene.kill(ada)
    with pytest.raises(TallyError) as caught:
        ada.owner(operation, turn, **given)
    assert (caught.value.code, caught.value.details["room_state"]) == ("stale_lease", "owner_gone")


def test_a_dead_recipient_cannot_claim(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    scene.kill(bob)
    assert bob.look() == {
        "status": "not_yet",
        "cursor": bob.state()["cursor"],
        "room_state": "recipient_gone",
        "reserved_for": "bob",
        "claim_expires_at": bob.state()["claim_expires_at"],
    }


def test_a_dead_member_claims_no_idle_room_and_takes_nothing_over(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    scene.kill(bob)
    assert bob.look() == {"status": "not_yet", "cursor": "4", "room_state": "idle"}
    ada.claim()
    scene.clock.forward(minutes=46)
    with refused("takeover_ineligible") as caught:
        bob.take_over(1)
    assert (caught.value.message, caught.value.details["candidates"]) == ("The process behind your name is gone.", [])


def test_a_new_process_under_a_dead_owners_name_must_take_over_explicitly(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    scene.kill(ada)
    reborn = scene.reborn("ada")
    reborn.join()
    assert reborn.look()["status"] == "takeover_available"
    with pytest.raises(TallyError) as caught:
        reborn.owner("turns.heartbeat", turn)
    assert caught.value.code == "stale_lease"
    taken = reborn.take_over(1, "restarted")
    assert (taken["turn_id"], taken["revoked_agent_id"]) == (2, "ada")


def test_another_hosts_process_is_unknown_and_only_its_lease_counts(scene: Scene) -> None:
    far = scene.agent("far", host="other-host")
    far.join()
    (bob,) = scene.joined("bob")
    far.claim()
    scene.kill(far)
    assert bob.look()["room_state"] == "owned"
    scene.clock.forward(minutes=46)
    assert bob.look()["reason"] == "owner_timeout"


def test_the_history_lets_the_new_owner_reconstruct_what_was_going_on(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    ada.release(ada.claim())
    bob.claim()
    scene.clock.forward(minutes=46)
    cyd.take_over(2, "owner lease expired")
    rows = cyd.history()
    assert [(row["event_type"], row["turn_id"], row["from_agent_id"], row["to_agent_id"]) for row in rows] == [
        ("claim", 1, None, "ada"),
        ("release", 1, "ada", None),
        ("claim", 2, "ada", "bob"),
        ("takeover", 3, "bob", "cyd"),
    ]
    assert [row["handoff"] for row in rows] == [None, HANDOFF, None, None]
    assert rows[3]["reason"] == "owner lease expired"
    assert set(rows[0]) == {
        "event_seq",
        "event_id",
        "room_id",
        "turn_id",
        "event_type",
        "from_agent_id",
        "to_agent_id",
        "handoff",
        "reason",
        "created_at",
    }


def test_a_takeover_records_the_liveness_it_saw(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    scene.kill(ada)
    bob.take_over(1, "process is gone")
    assert bob.events(kinds=["x.tally.stick.takeover"])[0]["data"] == {
        "turn_id": 2,
        "from_agent_id": "ada",
        "to_agent_id": "bob",
        "reason": "process is gone",
        "opening": "owner_gone",
        "liveness": {
            "process": "gone",
            "last_seen_at": "2026-09-21T14:13:20.000Z",
            "deadline": "2026-09-21T14:58:20.000Z",
        },
    }


def test_a_room_with_nobody_present_is_dormant_readable_and_resumable(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    scene.clock.forward(minutes=600)
    stranger = scene.agent("stranger")
    stranger.room_id = ada.room_id
    assert stranger.state()["state"] == "dormant"
    assert [row["event_type"] for row in stranger.history()] == ["claim", "release"]
    assert bob.look()["status"] == "your_turn"
    assert stranger.state()["state"] == "owned"


def test_recovery_states_come_before_dormancy(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.claim()
    scene.clock.forward(minutes=600)
    stranger = scene.agent("stranger")
    stranger.room_id = ada.room_id
    assert stranger.state()["state"] == "stale_owner"
    scene.kill(ada)
    assert stranger.state()["state"] == "owner_gone"


def test_a_clock_set_back_never_puts_an_event_before_its_predecessor(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    scene.clock.forward(minutes=-600)
    ada.release(turn)
    assert bob.look()["status"] == "your_turn"
    times = [row["created_at"] for row in bob.history()]
    assert times == sorted(str(time) for time in times)


def test_a_person_who_only_ran_commands_does_not_keep_the_prior_owner_from_a_missed_claim(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    wren = scene.agent("human:wren:pts1", session=SessionKind.HUMAN_CLI)
    wren.join()
    ada.release(ada.claim())
    scene.clock.forward(minutes=21)
    assert ada.look()["status"] == "takeover_available"
    with refused("observer_cannot_hold"):
        wren.take_over(1)
    assert ada.take_over(1)["turn_id"] == 2


def test_a_lease_renewed_while_the_clock_was_ahead_can_be_taken_over_once_it_is_right_again(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    scene.clock.forward(minutes=24 * 60)
    ada.owner("turns.heartbeat", turn)
    ahead = bob.state()["state"]

    scene.clock.forward(minutes=-24 * 60)
    right = bob.state()["state"]
    taken = bob.take_over(turn.turn_id)

    assert (ahead, right) == ("owned", "stale_owner")
    assert taken["turn_id"] == turn.turn_id + 1


def test_clocks_that_differ_a_little_cost_nobody_a_lease(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    scene.clock.forward(ms=50_000)
    ada.claim()
    scene.clock.forward(ms=-50_000)
    assert bob.state()["state"] == "owned"
