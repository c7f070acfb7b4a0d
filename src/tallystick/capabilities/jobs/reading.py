"""`jobs.list`, `open`, `tail` and `replay`: bounded reads. What a budget leaves out is never passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import structs
from msgspec.structs import replace

from tallystick.capabilities.jobs import artifacts, claims, lines, queries, rules
from tallystick.capabilities.jobs.contract import ListJobs, OpenJob, ReplayJobs, TailJob
from tallystick.capabilities.jobs.events import JOB_KINDS, JobCompleted, JobCreated, JobEvidence, JobStatus, job_body
from tallystick.capabilities.jobs.model import Job
from tallystick.capabilities.jobs.projections import row_after, row_created
from tallystick.capabilities.jobs.views import (
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
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import Answer, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx
from tallystick.proof import files
from tallystick.proof.refs import RefKind, parse
from tallystick.proof.verdict import EvidenceState, FileFact

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


@operation("jobs.list", examples=({"room_id": "ROOM", "status": "QUEUED"},))
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
    return Jobs(
        jobs=page,
        count=len(page),
        has_more=more,
        truncated=len(page) < min(len(found), ask.limit),
        cursor=f"{last.updated_at}:{last.number}" if last and more else None,
    )


def _until(tx: Tx, job: Job) -> int | None:
    claim = queries.claim(tx, job) if job.status is JobStatus.RUNNING else None
    return claim.expires_at if claim else None


class FilesToRead(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be read from disk: these refs, below these folders of this machine."""

    refs: Sequence[str]
    roots: Sequence[Path]


def _files(tx: Tx, me: Caller, ask: OpenJob) -> FilesToRead:
    job = queries.job(tx, ask.room_id, ask.job)
    named = [ref for ref in job.ref_list if parse(ref).kind is RefKind.FILE]
    return FilesToRead(refs=named, roots=claims.roots(tx, ask.room_id) if named else [])


def _read_files(ask: OpenJob, wanted: Callable[[], FilesToRead]) -> Mapping[str, FileFact]:
    asked = wanted()
    return files.survey(asked.refs, asked.roots)


@operation(
    "jobs.open",
    read_before=_files,
    io_before=_read_files,
    examples=({"room_id": "ROOM", "job": "JOB-001"}, {"room_id": "ROOM", "job": "JOB-001", "include_prompt": True}),
)
def open_job(tx: Tx, me: Caller, ask: OpenJob, seen: Mapping[str, FileFact]) -> JobOpened:
    """Open one job: where it stands, its newest events first, and on request its prompt, meta and artifacts."""
    job = queries.job(tx, ask.room_id, ask.job)
    claim = queries.claim(tx, job) if job.status is JobStatus.RUNNING else None
    wanted = ask.max_events if ask.include_events else 0
    found = queries.events_before(tx, job, ask.before_seq, wanted + 1) if wanted else []
    events = fitting([JobEvent.of(event) for event in found[:wanted]], ask.max_chars)
    created = reading.event_at(tx, ask.room_id, job.created_seq).read(JobCreated)
    return JobOpened(
        job=JobView.of(job, claim.expires_at if claim else None),
        prompt=created.prompt if ask.include_prompt else None,
        after=created.after,
        events=events,
        heartbeat=JobHeartbeat.of(claim),
        evidence=_evidence(tx, job, seen),
        artifacts=[artifacts.view(job, each) for each in queries.artifacts(tx, job)] if ask.include_artifacts else None,
        meta=job.meta_data if ask.include_meta else None,
        count=len(events),
        has_more_events=len(found) > len(events),
        truncated=len(events) < min(len(found), wanted),
    )


def _evidence(tx: Tx, job: Job, seen: Mapping[str, FileFact]) -> list[JobEvidence]:
    """What was proven at the end; what speaks for a file that has changed since is stale now."""
    if job.completed_seq is None:
        return []
    ended = reading.event_at(tx, job.room_id, job.completed_seq).content
    found = ended.evidence if isinstance(ended, JobCompleted) else []
    moved = any(each.kind == RefKind.FILE and _moved(each, seen) for each in found)
    return [
        structs.replace(each, state=EvidenceState.STALE.value)
        if each.state == EvidenceState.PROOF and (_moved(each, seen) or (moved and each.kind == RefKind.CMD))
        else each
        for each in found
    ]


def _moved(evidence: JobEvidence, seen: Mapping[str, FileFact]) -> bool:
    fact = seen.get(parse(evidence.ref).value)
    if evidence.kind != RefKind.FILE or fact is None or fact.state is EvidenceState.UNREACHABLE:
        return False
    return fact.sha256 is None or not fact.sha256.startswith(evidence.sha256 or "")


@operation("jobs.tail", examples=({"room_id": "ROOM", "job": "JOB-001", "after_seq": 17},))
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


@operation("jobs.replay", examples=({"room_id": "ROOM", "seq": 17},))
def replay(tx: Tx, me: Caller, ask: ReplayJobs) -> ReplayedJobs:
    """Show the jobs as they stood right after one of the room's events. Leases of claims are not on record."""
    room = rooms.room(tx, ask.room_id)
    event = reading.event_at(tx, room.room_id, ask.seq)
    found = replayed(reading.until(tx, room.room_id, event.seq, kinds=JOB_KINDS))
    shown = [
        ReplayedJob(job=JobView.of(job), marker=rules.attention_marker(job.attention)) for job in found[: ask.limit]
    ]
    return ReplayedJobs(room_id=room.room_id, seq=event.seq, ts=moment(event.ts), count=len(found), jobs=shown)
