"""A job and its surroundings to test with."""

from __future__ import annotations

from tallystick.runner.model import Entry, Job, Slice

JOB = Job(
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
SLICE = Slice(number=2, seconds=1800)


def entry(seq: int, kind: str, message: str, *refs: str) -> Entry:
    return Entry(seq=seq, kind=kind, message=message, refs=refs)
