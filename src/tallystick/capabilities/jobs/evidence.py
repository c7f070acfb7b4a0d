"""What a room knows about the refs of a job: the facts that the judge of proof is given, and its verdict as kept."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import UNSET, structs

from tallystick.capabilities.jobs import queries, rules
from tallystick.capabilities.jobs.events import (
    JobBranch,
    JobClaimed,
    JobCompleted,
    JobEvidence,
    JobMessaged,
    JobReported,
    JobStatus,
    JobWaived,
    ObservedCommand,
    job_body,
)
from tallystick.capabilities.jobs.model import Job, number_of
from tallystick.capabilities.jobs.runners_contract import FileAsk, ObservedAsk
from tallystick.capabilities.rooms import queries as rooms
from tallystick.capabilities.tasks import queries as tasks
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx
from tallystick.proof.commands import plain
from tallystick.proof.files import FileFact, FilesToRead, survey
from tallystick.proof.files import named as files_named
from tallystick.proof.refs import Ref, RefKind, parse
from tallystick.proof.verdict import Evidence, EvidenceState, Known, Observation, Own, ProofVerdict, Thing, judge

LOOK_BACK = 200
"""How many of a job's events are searched for receipts and observations."""


class WorkBegan(msgspec.Struct, frozen=True, kw_only=True):
    """When work on a job began: its first claim since it was last queued."""

    seq: int
    at: Instant


class JobRecord:
    """What a job's own events say that bears on its proof; each part is read when it is first asked for."""

    def __init__(self, tx: Tx, job: Job) -> None:
        self._tx, self._job = tx, job
        self.turns = cache(lambda: queries.turning_points(tx, job))
        self._reports = cache(lambda: queries.events_before(tx, job, None, LOOK_BACK))

    @property
    def began(self) -> WorkBegan:
        claims = [event for event in self.turns() if event.kind == JobClaimed.kind]
        if not claims:
            # A job that nobody has claimed has nothing to show yet.
            return WorkBegan(seq=queries.LATEST, at=self._tx.now)
        return WorkBegan(seq=claims[-1].seq, at=claims[-1].ts)

    @property
    def waiver(self) -> Event | None:
        """The manager's newest word that it needs no proof."""
        return next((event for event in self.turns() if event.kind == JobWaived.kind), None)

    def said_at(self, ref: str) -> Instant | None:
        """When a ref was first reported, where that was before now."""
        return self._said.get(ref)

    @property
    def _said(self) -> Mapping[str, Instant]:
        said = dict[str, Instant]()
        for event in self._reports():
            refs = job_body(event).refs
            said.update(dict.fromkeys([] if refs is UNSET else refs, event.ts))
        return said

    def observed(self, command: str) -> Observation | None:
        """The newest observation of a command, since work began, that is on record."""
        for event in self._reports():
            body = job_body(event)
            if event.seq > self.began.seq and isinstance(body, JobReported) and body.observed is not UNSET:
                for each in reversed(body.observed):
                    if plain(each.command) == command:
                        return Observation(command=each.command, exit_code=each.exit_code, at=each.at)
        return None

    @property
    def named(self) -> frozenset[str]:
        """What the manager named as evidence."""
        job = self._job
        body = reading.event_at(self._tx, job.room_id, job.proof_seq).content if job.proof_seq else None
        return frozenset(body.refs) if isinstance(body, JobMessaged) and body.refs is not UNSET else frozenset()


def observed(asked: Sequence[ObservedAsk], *, now: Instant) -> list[ObservedCommand]:
    return [ObservedCommand(command=each.command, exit_code=each.exit_code, at=now - each.ms_ago) for each in asked]


def roots(tx: Tx, room_id: str) -> list[Path]:
    """The room's folders on this machine."""
    return [Path(scope.root) for scope in rooms.scopes(tx, room_id) if scope.machine_id == tx.world.machine_id]


def where(tx: Tx, me: Caller, room_id: str) -> FilesToRead:
    """The folders in which files that somebody names are looked for."""
    return FilesToRead(roots=roots(tx, room_id), tracked_only=me.by_token)


def read_files(
    refs: Sequence[str], where: Callable[[], FilesToRead], *, known: Container[str] = ()
) -> Mapping[str, FileFact]:
    """The files that refs name; the folders are looked up only where there is one to read."""
    unread = [f"FILE: {path}" for path in files_named(refs) if path not in known]
    return survey(structs.replace(where(), refs=unread)) if unread else {}


def measured(asked: Sequence[FileAsk], runner_id: str, *, now: Instant) -> Mapping[str, FileFact]:
    """What a runner measured where the job worked."""
    why = f"measured by {runner_id}"
    return {each.path: FileFact(sha256=each.sha256, changed_at=now - each.ms_ago, why=why) for each in asked}


def judged(
    tx: Tx,
    job: Job,
    refs: Sequence[str],
    *,
    files: Mapping[str, FileFact] | None = None,
    seen: Sequence[ObservedCommand] = (),
    named: frozenset[str] = frozenset(),
) -> ProofVerdict:
    """The judge's verdict on a job's refs, with what this room knows."""
    record = JobRecord(tx, job)
    now = {plain(each.command): each for each in seen}

    def observation(command: str) -> Observation | None:
        found = now.get(command)
        return (
            Observation(command=command, exit_code=found.exit_code, at=found.at) if found else record.observed(command)
        )

    known = Known(
        found=lambda ref: _thing(tx, job, ref, record),
        files=files or {},
        observed=observation,
        said_at=record.said_at,
        claims_suffice=rooms.room(tx, job.room_id).policy.proof == "claimed",
        named=named or record.named,
    )
    began_at = record.began.at if files else 0
    checks = tuple(job.needs.checks)
    return judge(refs, Own(job_id=job.job_id, task_id=job.task_id, began_at=began_at, checks=checks), known)


def proves(tx: Tx, job: Job, refs: Sequence[str], seen: Sequence[ObservedCommand] = ()) -> bool:
    """Whether refs of a report are proof. No file is read for it."""
    return bool(refs) and judged(tx, job, refs, seen=seen).proven


def vouches(tx: Tx, job: Job, refs: Sequence[str], files: Mapping[str, FileFact]) -> bool:
    """Whether a manager named evidence: something that exists and may be this job's."""
    return bool(refs) and judged(tx, job, refs, files=files, named=frozenset(refs)).proven


def _thing(tx: Tx, job: Job, ref: Ref, record: JobRecord) -> Thing | None:
    """A thing of ours that exists; it belongs to the job when it was written since work on it began."""
    match ref.kind:
        case RefKind.JOB | RefKind.JOB_EVENT:
            return Thing() if _job_exists(tx, job.room_id, ref) else None
        case RefKind.ARTIFACT:
            return _artifact(tx, job.room_id, ref, record)
        case RefKind.ANCHOR:
            return Thing() if tasks.find_anchor(tx, job.room_id, ref.value) else None
        case _:
            seq = tasks.written_seq(tx, job.room_id, ref)
            return Thing(belongs=seq > record.began.seq) if seq is not None else None


def _artifact(tx: Tx, room_id: str, ref: Ref, record: JobRecord) -> Thing | None:
    owner, _, key = ref.value.partition("/")
    job = _find(tx, room_id, owner)
    found = queries.artifact(tx, job, key) if job else None
    return Thing(sha256=found.sha256, belongs=found.seq > record.began.seq) if found else None


def _find(tx: Tx, room_id: str, job_id: str) -> Job | None:
    number = number_of(job_id)
    return queries.job_at(tx, room_id, number) if number is not None else None


def _job_exists(tx: Tx, room_id: str, ref: Ref) -> bool:
    job = _find(tx, room_id, ref.value)
    if job is None or ref.seq is None:
        return job is not None
    found = queries.events_after(tx, job, ref.seq - 1, 1)
    return bool(found) and found[0].seq == ref.seq


def missing_artifacts(tx: Tx, job: Job, found: Sequence[JobEvidence], branch: JobBranch | None) -> list[str]:
    """Which of the artifacts that were asked for did not come of the job."""
    expected = job.needs.artifacts
    if not expected:
        return []
    keys = [each.artifact_key for each in queries.artifacts(tx, job)]
    files = [parse(each.ref).value for each in found if each.proof and each.kind == RefKind.FILE]
    return rules.missing_artifacts(expected, keys, files, branch)


def recorded(found: Iterable[Evidence], files: Sequence[FileAsk]) -> list[JobEvidence]:
    away = {each.path for each in files if each.elsewhere}
    return [
        JobEvidence(
            ref=each.ref,
            kind=each.kind.value,
            state=each.state.value,
            sha256=each.sha256,
            exit_code=each.exit_code,
            proves=each.proves,
            why=each.why or UNSET,
            elsewhere=True if each.kind is RefKind.FILE and parse(each.ref).value in away else UNSET,
        )
        for each in found
    ]


def completion(tx: Tx, job: Job) -> JobCompleted | None:
    """The event with which its runner ended it."""
    body = reading.event_at(tx, job.room_id, job.completed_seq).content if job.completed_seq else None
    return body if isinstance(body, JobCompleted) else None


def to_compare(tx: Tx, room_id: str, jobs: Sequence[Job]) -> FilesToRead:
    """The files that ended jobs named, where they lie in the room's own folder."""
    ended = [body for job in jobs if (body := completion(tx, job))]
    named = [each.ref for body in ended for each in body.evidence if each.kind == RefKind.FILE and not each.elsewhere]
    return FilesToRead(refs=named, roots=roots(tx, room_id) if named else [])


class JobProof(msgspec.Struct, frozen=True, kw_only=True):
    """All that is known of a job's proof: one answer for everybody who shows it."""

    evidence: list[JobEvidence]
    accepted: Literal["evidence", "claimed", "waived"] | None
    waiver: Event | None
    branch: JobBranch | None
    missing: list[str]
    """The artifacts that were asked for and are not there."""

    @property
    def proven(self) -> bool:
        return any(each.proof for each in self.evidence)


def proof(tx: Tx, job: Job, seen: Mapping[str, FileFact]) -> JobProof:
    """What was proven at the end, and whether it still is: what speaks for a file that has changed since is stale."""
    ended = completion(tx, job)
    found = ended.evidence if ended else []
    branch = (ended.branch if ended else UNSET) or None
    moved = any(_moved(each, seen) for each in found)
    return JobProof(
        evidence=[_stale(each) if each.proof and _outdated(each, seen, moved=moved) else each for each in found],
        accepted=_accepted(ended) if ended and job.status is JobStatus.DONE else None,
        waiver=JobRecord(tx, job).waiver,
        branch=branch,
        missing=missing_artifacts(tx, job, found, branch),
    )


def _accepted(ended: JobCompleted) -> Literal["evidence", "claimed", "waived"]:
    match ended.accepted:
        case "claimed" | "waived" as other:
            return other
        case _:
            return "evidence"


def _outdated(evidence: JobEvidence, seen: Mapping[str, FileFact], *, moved: bool) -> bool:
    return _moved(evidence, seen) or (moved and evidence.kind == RefKind.CMD)


def _stale(evidence: JobEvidence) -> JobEvidence:
    if evidence.proves is UNSET:
        return structs.replace(evidence, state=EvidenceState.STALE.value)
    why = "changed since" if evidence.kind == RefKind.FILE else "a file that it speaks for changed afterwards"
    return structs.replace(evidence, state=EvidenceState.STALE.value, proves=False, why=why)


def _moved(evidence: JobEvidence, seen: Mapping[str, FileFact]) -> bool:
    fact = seen.get(parse(evidence.ref).value)
    if evidence.kind != RefKind.FILE or evidence.elsewhere or fact is None or not fact.reachable:
        return False
    return fact.sha256 is None or not fact.sha256.startswith(evidence.sha256 or "")
