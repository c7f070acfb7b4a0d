"""Jobs from their creation to every end they can have."""

from __future__ import annotations

import os
from typing import cast

from tests.jobs.shop import PROOF, SEEN, Held, Runner
from tests.ledger.shapes.writer import Writer, in_repository
from tests.scene import Actor, Row


def create(actor: Actor, title: str = "a job", **given: object) -> str:
    return cast(
        "str", cast("Row", actor.here("jobs.create", title=title, prompt=f"do {title}", **given)["job"])["job_id"]
    )


def jobs_created(w: Writer) -> None:
    boss, _bob = w.room("creating jobs", "boss", "bob")
    w.shape("job.create: as short as can be")
    create(boss)
    task = cast("str", boss.here("tasks.create", title="a task")["task_id"])
    w.shape("anchor.create, job.create: with all fields")
    create(
        boss,
        "all of it",
        kind="review",
        priority="normal",
        task=task,
        anchor="a:parser",
        executor="claude_code",
        executor_profile="audit",
        executor_model="small",
        policy={"prefer": ["codex"], "forbid": ["gemini"], "min_profile": "deep"},
        expected_artifacts=["report", "patch"],
        after=["JOB-001"],
        meta={"z": 1, "a": {"y": [1.5, None], "b": True}},
    )
    w.shape("job.create: by a person")
    create(w.person(boss.room_id), "for kim", priority="LOW")


def jobs_run(w: Writer) -> None:
    boss, worker = w.room("running jobs", "boss", "worker")
    runner = Runner(worker, "r1")
    runner.beat()
    for number in range(3):
        create(boss, f"number {number}")
    w.shape("job.claim: first")
    held = runner.claim()
    w.shape("job.report: progress, as short as can be")
    held.report()
    w.shape("job.report: with all fields")
    held.report(
        "half", kind="progress", percent=50, refs=["CARD-009", "LINK: https://example.org/"], meta={"b": 1, "a": 2}
    )
    card = cast("str", boss.here("cards.create", title="proof")["card_id"])
    w.shape("job.report: checkpoint with proof")
    held.report("milestone", kind="checkpoint", refs=[card])
    for kind in ("error", "proof_gate", "slice", "my_own_word"):
        w.shape(f"job.report: {kind}")
        held.report(f"about {kind}", kind=kind)
    w.shape("job.question")
    held.report("May I?", kind="question", percent=0)
    w.shape("job.message: plain")
    boss.here("jobs.message", job="JOB-001", message="You may.")
    w.shape("job.message: with proof, refs found in its text")
    boss.here("jobs.message", job="JOB-001", message=f"See {card}.", refs=["a:parser"])
    w.shape("job.message: by a person, to a queued job")
    w.person(boss.room_id).here("jobs.message", job="JOB-002", message="be quick")
    w.shape("job.artifact: a text is kept")
    held.put("report.md", "# Findings\n\nžluťoučký kůň")
    w.shape("job.artifact: replaced")
    held.put("report.md", "# Findings")
    w.shape("job.claim: again, after its time")
    w.scene.clock.forward(minutes=6)
    again = Runner(boss, "r2")
    again.beat()
    again.claim("JOB-001", allow_stale=True, lease_ttl_ms=5000)


def jobs_ended(w: Writer) -> None:
    boss, worker = w.room("ending jobs", "boss", "worker")
    runner = Runner(worker, "r1")
    runner.beat()
    held = list[Held]()
    for number in range(6):
        create(boss, f"number {number}")
        held.append(runner.claim())
    w.shape("job.complete: DONE by a receipt")
    held[0].complete()
    note = cast("str", boss.here("notes.add", body="done by hand")["ref"])
    held[1].put("report", "all of it")
    boss.here("cards.create", title="a finding")
    refs = [
        "JOB-001",
        "JOB-002",
        note,
        "notes@1",
        "artifact://jobs/JOB-002/report",
        "a:parser",
        "LINK: https://example.org/",
        "CMD: pytest (exit 1, sha256 0123456789abcdef)",
        "FILE: src/a.py (sha256 9c0e9c0e9c0e9c0e)",
        "tbd",
        "something else",
    ]
    w.shape("job.complete: DONE with refs of every kind, one of them in its summary")
    held[1].complete(summary="All there, see CARD-001.", refs=refs, meta={"cost": 1.25})
    w.shape("job.complete: FAILED, as short as can be")
    held[2].complete("FAILED", refs=[])
    w.shape("job.complete: CANCELED with a summary and refs")
    held[3].complete("CANCELED", summary="not needed", refs=["CARD-001"])
    w.shape("job.cancel: running, with a reason")
    boss.here("jobs.cancel", job="JOB-005", reason="no longer needed", force_running=True)
    w.shape("job.requeue: as short as can be")
    boss.here("jobs.requeue", job="JOB-003")
    w.shape("job.cancel: queued, without a reason")
    boss.here("jobs.cancel", job="JOB-003", expected_revision=3)
    w.shape("job.requeue: with all fields")
    boss.here(
        "jobs.requeue", job="JOB-003", reason="flaky network", refs=["LINK: https://example.org/"], meta={"try": 2}
    )
    w.shape("job.claim: once it is queued again")
    runner.claim("JOB-003")


def jobs_resumed(w: Writer) -> None:
    boss, worker = w.room("resuming jobs", "boss", "worker")
    runner = Runner(worker, "r1")
    runner.beat()
    create(boss, "long")
    held = runner.claim()
    w.shape("job.report: where a slice left it")
    resume = {"summary": "half of it", "refs": ["CARD-001"], "failures": 1, "gates": 0, "seconds": 61}
    held.report("slice 1 continues", kind="slice", slice=1, resume=resume)
    boss.here("jobs.message", job="JOB-001", message="stop")
    w.shape("job.report: the manager's message was delivered, then read")
    held.report("given", kind="delivered", delivered_seq=3)
    held.report("acted on", kind="read", read_seq=3)
    w.shape("job.release: as short as can be")
    _release(worker, held)
    held = runner.claim()
    held.report("Which one?", kind="question")
    w.shape("job.release: with a question open")
    _release(worker, held, reason="its runner stops", answer_wait_s=60)
    boss.here("jobs.message", job="JOB-001", message="the first")
    runner.claim().complete("FAILED", refs=[], summary="neither")
    w.shape("job.acknowledge")
    boss.here("jobs.acknowledge", job="JOB-001", reason="done by hand")
    w.shape("runner.executors")
    boss.here("runners.set_executors", profile="deep", executors=["codex", "gemini"])


def _release(worker: Actor, held: Held, **given: object) -> None:
    worker.here("jobs.release", job=held.job_id, runner_id="r1", claim_revision=held.claim_revision, **given)


def files_as_proof(w: Writer) -> None:
    (boss,) = w.room("files", "boss")
    in_repository(w, boss)
    runner = Runner(boss, "r1")
    runner.beat()
    create(boss)
    held = runner.claim()
    # Before the scene's own time, so that no receipt is older than the file.
    os.utime(w.repository / "src/parser.py", (1_700_000_000, 1_700_000_000))
    w.shape("job.complete: DONE by files")
    refs = [
        "FILE: src/parser.py",
        "FILE: docs/none.md",
        "FILE: ../outside",
        "FILE: src/parser.py (sha256 000000000000)",
    ]
    held.complete(refs=[*refs, PROOF], observed=[SEEN])
    boss.here("rooms.close")  # the repository is wanted once more


def evidence(w: Writer) -> None:
    boss, worker = w.room("evidence", "boss", "worker")
    runner = Runner(worker, "r1")
    runner.beat()
    w.shape("job.create: with checks")
    create(boss, "checked", checks=["pytest -q"])
    held = runner.claim()
    w.shape("job.report: with commands that the runner saw end")
    held.report(observed=[{"command": "pytest -q", "exit_code": 1, "ms_ago": 60_000}, SEEN])
    w.shape("job.complete: DONE with a branch and files that the runner measured")
    conflict = {"branch": "tally/job-002-abc", "paths": ["src/a.py"]}
    held.complete(
        refs=["FILE: src/a.py"],
        files=[{"path": "src/a.py", "sha256": "ab" * 32, "ms_ago": 0, "elsewhere": True}],
        branch={
            "name": "tally/job-001-abc",
            "base": "main",
            "commit": "cd" * 20,
            "commits": 1,
            "conflicts": [conflict],
        },
    )
    create(boss, "looked at")
    held = runner.claim()
    w.shape("job.waive")
    boss.here("jobs.waive", job="JOB-002", reason="I looked at it myself.")
    w.shape("job.complete: DONE by a waiver")
    held.complete(refs=[])
    w.shape("group.set_policy: claims are proof")
    boss.here("rooms.set_policy", proof="claimed")
    create(boss, "claimed")
    held = runner.claim()
    w.shape("job.complete: DONE by a claim")
    held.complete(refs=[PROOF], observed=[])
