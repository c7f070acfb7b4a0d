"""`jobs.list`, `open`, `tail` and `replay`: bounded reads. What a budget leaves out is never passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, cast

import msgspec
from msgspec import structs
from msgspec.structs import replace

from tallystick.capabilities.jobs import artifacts, claims, lines, queries, rules
from tallystick.capabilities.jobs.contract import ListJobs, OpenJob, ReplayJobs, TailJob
from tallystick.capabilities.jobs.model import Job, Kind, Status, attention, place
from tallystick.capabilities.jobs.projections import row_after, row_created
from tallystick.capabilities.jobs.views import (
    EvidenceView,
    Heartbeat,
    JobEvent,
    JobOpened,
    Jobs,
    JobTail,
    JobView,
    Replayed,
    ReplayedJob,
)
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import Answer, as_record, moment, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx
from tallystick.proof import files
from tallystick.proof.refs import RefKind, parse
from tallystick.proof.verdict import FileFact, State

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
        status=Status(ask.status) if ask.status else None,
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
    claim = queries.claim(tx, job) if job.status is Status.RUNNING else None
    return claim.expires_at if claim else None


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be looked up on disk: these refs, below these folders of this machine."""

    refs: Sequence[str]
    roots: Sequence[Path]


def _survey(tx: Tx, me: Caller, ask: OpenJob) -> Survey:
    job = queries.job(tx, ask.room_id, ask.job)
    named = [ref for ref in job.ref_list if parse(ref).kind is RefKind.FILE]
    return Survey(refs=named, roots=claims.roots(tx, ask.room_id) if named else [])


def _look(ask: OpenJob, survey: Callable[[], Survey]) -> Mapping[str, FileFact]:
    asked = survey()
    return files.survey(asked.refs, asked.roots)


@operation(
    "jobs.open",
    read_before=_survey,
    io_before=_look,
    examples=({"room_id": "ROOM", "job": "JOB-001"}, {"room_id": "ROOM", "job": "JOB-001", "include_prompt": True}),
)
def open_job(tx: Tx, me: Caller, ask: OpenJob, seen: Mapping[str, FileFact]) -> JobOpened:
    """Open one job: where it stands, its newest events first, and on request its prompt, meta and artifacts."""
    job = queries.job(tx, ask.room_id, ask.job)
    claim = queries.claim(tx, job) if job.status is Status.RUNNING else None
    wanted = ask.max_events if ask.include_events else 0
    found = queries.events_before(tx, job, ask.before_seq, wanted + 1) if wanted else []
    events = fitting([JobEvent.of(event) for event in found[:wanted]], ask.max_chars)
    created = reading.event_at(tx, ask.room_id, job.created_seq)
    return JobOpened(
        job=JobView.of(job, claim.expires_at if claim else None),
        prompt=cast("str", created.data["prompt"]) if ask.include_prompt else None,
        after=cast("list[str]", created.data["after"]),
        events=events,
        heartbeat=Heartbeat.of(claim),
        evidence=_evidence(tx, job, seen),
        artifacts=[artifacts.view(job, each) for each in queries.artifacts(tx, job)] if ask.include_artifacts else None,
        meta=job.meta_data if ask.include_meta else None,
        count=len(events),
        has_more_events=len(found) > len(events),
        truncated=len(events) < min(len(found), wanted),
    )


def _evidence(tx: Tx, job: Job, seen: Mapping[str, FileFact]) -> list[EvidenceView]:
    """What was proven at the end; what speaks for a file that has changed since is stale now."""
    if job.completed_seq is None:
        return []
    ended = reading.event_at(tx, job.room_id, job.completed_seq)
    found = [as_record(EvidenceView, each) for each in cast("list[object]", ended.data.get("evidence") or [])]
    moved = any(each.kind == RefKind.FILE and _moved(each, seen) for each in found)
    return [
        structs.replace(each, state=State.STALE.value)
        if each.state == State.PROOF and (_moved(each, seen) or (moved and each.kind == RefKind.CMD))
        else each
        for each in found
    ]


def _moved(evidence: EvidenceView, seen: Mapping[str, FileFact]) -> bool:
    fact = seen.get(parse(evidence.ref).value)
    if evidence.kind != RefKind.FILE or fact is None or fact.state is State.UNREACHABLE:
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
        heartbeat=Heartbeat.of(queries.claim(tx, job) if job.status is Status.RUNNING else None),
        count=len(events),
        has_more=len(found) > len(events),
        truncated=len(events) < min(len(found), ask.limit),
        text=None,
    )
    return answer if ask.fmt == "json" else structs.replace(answer, text=lines.tail(ask.room_id, answer))


def jobs(events: Iterable[Event]) -> list[Job]:
    """Every job that these events made, in the radar's order; those that had ended come last."""
    found: dict[str, Job] = {}
    after: dict[str, list[str]] = {}
    for event in events:
        job_id = cast("str", event.data["job_id"])
        if event.kind == Kind.CREATE:
            after[job_id] = cast("list[str]", event.data["after"])
            found[job_id] = row_created(event, blocked=0)
        else:
            found[job_id] = row_after(found[job_id], event)
    counted = [replace(job, blocked=_blocked(found, after[job.job_id])) for job in found.values()]
    return sorted(counted, key=lambda job: (not job.status.active, place(job), -job.updated_at, job.number))


def _blocked(found: dict[str, Job], after: list[str]) -> int:
    return sum(found[job_id].status is not Status.DONE for job_id in after)


@operation("jobs.replay", examples=({"room_id": "ROOM", "seq": 17},))
def replay(tx: Tx, me: Caller, ask: ReplayJobs) -> Replayed:
    """Show the jobs as they stood right after one of the room's events. Leases of claims are not on record."""
    room = rooms.room(tx, ask.room_id)
    event = reading.event_at(tx, room.room_id, ask.seq)
    found = jobs(reading.until(tx, room.room_id, event.seq, kinds=tuple(Kind)))
    shown = [
        as_record(ReplayedJob, {"job": JobView.of(job), "marker": rules.marker(attention(job), stale=False)})
        for job in found[: ask.limit]
    ]
    return Replayed(room_id=room.room_id, seq=event.seq, ts=moment(event.ts), count=len(found), jobs=shown)
