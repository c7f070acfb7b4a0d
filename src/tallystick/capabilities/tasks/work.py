"""What tasks need to know of jobs, which stand above them: a Protocol that `jobs` answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from tallystick.capabilities.jobs.events import JobBranch, JobEvidence
from tallystick.capabilities.tasks.contract import JobRef, JobToken
from tallystick.kernel.caller import Caller
from tallystick.ledger.tx import Tx
from tallystick.proof.files import FileFact, FilesToRead


class WorkBrief(msgspec.Struct, frozen=True, kw_only=True):
    """How much delegated work there is, and whether anybody does it."""

    running: int
    queued: int
    runner: str
    job: JobToken | None
    """The one active job of a task that most needs to be seen."""
    start: str
    """What to type to get a runner, where jobs wait and none is there."""


class JobOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A job that a macro wants to have made; its fields are those of `jobs.create`."""

    title: str
    prompt: str
    kind: str
    priority: str
    executor: str
    executor_profile: str
    task: str | None
    anchor: str


class JobOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a job, for a report."""

    job_id: str
    status: str
    ref: str
    anchor_id: str | None
    summary: str | None
    refs: Sequence[str]
    evidence: Sequence[JobEvidence]
    """Each ref that was given as proof, and what is known of it."""
    proven: bool
    accepted: Literal["evidence", "claimed", "waived"] | None
    """What let a DONE job be done."""
    waiver: str
    """Who said that it needs no proof, and why."""
    branch: JobBranch | None
    missing: Sequence[str]
    """The artifacts that were asked for and are not there."""
    question: str
    """What it still asks its manager."""


class Work(Protocol):
    def brief(self, tx: Tx, room_id: str, task_id: str | None) -> WorkBrief:
        """The room's work in a few numbers, with the one job of this task to show."""
        ...

    def order(self, tx: Tx, me: Caller, room_id: str, order: JobOrder) -> JobRef:
        """Make a job."""
        ...

    def files(self, tx: Tx, room_id: str, job_ids: Sequence[str]) -> FilesToRead:
        """The files that ended jobs named as proof, to be looked at again."""
        ...

    def outcomes(
        self, tx: Tx, room_id: str, job_ids: Sequence[str], seen: Mapping[str, FileFact]
    ) -> Sequence[JobOutcome]:
        """What became of these jobs, each once, in the order of their numbers; refuses one that is not there."""
        ...
