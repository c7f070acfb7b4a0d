"""The capability as a whole: its operations, what `open` shows of jobs, and what other capabilities ask of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from tallystick.capabilities.jobs import claims, evidence, managing, queries, radar, reading, rules, runners
from tallystick.capabilities.jobs.contract import CreateJob, GetArtifact, OpenJob
from tallystick.capabilities.jobs.errors import UnknownJob
from tallystick.capabilities.jobs.events import JobStatus, job_body
from tallystick.capabilities.jobs.model import Job
from tallystick.capabilities.jobs.projections import FOLDS, TABLES
from tallystick.capabilities.jobs.queries import SQL
from tallystick.capabilities.jobs.runners_contract import RunnerView
from tallystick.capabilities.jobs.views import JobEvent
from tallystick.capabilities.tasks.contract import JobRef, JobToken
from tallystick.capabilities.tasks.work import JobOrder, JobOutcome, Work, WorkBrief
from tallystick.kernel import inputs
from tallystick.kernel.caller import Caller
from tallystick.kernel.hints import step
from tallystick.ledger import reading as ledger
from tallystick.ledger.capability import Capability, Opened
from tallystick.ledger.tx import Tx
from tallystick.proof.files import FileFact, FilesToRead
from tallystick.proof.refs import RefKind, parse

RUNNER = "runner:"
SKILL_CHARS = 1200
"""How much of the behaviour pack goes into the prompt of a job that a macro made."""
COUNTED = 100
"""What a snapshot counts up to."""


def open_ref(tx: Tx, room_id: str, me: Caller, text: str) -> Opened | None:
    if text.startswith(RUNNER):
        return _runner(tx, room_id, text.removeprefix(RUNNER))
    ref = parse(text)
    match ref.kind:
        case RefKind.JOB_EVENT:
            return _event(tx, room_id, ref.value, ref.seq or 0)
        case RefKind.ARTIFACT:
            job_id, _, key = ref.value.partition("/")
            # Looked up as it stands: a key that could never have been stored is simply not there.
            asked = GetArtifact(room_id=room_id, job=job_id, artifact_key=key, offset=0, max_chars=16_000)
            return Opened.of("artifact", text, reading.get_artifact.run(tx, me, asked))
        case _:
            return None


def open_job(tx: Tx, room_id: str, me: Caller, job_id: str, seen: Mapping[str, FileFact]) -> Opened:
    """A job as `open` shows it: just what `jobs.open` says, with all that it has."""
    ask = OpenJob(room_id=room_id, job=job_id, include_prompt=True, include_meta=True, include_artifacts=True)
    return Opened.of("job", job_id, reading.open_job.run(tx, me, ask, seen))


def _event(tx: Tx, room_id: str, job_id: str, seq: int) -> Opened:
    job = queries.job(tx, room_id, job_id)
    found = queries.events_after(tx, job, seq - 1, 1)
    if not found or found[0].seq != seq:
        raise UnknownJob(f"{job_id} has no event {seq}.", hint=f"{step('jobs.tail', job=job_id)} shows its events.")
    return Opened.of("job_event", f"{job_id}@{seq}", JobEvent.of(found[0]))


def _runner(tx: Tx, room_id: str, runner_id: str) -> Opened:
    found = queries.runner(tx, room_id, runner_id)
    held = queries.jobs_of_runners(tx, room_id, runner_id)
    return Opened.of("runner", f"{RUNNER}{runner_id}", RunnerView.of(found, held.get(runner_id, ()), tx.now))


class JobWork:
    """Jobs as tasks see them."""

    def brief(self, tx: Tx, room_id: str, task_id: str | None) -> WorkBrief:
        found = dict(tx.all(SQL["counts"], _count, room_id=room_id, most=COUNTED))
        states = {runner.state(tx.now) for runner in queries.runners_online(tx, room_id)}
        waiting = not states and queries.any_queued(tx, room_id)
        job = tx.one(SQL["first_of_task"], Job.of_row, room_id=room_id, task_id=task_id) if task_id else None
        return WorkBrief(
            running=found.get("RUNNING", 0),
            queued=found.get("QUEUED", 0),
            runner="live" if "live" in states else "idle" if states else "offline",
            job=_token(job) if job else None,
            start=(runners.start_command(tx, room_id) or "") if waiting else "",
        )

    def order(self, tx: Tx, me: Caller, room_id: str, order: JobOrder) -> JobRef:
        given = {
            **structs.asdict(order),
            "room_id": room_id,
            "meta": {"skill_profile": "strict", "skill_max_chars": SKILL_CHARS},
        }
        made = managing.create_job(tx, me, inputs.read(CreateJob, given))
        return JobRef(job_id=made.job.job_id, anchor=order.anchor, created_ref=made.event.ref)

    def files(self, tx: Tx, room_id: str, job_ids: Sequence[str]) -> FilesToRead:
        return evidence.to_compare(tx, room_id, [queries.job(tx, room_id, job_id) for job_id in job_ids])

    def outcomes(self, tx: Tx, room_id: str, job_ids: Sequence[str], seen: Mapping[str, FileFact]) -> list[JobOutcome]:
        jobs = {job.number: job for job in (queries.job(tx, room_id, job_id) for job_id in job_ids)}
        return [_outcome(tx, jobs[number], seen) for number in sorted(jobs)]


def _token(job: Job) -> JobToken:
    return JobToken(
        job_id=job.job_id,
        status=job.status.value,
        marker=rules.attention_marker(job.attention),
        ref=f"{job.job_id}@{job.shown_seq}",
        title=job.title,
    )


def _outcome(tx: Tx, job: Job, seen: Mapping[str, FileFact]) -> JobOutcome:
    proof = evidence.proof(tx, job, seen)
    waits = job.attention.needs_manager
    return JobOutcome(
        job_id=job.job_id,
        status=job.status.value,
        ref=f"{job.job_id}@{job.shown_seq}",
        anchor_id=job.anchor_id,
        summary=job.summary,
        refs=job.ref_list,
        evidence=proof.evidence,
        proven=job.status is JobStatus.DONE and proof.proven,
        accepted=proof.accepted,
        waiver=f"{proof.waiver.by}: {job_body(proof.waiver).message}" if proof.waiver else "",
        branch=proof.branch,
        missing=proof.missing,
        question=job_body(ledger.event_at(tx, job.room_id, job.question_seq)).message if waits else "",
    )


def _count(*, status: str, jobs: int) -> tuple[str, int]:
    return status, jobs


_work: Work = JobWork()

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
        claims.waive,
        claims.release,
        managing.requeue,
        managing.cancel,
        managing.acknowledge,
        managing.wait,
        reading.put_artifact,
        reading.get_artifact,
        runners.heartbeat,
        runners.list_runners,
        runners.show_executors,
        runners.set_executors,
    ),
    folds=FOLDS,
    tables=TABLES,
    offers={Work: _work},
    opens=open_ref,
)
