"""Jobs as tasks see them: how much there is, the one job to show, jobs made by a macro, and what became of some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

import msgspec

from tallystick.capabilities.jobs import fold, queries
from tallystick.capabilities.jobs.contract import CreateJob
from tallystick.capabilities.jobs.creating import create_job
from tallystick.capabilities.jobs.model import Job, Status
from tallystick.capabilities.jobs.queries import SQL
from tallystick.kernel import inputs
from tallystick.kernel.caller import Caller
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx
from tallystick.proof.verdict import State

SKILL_CHARS = 1200
MOST = 100
"""What a snapshot counts up to."""


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    running: int
    queued: int
    runner: str


class Ordered(Protocol):
    """What a macro says about a job it wants."""

    @property
    def title(self) -> str: ...
    @property
    def prompt(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def priority(self) -> str: ...
    @property
    def executor(self) -> str: ...
    @property
    def profile(self) -> str: ...
    @property
    def task(self) -> str | None: ...
    @property
    def anchor(self) -> str: ...


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    job_id: str
    status: Status
    title: str
    ref: str
    anchor_id: str | None
    summary: str | None
    refs: Sequence[str]
    evidence: Sequence[tuple[str, str]]
    question: str

    @property
    def proven(self) -> bool:
        return self.status is Status.DONE and any(state == State.PROOF for _, state in self.evidence)


class Work:
    """Answers the protocol of the same name that `tasks` declares."""

    def inbox(self, tx: Tx, room_id: str) -> Counts:
        found = dict(tx.all(SQL["counts"], _count, room_id=room_id, most=MOST))
        states = {runner.state(tx.now) for runner in queries.runners_online(tx, room_id)}
        runner = "live" if "live" in states else "idle" if states else "offline"
        return Counts(running=found.get("RUNNING", 0), queued=found.get("QUEUED", 0), runner=runner)

    def active(self, tx: Tx, room_id: str, task_id: str) -> Job | None:
        return tx.one(SQL["first_of_task"], Job.of_row, room_id=room_id, task_id=task_id)

    def order(self, tx: Tx, me: Caller, room_id: str, order: Ordered) -> Job:
        given = {
            "room_id": room_id,
            "title": order.title,
            "prompt": order.prompt,
            "kind": order.kind,
            "priority": order.priority,
            "executor": order.executor,
            "executor_profile": order.profile,
            "task": order.task,
            "anchor": order.anchor,
            "meta": {"skill_profile": "strict", "skill_max_chars": SKILL_CHARS},
        }
        ask = inputs.read(CreateJob, given)
        return queries.job(tx, room_id, create_job(tx, me, ask).job.job_id)

    def outcomes(self, tx: Tx, room_id: str, job_ids: Sequence[str]) -> list[Outcome]:
        jobs = {job.number: job for job in (queries.job(tx, room_id, job_id) for job_id in job_ids)}
        return [_outcome(tx, jobs[number]) for number in sorted(jobs)]


def _outcome(tx: Tx, job: Job) -> Outcome:
    ended = reading.event_at(tx, job.room_id, job.completed_seq) if job.completed_seq else None
    evidence = cast("list[dict[str, str]]", ended.data.get("evidence") or []) if ended else []
    asked = reading.event_at(tx, job.room_id, job.question_seq) if fold.attention(job).needs_manager else None
    return Outcome(
        job_id=job.job_id,
        status=job.status,
        title=job.title,
        ref=f"{job.job_id}@{fold.shown_seq(job)}",
        anchor_id=job.anchor_id,
        summary=job.summary,
        refs=job.ref_list,
        evidence=[(each["ref"], each["state"]) for each in evidence],
        question=cast("str", asked.data["message"]) if asked else "",
    )


def _count(*, status: str, jobs: int) -> tuple[str, int]:
    return status, jobs


WORK = Work()
