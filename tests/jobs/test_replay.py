"""Jobs as they stood at a past moment: the ledger tells what was true at that moment."""

from __future__ import annotations

from typing import Any, cast

import pytest

from tests.scene import Actor, Row, Scene, refused

LIVE = "claim_expires_at"
"""A claim's lease is live state, and on no record."""


def listed(actor: Actor) -> dict[str, dict[str, Any]]:
    found = cast("list[Row]", actor.here("jobs.list", limit=50)["jobs"])
    return {each["job_id"]: {name: value for name, value in each.items() if name != LIVE} for each in found}


def replayed(actor: Actor, seq: int) -> dict[str, Any]:
    return actor.here("jobs.replay", seq=seq)


def remembered(actor: Actor, seq: int) -> dict[str, dict[str, Any]]:
    jobs = [each["job"] for each in replayed(actor, seq)["jobs"]]
    return {each["job_id"]: {name: value for name, value in each.items() if name != LIVE} for each in jobs}


def test_every_past_moment_is_shown_as_it_was(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    diary: list[tuple[int, dict[str, dict[str, Any]]]] = []

    def note() -> None:
        scene.clock.forward(ms=1)
        diary.append((cast("int", ada.here("rooms.show")["head"]), listed(ada)))

    note()
    ada.here("jobs.create", title="first", prompt="do it")
    note()
    ada.here("jobs.create", title="second", prompt="then this", after=["JOB-001"])
    note()
    ada.here("runners.heartbeat", runner_id="r1", status="idle")
    claim = ada.here("jobs.claim", runner_id="r1", job="JOB-001")
    note()
    fence = {"job": "JOB-001", "runner_id": "r1", "claim_revision": claim["claim_revision"]}
    ada.here("jobs.report", **fence, kind="question", message="which?")
    note()
    ada.here("jobs.message", job="JOB-001", message="that one")
    note()
    card = ada.here("cards.create", title="what I did", body="all of it")["card_id"]
    ada.here("jobs.complete", **fence, status="DONE", summary="done", refs=[card])
    note()
    ada.here("jobs.cancel", job="JOB-002", reason="no need")
    note()
    ada.here("jobs.requeue", job="JOB-002", reason="after all")
    note()
    assert [remembered(ada, seq) for seq, _ in diary] == [jobs for _, jobs in diary]


def test_it_says_what_asked_for_the_manager_then(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    ada.here("jobs.create", title="first", prompt="do it")
    ada.here("runners.heartbeat", runner_id="r1", status="idle")
    claim = ada.here("jobs.claim", runner_id="r1", job="JOB-001")
    fence = {"job": "JOB-001", "runner_id": "r1", "claim_revision": claim["claim_revision"]}
    asked = cast("Row", ada.here("jobs.report", **fence, kind="question", message="which?")["event"])["seq"]
    answered = cast("Row", ada.here("jobs.message", job="JOB-001", message="that one")["event"])["seq"]
    failed = cast("Row", ada.here("jobs.report", **fence, kind="error", message="it broke")["event"])["seq"]
    assert [replayed(ada, seq)["jobs"][0]["marker"] for seq in (asked, answered, failed)] == ["?", "", "!"]


def test_a_long_list_is_cut_and_says_how_many_there_were(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    for number in range(4):
        ada.here("jobs.create", title=f"job {number}", prompt="do it")
    head = cast("int", ada.here("rooms.show")["head"])
    found = ada.here("jobs.replay", seq=head, limit=2)
    assert (found["count"], len(cast("list[Row]", found["jobs"]))) == (4, 2)


def test_an_event_that_never_was_is_refused(scene: Scene) -> None:
    (ada,) = scene.joined("ada")
    with refused("event_not_found"):
        ada.here("jobs.replay", seq=99)


@pytest.mark.parametrize("given", [{"seq": 0}, {"seq": "7"}, {"seq": 1, "limit": 0}, {}])
def test_a_moment_that_cannot_be_is_refused(scene: Scene, given: dict[str, object]) -> None:
    (ada,) = scene.joined("ada")
    with refused("invalid_input"):
        ada.here("jobs.replay", **given)
