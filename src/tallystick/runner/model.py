"""A job as a runner sees it, and what is known around it when a slice begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tallystick.capabilities.jobs.views import JobEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedJob:
    """A claimed job, as plain programs get it on stdin; `claim_revision` fences everything that is written about it."""

    room_id: str
    job_id: str
    claim_revision: int
    title: str
    kind: str
    priority: str
    prompt: str
    executor: str
    """The one it was routed to, or asked for; `auto` leaves the choice to the runner."""
    profile: str
    task_id: str | None = None
    anchor_id: str | None = None
    reclaimed: bool = False
    """Whether another claim on it ran out before."""
    meta: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def model(self) -> str | None:
        found = self.meta.get("executor_model")
        return found if isinstance(found, str) and found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the hub tells about a job at the start of a slice."""

    task: str = ""
    anchor: str = ""
    thread: Sequence[JobEvent] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What earlier slices left for the next one."""

    summary: str = ""
    refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    number: int
    seconds: int
    """After so long the executor should have answered; what is over its grace is killed."""
