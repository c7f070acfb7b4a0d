"""What calls for a manager, and what settles it: compared by stored places in the ledger, never by a recent window."""

from __future__ import annotations

import pytest

from tests.jobs.shop import PROOF, SEEN, Held, Shop
from tests.scene import Row, refused


def attention(shop: Shop, job_id: str = "JOB-001") -> Row:
    (row,) = [row for row in shop.ask("jobs.radar")["jobs"] if row["job"]["job_id"] == job_id]
    return row["attention"]


@pytest.fixture
def held(shop: Shop) -> Held:
    shop.task()
    shop.create("work", task="TASK-001")
    return shop.runner().claim()


def test_a_question_stays_until_the_manager_answers_however_much_is_reported_after_it(shop: Shop, held: Held) -> None:
    held.report("Which one?", kind="question")
    for number in range(50):
        held.report(f"step {number}")
    assert attention(shop)["needs_manager"] is True
    assert shop.ask("jobs.radar")["jobs"][0]["last"]["kind"] == "question"

    shop.say("JOB-001", "the second")
    assert attention(shop)["needs_manager"] is False
    held.report("And now?", kind="question")
    assert attention(shop)["needs_manager"] is True


def test_a_question_of_a_job_that_has_ended_needs_nobody(shop: Shop, held: Held) -> None:
    held.report("Which one?", kind="question")
    held.complete()
    (row,) = shop.ask("jobs.radar", status="DONE")["jobs"]
    assert row["attention"]["needs_manager"] is False


def test_a_question_that_was_asked_before_a_takeover_still_waits(shop: Shop, held: Held) -> None:
    held.report("Which one?", kind="question")
    shop.scene.clock.forward(ms=180_000)
    shop.runner("r2").claim(allow_stale=True)
    assert attention(shop)["needs_manager"] is True


def test_a_message_to_a_queued_job_reaches_its_runner_with_the_claim(shop: Shop) -> None:
    shop.create()
    said = shop.say("JOB-001", "start with the tests")
    held = shop.runner().claim()
    assert held.report()["manager_seq"] == said["event"]["seq"]


def test_only_a_checkpoint_settles_an_error(shop: Shop, held: Held) -> None:
    held.report("exit 1", kind="error")
    held.report("slice 2 started", kind="slice")
    held.report("trying again")
    shop.say("JOB-001", "take your time")
    assert attention(shop)["has_error"] is True

    held.report("parser works", kind="checkpoint")
    assert attention(shop)["has_error"] is False


@pytest.mark.parametrize(
    ("message", "refs"),
    [
        ("go on", []),
        ("see JOB-001", []),
        ("see TASK-001", []),
        ("about a:parser", []),
        ("see CARD-404", []),
        ("CMD:", []),
        ("here", ["CMD: <fill: command you ran>"]),
        ("here", ["JOB-001", "JOB-001@5", "a:parser", "JOB-002"]),
        ("make it so", []),
        ("the proof is CARD-001", []),
        ("CMD: pytest -q (exit 0)", []),
        ("https://ci.example/1", ["LINK: https://ci.example/1"]),
    ],
)
def test_a_message_that_points_at_no_proof_leaves_the_proof_gate_closed(
    shop: Shop, held: Held, message: str, refs: list[str]
) -> None:
    shop.card()
    shop.create("another")
    held.report("no proof", kind="proof_gate")
    shop.say("JOB-001", message, refs=refs)
    assert attention(shop)["needs_proof"] is True


def test_a_message_that_names_evidence_opens_the_proof_gate_and_proves_the_job(shop: Shop) -> None:
    card = shop.card("how it was checked, written before")
    shop.create()
    held = shop.runner().claim()
    held.report("no proof", kind="proof_gate")
    with refused("proof_missing"):
        held.complete(refs=[card])
    shop.say("JOB-001", "see", refs=[card])
    assert attention(shop)["needs_proof"] is False

    held.report("still none", kind="proof_gate")
    assert attention(shop)["needs_proof"] is True
    assert held.complete(refs=[card])["job"]["status"] == "DONE"


def test_a_file_that_the_manager_names_is_evidence_and_one_that_is_not_there_is_none(shop: Shop) -> None:
    old = shop.scene.workspace / "old.md"
    old.write_text("written before")
    shop.scene.clock.now = old.stat().st_mtime_ns // 1_000_000 + 60_000
    shop.create()
    held = shop.runner().claim()
    held.report("no proof", kind="proof_gate")
    with refused("proof_missing"):
        held.complete(refs=["FILE: old.md"])
    shop.say("JOB-001", "see it", refs=["FILE: no-such.md"])
    assert attention(shop)["needs_proof"] is True
    shop.say("JOB-001", "It is there since yesterday.\nFILE: old.md")
    assert attention(shop)["needs_proof"] is False

    held.report("still no proof", kind="proof_gate")
    shop.ask("jobs.radar", reply_job="JOB-001", reply_message="As I said.", reply_refs=["FILE: old.md"])
    assert attention(shop)["needs_proof"] is False
    assert held.complete(refs=["FILE: old.md"])["job"]["status"] == "DONE"


def test_a_checkpoint_opens_the_proof_gate_only_with_proof(shop: Shop, held: Held) -> None:
    held.report("no proof", kind="proof_gate")
    held.report("slice 2 started", kind="slice")
    held.report("runner: slice 2 started", kind="checkpoint")
    assert attention(shop)["needs_proof"] is True

    held.report("tests pass, I think", kind="checkpoint", refs=[PROOF])
    assert attention(shop)["needs_proof"] is True
    held.report("tests pass", kind="checkpoint", refs=[PROOF], observed=[SEEN])
    assert attention(shop)["needs_proof"] is False


def test_a_proof_gate_does_not_call_the_manager(shop: Shop, held: Held) -> None:
    held.report("no proof", kind="proof_gate")
    assert attention(shop) == {
        "failed": False,
        "needs_manager": False,
        "needs_proof": True,
        "has_error": False,
        "stale": False,
        "stalled": False,
    }


def test_queueing_a_job_again_settles_what_waited_before(shop: Shop, held: Held) -> None:
    held.report("exit 1", kind="error")
    held.report("Which one?", kind="question")
    held.report("no proof", kind="proof_gate")
    held.complete("FAILED", refs=[])
    shop.ask("jobs.requeue", job="JOB-001")
    assert attention(shop)["needs_manager"] is False
    shop.runner().claim()
    assert not any(attention(shop).values())


def test_meta_is_merged_and_never_replaced(shop: Shop) -> None:
    shop.create(
        executor="codex", executor_profile="deep", expected_artifacts=["patch"], meta={"skill_profile": "daily"}
    )
    held = shop.runner().claim()
    held.report(meta={"step": 1})
    held.report(meta={"step": 2, "note": "x"})
    held.put("patch", "--- a")
    held.complete(meta={"cost": 0.5})

    meta = shop.open("JOB-001", include_meta=True)["meta"]
    assert meta == {
        "executor": "codex",
        "executor_profile": "deep",
        "expected_artifacts": ["patch"],
        "policy": {"prefer": [], "forbid": [], "min_profile": None},
        "skill_profile": "daily",
        "step": 2,
        "note": "x",
        "cost": 0.5,
    }


@pytest.mark.parametrize("key", ["executor", "executor_profile", "policy", "expected_artifacts", "routing", "after"])
def test_what_the_hub_wrote_into_meta_cannot_be_changed_by_a_report(shop: Shop, held: Held, key: str) -> None:
    with shop.scene.refused("reserved_meta"):
        held.report(meta={key: "x"})
    with shop.scene.refused("reserved_meta"):
        held.complete(meta={key: "x"})
    with shop.scene.refused("reserved_meta"):
        shop.create(meta={key: "x"})


def test_meta_has_a_bound(shop: Shop, held: Held) -> None:
    held.report(meta={"a": "x" * 10_000})
    with refused("too_large") as caught:
        held.report(meta={"b": "x" * 10_000})
    assert caught.value.details["limit"] == 16_384
