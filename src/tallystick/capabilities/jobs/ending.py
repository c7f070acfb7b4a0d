"""`jobs.complete`: a job ends, and DONE only with proof. Files that refs name are read before the transaction opens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import queries, rules
from tallystick.capabilities.jobs.contract import CompleteJob
from tallystick.capabilities.jobs.model import Job, Kind, Things, number_of
from tallystick.capabilities.jobs.views import JobChanged, JobEvent, JobView
from tallystick.capabilities.rooms import queries as rooms
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import operation
from tallystick.ledger.tx import Tx
from tallystick.proof import files
from tallystick.proof.refs import Ref, RefKind, parse
from tallystick.proof.salvage import salvage
from tallystick.proof.verdict import FileFact, Own, Verdict, judge

LOOK_BACK = 200
"""How many of a job's events are searched for the first mention of a receipt."""


def roots(tx: Tx, room_id: str) -> list[Path]:
    """The room's folders on this machine."""
    return [Path(scope.root) for scope in rooms.scopes(tx, room_id) if scope.machine_id == tx.world.machine_id]


def _survey(tx: Tx, me: Caller, ask: CompleteJob) -> list[Path]:
    return roots(tx, ask.room_id)


def _look(ask: CompleteJob, survey: Callable[[], Sequence[Path]]) -> Mapping[str, FileFact]:
    """Read the files that refs name."""
    refs = salvage(ask.refs, ask.summary or "") if ask.status == "DONE" else []
    named = [text for text in refs if parse(text).kind is RefKind.FILE]
    return files.survey(named, survey()) if named else {}


@operation(
    "jobs.complete",
    writes=True,
    read_before=_survey,
    io_before=_look,
    examples=(
        {
            "room_id": "ROOM",
            "job": "JOB-001",
            "runner_id": "r1",
            "claim_revision": 1,
            "status": "DONE",
            "summary": "Parser rewritten; all tests pass.",
            "refs": ["CARD-001", "CMD: pytest -q (exit 0)"],
        },
    ),
)
def complete(tx: Tx, me: Caller, ask: CompleteJob, seen: Mapping[str, FileFact]) -> JobChanged:
    """End a job that you hold: DONE, FAILED or CANCELED, with a summary and refs to what holds the result.

    DONE needs proof: a card, note, task, artifact or file that exists, or a receipt of a command or link. Refs in the
    summary are found by themselves. Without proof it is refused; continue the job and complete it again.
    """
    tx.check_open(ask.room_id)
    job = queries.job(tx, ask.room_id, ask.job)
    rules.check_holder(job, ask.runner_id, ask.claim_revision)
    rules.merged(job.meta_data, ask.meta)
    refs = salvage(ask.refs, ask.summary or "") if ask.status == "DONE" else ask.refs
    verdict = judged(tx, job, refs, seen)
    if ask.status == "DONE":
        rules.check_proof(job, verdict)
    said = ask.status.lower() if ask.status != "DONE" else "completed"
    data: dict[str, object] = {
        "job_id": job.job_id,
        "event": said,
        "message": ask.status.lower(),
        "status": ask.status,
        "revision": job.revision + 1,
        "summary": ask.summary,
        "refs": refs,
        "meta": ask.meta,
        "runner_id": ask.runner_id,
        "claim_revision": ask.claim_revision,
        "evidence": [
            {
                "ref": each.ref,
                "kind": each.kind.value,
                "state": each.state.value,
                "sha256": each.sha256,
                "exit_code": each.exit_code,
            }
            for each in verdict.evidence
        ],
    }
    (event,) = tx.append(ask.room_id, agent_rules.principal(me.agent_id), [Draft(kind=Kind.COMPLETE, data=data)])
    return JobChanged(job=JobView.of(queries.job(tx, ask.room_id, ask.job)), event=JobEvent.of(event))


def judged(tx: Tx, job: Job, refs: Sequence[str], seen: Mapping[str, FileFact]) -> Verdict:
    """The validator's verdict on a job's refs, with what this room knows."""
    own = Own(job_id=job.job_id, task_id=job.task_id)
    said_at = _said_at(tx, job, refs) if seen else {}
    return judge(refs, own, exists=lambda ref: exists(tx, job.room_id, ref), files=seen, said_at=said_at)


def proves(tx: Tx, job: Job, refs: Sequence[str]) -> bool:
    """Whether refs of a report or message are proof. A file counts here when its hash is named: nothing is read."""
    return bool(refs) and judged(tx, job, refs, {}).proven


def exists(tx: Tx, room_id: str, ref: Ref) -> bool:
    match ref.kind:
        case RefKind.JOB | RefKind.JOB_EVENT:
            return _job_exists(tx, room_id, ref)
        case RefKind.ARTIFACT:
            owner, _, key = ref.value.partition("/")
            job = _find(tx, room_id, owner)
            return job is not None and queries.artifact(tx, job, key) is not None
        case _:
            return tx.use(Things).exists(tx, room_id, ref)


def _find(tx: Tx, room_id: str, job_id: str) -> Job | None:
    number = number_of(job_id)
    return queries.job_at(tx, room_id, number) if number is not None else None


def _job_exists(tx: Tx, room_id: str, ref: Ref) -> bool:
    job = _find(tx, room_id, ref.value)
    if job is None or ref.seq is None:
        return job is not None
    found = queries.events_after(tx, job, ref.seq - 1, 1)
    return bool(found) and found[0].seq == ref.seq


def _said_at(tx: Tx, job: Job, refs: Sequence[str]) -> dict[str, Instant]:
    """When each receipt was first reported, where that was before now."""
    wanted, said = {text.strip() for text in refs}, dict[str, Instant]()
    for event in queries.events_before(tx, job, None, LOOK_BACK):
        for ref in cast("list[str]", event.data.get("refs") or []):
            if ref in wanted:
                said[ref] = event.ts
    return said
