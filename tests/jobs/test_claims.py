"""Who gets a job, in which order, and how a claim fences off everybody who lost it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tallystick.hub import maintenance
from tallystick.kernel.clock import to_wire
from tests.jobs.shop import Held, Shop
from tests.scene import START, refused


def test_jobs_are_claimed_by_priority_and_then_the_oldest_first(shop: Shop) -> None:
    for priority in ["LOW", "MEDIUM", "HIGH", "MEDIUM", "HIGH"]:
        shop.create(priority, priority=priority)
    runner = shop.runner()

    assert [runner.claim().job_id for _ in range(5)] == ["JOB-003", "JOB-005", "JOB-002", "JOB-004", "JOB-001"]


def test_a_message_does_not_move_a_job_in_the_queue(shop: Shop) -> None:
    shop.create("first")
    shop.create("second")
    shop.say("JOB-002", "hurry up")

    assert shop.runner().claim().job_id == "JOB-001"


def test_a_runner_with_nothing_to_do_gets_no_job_and_no_refusal(shop: Shop) -> None:
    assert shop.runner().try_claim() == {
        "job": None,
        "event": None,
        "claim_revision": None,
        "claim_expires_at": None,
        "began_at": None,
        "executor": None,
        "prompt": None,
        "meta": {},
        "artifacts": [],
    }


def test_two_runners_never_get_the_same_job(shop: Shop) -> None:
    for _ in range(4):
        shop.create()
    runners = [shop.runner("r1"), shop.runner("r2")]
    taken = [runner.claim().job_id for _ in range(2) for runner in runners]

    assert sorted(taken) == ["JOB-001", "JOB-002", "JOB-003", "JOB-004"]
    with refused("claim_held"):
        runners[0].claim("JOB-002")


@pytest.mark.parametrize(
    ("asked", "granted"), [(None, 180_000), (1, 1_000), (5_000, 5_000), (300_000, 300_000), (10**9, 300_000)]
)
def test_the_lease_of_a_claim_is_what_was_asked_for_within_bounds(shop: Shop, asked: int | None, granted: int) -> None:
    shop.create()
    held = shop.runner().claim(lease_ttl_ms=asked)

    assert held.answer["claim_expires_at"] == to_wire(START + granted)
    assert held.report(lease_ttl_ms=asked)["claim_expires_at"] == to_wire(START + granted)


@pytest.mark.parametrize("ttl", [0, -1, "60000", 1.5, True])
def test_a_lease_that_makes_no_sense_is_refused(shop: Shop, ttl: object) -> None:
    shop.create()
    runner = shop.runner()
    with shop.scene.refused("invalid_input"):
        runner.claim(lease_ttl_ms=ttl)


def test_every_report_renews_the_lease(shop: Shop) -> None:
    shop.create()
    held = shop.runner().claim()
    for _ in range(3):
        shop.scene.clock.forward(ms=170_000)
        assert held.report()["claim_expires_at"] == to_wire(shop.scene.clock.now + 180_000)
    # The lease itself, not only what the report says of it: nobody else gets the job before it is over.
    shop.scene.clock.forward(ms=179_999)
    other = shop.runner("r2")
    with refused("claim_held"):
        other.claim("JOB-001", allow_stale=True)
    shop.scene.clock.forward(ms=1)
    assert other.claim("JOB-001", allow_stale=True).answer["event"]["kind"] == "reclaimed"


def test_a_job_may_run_for_a_day_on_renewed_leases(shop: Shop) -> None:
    shop.create()
    held = shop.runner().claim()
    for beat in range(24 * 20):
        shop.scene.clock.forward(minutes=3, ms=-1)
        held.report("alive", kind="progress" if beat % 20 == 0 else "heartbeat")

    with refused("claim_held"):
        shop.runner("r2").claim("JOB-001", allow_stale=True)
    assert held.complete()["job"]["status"] == "DONE"


def test_a_job_whose_claim_ran_out_can_be_taken_over_and_says_why(shop: Shop) -> None:
    shop.create()
    lost = shop.runner("r1").claim()
    shop.scene.clock.forward(ms=180_000)
    other = shop.runner("r2")

    with refused("job_not_claimable"):
        other.claim("JOB-001")
    assert other.try_claim()["job"] is None
    taken = other.claim("JOB-001", allow_stale=True)

    assert taken.claim_revision == lost.claim_revision + 1
    assert taken.answer["event"]["kind"] == "reclaimed"
    assert taken.answer["event"]["meta"] == {"previous_runner_id": "r1", "reason": "ttl_expired"}


def test_a_claim_that_was_granted_while_the_clock_was_ahead_can_be_taken_over_once_it_is_right_again(
    shop: Shop,
) -> None:
    shop.create()
    shop.scene.clock.forward(minutes=24 * 60)
    held = shop.runner("r1").claim()
    shop.scene.clock.forward(minutes=-24 * 60)
    other = shop.runner("r2")

    before = shop.ask("jobs.radar")["jobs"]
    renewed = held.report()
    with refused("claim_held"):
        other.claim("JOB-001", allow_stale=True)
    shop.scene.clock.forward(ms=180_000)
    taken = other.claim(allow_stale=True)

    assert [each["attention"]["stale"] for each in before] == [True]
    assert renewed["claim_expires_at"] == to_wire(shop.scene.clock.now)
    assert (taken.job_id, taken.answer["event"]["kind"]) == ("JOB-001", "reclaimed")


def test_a_lost_claim_of_a_clock_that_was_ahead_keeps_no_job_for_a_day(shop: Shop) -> None:
    shop.create()
    shop.scene.clock.forward(minutes=24 * 60)
    shop.runner("r1").claim()
    shop.scene.clock.forward(minutes=-24 * 60)

    assert shop.runner("r2").claim(allow_stale=True).job_id == "JOB-001"
    (there,) = shop.ask("runners.list", status="idle")["runners"]
    (gone,) = shop.ask("runners.list", status="offline")["runners"]
    assert (there["runner_id"], gone["runner_id"]) == ("r2", "r1")


def test_the_next_job_may_be_a_lost_one_and_keeps_its_place_in_the_order(shop: Shop) -> None:
    shop.create("lost", priority="HIGH")
    shop.runner("r1").claim()
    shop.create("new")
    shop.scene.clock.forward(ms=180_000)

    assert shop.runner("r2").claim(allow_stale=True).job_id == "JOB-001"


def _zombie(held: Held) -> None:
    """Everything that a runner might still try to write."""
    for write in (
        held.report,
        lambda: held.report(kind="heartbeat"),
        lambda: held.report(kind="question"),
        held.complete,
        lambda: held.complete("FAILED", refs=[]),
        lambda: held.put("report", "text"),
    ):
        with refused("claim_mismatch"):
            write()


def test_once_a_job_was_taken_over_nothing_of_the_old_runner_is_accepted(shop: Shop) -> None:
    shop.create()
    lost = shop.runner("r1").claim()
    shop.scene.clock.forward(ms=180_000)
    taken = shop.runner("r2").claim(allow_stale=True)
    before = shop.scene.dump()

    _zombie(lost)
    _zombie(replace(lost, claim_revision=taken.claim_revision))
    assert shop.scene.dump() == before
    assert taken.complete()["job"]["status"] == "DONE"


def test_the_same_runner_is_fenced_off_by_its_own_newer_claim(shop: Shop) -> None:
    shop.create()
    runner = shop.runner()
    old = runner.claim()
    shop.scene.clock.forward(ms=180_000)
    runner.beat()
    new = runner.claim(allow_stale=True)

    _zombie(old)
    assert new.report()["job"]["runner"] == "r1"


def test_an_expired_claim_that_nobody_took_may_still_be_renewed_by_its_holder(shop: Shop) -> None:
    shop.create()
    held = shop.runner().claim()
    shop.scene.clock.forward(minutes=60)

    assert held.report()["claim_expires_at"] == to_wire(shop.scene.clock.now + 180_000)
    with refused("claim_held"):
        shop.runner("r2").claim("JOB-001", allow_stale=True)


def test_a_wrong_claim_says_who_holds_the_job_now(shop: Shop) -> None:
    shop.create()
    held = shop.runner("r1").claim()
    held.claim_revision = 7

    with refused("claim_mismatch") as caught:
        held.report()
    assert caught.value.details == {"job_id": "JOB-001", "status": "RUNNING", "runner_id": "r1", "revision": 1}
    assert "r1" in caught.value.message


def test_a_heartbeat_renews_and_leaves_no_event(shop: Shop) -> None:
    shop.create()
    held = shop.runner().claim()
    events = shop.boss.events()
    shop.scene.clock.forward(ms=60_000)
    beat = held.report("compiling", kind="heartbeat", percent=10)

    assert beat["event"] is None
    assert beat["claim_expires_at"] == to_wire(shop.scene.clock.now + 180_000)
    assert shop.boss.events() == events
    newest = {"at": to_wire(shop.scene.clock.now), "message": "compiling", "percent": 10}
    assert shop.open("JOB-001")["heartbeat"] == shop.tail("JOB-001")["heartbeat"] == newest
    assert "- JOB-001 heartbeat: compiling" in shop.tail("JOB-001", fmt="lines")["text"].splitlines()


def test_a_runner_without_a_lease_cannot_claim(shop: Shop) -> None:
    shop.create()
    runner = shop.runner(lease_ttl_ms=1000)
    shop.scene.clock.forward(ms=1000)

    with shop.scene.refused("runner_offline"):
        runner.claim()
    with shop.scene.refused("runner_offline"):
        shop.ask("jobs.claim", runner_id="never-seen")


def test_a_runner_gets_no_more_jobs_than_it_can_run_at_once(shop: Shop) -> None:
    for _ in range(3):
        shop.create()
    runner = shop.runner(max_parallel=2)
    first = runner.claim()
    runner.claim()

    with refused("runner_busy"):
        runner.claim()
    first.complete()
    assert runner.claim().job_id == "JOB-003"


def test_a_job_that_comes_after_others_waits_until_all_are_done(shop: Shop) -> None:
    shop.create("a")
    shop.create("b")
    assert shop.create("c", after=["JOB-002", "JOB-001", "JOB-001"], priority="HIGH")["blocked"] == 2
    runner = shop.runner()

    with refused("job_blocked") as caught:
        runner.claim("JOB-003")
    assert caught.value.details["after"] == ["JOB-001", "JOB-002"]
    first, second = runner.claim(), runner.claim()
    first.complete()
    assert runner.try_claim()["job"] is None
    second.complete()
    assert runner.claim().job_id == "JOB-003"
    assert shop.open("JOB-003")["after"] == ["JOB-001", "JOB-002"]


def test_a_job_after_one_that_failed_waits_until_that_one_was_done_after_all(shop: Shop) -> None:
    shop.create("a")
    shop.create("b", after=["JOB-001"])
    runner = shop.runner()
    runner.claim().complete("FAILED", refs=[])
    assert runner.try_claim()["job"] is None

    shop.ask("jobs.requeue", job="JOB-001")
    runner.claim().complete()
    assert runner.claim().job_id == "JOB-002"


def test_a_job_that_is_queued_again_blocks_what_comes_after_it_again(shop: Shop) -> None:
    shop.create("a")
    shop.create("b", after=["JOB-001"])
    shop.runner().claim().complete()
    assert shop.open("JOB-002")["job"]["blocked"] == 0

    shop.ask("jobs.requeue", job="JOB-001")
    assert shop.open("JOB-002")["job"]["blocked"] == 1


def test_a_job_after_one_that_does_not_exist_is_refused(shop: Shop) -> None:
    with shop.scene.refused("unknown_job"):
        shop.create(after=["JOB-001"])


def test_a_rebuild_gives_the_same_rows_and_keeps_the_leases_as_they_are(shop: Shop) -> None:
    shop.create("a")
    shop.create("b", after=["JOB-001"])
    shop.create("c")
    runner = shop.runner()
    first = runner.claim()
    first.put("report", "text")
    first.complete("FAILED", refs=[])
    shop.ask("jobs.requeue", job="JOB-001")
    held = runner.claim()
    shop.scene.clock.forward(ms=100_000)
    held.report("alive", kind="heartbeat")
    before = shop.scene.dump()

    maintenance.rebuild(shop.scene.hub)
    assert shop.scene.dump() == before
