"""DONE means done: the hub asks for proof, says what is missing, and the job goes on."""

from __future__ import annotations

import hashlib
import os

import pytest

from tallystick.kernel.caller import Caller, SessionKind
from tests.jobs.shop import PROOF, SEEN, Held, Shop
from tests.scene import Actor, Scene, refused


@pytest.fixture
def held(shop: Shop) -> Held:
    shop.task()
    shop.create("work", task="TASK-001", anchor="a:core")
    return shop.runner().claim()


@pytest.mark.parametrize(
    ("refs", "summary"),
    [
        ([], "all done"),
        (["JOB-001", "TASK-001", "a:core"], "all done"),
        (["CMD:", "LINK: <fill: CI run>", "CMD: TODO"], None),
        (["CARD-999", "notes@1", "JOB-999"], "see CARD-998"),
        (["CMD: pytest (exit 1)"], "nearly"),
        (["FILE: no/such/file.py", "FILE: ../outside"], None),
        (["trust me"], "PLAN-001"),
    ],
)
def test_done_without_proof_is_refused_and_the_claim_stays(
    shop: Shop, held: Held, refs: list[str], summary: str | None
) -> None:
    before = shop.scene.dump()
    with refused("proof_missing") as caught:
        held.complete(refs=refs, summary=summary)

    assert caught.value.details["missing"] == ["proof"]
    assert len(caught.value.details["problems"]) >= len(refs)  # pyright: ignore[reportArgumentType]
    assert shop.scene.dump() == before
    held.report("no proof yet", kind="proof_gate")
    assert held.complete(refs=[PROOF])["job"]["status"] == "DONE"


def test_receipts_in_the_summary_are_found_and_kept_as_refs_and_its_prose_is_not(shop: Shop, held: Held) -> None:
    summary = f"Rewrote it, see {shop.card()}.\n- CMD: pytest -q (exit 0)\n- make the parser linear"
    done = held.complete(refs=[], summary=summary, observed=[SEEN])

    assert done["job"]["refs"] == [PROOF]


def test_the_jobs_own_id_is_not_added_to_its_refs(shop: Shop, held: Held) -> None:
    assert held.complete(refs=[PROOF])["job"]["refs"] == [PROOF]


def test_each_durable_thing_that_was_written_since_work_began_is_proof(shop: Shop) -> None:
    runner = shop.runner()
    for write in (
        lambda: shop.card(),
        lambda: shop.task(),
        lambda: shop.ask("notes.add", body="found it")["ref"],
    ):
        shop.create("next")
        held = runner.claim()
        ref = write()
        assert held.complete(refs=[ref])["job"]["refs"] == [ref]


def test_what_was_there_before_the_work_and_other_jobs_prove_nothing(shop: Shop) -> None:
    frame = shop.ask("tasks.macro.delegate", task_title="Parser")["card"]["card_id"]
    note = shop.ask("notes.add", body="an old finding")["ref"]
    shop.create("another")
    old = shop.scene.workspace / "old.txt"
    old.write_text("untouched")
    os.utime(old, (1_000_000_000, 1_000_000_000))
    held = shop.runner().claim("JOB-001")
    shop.ask("jobs.cancel", job="JOB-002")

    with refused("proof_missing") as caught:
        held.complete(refs=[frame, note, "JOB-002", "FILE: old.txt"])

    assert caught.value.details["problems"] == [
        f"{frame}: found, older than the work on this job",
        f"{note}: found, older than the work on this job",
        "JOB-002: found, another job",
        "FILE: old.txt: found, untouched since the job began",
    ]


def test_work_begins_with_the_first_claim_and_anew_when_the_job_is_queued_again(shop: Shop, held: Held) -> None:
    first, report = shop.card(), held.put("report", "# Findings")["ref"]
    shop.scene.clock.forward(ms=180_000)
    again = shop.runner("r2").claim(allow_stale=True)
    assert again.complete(refs=[first, report])["job"]["status"] == "DONE"
    assert [each["proves"] for each in shop.open("JOB-001")["evidence"]] == [True, True]

    shop.ask("jobs.requeue", job="JOB-001", reason="not good enough")
    anew = shop.runner("r2").claim()
    with refused("proof_missing") as caught:
        anew.complete(refs=[first, report])
    assert caught.value.details["problems"] == [
        f"{ref}: found, older than the work on this job" for ref in (first, report)
    ]
    anew.put("report", "# Better findings")
    assert anew.complete(refs=[report])["job"]["status"] == "DONE"


def test_an_artifact_of_the_job_itself_is_proof(shop: Shop, held: Held) -> None:
    ref = held.put("report", "# Findings")["ref"]
    assert held.complete(refs=[ref])["job"]["status"] == "DONE"


def test_a_file_that_is_named_must_exist_and_is_hashed(shop: Shop, held: Held) -> None:
    (shop.scene.workspace / "a.py").write_bytes(b"print()\n")
    held.complete(refs=["FILE: a.py"])

    assert shop.open("JOB-001")["evidence"] == [
        {
            "ref": "FILE: a.py",
            "kind": "file",
            "state": "found",
            "sha256": hashlib.sha256(b"print()\n").hexdigest(),
            "exit_code": None,
            "proves": True,
        }
    ]


def test_a_file_is_judged_as_the_runner_measured_it_where_the_job_worked(shop: Shop, held: Held) -> None:
    (shop.scene.workspace / "f.txt").write_text("of the main checkout, untouched")
    measured = {"path": "f.txt", "sha256": "caa4" * 16, "ms_ago": 0, "elsewhere": True}
    held.complete(refs=["FILE: f.txt"], files=[measured])

    assert shop.open("JOB-001")["evidence"] == [
        {
            "ref": "FILE: f.txt",
            "kind": "file",
            "state": "found",
            "sha256": "caa4" * 16,
            "exit_code": None,
            "proves": True,
            "why": "measured by r1",
            "elsewhere": True,
        }
    ]


def test_a_file_that_the_runner_measured_and_nobody_touched_proves_nothing(shop: Shop, held: Held) -> None:
    old = {"path": "f.txt", "sha256": "caa4" * 16, "ms_ago": 60_000}
    with refused("proof_missing") as caught:
        held.complete(refs=["FILE: f.txt"], files=[old])
    assert caught.value.details["problems"] == ["FILE: f.txt: found, untouched since the job began"]


def test_a_hub_that_cannot_see_the_file_says_so(scene: Scene) -> None:
    boss = scene.agent("boss")
    boss.room_id = str(boss.call("rooms.create", title="a room without a folder")["room_id"])
    shop = Shop(scene, boss)
    shop.create()
    with refused("proof_missing") as caught:
        shop.runner().claim().complete(refs=["FILE: a.py", f"FILE: b.py (sha256 {'0' * 64})"])
    why = "unreachable, this hub cannot see the files of the job"
    assert caught.value.details["problems"] == [f"FILE: a.py: {why}", f"FILE: b.py (sha256 {'0' * 64}): {why}"]


def test_a_command_that_the_runner_saw_is_observed_and_a_mere_claim_is_none(shop: Shop, held: Held) -> None:
    with refused("proof_missing") as caught:
        held.complete(refs=[PROOF], observed=[])
    assert caught.value.details["problems"] == [f"{PROOF}: claimed, nobody saw it"]

    held.complete(refs=["CMD: pytest -q (exit 0, sha256 0123456789abcdef)"], observed=[SEEN])
    (evidence,) = shop.open("JOB-001")["evidence"]
    assert evidence == {
        "ref": "CMD: pytest -q (exit 0, sha256 0123456789abcdef)",
        "kind": "cmd",
        "state": "observed",
        "sha256": "0123456789abcdef",
        "exit_code": 0,
        "proves": True,
    }


def test_what_an_earlier_runner_observed_is_on_record(shop: Shop, held: Held) -> None:
    held.report("tests pass", observed=[{"command": "bash -lc 'cd src && pytest -q 2>&1'", "exit_code": 0}])
    shop.scene.clock.forward(ms=180_000)
    again = shop.runner("r2").claim(allow_stale=True)
    assert again.complete(refs=[PROOF], observed=[])["job"]["status"] == "DONE"

    shop.ask("jobs.requeue", job="JOB-001", reason="not good enough")
    with refused("proof_missing"):
        shop.runner("r2").claim().complete(refs=[PROOF], observed=[])


def test_the_newest_observation_of_a_command_counts(shop: Shop, held: Held) -> None:
    held.report("tests pass", observed=[SEEN])
    held.report("and fail", observed=[SEEN, {**SEEN, "exit_code": 2}])
    with refused("proof_missing") as caught:
        held.complete(refs=[PROOF], observed=[])
    assert caught.value.details["problems"] == [f"{PROOF}: failed, it was seen to end with 2"]
    assert held.complete(refs=[PROOF], observed=[SEEN])["job"]["status"] == "DONE"


def test_evidence_goes_stale_when_the_file_it_speaks_for_changes_later(shop: Shop, held: Held) -> None:
    file = shop.scene.workspace / "a.py"
    file.write_text("one")
    shop.scene.clock.now = file.stat().st_mtime_ns // 1_000_000 + 1
    held.complete(refs=[PROOF, "FILE: a.py", "LINK: https://ci.example/1"], observed=[SEEN])

    def states() -> list[list[str]]:
        """As each that shows it says."""
        opened = [shop.open("JOB-001"), shop.ask("open.ref", id="JOB-001")["value"]]
        return [[each["state"] for each in one["evidence"]] for one in opened]

    assert states() == [["observed", "found", "claimed"]] * 2
    file.write_text("two")
    assert states() == [["stale", "stale", "claimed"]] * 2
    report = shop.ask("tasks.macro.merge_report", jobs=["JOB-001"])
    assert report["missing_proof"] == ["JOB-001"]
    assert "- JOB-001 was proven before the last change: FILE: a.py\n" in report["card"]["body"]
    file.write_text("one")
    assert states() == [["observed", "found", "claimed"]] * 2


def test_a_receipt_that_was_reported_before_the_last_change_is_stale_at_once(shop: Shop, held: Held) -> None:
    held.report("tests pass", kind="checkpoint", refs=[PROOF], observed=[SEEN])
    (shop.scene.workspace / "a.py").write_text("changed after the tests")
    # The scene's clock stands long before the file's own time, as a report from yesterday would.
    held.complete(refs=[PROOF, "FILE: a.py"], observed=[])
    assert [each["state"] for each in shop.open("JOB-001")["evidence"]] == ["stale", "found"]


def test_a_high_job_needs_a_checkpoint_and_a_receipt_and_is_told_which_is_missing(shop: Shop) -> None:
    shop.create("urgent", priority="HIGH")
    held = shop.runner().claim()
    card = shop.card()

    with refused("proof_missing") as caught:
        held.complete(refs=[card])
    assert caught.value.details["missing"] == ["receipt", "checkpoint"]
    with refused("proof_missing") as caught:
        held.complete(refs=[card, PROOF], observed=[SEEN])
    assert caught.value.details["missing"] == ["checkpoint"]
    assert caught.value.advice == (
        "Continue the job: it is HIGH, so report a milestone first, with `kind` checkpoint; then complete it again. "
        'Whoever manages it may waive the proof: `jobs.waive {"job": "JOB-001", "reason": "…"}`.'
    )
    held.report("tests pass", kind="checkpoint")
    with refused("proof_missing"):
        held.complete(refs=[card])
    assert held.complete(refs=[card, PROOF], observed=[SEEN])["job"]["status"] == "DONE"


def test_a_jobs_checks_must_be_seen_to_pass(shop: Shop) -> None:
    shop.create("checked", checks=["pytest -q", "make lint"])
    held = shop.runner().claim()
    card = shop.card()

    with refused("proof_missing") as caught:
        held.complete(refs=[card], observed=[SEEN, {"command": "make lint", "exit_code": 2}])
    assert caught.value.details["missing"] == ["checks"]
    assert "CMD: make lint: failed, it was seen to end with 2" in caught.value.message
    held.complete(refs=[], observed=[SEEN, {"command": "make lint", "exit_code": 0}])
    assert [(each["ref"], each["state"]) for each in shop.open("JOB-001")["evidence"]] == [
        ("CMD: pytest -q", "observed"),
        ("CMD: make lint", "observed"),
    ]


@pytest.mark.parametrize("check", ["true", "echo ok", "pytest || true", "pytest | tail -1", "pytest; echo done"])
def test_a_check_that_could_never_fail_is_refused(shop: Shop, check: str) -> None:
    with shop.scene.refused("invalid_input"):
        shop.create(checks=[check])


@pytest.mark.parametrize(
    "given", [{"title": " \t"}, {"prompt": "\n "}, {"executor_model": "a\0b"}, {"executor_model": "--yolo"}]
)
def test_a_job_that_says_nothing_or_that_no_program_could_be_started_with_is_refused(
    shop: Shop, given: dict[str, str]
) -> None:
    with shop.scene.refused("invalid_input"):
        shop.boss.here("jobs.create", **{"title": "x", "prompt": "p", **given})
    with shop.scene.refused("invalid_input"):
        shop.create(meta={"executor_model": "a\0b"})


def test_artifacts_that_were_asked_for_must_be_there(shop: Shop) -> None:
    shop.create(expected_artifacts=["report", "patch", "docs_update"])
    held = shop.runner().claim()
    held.put("report.md", "# Findings")

    with refused("proof_missing") as caught:
        held.complete()
    assert caught.value.details["missing"] == ["patch", "docs_update"]
    assert caught.value.advice.startswith(
        "Continue the job: put the patch under `artifact_key` patch, or name its file; "
    )
    assert shop.open("JOB-001")["expected_artifacts"] == [
        {"artifact": "report", "there": True},
        {"artifact": "patch", "there": False},
        {"artifact": "docs_update", "there": False},
    ]
    (shop.scene.workspace / "guide.md").write_text("# Guide")
    branch = {"name": "tally/job-001", "base": "main", "commit": "a" * 40, "commits": 1, "files": 2}
    held.complete(refs=["FILE: guide.md"], branch=branch)
    assert all(each["there"] for each in shop.open("JOB-001")["expected_artifacts"])


def test_where_the_room_takes_claims_a_receipt_with_its_status_suffices_and_it_is_said(shop: Shop, held: Held) -> None:
    shop.ask("rooms.set_policy", proof="claimed")
    for refs in (["CMD: pytest -q"], ["trust me"], ["LINK: x"], ["CMD: pytest (exit 1)"], ["CMD: true (exit 0)"]):
        with refused("proof_missing"):
            held.complete(refs=refs, observed=[])
    held.complete(refs=[PROOF], observed=[])

    opened = shop.open("JOB-001")
    assert (opened["accepted"], opened["evidence"][0]["why"]) == ("claimed", "this room takes a claim for proof")
    body = shop.ask("tasks.macro.merge_report", jobs=["JOB-001"])["card"]["body"]
    assert "## What was observed\n- none\n" in body
    assert f"## What was claimed\n- JOB-001 {PROOF}\n" in body
    assert "- JOB-001 is DONE on a claim: this room takes claims for proof\n" in body


def test_a_manager_may_waive_the_proof_and_it_stays_on_record(shop: Shop, held: Held) -> None:
    held.report("no proof", kind="proof_gate")
    waived = shop.ask("jobs.waive", job="JOB-001", reason="I looked at it myself.")
    assert (waived["event"]["kind"], waived["event"]["message"]) == ("waived", "I looked at it myself.")
    assert shop.ask("jobs.radar")["jobs"][0]["attention"]["needs_proof"] is False
    held.complete(refs=[], summary="believe me")

    opened = shop.open("JOB-001")
    assert (opened["job"]["status"], opened["accepted"], opened["evidence"]) == ("DONE", "waived", [])
    assert opened["waiver"] == waived["event"]
    report = shop.ask("tasks.macro.merge_report", jobs=["JOB-001"])
    assert "- JOB-001 is DONE without proof, waived by boss: I looked at it myself.\n" in report["card"]["body"]
    assert report["missing_proof"] == ["JOB-001"]


def test_a_waiver_ends_when_the_job_is_queued_again(shop: Shop, held: Held) -> None:
    shop.ask("jobs.waive", job="JOB-001", reason="fine")
    held.complete(refs=[])
    shop.ask("jobs.requeue", job="JOB-001")
    with refused("proof_missing"):
        shop.runner().claim().complete(refs=[])


def test_whoever_runs_a_job_cannot_waive_its_proof(shop: Shop, held: Held) -> None:
    with shop.scene.refused("own_waiver"):
        held.runner.actor.here("jobs.waive", job="JOB-001", reason="trust me")
    with shop.scene.refused("unknown_job"):
        shop.ask("jobs.waive", job="JOB-404", reason="fine")
    held.complete("FAILED", refs=[])
    with shop.scene.refused("job_over"):
        shop.ask("jobs.waive", job="JOB-001", reason="fine")


def test_only_who_created_a_job_a_person_or_a_foreman_may_say_what_proves_it(shop: Shop) -> None:
    card, job_id = shop.card("written before"), shop.create("later")["job_id"]
    held = shop.runner().claim(job_id)
    (worker,) = shop.scene.joined("claude-in-a-slice")
    person = Actor(shop.scene, Caller(agent_id="human:ann:1", session=SessionKind.HUMAN_CLI), shop.boss.room_id)

    with shop.scene.refused("own_waiver"):
        worker.here("jobs.waive", job=job_id, reason="trust me")
    worker.here("jobs.message", job=job_id, message="Take this.", refs=[card])
    with refused("proof_missing"):
        held.complete(refs=[card])

    worker.appointed()
    worker.here("jobs.waive", job=job_id, reason="as a foreman")
    person.here("jobs.waive", job=job_id, reason="as a person")
    assert shop.open(job_id)["waiver"]["by"] == "user"
    assert held.complete(refs=[])["job"]["status"] == "DONE"


def test_refs_of_a_managers_message_are_found_in_its_text(shop: Shop, held: Held) -> None:
    shop.card()
    said = shop.say("JOB-001", "Use CARD-001; CI is https://ci.example/1")
    assert said["event"]["refs"] == ["CARD-001", "LINK: https://ci.example/1"]


def test_artifacts_are_kept_replaced_and_read_in_pages(shop: Shop, held: Held) -> None:
    first = held.put("report", "x" * 10)
    assert first["ref"] == "artifact://jobs/JOB-001/report"
    assert held.put("report", "x" * 10) == first
    assert held.put("report", "0123456789")["seq"] > first["seq"]
    page = shop.ask("jobs.artifact.get", job="JOB-001", artifact_key="report", max_chars=4)
    assert (page["content"], page["next_offset"]) == ("0123", 4)
    page = shop.ask("jobs.artifact.get", job="JOB-001", artifact_key="report", offset=8)
    assert (page["content"], page["next_offset"]) == ("89", None)
    assert [each["artifact_key"] for each in shop.open("JOB-001", include_artifacts=True)["artifacts"]] == ["report"]
    with refused("unknown_artifact"):
        shop.ask("jobs.artifact.get", job="JOB-001", artifact_key="nope")


def test_a_job_has_a_bounded_number_of_artifacts(shop: Shop, held: Held) -> None:
    for number in range(8):
        held.put(f"part-{number}", "text")
    with shop.scene.refused("too_many_artifacts"):
        held.put("one-more", "text")
    held.put("part-3", "other text")


def test_the_next_runner_is_told_which_artifacts_are_there(shop: Shop, held: Held) -> None:
    held.put("draft", "half a report")
    shop.scene.clock.forward(ms=180_000)
    assert shop.runner("r2").claim(allow_stale=True).answer["artifacts"] == ["draft"]
