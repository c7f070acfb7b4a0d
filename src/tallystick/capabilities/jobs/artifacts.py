"""`jobs.artifact.*`: texts that belong to a job, such as a report or a patch, kept on the ledger and read in pages."""

from __future__ import annotations

import hashlib

from tallystick.capabilities.agents import rules as agent_rules
from tallystick.capabilities.jobs import queries, rules
from tallystick.capabilities.jobs.contract import ARTIFACTS_LIMIT, GetArtifact, PutArtifact
from tallystick.capabilities.jobs.errors import TooManyArtifacts, UnknownArtifact
from tallystick.capabilities.jobs.events import JobArtifactPut
from tallystick.capabilities.jobs.model import Job, JobArtifact
from tallystick.capabilities.jobs.views import ArtifactContent, ArtifactView
from tallystick.kernel.caller import Caller
from tallystick.kernel.envelope import Draft
from tallystick.kernel.operation import Reach, operation
from tallystick.ledger import reading
from tallystick.ledger.tx import Tx


def view(job: Job, artifact: JobArtifact) -> ArtifactView:
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
def put(tx: Tx, me: Caller, ask: PutArtifact, sha256: str) -> ArtifactView:
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
    return view(job, known)


@operation(
    "jobs.artifact.get", reach=Reach.READ, examples=({"room_id": "ROOM", "job": "JOB-001", "artifact_key": "report"},)
)
def get(tx: Tx, me: Caller, ask: GetArtifact) -> ArtifactContent:
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
        artifact=view(job, found),
        content=content[ask.offset : end],
        offset=ask.offset,
        next_offset=end if end < len(content) else None,
    )
