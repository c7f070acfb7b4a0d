"""The life of a job: created, claimed, reported, completed; canceled or queued again on the way."""

from __future__ import annotations

import pytest

from tallystick.kernel.clock import to_wire
from tests.jobs.shop import PROOF, Shop
from tests.scene import START, refused

WHEN = to_wire(START)


def test_a_new_job_is_queued_and_its_created_event_can_be_opened(shop: Shop) -> None:
    shop.task()
    made = shop.ask(
        "jobs.create", title="Fix it", prompt="Make it work.", task="TASK-001", anchor="a:core", priority="normal"
    )

    assert made["job"] == {
        "job_id": "JOB-001",
        "revision": 0,
        "status": "QUEUED",
        "title": "Fix it",
        "kind": "codex_cli",
        "priority": "MEDIUM",
        "task": "TASK-001",
        "anchor": "a:core",
        "executor": "auto",
        "executor_profile": "fast",
        "runner": None,
        "blocked": 0,
        "claim_expires_at": None,
        "waits_until": None,
        "slices": 0,
        "message_ref": None,
        "message_state": None,
        "summary": None,
        "refs": [],
        "created_by": "boss",
        "created_at": WHEN,
        "updated_at": WHEN,
        "completed_at": None,
        "last_ref": made["event"]["ref"],
    }
    assert made["event"]["kind"] == "created"
    assert made["event"]["ref"] == f"JOB-001@{made['event']['seq']}"
    assert shop.ask("open.ref", id=made["event"]["ref"])["value"] == made["event"]
    assert made["runner_bootstrap"] == {"cmd": f"tally runner --room {shop.boss.room_id}"}


def test_ids_count_up_in_each_room(shop: Shop) -> None:
    assert [shop.create()["job_id"] for _ in range(3)] == ["JOB-001", "JOB-002", "JOB-003"]

    other = Shop(shop.scene, shop.scene.agent("boss of another room"))
    other.boss.room_id = str(other.boss.call("rooms.create", title="another")["room_id"])
    other.boss.here("rooms.join")
    assert other.create()["job_id"] == "JOB-001"
    assert shop.create()["job_id"] == "JOB-004"


def test_a_job_goes_from_queued_over_running_to_done(shop: Shop) -> None:
    job_id = shop.create("parser")["job_id"]
    held = shop.runner().claim()

    assert (held.job_id, held.claim_revision, held.answer["prompt"]) == (job_id, 1, "do parser")
    assert held.answer["event"]["kind"] == "claimed"
    assert held.answer["executor"] == "codex"
    assert held.answer["job"]["status"] == "RUNNING"

    held.report("half way", percent=50)
    done = held.complete(summary="all green")

    assert (done["job"]["status"], done["job"]["summary"], done["job"]["refs"]) == ("DONE", "all green", [PROOF])
    assert done["job"]["revision"] == 2
    assert done["job"]["completed_at"] == WHEN
    assert done["job"]["claim_expires_at"] is None
    assert done["event"]["message"] == "done"
    assert shop.kinds(job_id) == ["created", "claimed", "progress", "completed"]


@pytest.mark.parametrize("status", ["FAILED", "CANCELED"])
def test_a_job_can_end_without_success_and_needs_no_proof_for_that(shop: Shop, status: str) -> None:
    shop.create()
    ended = shop.runner().claim().complete(status, refs=[], summary="could not do it")

    assert ended["job"]["status"] == status
    assert ended["event"]["kind"] == status.lower()


def test_a_queued_job_can_be_canceled(shop: Shop) -> None:
    job_id = shop.create()["job_id"]
    canceled = shop.ask("jobs.cancel", job=job_id, reason="no longer needed")

    assert canceled["job"]["status"] == "CANCELED"
    assert canceled["event"]["message"] == "canceled: no longer needed"
    assert shop.runner().try_claim()["job"] is None


def test_a_running_job_is_canceled_only_with_force_and_its_runner_learns_it_in_the_next_report(shop: Shop) -> None:
    job_id = shop.create()["job_id"]
    held = shop.runner().claim()

    with refused("still_running"):
        shop.ask("jobs.cancel", job=job_id)
    shop.ask("jobs.cancel", job=job_id, force_running=True)

    with refused("job_canceled"):
        held.report()
    with refused("job_canceled"):
        held.report(kind="heartbeat")
    with refused("job_canceled"):
        held.complete()
    assert shop.status(job_id) == "CANCELED"


def test_a_cancel_that_expects_another_revision_is_refused(shop: Shop) -> None:
    job_id = shop.create()["job_id"]
    shop.runner().claim()

    with refused("revision_mismatch"):
        shop.ask("jobs.cancel", job=job_id, force_running=True, expected_revision=0)
    assert shop.ask("jobs.cancel", job=job_id, force_running=True, expected_revision=1)["job"]["revision"] == 2


def test_a_job_that_has_ended_can_be_queued_again_and_keeps_its_history(shop: Shop) -> None:
    job_id = shop.create(meta={"skill_profile": "strict"})["job_id"]
    runner = shop.runner()
    runner.claim().complete("FAILED", refs=[], summary="network")
    again = shop.ask("jobs.requeue", job=job_id, reason="flaky network", meta={"try": 2})

    assert (again["job"]["status"], again["job"]["runner"], again["job"]["summary"]) == ("QUEUED", None, None)
    assert again["event"]["message"] == "requeued: flaky network"
    held = runner.claim()
    assert held.claim_revision == 4
    assert (held.answer["meta"]["skill_profile"], held.answer["meta"]["try"]) == ("strict", 2)
    assert shop.kinds(job_id) == ["created", "claimed", "failed", "requeued", "claimed"]


@pytest.mark.parametrize("operation", ["jobs.requeue", "jobs.message", "jobs.cancel"])
def test_what_does_not_fit_a_jobs_state_is_refused_and_changes_nothing(shop: Shop, operation: str) -> None:
    shop.create()
    if operation != "jobs.requeue":
        shop.runner().claim().complete()
    before = shop.scene.dump()
    more = {"message": "hello"} if operation == "jobs.message" else {}

    with refused("not_requeueable" if operation == "jobs.requeue" else "job_over"):
        shop.ask(operation, job="JOB-001", **more)
    assert shop.scene.dump() == before


@pytest.mark.parametrize("job", ["JOB-999", "JOB-1", "TASK-001", "", "JOB-0001", "job-001", "JOB-001@1"])
def test_an_unknown_job_is_refused_by_every_operation(shop: Shop, job: str) -> None:
    shop.create()
    holder: dict[str, object] = {"runner_id": "r1", "claim_revision": 1}
    calls: dict[str, dict[str, object]] = {
        "jobs.open": {},
        "jobs.tail": {},
        "jobs.wait": {"max_wait_ms": 0},
        "jobs.message": {"message": "x"},
        "jobs.cancel": {},
        "jobs.requeue": {},
        "jobs.report": {**holder, "message": "x"},
        "jobs.complete": {**holder, "status": "FAILED"},
        "jobs.artifact.put": {**holder, "artifact_key": "k", "content": "x"},
        "jobs.artifact.get": {"artifact_key": "k"},
    }
    for operation, given in calls.items():
        with shop.scene.refused("unknown_job"):
            shop.ask(operation, job=job, **given)


def test_a_wait_answers_when_the_job_ends_and_times_out_without_an_error(shop: Shop) -> None:
    job_id = shop.create()["job_id"]
    waited = shop.ask("jobs.wait", job=job_id, max_wait_ms=0)
    assert (waited["done"], waited["timed_out"], waited["job"]["status"]) == (False, True, "QUEUED")

    shop.runner().claim().complete()
    waited = shop.ask("jobs.wait", job=job_id)
    assert (waited["done"], waited["timed_out"], waited["job"]["status"]) == (True, False, "DONE")
    assert [event["kind"] for event in waited["events"]] == ["created", "claimed", "completed"]


def test_a_wait_for_anything_new_answers_at_the_next_event(shop: Shop) -> None:
    job_id = shop.create()["job_id"]
    seen = shop.tail(job_id)["next_after_seq"]
    shop.say(job_id, "look at this first")
    waited = shop.ask("jobs.wait", job=job_id, until="event", after_seq=seen)

    assert [event["kind"] for event in waited["events"]] == ["manager"]
    assert waited["timed_out"] is False


def test_a_closed_room_takes_no_more_jobs(shop: Shop) -> None:
    job_id = shop.create()["job_id"]
    shop.ask("rooms.close")

    with refused("room_closed"):
        shop.create()
    with refused("room_closed"):
        shop.runner()
    assert shop.status(job_id) == "QUEUED"
