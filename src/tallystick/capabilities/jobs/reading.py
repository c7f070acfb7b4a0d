"""`jobs.list`, `open`, `tail` and `replay`: bounded reads. What a budget leaves out is never passed over.

`jobs.artifact.*` are texts that belong to a job, such as a report or a patch, kept on the ledger and read in pages.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import structs
from msgspec.structs import replace

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import claims, evidence, lines, queries, rules
from tallystick.capabilities.jobs.contract import (
    ARTIFACTS_LIMIT,
    STALL_S,
    GetArtifact,
    ListJobs,
    OpenJob,
    PutArtifact,
    ReplayJobs,
    TailJob,
)
from tallystick.capabilities.jobs.errors import TooManyArtifacts, UnknownArtifact
from tallystick.capabilities.jobs.events import JOB_KINDS, JobArtifactPut, JobCreated, JobStatus, job_body
from tallystick.capabilities.jobs.model import Claim, Job, JobArtifact
from tallystick.capabilities.jobs.projections import row_after, row_created
from tallystick.capabilities.jobs.views import (
    ArtifactContent,
    ArtifactView,
    ExpectedArtifact,
    JobEvent,
    JobHeartbeat,
    JobOpened,
    Jobs,
    JobTail,
    JobView,
    ReplayedJob,
    ReplayedJobs,
)
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft, Event
from tallystick.kernel.operation import Answer, Reach, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx
from tallystick.proof.files import FileFact, FilesToRead, survey

T = TypeVar("T", bound=Answer)


def fitting(found: Sequence[T], max_chars: int | None) -> list[T]:
    """As many from the start as the budget holds, and always the first: a reader must get on."""
    if max_chars is None:
        return list(found)
    kept, left = list[T](), max_chars
    for each in found:
        left -= len(each.to_json().decode())
        if left < 0 and kept:
            break
        kept.append(each)
    return kept


@operation("jobs.list", reach=Reach.READ, examples=({"room_id": "ROOM", "status": "QUEUED"},))
def list_jobs(tx: Tx, me: Caller, ask: ListJobs) -> Jobs:
    """List jobs, the most recently changed first; filter by status, task or anchor, and page on with the cursor."""
    rooms.room(tx, ask.room_id)
    after = tuple(int(part) for part in ask.cursor.split(":")) if ask.cursor else None
    found = queries.listed(
        tx,
        ask.room_id,
        status=JobStatus(ask.status) if ask.status else None,
        task=ask.task,
        anchor=ask.anchor,
        after=(after[0], after[1]) if after else None,
        limit=ask.limit + 1,
    )
    page = fitting([JobView.of(job, _until(tx, job)) for job in found[: ask.limit]], ask.max_chars)
    more = len(found) > len(page)
    last = found[len(page) - 1] if page else None
    answer = Jobs(
        jobs=page,
        count=len(page),
        has_more=more,
        truncated=len(page) < min(len(found), ask.limit),
        cursor=f"{last.updated_at}:{last.number}" if last and more else None,
        text=None,
    )
    return answer if ask.fmt == "json" else structs.replace(answer, jobs=[], text=lines.listed(ask, answer))


def _until(tx: Tx, job: Job) -> int | None:
    claim = queries.claim(tx, job) if job.status is JobStatus.RUNNING else None
    return claim.expires_at if claim else None


def _files(tx: Tx, me: Caller, ask: OpenJob) -> FilesToRead:
    return evidence.to_compare(tx, ask.room_id, [queries.job(tx, ask.room_id, ask.job)])


def _read_files(ask: OpenJob, wanted: Callable[[], FilesToRead]) -> Mapping[str, FileFact]:
    return survey(wanted())


@operation(
    "jobs.open",
    reach=Reach.READ,
    read_before=_files,
    io_before=_read_files,
    examples=({"room_id": "ROOM", "job": "JOB-001"}, {"room_id": "ROOM", "job": "JOB-001", "include_prompt": True}),
)
def open_job(tx: Tx, me: Caller, ask: OpenJob, seen: Mapping[str, FileFact]) -> JobOpened:
    """Open one job: where it stands, its newest events first, and on request its prompt, meta and artifacts."""
    job = queries.job(tx, ask.room_id, ask.job)
    claim = queries.claim(tx, job) if job.status.active else None
    wanted = ask.max_events if ask.include_events else 0
    found = queries.events_before(tx, job, ask.before_seq, wanted + 1) if wanted else []
    events = fitting([JobEvent.of(event) for event in found[:wanted]], ask.max_chars)
    created = reading.event_at(tx, ask.room_id, job.created_seq).read(JobCreated)
    proof = evidence.proof(tx, job, seen)
    answer = JobOpened(
        job=JobView.of(job, claim.expires_at if claim else None),
        prompt=created.prompt if ask.include_prompt else None,
        after=created.after,
        events=events,
        unread=[JobEvent.of(event) for event in queries.words(tx, job, after=job.read_seq)],
        messages=[JobEvent.of(event) for event in queries.words(tx, job)] if ask.include_messages else None,
        resume=claims.resume_point(tx, job),
        waits=job.status is JobStatus.QUEUED and claim is not None and not claim.expired(tx.now),
        why=_why(tx, job, claim),
        question=_question(tx, job),
        heartbeat=JobHeartbeat.of(claim),
        evidence=proof.evidence,
        accepted=proof.accepted,
        waiver=JobEvent.of(proof.waiver) if proof.waiver else None,
        expected_artifacts=[
            ExpectedArtifact(artifact=name, there=name not in proof.missing) for name in job.needs.artifacts
        ],
        branch=proof.branch,
        artifacts=[artifact_view(job, each) for each in queries.artifacts(tx, job)] if ask.include_artifacts else None,
        meta=job.meta_data if ask.include_meta else None,
        count=len(events),
        has_more_events=len(found) > len(events),
        truncated=len(events) < min(len(found), wanted),
        text=None,
    )
    return answer if ask.fmt == "json" else _as_lines(ask, answer)


def _question(tx: Tx, job: Job) -> JobEvent | None:
    asks = job.attention.needs_manager
    return JobEvent.of(reading.event_at(tx, job.room_id, job.question_seq)) if asks else None


def _why(tx: Tx, job: Job, claim: Claim | None) -> str:
    """As the radar says it."""
    if not job.status.active:
        return ""
    seen = lines.Standing(
        job=job,
        expires_at=claim.expires_at if claim else None,
        after=queries.comes_after(tx, job) if job.blocked else (),
    )
    online, order = queries.runners_online(tx, job.room_id), queries.executor_order(tx, job.room_id)
    return lines.why(seen, online, order, now=tx.now, stall_ms=STALL_S * 1000)


def _as_lines(ask: OpenJob, found: JobOpened) -> JobOpened:
    """What the lines say is not said again."""
    return structs.replace(
        found,
        prompt=None,
        events=[],
        unread=[],
        messages=None,
        resume=None,
        evidence=[],
        artifacts=None,
        meta=None,
        text=lines.opened(ask, found),
    )


@operation("jobs.tail", reach=Reach.READ, examples=({"room_id": "ROOM", "job": "JOB-001", "after_seq": 17},))
def tail(tx: Tx, me: Caller, ask: TailJob) -> JobTail:
    """Follow one job: its events after a cursor, oldest first. Call again with next_after_seq; nothing is skipped."""
    job = queries.job(tx, ask.room_id, ask.job)
    found = queries.events_after(tx, job, ask.after_seq, ask.limit + 1)
    events = fitting([JobEvent.of(event) for event in found[: ask.limit]], ask.max_chars)
    answer = JobTail(
        job_id=job.job_id,
        after_seq=ask.after_seq,
        next_after_seq=events[-1].seq if events else ask.after_seq,
        events=events,
        heartbeat=JobHeartbeat.of(queries.claim(tx, job) if job.status is JobStatus.RUNNING else None),
        count=len(events),
        has_more=len(found) > len(events),
        truncated=len(events) < min(len(found), ask.limit),
        text=None,
    )
    return answer if ask.fmt == "json" else structs.replace(answer, text=lines.tail(ask.room_id, answer))


def replayed(events: Iterable[Event]) -> list[Job]:
    """Every job that these events made, in the radar's order; those that had ended come last."""
    found: dict[str, Job] = {}
    after: dict[str, list[str]] = {}
    for event in events:
        body = job_body(event)
        if isinstance(body, JobCreated):
            after[body.job_id] = body.after
            found[body.job_id] = row_created(event, body, blocked=0)
        else:
            found[body.job_id] = row_after(found[body.job_id], event, body)
    counted = [replace(job, blocked=_blocked(found, after[job.job_id])) for job in found.values()]
    return sorted(counted, key=lambda job: (not job.status.active, job.place, -job.updated_at, job.number))


def _blocked(found: dict[str, Job], after: list[str]) -> int:
    return sum(found[job_id].status is not JobStatus.DONE for job_id in after)


@operation("jobs.replay", reach=Reach.READ, examples=({"room_id": "ROOM", "seq": 17},))
def replay(tx: Tx, me: Caller, ask: ReplayJobs) -> ReplayedJobs:
    """Show the jobs as they stood right after one of the room's events. Leases of claims are not on record."""
    room = rooms.room(tx, ask.room_id)
    event = reading.event_at(tx, room.room_id, ask.seq)
    found = replayed(reading.until(tx, room.room_id, event.seq, kinds=JOB_KINDS))
    shown = [
        ReplayedJob(job=JobView.of(job), marker=rules.attention_marker(job.attention)) for job in found[: ask.limit]
    ]
    return ReplayedJobs(room_id=room.room_id, seq=event.seq, ts=moment(event.ts), count=len(found), jobs=shown)


def artifact_view(job: Job, artifact: JobArtifact) -> ArtifactView:
    return ArtifactView(
        ref=f"artifact://jobs/{job.job_id}/{artifact.artifact_key}",
        artifact_key=artifact.artifact_key,
        size=artifact.size,
        sha256=artifact.sha256,
        seq=artifact.seq,
    )


def _digest(ask: PutArtifact) -> str:
    return hashlib.sha256(ask.content.encode("utf-8", "surrogatepass")).hexdigest()


@operation(
    "jobs.artifact.put",
    reach=Reach.WORK,
    writes=True,
    io_before=_digest,
    examples=(
        {
            "room_id": "ROOM",
            "job": "JOB-001",
            "runner_id": "r1",
            "claim_revision": 1,
            "artifact_key": "report",
            "content": "# Findings",
        },
    ),
)
def put_artifact(tx: Tx, me: Caller, ask: PutArtifact, sha256: str) -> ArtifactView:
    """Keep a text with a job that you hold; the same key again replaces it. Its ref counts as proof."""
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_holder(job, ask.runner_id, ask.claim_revision)
    queries.check_runner_owner(tx, ask.room_id, ask.runner_id, me)
    known = queries.artifact(tx, job, ask.artifact_key)
    if known is None and len(queries.artifacts(tx, job)) >= ARTIFACTS_LIMIT:
        raise TooManyArtifacts(f"{job.job_id} has {ARTIFACTS_LIMIT} artifacts already.", limit=ARTIFACTS_LIMIT)
    if known is None or known.sha256 != sha256:
        body = JobArtifactPut(
            job_id=job.job_id,
            event="artifact",
            message=f"artifact {ask.artifact_key}",
            refs=[f"artifact://jobs/{job.job_id}/{ask.artifact_key}"],
            artifact_key=ask.artifact_key,
            content=ask.content,
            sha256=sha256,
            runner_id=ask.runner_id,
            claim_revision=ask.claim_revision,
        )
        (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft.of(body)])
        known = JobArtifact(artifact_key=ask.artifact_key, seq=event.seq, size=len(ask.content), sha256=sha256)
    return artifact_view(job, known)


@operation(
    "jobs.artifact.get", reach=Reach.READ, examples=({"room_id": "ROOM", "job": "JOB-001", "artifact_key": "report"},)
)
def get_artifact(tx: Tx, me: Caller, ask: GetArtifact) -> ArtifactContent:
    """Read a text that was kept with a job, in pages of max_chars."""
    job = queries.job(tx, ask.room_id, ask.job)
    found = queries.artifact(tx, job, ask.artifact_key)
    if found is None:
        keys = [each.artifact_key for each in queries.artifacts(tx, job)]
        raise UnknownArtifact(
            f"{job.job_id} has no artifact '{ask.artifact_key}'; it has {', '.join(keys) or 'none'}.", keys=keys
        )
    content = reading.event_at(tx, ask.room_id, found.seq).read(JobArtifactPut).content
    end = ask.offset + ask.max_chars
    return ArtifactContent(
        artifact=artifact_view(job, found),
        content=content[ask.offset : end],
        offset=ask.offset,
        next_offset=end if end < len(content) else None,
    )
