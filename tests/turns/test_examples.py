"""The stories that the specification tells, told again."""

from __future__ import annotations

import pytest

from tallystick.kernel.caller import SessionKind
from tests.scene import Row, Scene, Turn, refused

PLAN: Row = {
    "status": "wrote a first plan, sections 1 to 3",
    "next_action": "look for gaps in the plan",
    "artifacts": [{"path": "plan.md", "role": "review"}],
}
REVIEW: Row = {
    "status": "read the plan; section 2 says little about errors",
    "next_action": "say more about errors in section 2",
    "artifacts": [{"path": "plan.md", "lines": [45, 78], "role": "edit"}],
}
RACE: Row = {
    "status": "found what may be a race between two claims",
    "next_action": "judge whether the lease covers it",
    "artifacts": [{"path": "src/claim.ts", "lines": [102, 140], "role": "review"}],
}


def test_three_agents_go_round_each_with_the_others_handoff(scene: Scene) -> None:
    codex, claude, gemini = scene.joined("codex", "claude", "gemini")
    assert codex.release(codex.claim(), handoff=PLAN)["reserved_for"] == "claude"
    second = claude.look()
    assert (second["from_agent_id"], second["reason"], second["handoff"]) == ("codex", "sequence", PLAN)
    assert claude.release(claude.claim(), handoff=REVIEW)["reserved_for"] == "gemini"
    third = gemini.look()
    assert (third["from_agent_id"], third["reason"], third["handoff"]) == ("claude", "sequence", REVIEW)
    assert gemini.release(gemini.claim())["reserved_for"] == "codex"
    assert codex.look()["turn_id"] == 4


def test_a_pass_skips_one_and_the_sequence_goes_on_from_the_recipient(scene: Scene) -> None:
    codex, claude, gemini = scene.joined("codex", "claude", "gemini")
    codex.pass_to(codex.claim(), "gemini", handoff=RACE)
    assert claude.look()["status"] == "not_yet"
    turn = gemini.look()
    assert (turn["reason"], turn["handoff"]) == ("direct_pass", RACE)
    assert gemini.release(gemini.claim())["reserved_for"] == "codex"


def test_a_recipient_who_does_not_come_is_passed_over_by_the_one_who_may(scene: Scene) -> None:
    codex, claude, gemini = scene.joined("codex", "claude", "gemini")
    codex.release(codex.claim(), handoff=PLAN)
    scene.clock.forward(minutes=21)
    assert gemini.look()["status"] == "takeover_available"
    with refused("takeover_ineligible"):
        codex.take_over(1, "claim timeout expired")
    taken = gemini.take_over(1, "claim timeout expired")
    assert (taken["turn_id"], taken["revoked_agent_id"]) == (2, "claude")
    assert gemini.history()[1]["handoff"] == PLAN
    assert claude.look()["status"] == "not_yet"


def test_an_owner_who_crashed_is_taken_over_and_its_late_release_refused(scene: Scene) -> None:
    codex, claude, _gemini = scene.joined("codex", "claude", "gemini")
    codex.release(codex.claim(), handoff=PLAN)
    turn = claude.claim()
    scene.clock.forward(minutes=46)
    assert codex.state()["state"] == "stale_owner"
    codex.take_over(turn.turn_id, "owner lease expired")
    assert [row["handoff"] for row in codex.history() if row["handoff"]] == [PLAN]
    with refused("turn_mismatch"):
        claude.release(turn)
    with refused("stale_lease") as caught:
        claude.release(Turn(turn.room_id, 3, turn.lease_id))
    assert dict(caught.value.details) == {"current_owner": "codex", "current_turn_id": 3, "room_state": "owned"}


@pytest.mark.parametrize("minutes", [44, 45])
def test_a_person_takes_over_by_the_same_rules_as_an_agent(scene: Scene, minutes: int) -> None:
    (codex,) = scene.joined("codex")
    person = scene.agent("human:wren:pts1", session=SessionKind.HUMAN_GUARDIAN)
    person.join()
    codex.claim()
    scene.clock.forward(minutes=minutes)
    if minutes < 45:
        with refused("takeover_not_available"):
            person.take_over(1, "I need it now")
    else:
        assert person.take_over(1, "I need it now")["turn_id"] == 2
