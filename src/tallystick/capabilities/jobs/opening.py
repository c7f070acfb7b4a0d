"""What `open` shows for a job, one of its events, an artifact or a runner."""

from __future__ import annotations

from tallystick.capabilities.jobs import artifacts, queries
from tallystick.capabilities.jobs.artifacts import GetArtifact
from tallystick.capabilities.jobs.contract import OpenJob
from tallystick.capabilities.jobs.errors import UnknownJob, UnknownRunner
from tallystick.capabilities.jobs.reading import open_job
from tallystick.capabilities.jobs.runner_contract import RunnerView
from tallystick.capabilities.jobs.views import JobEvent
from tallystick.kernel.caller import Caller
from tallystick.ledger.capability import Opened
from tallystick.ledger.tx import Tx
from tallystick.proof.refs import RefKind, parse

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
            found = open_job.run(tx, me, ask, {})
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
