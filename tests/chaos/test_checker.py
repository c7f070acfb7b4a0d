"""The checker sees what is wrong: each rule passes a sound history and catches the one that breaks it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec import structs

from tests.chaos import checker
from tests.chaos.checker import Rule
from tests.chaos.diary import Outcome
from tests.chaos.tale import ROOM, Tale
from tests.scene import Scene


@pytest.fixture
def tale() -> Tale:
    """Two agents, three turns, one of them taken over, an extension event: nothing is wrong with it."""
    tale = Tale()
    tale.join("ada")
    tale.join("bob")
    tale.claim("ada", 1)
    tale.beat("ada", 1)
    tale.claim("bob", 2, handoff_seq=tale.release("ada", 1, to="bob"))
    tale.take_over("ada", 3, revoked="bob")
    tale.append("ada", "built")
    return tale


@pytest.mark.parametrize("rule", checker.RULES, ids=lambda rule: rule.__name__)
def test_a_sound_history_passes(tale: Tale, rule: Rule) -> None:
    assert tale.found(rule) == []


def test_a_gap_in_the_ledger_is_caught(tale: Tale) -> None:
    del tale.events[3]

    assert len(tale.found(checker.dense)) == 1


def test_a_repeated_seq_is_caught(tale: Tale) -> None:
    tale.events.append(tale.events[-1])

    assert len(tale.found(checker.dense)) == 1


def test_time_that_runs_backwards_is_caught(tale: Tale) -> None:
    tale.events[-1] = structs.replace(tale.events[-1], ts=0)

    assert len(tale.found(checker.forward)) == 1


def test_a_claim_of_a_held_stick_is_caught(tale: Tale) -> None:
    tale.claim("bob", 4)

    assert tale.found(checker.one_holder) == ["room: claimed at 8 by bob while ada held it"]


def test_a_claim_of_a_stick_that_is_kept_for_somebody_else_is_caught(tale: Tale) -> None:
    tale.release("ada", 3, to="bob")
    tale.claim("ada", 4)

    assert tale.found(checker.one_holder) == ["room: claimed at 9 by ada while reserved for bob"]


def test_a_turn_that_is_granted_twice_is_caught(tale: Tale) -> None:
    tale.release("ada", 3, to="bob")
    tale.claim("bob", 3)

    assert tale.found(checker.one_holder) == ["room: turn 3 at 9 follows turn 3"]


def test_a_turn_that_was_skipped_is_caught(tale: Tale) -> None:
    tale.release("ada", 3, to="bob")
    tale.claim("bob", 5)

    assert tale.found(checker.one_holder) == ["room: turn 5 at 9 follows turn 3"]


def test_a_takeover_from_somebody_who_had_nothing_is_caught(tale: Tale) -> None:
    tale.take_over("bob", 4, revoked="cyd")

    assert tale.found(checker.one_holder) == ["room: taken over at 8 from cyd, but ada had it"]


def test_a_release_by_a_former_holder_is_caught(tale: Tale) -> None:
    tale.release("bob", 2, to=None)

    assert tale.found(checker.one_holder) == ["room: handed over at 8 by bob, but ada held it"]


def test_two_agents_who_were_both_told_that_it_is_their_turn_are_caught(tale: Tale) -> None:
    tale.granted("bob", 3)

    assert len(tale.found(checker.one_lease)) == 1


def test_a_second_lease_for_one_turn_is_caught(tale: Tale) -> None:
    again = tale.granted("ada", 3, reason="already_owner")
    tale.attempts[-1] = replace(again, answer={**again.answer, "lease_id": "another"})

    assert len(tale.found(checker.one_lease)) == 1


def test_a_lease_that_was_used_for_two_turns_is_caught(tale: Tale) -> None:
    tale.claim("bob", 4, handoff_seq=tale.release("ada", 3, to="bob"))
    last = tale.attempts[-1]
    tale.attempts[-1] = replace(last, answer={**last.answer, "lease_id": "lease 2"})

    assert len(tale.found(checker.one_lease)) == 1


@pytest.mark.parametrize("call", ["wait", "heartbeat"])
def test_a_turn_that_serves_two_sessions_of_one_name_is_caught(tale: Tale, call: str) -> None:
    told = tale.granted("ada", 3, reason="already_owner") if call == "wait" else tale.beat("ada", 3)
    tale.attempts[-1] = replace(told, session="another process")

    assert len(tale.found(checker.one_session)) == 1


def test_an_acknowledged_event_that_is_missing_is_caught(tale: Tale) -> None:
    del tale.events[-1]

    assert len(tale.found(checker.nothing_lost)) == 1


def test_an_acknowledged_release_whose_words_are_not_on_the_ledger_is_caught(tale: Tale) -> None:
    tale.release("ada", 3, to=None)
    tale.events[-1].data["handoff"] = {"status": "other words", "next_action": "go on"}

    assert len(tale.found(checker.nothing_lost)) == 1


def test_an_acknowledged_turn_that_is_missing_is_caught(tale: Tale) -> None:
    tale.granted("ada", 4)

    assert len(tale.found(checker.one_lease)) == 1


def test_an_acknowledged_member_who_is_missing_is_caught(tale: Tale) -> None:
    tale.said("cyd", "rooms.join", {"room_id": ROOM, "cursor": "7"})

    assert len(tale.found(checker.joined)) == 1


def test_a_write_that_was_made_twice_is_caught(tale: Tale) -> None:
    tale.event("x.chaos.step", "ada", mark="built")

    assert tale.found(checker.once) == ["written 2 times: built"]


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.UNAVAILABLE, Outcome.FAULT])
def test_a_write_that_was_made_although_it_was_said_to_have_failed_is_caught(tale: Tale, outcome: Outcome) -> None:
    tale.attempts[-1] = replace(tale.attempts[-1], outcome=outcome)

    assert len(tale.found(checker.once)) == 1


@pytest.mark.parametrize("outcome", [Outcome.UNKNOWN, Outcome.CUT_OFF])
def test_a_write_whose_answer_was_lost_may_have_been_made(tale: Tale, outcome: Outcome) -> None:
    tale.attempts[-1] = replace(tale.attempts[-1], outcome=outcome)

    assert tale.found(checker.once) == []


def test_a_heartbeat_of_a_former_holder_is_caught(tale: Tale) -> None:
    tale.beat("bob", 2)

    assert len(tale.found(checker.fenced)) == 1


def test_a_heartbeat_that_was_asked_before_the_turn_ended_is_sound(tale: Tale) -> None:
    late = tale.beat("ada", 1)
    before = next(attempt for attempt in tale.attempts if attempt.operation == "turns.release")
    tale.attempts[-1] = replace(late, asked_at=before.asked_at)

    assert tale.found(checker.fenced) == []


def test_a_former_holder_who_is_told_that_it_is_still_its_turn_is_caught(tale: Tale) -> None:
    tale.granted("bob", 2, reason="already_owner")

    assert len(tale.found(checker.fenced)) == 1


def test_a_heartbeat_for_somebody_elses_turn_is_caught(tale: Tale) -> None:
    tale.beat("bob", 3)

    assert len(tale.found(checker.fenced)) == 1


def test_an_event_that_stands_before_one_that_was_acknowledged_earlier_is_caught(tale: Tale) -> None:
    tale.append("ada", "tested")
    tale.attempts[-1], tale.attempts[-2] = (
        replace(tale.attempts[-1], asked_at=70, answered_at=71),
        replace(tale.attempts[-2], asked_at=80, answered_at=81),
    )

    assert len(tale.found(checker.in_order)) == 1


def test_a_read_that_looks_further_back_than_an_earlier_answer_is_caught(tale: Tale) -> None:
    tale.said("bob", "turns.wait", {"status": "not_yet", "cursor": "6"})

    assert len(tale.found(checker.in_order)) == 1


def test_a_handoff_that_arrives_with_other_words_is_caught(tale: Tale) -> None:
    tale.claim("bob", 4, handoff_seq=tale.release("ada", 3, to="bob"))
    last = tale.attempts[-1]
    tale.attempts[-1] = replace(last, answer={**last.answer, "handoff": None})

    assert len(tale.found(checker.handed_on)) == 1


def test_a_ledger_that_does_not_verify_is_caught(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    scene.sql("UPDATE events SET author = 'eve' WHERE seq = 2")

    assert checker.problems(scene.hub, []) == [f"{ada.room_id}: the event was changed after it was written"]


def test_rows_that_are_not_what_the_ledger_says_are_caught(scene: Scene) -> None:
    scene.joined("ada")
    scene.sql("UPDATE sticks SET turn_id = 7")

    assert checker.problems(scene.hub, []) == ["sticks is not what the ledger says"]
