"""A job outlives its runner: it is given back, waits for an answer in nobody's hands, and its record says the rest."""

from __future__ import annotations

import pytest

from tallystick.capabilities.jobs.model import HUB_KINDS
from tests.jobs.shop import Held, Shop
from tests.scene import Row, refused

RESUME = {
    "summary": "two of three files converted",
    "refs": ["CARD-001"],
    "failures": 1,
    "gates": 2,
    "seconds": 90,
}


@pytest.fixture
def held(shop: Shop) -> Held:
    shop.create("parser")
    return shop.runner("r1").claim()


def release(held: Held, **given: object) -> Row:
    return held.runner.actor.here(
        "jobs.release", job=held.job_id, runner_id="r1", claim_revision=held.claim_revision, **given
    )


def test_a_job_that_is_given_back_is_queued_again_and_leaves_an_event(shop: Shop, held: Held) -> None:
    given_back = release(held, reason="the runner stops")

    assert (given_back["job"]["status"], given_back["job"]["runner"]) == ("QUEUED", None)
    assert given_back["event"]["message"] == "released by r1: the runner stops"
    assert shop.kinds("JOB-001") == ["created", "claimed", "released"]
    assert shop.ask("runners.list")["runners"][0]["jobs"] == 0
    assert shop.runner("r2").claim().job_id == "JOB-001"


def test_whoever_gave_a_job_back_can_write_nothing_more(shop: Shop, held: Held) -> None:
    release(held)
    with refused("job_not_running"):
        held.report()
    shop.runner("r1").claim()
    with refused("claim_mismatch"):
        held.report()


def test_a_question_waits_in_nobodys_hands_and_the_answer_makes_it_ready(shop: Shop, held: Held) -> None:
    held.report("Which port?", kind="question")
    waiting = release(held, answer_wait_s=60)["job"]
    other = shop.runner("r2", max_parallel=1)

    assert waiting["waits_until"] is not None
    assert other.try_claim(allow_stale=True)["job"] is None
    with refused("job_awaits_answer"):
        other.claim("JOB-001")
    shop.say("JOB-001", "8080")

    assert shop.open("JOB-001")["job"]["waits_until"] is None
    assert other.claim().job_id == "JOB-001"


def test_a_question_that_nobody_answers_holds_a_job_only_so_long(shop: Shop, held: Held) -> None:
    held.report("Which port?", kind="question")
    release(held, answer_wait_s=60)
    shop.scene.clock.forward(ms=59_999)
    assert shop.runner("r2").try_claim(allow_stale=True)["job"] is None

    shop.scene.clock.forward(ms=1)

    assert shop.runner("r2").claim(allow_stale=True).job_id == "JOB-001"


def test_a_job_that_waits_for_an_answer_can_be_canceled(shop: Shop, held: Held) -> None:
    held.report("Which port?", kind="question")
    release(held)

    shop.ask("jobs.cancel", job="JOB-001")

    assert shop.status("JOB-001") == "CANCELED"
    shop.scene.clock.forward(minutes=60)
    assert shop.runner("r2").try_claim(allow_stale=True)["job"] is None


def test_an_answer_frees_no_job_that_comes_after_another(shop: Shop) -> None:
    shop.create("first")
    shop.create("second", after=["JOB-001"])
    shop.say("JOB-002", "soon")
    runner = shop.runner()

    assert runner.claim().job_id == "JOB-001"
    assert runner.try_claim()["job"] is None


def test_where_a_slice_left_a_job_is_on_record_however_much_came_after_it(shop: Shop, held: Held) -> None:
    held.report("slice 1 started", kind="slice", slice=1)
    held.report("slice 1 continues", kind="slice", slice=1, resume=RESUME)
    for number in range(250):
        held.report(f"step {number}")
    shop.scene.clock.forward(minutes=10)
    shop.runner("r2").claim(allow_stale=True)

    opened = shop.open("JOB-001")

    assert (opened["job"]["slices"], opened["resume"]) == (1, RESUME)


def test_a_job_queued_anew_keeps_what_was_learned_and_counts_from_the_start(shop: Shop, held: Held) -> None:
    held.report("slice 3 continues", kind="slice", slice=3, resume=RESUME)
    held.complete("FAILED", refs=[])
    shop.ask("jobs.requeue", job="JOB-001")

    opened = shop.open("JOB-001")

    assert opened["job"]["slices"] == 0
    assert opened["resume"] == {**RESUME, "failures": 0, "gates": 0, "seconds": 0}


def test_a_message_is_whole_and_unread_until_the_agent_has_acted_on_it(shop: Shop, held: Held) -> None:
    long = "never touch the public API; " * 14
    said = shop.say("JOB-001", long.strip())["event"]
    for number in range(250):
        held.report(f"step {number}")

    def state() -> tuple[str, list[str]]:
        opened = shop.open("JOB-001")
        assert opened["job"]["message_ref"] == said["ref"]
        return opened["job"]["message_state"], [event["message"] for event in opened["unread"]]

    assert state() == ("sent", [long.strip()])
    held.report("given", kind="delivered", delivered_seq=said["seq"])
    assert state() == ("delivered", [long.strip()])
    held.report("acted on", kind="read", read_seq=said["seq"])
    assert state() == ("read", [])


@pytest.mark.parametrize("status", ["DONE", "FAILED"])
def test_no_job_ends_over_a_message_that_its_agent_did_not_have(shop: Shop, held: Held, status: str) -> None:
    first = shop.say("JOB-001", "Keep the API.")["event"]
    said = shop.say("JOB-001", "Stop, rename it instead.")["event"]

    with refused("manager_spoke") as caught:
        held.complete(status, heard_seq=first["seq"])

    assert caught.value.details["manager_seq"] == said["seq"]
    assert shop.open("JOB-001")["job"]["status"] == "RUNNING"
    assert held.complete(status, heard_seq=said["seq"])["job"]["status"] == status


def test_nobody_has_read_what_was_not_said_yet(shop: Shop, held: Held) -> None:
    held.report("ahead of time", kind="read", read_seq=10_000)

    shop.say("JOB-001", "stop")

    assert shop.open("JOB-001")["job"]["message_state"] == "sent"


@pytest.mark.parametrize("kind", sorted(HUB_KINDS))
def test_what_the_hub_itself_says_of_a_job_cannot_be_reported(shop: Shop, held: Held, kind: str) -> None:
    with refused("reserved_report_kind"):
        held.report("Yes, drop it.", kind=kind)


def test_a_failed_job_stays_on_the_radar_with_its_reason_until_it_is_acknowledged(shop: Shop, held: Held) -> None:
    held.complete("FAILED", summary="the tests\nneed a network", refs=[])

    (row,) = shop.ask("jobs.radar")["jobs"]
    assert (row["marker"], row["attention"]["failed"]) == ("!", True)
    assert row["last"]["message"] == "failed: the tests need a network"
    assert shop.tail("JOB-001")["events"][-1]["message"] == "failed: the tests need a network"

    shop.ask("jobs.acknowledge", job="JOB-001", reason="done by hand")

    assert shop.ask("jobs.radar")["jobs"] == []
    assert shop.status("JOB-001") == "FAILED"
    ended = shop.ask("jobs.radar", status="FAILED", fmt="lines")["text"]
    assert ended.endswith(" | failed: the tests need a network")
    with refused("not_failed"):
        shop.ask("jobs.acknowledge", job="JOB-001")


def test_all_failures_are_acknowledged_at_once_and_a_new_one_shows_again(shop: Shop, held: Held) -> None:
    held.complete("FAILED", refs=[])
    other = shop.create("lexer")["job_id"]
    held.runner.claim().complete("FAILED", refs=[])
    shop.create("still queued")

    assert [job["job_id"] for job in shop.ask("jobs.acknowledge")["jobs"]] == ["JOB-001", other]
    shop.ask("jobs.requeue", job=other)
    held.runner.claim(other).complete("FAILED", refs=[])

    failed = [row["job"]["job_id"] for row in shop.ask("jobs.radar")["jobs"] if row["attention"]["failed"]]
    assert failed == [other]
