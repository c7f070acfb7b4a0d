"""DONE means done: the hub asks for proof, says what is missing, and the job goes on."""

from __future__ import annotations

import hashlib

import pytest

from tests.jobs.shop import PROOF, Held, Shop
from tests.scene import refused


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


def test_proof_in_the_summary_is_found_and_kept_as_refs(shop: Shop, held: Held) -> None:
    card = shop.card()
    done = held.complete(refs=[], summary=f"Rewrote it.\n- CMD: pytest -q\nFindings in {card}.")

    assert done["job"]["refs"] == ["CMD: pytest -q", "CARD-001"]


def test_the_jobs_own_id_is_not_added_to_its_refs(shop: Shop, held: Held) -> None:
    assert held.complete(refs=[PROOF])["job"]["refs"] == [PROOF]


def test_each_durable_thing_that_exists_is_proof(shop: Shop) -> None:
    shop.card()
    shop.task()
    note = shop.ask("notes.add", body="found it")["ref"]
    shop.create("earlier", executor="codex")
    runner = shop.runner()
    runner.claim("JOB-001").complete()
    for ref in ["CARD-001", "TASK-001", note, "JOB-001", f"JOB-001@{shop.open('JOB-001')['events'][0]['seq']}"]:
        shop.create("next")
        assert runner.claim().complete(refs=[ref])["job"]["refs"] == [ref]


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
            "state": "proof",
            "sha256": hashlib.sha256(b"print()\n").hexdigest(),
            "exit_code": None,
        }
    ]


def test_a_command_keeps_its_exit_code_and_output_hash_as_evidence(shop: Shop, held: Held) -> None:
    held.complete(refs=["CMD: pytest -q (exit 0, sha256 0123456789abcdef)"])
    (evidence,) = shop.open("JOB-001")["evidence"]
    assert (evidence["exit_code"], evidence["sha256"]) == (0, "0123456789abcdef")


def test_evidence_goes_stale_when_the_file_it_speaks_for_changes_later(shop: Shop, held: Held) -> None:
    file = shop.scene.workspace / "a.py"
    file.write_text("one")
    held.complete(refs=[PROOF, "FILE: a.py", "LINK: https://ci.example/1"])
    assert [each["state"] for each in shop.open("JOB-001")["evidence"]] == ["proof", "proof", "proof"]

    file.write_text("two")
    assert [each["state"] for each in shop.open("JOB-001")["evidence"]] == ["stale", "stale", "proof"]
    file.write_text("one")
    assert [each["state"] for each in shop.open("JOB-001")["evidence"]] == ["proof", "proof", "proof"]


def test_a_receipt_that_was_reported_before_the_last_change_is_stale_at_once(shop: Shop, held: Held) -> None:
    held.report("tests pass", kind="checkpoint", refs=[PROOF])
    (shop.scene.workspace / "a.py").write_text("changed after the tests")
    # The scene's clock stands long before the file's own time, as a report from yesterday would.
    held.complete(refs=[PROOF, "FILE: a.py"])
    assert [each["state"] for each in shop.open("JOB-001")["evidence"]] == ["stale", "proof"]


def test_a_high_job_needs_a_checkpoint_and_a_receipt(shop: Shop) -> None:
    shop.create("urgent", priority="HIGH")
    card = shop.card()
    held = shop.runner().claim()

    with refused("proof_missing") as caught:
        held.complete(refs=[card])
    assert caught.value.details["missing"] == ["receipt", "checkpoint"]
    held.report("tests pass", kind="checkpoint")
    with refused("proof_missing"):
        held.complete(refs=[card])
    assert held.complete(refs=[card, PROOF])["job"]["status"] == "DONE"


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
