"""All that a runner says to the hub and hears from it, and nothing else does; field names of the hub end here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tallystick.capabilities.jobs.contract import (
    MESSAGE_LIMIT,
    PAGE_LIMIT,
    SHORTEST_LEASE_MS,
    SUMMARY_LIMIT,
    ClaimJob,
    CompleteJob,
    ExecutorName,
    OpenJob,
    ProfileName,
    ReportJob,
    RunnerBeat,
    WaitJob,
)
from tallystick.capabilities.jobs.events import JobCompleted, JobCreated, JobRequeued
from tallystick.capabilities.jobs.views import ClaimJobResult, JobChanged, JobOpened, JobWaited, Reported, RunnerLease
from tallystick.capabilities.tasks.contract import AnchorSnapshot, CardView, ShowAnchor, ShowSnapshot, TaskSnapshot
from tallystick.client import typed
from tallystick.client.typed import AnswerT, OperationCaller
from tallystick.kernel.errors import TallyError
from tallystick.kernel.operation import Ask
from tallystick.ledger.contract import Events, FollowEvents, ListEvents
from tallystick.runner.answer import ExecutorNote, clipped
from tallystick.runner.model import ClaimedJob, Surroundings

THREAD_EVENTS = 40
CLAIM_EVENTS = PAGE_LIMIT
TASK_CHARS, ANCHOR_CHARS, CARD_CHARS = 7_000, 2_500, 300
LAST_LEASE_MS = SHORTEST_LEASE_MS
FREEING = [JobCreated.kind, JobRequeued.kind, JobCompleted.kind]
"""After such an event there may be a job to claim."""

LOST = frozenset({"claim_mismatch", "job_not_running", "job_canceled", "unknown_job", "room_closed", "room_not_found"})
"""Refusals which mean that a job is no longer this runner's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a runner says it can do."""

    executors: tuple[ExecutorName, ...]
    profiles: tuple[ProfileName, ...]
    max_parallel: int
    sandbox_policy: str
    meta: Mapping[str, object] = field(default_factory=dict[str, object])


def claim_lost(refusal: TallyError) -> bool:
    return refusal.code in LOST


class JobSource:
    def __init__(
        self, calls: OperationCaller, room_id: str, runner_id: str, abilities: Abilities, lease_ms: int
    ) -> None:
        self._calls = calls
        self.room_id, self.runner_id = room_id, runner_id
        self._abilities, self._lease_ms = abilities, lease_ms

    def present(self, running: Sequence[str], *, leaving: bool = False) -> None:
        """Renew the runner's own lease; one that leaves lets it run out."""
        able = self._abilities
        beat = RunnerBeat(
            room_id=self.room_id,
            runner_id=self.runner_id,
            status="live" if running else "idle",
            active_job_id=running[0] if running else None,
            lease_ttl_ms=LAST_LEASE_MS if leaving else self._lease_ms,
            executors=able.executors,
            profiles=able.profiles,
            max_parallel=able.max_parallel,
            sandbox_policy=able.sandbox_policy,
            meta=dict(able.meta),
        )
        self._call("runners.heartbeat", beat, RunnerLease)

    def claim(self) -> ClaimedJob | None:
        """The next job for this runner, lost ones included; None when there is nothing to do."""
        ask = ClaimJob(room_id=self.room_id, runner_id=self.runner_id, lease_ttl_ms=self._lease_ms, allow_stale=True)
        got = self._call("jobs.claim", ask, ClaimJobResult)
        job = got.job
        if job is None or got.claim_revision is None:
            return None
        return ClaimedJob(
            room_id=self.room_id,
            job_id=job.job_id,
            claim_revision=got.claim_revision,
            title=job.title,
            kind=job.kind,
            priority=job.priority,
            prompt=got.prompt or "",
            executor=got.executor or job.executor,
            profile=job.executor_profile,
            task_id=job.task,
            anchor_id=job.anchor,
            reclaimed=got.event is not None and got.event.kind == "reclaimed",
            meta=got.meta,
        )

    def report(self, job: ClaimedJob, note: ExecutorNote) -> int | None:
        """Put something on the job's record, and renew the claim; the seq of its event, if it left one."""
        got = self._report(job, note, self._lease_ms)
        return got.event.seq if got.event else None

    def renew(self, job: ClaimedJob, message: str) -> None:
        """Keep the claim; leaves no event."""
        self._report(job, ExecutorNote(kind="heartbeat", message=message), self._lease_ms)

    def give_back(self, job: ClaimedJob, message: str) -> None:
        """Let the claim run out at once, so that another runner goes on where this one stops."""
        self._report(job, ExecutorNote(kind="heartbeat", message=message), LAST_LEASE_MS)

    def complete(self, job: ClaimedJob, status: Literal["DONE", "FAILED"], summary: str, refs: Sequence[str]) -> None:
        ask = CompleteJob(
            room_id=self.room_id,
            job=job.job_id,
            runner_id=self.runner_id,
            claim_revision=job.claim_revision,
            status=status,
            summary=clipped(summary, SUMMARY_LIMIT),
            refs=list(refs),
        )
        self._call("jobs.complete", ask, JobChanged)

    def surroundings(self, job: ClaimedJob) -> Surroundings:
        """The thread of a job, and its task and anchor as they are now."""
        return Surroundings(
            task=clipped(self._task(job.task_id), TASK_CHARS) if job.task_id else "",
            anchor=clipped(self._anchor(job.anchor_id), ANCHOR_CHARS) if job.anchor_id else "",
            thread=tuple(self._open(job, THREAD_EVENTS).events),
        )

    def claims(self, job: ClaimedJob) -> int:
        """How often the job has been claimed since it was last put into the queue."""
        count = 0
        for event in self._open(job, CLAIM_EVENTS).events:
            if event.kind in {"created", "requeued"}:
                break
            count += event.kind in {"claimed", "reclaimed"}
        return count

    def await_manager(self, job: ClaimedJob, after_seq: int, max_wait_ms: int) -> tuple[int, bool]:
        """Wait for something new on the job's record; tells how far it was read, and whether the manager spoke."""
        ask = WaitJob(room_id=self.room_id, job=job.job_id, until="event", after_seq=after_seq, max_wait_ms=max_wait_ms)
        got = self._call("jobs.wait", ask, JobWaited)
        return got.next_after_seq, any(event.kind == "manager" for event in got.events)

    def head(self) -> int:
        """The seq of the room's newest event."""
        return self._call("events.list", ListEvents(room_id=self.room_id, limit=1, newest=True), Events).head

    def await_work(self, since_seq: int, max_wait_ms: int) -> int:
        """Wait until a job may have become free; tells the cursor for the next wait."""
        ask = FollowEvents(room_id=self.room_id, since_seq=since_seq, kinds=FREEING, max_wait_ms=max_wait_ms)
        return self._call("events.follow", ask, Events).cursor

    def _report(self, job: ClaimedJob, note: ExecutorNote, lease_ttl_ms: int) -> Reported:
        ask = ReportJob(
            room_id=self.room_id,
            job=job.job_id,
            runner_id=self.runner_id,
            claim_revision=job.claim_revision,
            kind=note.kind,
            message=clipped(note.message, MESSAGE_LIMIT),
            percent=note.percent,
            refs=list(note.refs),
            lease_ttl_ms=lease_ttl_ms,
        )
        return self._call("jobs.report", ask, Reported)

    def _open(self, job: ClaimedJob, events: int) -> JobOpened:
        return self._call("jobs.open", OpenJob(room_id=self.room_id, job=job.job_id, max_events=events), JobOpened)

    def _task(self, task_id: str) -> str:
        got = self._call("tasks.snapshot", ShowSnapshot(room_id=self.room_id, task=task_id), TaskSnapshot)
        steps = [f"step: {each.text}" for each in got.task.steps if not each.done] if got.task else []
        return "\n".join([got.text, *steps, *_cards(got.cards), "", got.task.description if got.task else ""])

    def _anchor(self, anchor_id: str) -> str:
        got = self._call("anchors.show", ShowAnchor(room_id=self.room_id, anchor=anchor_id), AnchorSnapshot)
        tasks = (f"{each.task_id} ({each.status}) {each.title}" for each in got.tasks)
        return "\n".join([f"{anchor_id} {got.anchor.title}", *tasks, *_cards(got.cards)])

    def _call(self, operation: str, ask: Ask, answer: type[AnswerT]) -> AnswerT:
        return typed.call(self._calls, operation, ask, answer)


def _cards(cards: Sequence[CardView]) -> list[str]:
    lines = (f"{each.card_id} {each.title}: {each.body}" for each in cards)
    return [clipped(" ".join(line.split()), CARD_CHARS) for line in lines]
