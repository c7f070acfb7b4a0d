"""A job and its surroundings to test with."""

from __future__ import annotations

from tallystick.capabilities.jobs.views import JobEvent
from tallystick.kernel.operation import Moment
from tallystick.runner.rules import ClaimedJob, Slice

JOB = ClaimedJob(
    room_id="room-1",
    job_id="JOB-007",
    claim_revision=3,
    title="Count the sheep",
    kind="codex_cli",
    priority="MEDIUM",
    prompt="Count them twice.",
    executor="codex",
    profile="fast",
)
SLICE = Slice(number=2, runner_id="r1", seconds=1800)


def entry(seq: int, kind: str, message: str, *refs: str) -> JobEvent:
    return JobEvent(
        seq=seq,
        job_id="JOB-007",
        ref=f"JOB-007@{seq}",
        ts=Moment(0),
        kind=kind,
        by="boss",
        message=message,
        percent=None,
        refs=list(refs),
        meta={},
    )
