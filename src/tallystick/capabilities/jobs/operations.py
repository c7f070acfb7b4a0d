"""The capability as a whole: its operations, what `open` shows of jobs, and what other capabilities ask of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

import msgspec

from tallystick.capabilities.jobs import artifacts, claims, managing, queries, radar, reading, runners
from tallystick.capabilities.jobs.contract import CreateJob, GetArtifact, OpenJob
from tallystick.capabilities.jobs.errors import UnknownJob, UnknownRunner
from tallystick.capabilities.jobs.managing import create_job
from tallystick.capabilities.jobs.model import Job, Kind, Status, attention, shown_seq
from tallystick.capabilities.jobs.projections import PROJECTIONS, TABLES
from tallystick.capabilities.jobs.queries import SQL
from tallystick.capabilities.jobs.views import JobEvent, RunnerView
from tallystick.capabilities.rooms.model import Questions
from tallystick.kernel import inputs
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading as ledger
from tallystick.ledger.capability import Capability, Opened
from tallystick.ledger.tx import Tx
from tallystick.proof.refs import RefKind, parse
from tallystick.proof.verdict import State

RUNNER = "runner:"


def open_ref(tx: Tx, room_id: str, me: Caller, text: str) -> Opened | None:
    if text.startswith(RUNNER):
        return _runner(tx, room_id, text.removeprefix(RUNNER))
    ref = parse(text)
    match ref.kind:
        case RefKind.JOB:
            ask = OpenJob(
                room_id=room_id, job=ref.value, include_prompt=True, include_meta=True, include_artifacts=True
            )
            found = reading.open_job.run(tx, me, ask, {})
            return Opened.of("job", ref.value, found)
        case RefKind.JOB_EVENT:
            return _event(tx, room_id, ref.value, ref.seq or 0)
        case RefKind.ARTIFACT:
            job_id, _, key = ref.value.partition("/")
            # Looked up as it stands: a key that could never have been stored is simply not there.
            asked = GetArtifact(room_id=room_id, job=job_id, artifact_key=key, offset=0, max_chars=16_000)
            return Opened.of("artifact", text, artifacts.get.run(tx, me, asked))
        case _:
            return None


def _event(tx: Tx, room_id: str, job_id: str, seq: int) -> Opened:
    job = queries.job(tx, room_id, job_id)
    found = queries.events_after(tx, job, seq - 1, 1)
    if not found or found[0].seq != seq:
        raise UnknownJob(f"{job_id} has no event {seq}.", hint=f"Read its events with jobs.tail, job {job_id}.")
    return Opened.of("job_event", f"{job_id}@{seq}", JobEvent.of(found[0]))


def _runner(tx: Tx, room_id: str, runner_id: str) -> Opened:
    found = queries.runner(tx, room_id, runner_id)
    if found is None:
        raise UnknownRunner(f"There is no runner '{runner_id[:80]}' in this room.", runner_id=runner_id[:80])
    return Opened.of("runner", f"{RUNNER}{runner_id}", RunnerView.of(found, tx.now))


AT_MOST = 50


class JobQuestions:
    def asked(self, tx: Tx, room_id: str, *, after: int | None) -> Sequence[Event]:
        if after is not None:
            return ledger.since(tx, room_id, after, kinds=[Kind.QUESTION], limit=AT_MOST)
        return queries.unanswered(tx, room_id, AT_MOST)


OFFERS: dict[type, object] = {Questions: JobQuestions()}
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
    ended = ledger.event_at(tx, job.room_id, job.completed_seq) if job.completed_seq else None
    evidence = cast("list[dict[str, str]]", ended.data.get("evidence") or []) if ended else []
    asked = ledger.event_at(tx, job.room_id, job.question_seq) if attention(job).needs_manager else None
    return Outcome(
        job_id=job.job_id,
        status=job.status,
        title=job.title,
        ref=f"{job.job_id}@{shown_seq(job)}",
        anchor_id=job.anchor_id,
        summary=job.summary,
        refs=job.ref_list,
        evidence=[(each["ref"], each["state"]) for each in evidence],
        question=cast("str", asked.data["message"]) if asked else "",
    )


def _count(*, status: str, jobs: int) -> tuple[str, int]:
    return status, jobs


WORK = Work()
CAPABILITY = Capability(
    name="jobs",
    package="tallystick.capabilities.jobs",
    operations=(
        managing.create,
        reading.list_jobs,
        reading.open_job,
        reading.tail,
        reading.replay,
        radar.radar,
        claims.claim,
        claims.report,
        managing.message,
        claims.complete,
        managing.requeue,
        managing.cancel,
        managing.wait,
        artifacts.put,
        artifacts.get,
        runners.heartbeat,
        runners.list_runners,
    ),
    projections=PROJECTIONS,
    tables=TABLES,
    offers=OFFERS,
    opens=open_ref,
)
