"""Claiming, releasing and passing the stick."""

from __future__ import annotations

import pytest

from tallystick.kernel.caller import SessionKind
from tallystick.kernel.errors import TallyError
from tests.scene import HANDOFF, Row, Scene, refused


def test_a_handoff_travels_from_the_first_claim_to_the_reserved_recipient(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    first = ada.look()
    assert first == {
        "status": "your_turn",
        "room_id": ada.room_id,
        "turn_id": 1,
        "lease_id": first["lease_id"],
        "handoff": None,
        "from_agent_id": None,
        "reason": "open_claim",
    }
    turn = ada.claim()
    released = ada.release(turn)
    assert released == {
        "status": "released",
        "room_id": ada.room_id,
        "reserved_for": "bob",
        "event_seq": released["event_seq"],
    }
    second = bob.look()
    assert second == {
        "status": "your_turn",
        "room_id": bob.room_id,
        "turn_id": 2,
        "lease_id": second["lease_id"],
        "handoff": HANDOFF,
        "from_agent_id": "ada",
        "reason": "sequence",
    }
    assert second["lease_id"] != first["lease_id"]


def test_release_follows_the_sequence_round_and_round(scene: Scene) -> None:
    actors = scene.joined("ada", "bob", "cyd")
    order = [actor.release(actor.claim())["reserved_for"] for actor in [*actors, *actors]]
    assert order == ["bob", "cyd", "ada", "bob", "cyd", "ada"]


def test_a_pass_skips_the_sequence_and_the_sequence_resumes_from_the_recipient(scene: Scene) -> None:
    ada, _bob, cyd = scene.joined("ada", "bob", "cyd")
    passed = ada.pass_to(ada.claim(), "cyd")
    assert passed == {
        "status": "passed",
        "room_id": ada.room_id,
        "reserved_for": "cyd",
        "event_seq": passed["event_seq"],
    }
    assert ada.state()["sequence_index"] == 2
    turn = cyd.look()
    assert (turn["reason"], turn["from_agent_id"]) == ("direct_pass", "ada")
    assert cyd.release(cyd.claim())["reserved_for"] == "ada"


def test_release_skips_members_who_are_no_longer_present(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    scene.clock.forward(minutes=239)
    cyd.state()
    turn = ada.claim()
    scene.clock.forward(minutes=2)
    assert bob.caller.agent_id == "bob"
    assert ada.release(turn)["reserved_for"] == "cyd"


def test_release_skips_a_member_whose_process_is_gone(scene: Scene) -> None:
    ada, bob, _cyd = scene.joined("ada", "bob", "cyd")
    turn = ada.claim()
    scene.kill(bob)
    assert ada.release(turn)["reserved_for"] == "cyd"


def test_a_solo_release_leaves_the_room_idle_and_keeps_the_handoff_for_the_next_claimant(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    released = ada.release(ada.claim())
    assert released["reserved_for"] is None
    state = ada.state()
    assert (state["state"], state["pending_handoff_event_seq"]) == ("idle", released["event_seq"])
    (bob,) = scene.joined("bob")
    turn = bob.look()
    assert (turn["status"], turn["reason"], turn["handoff"], turn["from_agent_id"]) == (
        "your_turn",
        "sequence",
        HANDOFF,
        "ada",
    )


def test_the_owner_who_waits_again_finds_the_same_lease_and_handoff(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    first = bob.look()
    again = bob.look()
    assert again == {**first, "reason": "already_owner"}
    assert [event["event_type"] for event in bob.history()] == ["claim", "release", "claim"]


def test_others_wait_while_the_stick_is_held_or_kept_for_someone(scene: Scene) -> None:
    ada, bob, cyd = scene.joined("ada", "bob", "cyd")
    turn = ada.claim()
    assert bob.look() == {
        "status": "not_yet",
        "cursor": bob.state()["cursor"],
        "room_state": "owned",
        "current_owner": "ada",
    }
    ada.release(turn)
    assert cyd.look() == {
        "status": "not_yet",
        "cursor": cyd.state()["cursor"],
        "room_state": "reserved",
        "reserved_for": "bob",
        "claim_expires_at": cyd.state()["claim_expires_at"],
    }


def test_a_release_or_pass_does_not_start_a_new_turn(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    assert ada.state()["turn_id"] == 1
    bob.claim()
    assert ada.state()["turn_id"] == 2


def test_a_wait_with_a_cursor_returns_early_when_something_happened(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    cursor = bob.state()["cursor"]
    assert bob.here("turns.wait", cursor=cursor, max_wait_ms=0)["cursor"] == cursor
    ada.here("notes.add", body="still at it")
    early = bob.here("turns.wait", cursor=cursor, max_wait_ms=60_000)
    assert early == {
        "status": "not_yet",
        "cursor": str(int(str(cursor)) + 1),
        "room_state": "owned",
        "current_owner": "ada",
    }


@pytest.mark.parametrize("target", ["nobody", "stranger:1234"])
def test_a_pass_to_an_unknown_member_is_refused(scene: Scene, target: str) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    with refused("unknown_member") as caught:
        ada.pass_to(turn, target)
    assert caught.value.details == {"to_agent_id": target}
    assert ada.state()["owner"] == "ada"


def test_a_pass_to_an_inactive_member_is_refused(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    scene.clock.forward(minutes=241)
    turn = ada.claim()
    with scene.refused("unknown_member"):
        ada.pass_to(turn, "bob")


def test_a_pass_to_oneself_is_refused(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    with scene.refused("invalid_input"):
        ada.pass_to(turn, "ada")


@pytest.mark.parametrize(
    ("handoff", "code", "field"),
    [
        ({"status": "", "next_action": "go on"}, "invalid_handoff", "status"),
        ({"status": "done", "next_action": "  \n"}, "invalid_handoff", "next_action"),
        ({"status": "done"}, "invalid_handoff", "next_action"),
        ({"status": 7, "next_action": "x"}, "invalid_handoff", "status"),
        ({**HANDOFF, "artifacts": [{"path": "a.py"}]}, "invalid_handoff", "artifacts.0.role"),
        ({**HANDOFF, "artifacts": [{"path": "a.py", "role": "eat"}]}, "invalid_handoff", "artifacts.0.role"),
        ({**HANDOFF, "artifacts": [{"path": "a", "role": "edit", "lines": [9, 2]}]}, "invalid_handoff", "artifacts"),
        (
            {**HANDOFF, "artifacts": [{"path": "a", "role": "edit", "lines": [1]}]},
            "invalid_handoff",
            "artifacts.0.lines",
        ),
        ({**HANDOFF, "next_actoin": "typo"}, "unknown_field", "handoff.next_actoin"),
        ({**HANDOFF, "status": "x" * 16_385}, "too_large", "handoff.status"),
    ],
)
def test_an_incomplete_handoff_is_refused_and_the_turn_goes_on(
    scene: Scene, handoff: dict[str, object], code: str, field: str
) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    with pytest.raises(TallyError) as caught:
        ada.release(turn, handoff=handoff)
    assert (caught.value.code, caught.value.details["field"]) == (code, field)
    assert ada.state()["owner"] == "ada"
    assert ada.release(turn)["status"] == "released"


def test_a_release_or_pass_without_a_handoff_is_refused(scene: Scene) -> None:
    ada, _bob = scene.joined("ada", "bob")
    turn = ada.claim()
    for operation, given in (("turns.release", {}), ("turns.pass", {"to_agent_id": "bob"})):
        with refused("invalid_handoff") as caught:
            ada.owner(operation, turn, **given)
        assert caught.value.details == {"field": "handoff"}
    assert ada.state()["owner"] == "ada"


@pytest.mark.parametrize("handoff", [{"status": "", "next_action": "go on"}, {"status": "done", "next_action": " "}])
def test_a_pass_needs_a_whole_handoff_as_a_release_does(scene: Scene, handoff: dict[str, object]) -> None:
    ada, _bob = scene.joined("ada", "bob")
    turn = ada.claim()
    with refused("invalid_handoff"):
        ada.pass_to(turn, "bob", handoff=handoff)
    assert ada.state()["owner"] == "ada"


@pytest.mark.parametrize("role", ["examine", "review", "edit", "context", "output"])
def test_an_artifact_has_a_role_and_may_go_without_lines_and_note(scene: Scene, role: str) -> None:
    ada, bob = scene.joined("ada", "bob")
    handoff: dict[str, object] = {**HANDOFF, "artifacts": [{"path": "src/a.py", "role": role}]}
    ada.release(ada.claim(), handoff=handoff)
    assert bob.look()["handoff"] == handoff


@pytest.mark.parametrize("field", ["open_questions", "do_not"])
@pytest.mark.parametrize("value", ["why?", [7], [["why?"]], {"0": "why?"}])
def test_questions_and_prohibitions_are_lists_of_text(scene: Scene, field: str, value: object) -> None:
    (ada,) = scene.joined("ada")
    turn = ada.claim()
    with scene.refused("invalid_handoff"):
        ada.release(turn, handoff={**HANDOFF, field: value})


def test_a_handoff_is_kept_word_for_word(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    handoff: dict[str, object] = {
        "status": "  What I did: žluťoučký \u0000 kůň \U0001f9be\n",
        "next_action": "</script> \x1b[31m",
        "artifacts": [{"path": "src/claim.ts", "lines": [102, 140], "role": "review", "note": "the race"}],
        "open_questions": ["why?"],
        "do_not": [],
    }
    ada.release(ada.claim(), handoff=handoff)
    assert bob.look()["handoff"] == handoff
    assert bob.history()[1]["handoff"] == handoff


def test_a_stranger_cannot_wait_and_is_told_to_join(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    stranger = scene.agent("stranger")
    stranger.room_id = ada.room_id
    with scene.refused("unknown_member"):
        stranger.look()


def test_a_one_shot_command_cannot_hold_the_stick(scene: Scene) -> None:
    person = scene.agent("human:wren:pts1", session=SessionKind.HUMAN_CLI)
    person.join()
    with refused("observer_cannot_hold"):
        person.look()
    assert person.state()["owner"] is None


def test_the_sticks_events_are_on_the_ledger_under_their_own_kinds(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.release(ada.claim())
    bob.pass_to(bob.claim(), "ada")
    ada.owner("rooms.close", ada.claim())
    shown = [(row["event_seq"], row["event_type"], row["event_id"]) for row in ada.history()]
    stored = [(event["seq"], event["kind"], event["id"]) for event in ada.events() if "stick" in event["kind"]]
    assert [(seq, f"x.tally.stick.{kind}", id) for seq, kind, id in shown] == stored
    assert [kind for _seq, kind, _id in shown] == ["claim", "release", "claim", "pass", "claim", "close"]


def test_the_sticks_history_is_paged_without_loss(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    for _ in range(3):
        ada.release(ada.claim())
    whole = ada.history()
    first: Row = ada.here("turns.history", limit=4)
    rest: Row = ada.here("turns.history", limit=4, after_event_seq=first["cursor"])
    assert first["events"] + rest["events"] == whole
    assert ada.here("turns.history", limit=2, newest=True)["events"] == whole[-2:]
    assert ada.here("turns.history", after_event_seq=rest["cursor"]) == {"events": [], "cursor": rest["cursor"]}


def test_the_lease_is_shown_to_its_holder_only(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    turn = ada.claim()
    assert ada.state()["lease_id"] == turn.lease_id
    assert bob.state()["lease_id"] is None


def test_a_release_skips_a_person_who_only_ran_commands(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    scene.agent("human:wren:pts1", session=SessionKind.HUMAN_CLI).join()
    (bob,) = scene.joined("bob")
    assert ada.release(ada.claim())["reserved_for"] == bob.caller.agent_id


def test_a_pass_to_a_person_is_kept_until_that_person_holds_the_stick(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    wren = scene.agent("human:wren:pts1", session=SessionKind.HUMAN_CLI)
    wren.join()
    assert ada.pass_to(ada.claim(), "human:wren:pts1")["reserved_for"] == "human:wren:pts1"
    guardian = scene.agent("human:wren:pts1", session=SessionKind.HUMAN_GUARDIAN)
    guardian.join()
    assert guardian.look()["reason"] == "direct_pass"
