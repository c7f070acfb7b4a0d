"""All that a runner says to the hub and hears from it, and nothing else does; field names of the hub end here."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from tallystick.capabilities.jobs import views
from tallystick.capabilities.jobs.contract import (
    MESSAGE_LIMIT,
    PAGE_LIMIT,
    SUMMARY_LIMIT,
    ClaimJob,
    CompleteJob,
    ExecutorName,
    OpenJob,
    ProfileName,
    ReleaseJob,
    ReportJob,
    RunnerBeat,
    ShowRadar,
)
from tallystick.capabilities.jobs.events import (
    JobCanceled,
    JobCompleted,
    JobCreated,
    JobMessaged,
    JobQuestioned,
    JobReleased,
    JobRequeued,
)
from tallystick.capabilities.jobs.runners_contract import RunnerLease
from tallystick.capabilities.rooms.contract import RoomView, ShowRoom
from tallystick.capabilities.tasks.contract import AnchorSnapshot, CardView, ShowAnchor, ShowSnapshot, TaskSnapshot
from tallystick.client import typed
from tallystick.client.typed import AnswerT, OperationCaller
from tallystick.kernel.errors import TallyError
from tallystick.kernel.operation import Ask
from tallystick.ledger.contract import Events, FollowEvents, ListEvents
from tallystick.runner.evidence import FirstHand
from tallystick.runner.rules import ClaimedJob, ExecutorNote, ManagerWord, SliceReport, Surroundings, clipped

THREAD_EVENTS = 40
TASK_CHARS, ANCHOR_CHARS, CARD_CHARS = 7_000, 2_500, 300
LAST_LEASE_MS = 1
"""Asked for when leaving: the hub makes of it the shortest lease that it gives."""
FREEING = [JobCreated.kind, JobRequeued.kind, JobReleased.kind, JobMessaged.kind, JobCompleted.kind]
"""After such an event there may be a job to claim."""
HEARD = [JobMessaged.kind, JobQuestioned.kind, JobCanceled.kind]
"""What a runner wants to know of its jobs at once."""
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

    def queued(self) -> list[views.RadarJob]:
        ask = ShowRadar(room_id=self.room_id, status="QUEUED", limit=PAGE_LIMIT)
        return self._call("jobs.radar", ask, views.Radar).jobs

    def claim(self) -> ClaimedJob | None:
        """The next job for this runner, lost ones included; None when there is nothing to do."""
        ask = ClaimJob(room_id=self.room_id, runner_id=self.runner_id, lease_ttl_ms=self._lease_ms, allow_stale=True)
        got = self._call("jobs.claim", ask, views.ClaimJobResult)
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
            began_ms_ago=int(got.event.ts) - int(got.began_at) if got.event and got.began_at else 0,
            meta=got.meta,
        )

    def report(self, job: ClaimedJob, note: ExecutorNote, more: SliceReport | None = None) -> views.Reported:
        """Put something on the job's record, and renew the claim."""
        return self._report(job, note, more or SliceReport())

    def renew(self, job: ClaimedJob, message: str) -> views.Reported:
        """Keep the claim; leaves no event."""
        return self._report(job, ExecutorNote(kind="heartbeat", message=message), SliceReport())

    def release(self, job: ClaimedJob, reason: str | None, answer_wait_s: int = 0) -> views.JobView:
        """Give the job back, so that another runner goes on where this one stops."""
        ask = ReleaseJob(
            room_id=self.room_id,
            job=job.job_id,
            runner_id=self.runner_id,
            claim_revision=job.claim_revision,
            reason=reason,
            answer_wait_s=answer_wait_s,
        )
        return self._call("jobs.release", ask, views.JobChanged).job

    def waits(self, job_id: str) -> bool:
        """Whether a job still waits for its manager's answer."""
        return self._call("jobs.open", OpenJob(room_id=self.room_id, job=job_id, max_events=0), views.JobOpened).waits

    def record(self, job: ClaimedJob) -> views.JobOpened:
        """Where earlier slices left the job, whoever ran them."""
        return self._open(job, 0)

    def complete(
        self, job: ClaimedJob, status: Literal["DONE", "FAILED"], summary: str, refs: Sequence[str], seen: FirstHand
    ) -> None:
        ask = CompleteJob(
            room_id=self.room_id,
            job=job.job_id,
            runner_id=self.runner_id,
            claim_revision=job.claim_revision,
            status=status,
            summary=clipped(summary, SUMMARY_LIMIT),
            refs=list(refs),
            observed=list(seen.commands),
            files=list(seen.files),
            branch=seen.branch,
            heard_seq=seen.heard_seq,
        )
        self._call("jobs.complete", ask, views.JobChanged)

    def room(self) -> RoomView:
        """The room's folders and what it takes for proof."""
        return self._call("rooms.show", ShowRoom(room_id=self.room_id), RoomView)

    def surroundings(self, job: ClaimedJob) -> Surroundings:
        """The thread of a job, and its task and anchor as they are now."""
        opened = self._open(job, THREAD_EVENTS)
        words = [_word(event) for event in opened.messages or ()]
        unread = [event.seq for event in opened.unread]
        return Surroundings(
            task=clipped(self._task(job.task_id), TASK_CHARS) if job.task_id else "",
            anchor=clipped(self._anchor(job.anchor_id), ANCHOR_CHARS) if job.anchor_id else "",
            thread=tuple(opened.events),
            words=words,
            read_seq=max((word.seq for word in words if word.seq not in unread), default=0),
            artifacts=[each.ref for each in opened.artifacts or ()],
        )

    def claims(self, job: ClaimedJob) -> int:
        """How many runners have lost the job since it was last put into the queue."""
        count = 0
        for event in self._open(job, PAGE_LIMIT).events:
            if event.kind in {"created", "requeued"}:
                break
            count += event.kind == "reclaimed"
        return count

    def hear(self, since_seq: int, max_wait_ms: int) -> Events:
        """Wait for what managers say to jobs, jobs ask, and cancels."""
        ask = FollowEvents(room_id=self.room_id, since_seq=since_seq, kinds=HEARD, max_wait_ms=max_wait_ms)
        return self._call("events.follow", ask, Events)

    def head(self) -> int:
        """The seq of the room's newest event."""
        return self._call("events.list", ListEvents(room_id=self.room_id, limit=1, newest=True), Events).head

    def await_work(self, since_seq: int, max_wait_ms: int) -> int:
        """Wait until a job may have become free; tells the cursor for the next wait."""
        ask = FollowEvents(room_id=self.room_id, since_seq=since_seq, kinds=FREEING, max_wait_ms=max_wait_ms)
        return self._call("events.follow", ask, Events).cursor

    def _report(self, job: ClaimedJob, note: ExecutorNote, more: SliceReport) -> views.Reported:
        ask = ReportJob(
            room_id=self.room_id,
            job=job.job_id,
            runner_id=self.runner_id,
            claim_revision=job.claim_revision,
            kind=note.kind,
            message=clipped(note.message, MESSAGE_LIMIT),
            percent=note.percent,
            refs=list(note.refs),
            slice=more.number,
            resume=more.resume,
            delivered_seq=more.delivered_seq,
            read_seq=more.read_seq,
            observed=list(more.observed),
            lease_ttl_ms=self._lease_ms,
        )
        return self._call("jobs.report", ask, views.Reported)

    def _open(self, job: ClaimedJob, events: int) -> views.JobOpened:
        ask = OpenJob(
            room_id=self.room_id, job=job.job_id, max_events=events, include_artifacts=True, include_messages=True
        )
        return self._call("jobs.open", ask, views.JobOpened)

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


def _word(event: views.JobEvent) -> ManagerWord:
    return ManagerWord(seq=event.seq, ref=event.ref, message=event.message, refs=tuple(event.refs))


def _cards(cards: Sequence[CardView]) -> list[str]:
    lines = (f"{each.card_id} {each.title}: {each.body}" for each in cards)
    return [clipped(" ".join(line.split()), CARD_CHARS) for line in lines]


class StopReason(StrEnum):
    """Why a job's work has to stop."""

    LOST = "lost"
    """Somebody else has it, or nobody needs it any more: nothing more may be written."""
    LEAVING = "leaving"
    """The runner was asked to end."""


class HeldJob:
    """One job that this runner holds. Whoever works on it is told once when that must end."""

    def __init__(self, job: ClaimedJob) -> None:
        self.job = job
        self.doing = "starting"
        self.waits = False
        """Whether it was given back to wait for an answer."""
        self._on_word: Callable[[ManagerWord], None] | None = None
        self._words: list[ManagerWord] = []
        self._on_stop: Callable[[StopReason], None] | None = None
        self._stop: StopReason | None = None
        self._lock = threading.Lock()

    @property
    def stopped(self) -> StopReason | None:
        return self._stop

    def listen(self, on_stop: Callable[[StopReason], None] | None) -> None:
        """From now on tell this one, or nobody; at once if there is something to tell already."""
        with self._lock:
            self._on_stop = on_stop
            known = self._stop
        if known and on_stop:
            on_stop(known)

    def hear(self, word: ManagerWord) -> None:
        """The manager has said something to this job."""
        with self._lock:
            self._words.append(word)
            told = self._on_word
        if told:
            told(word)

    def listen_words(self, on_word: Callable[[ManagerWord], None] | None, after_seq: int = 0) -> None:
        """From now on tell this one, or nobody, what the manager says; at once what was said after that event."""
        with self._lock:
            self._on_word = on_word
            known = [word for word in self._words if word.seq > after_seq]
        for word in known if on_word else ():
            on_word(word)  # pyright: ignore[reportOptionalCall] - known is empty without it

    def stop(self, why: StopReason) -> None:
        with self._lock:
            if self._stop is not None:
                return
            self._stop = why
            told = self._on_stop
        if told:
            told(why)


class LeaseKeeper:
    """Renews every so often, and shows at once when something changed."""

    def __init__(self, source: JobSource, every_s: float, tell: Callable[[str], None]) -> None:
        self._source, self._every_s, self._tell = source, every_s, tell
        self._jobs: dict[str, HeldJob] = {}
        self._lock = threading.Lock()
        self._due = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._keep, name="leases", daemon=True)

    def start(self) -> None:
        """Raises what the first heartbeat is refused with: a runner that nobody knows can claim nothing."""
        self._source.present(())
        self._thread.start()

    def take(self, held: HeldJob) -> None:
        with self._lock:
            self._jobs[held.job.job_id] = held
        self._due.set()

    def drop(self, held: HeldJob) -> None:
        with self._lock:
            self._jobs.pop(held.job.job_id, None)
        self._due.set()

    @property
    def held_jobs(self) -> list[HeldJob]:
        with self._lock:
            return list(self._jobs.values())

    def close(self) -> None:
        """Stop renewing and let the runner's own lease run out."""
        self._closed = True
        self._due.set()
        self._thread.join()
        self._try(lambda: self._source.present((), leaving=True))

    def _keep(self) -> None:
        due = time.monotonic() + self._every_s
        while not self._closed:
            self._due.wait(max(0.0, due - time.monotonic()))
            self._due.clear()
            if self._closed:
                return
            self.show()
            if time.monotonic() >= due:
                for held in self.held_jobs:
                    self._renew(held)
                due = time.monotonic() + self._every_s

    def show(self) -> None:
        """Say that the runner is there and what it runs."""
        self._try(lambda: self._source.present([held.job.job_id for held in self.held_jobs]))

    def _renew(self, held: HeldJob) -> None:
        if held.stopped or held not in self.held_jobs:
            return
        try:
            self._source.renew(held.job, f"runner: {held.doing}")
        except TallyError as refusal:
            if held not in self.held_jobs:
                # The job ended while the renewal was on its way.
                return
            if claim_lost(refusal):
                self._tell(f"{held.job.job_id}: {refusal.message}")
                held.stop(StopReason.LOST)
            else:
                self._tell(f"{held.job.job_id} could not be renewed: {refusal.message}")

    def _try(self, call: Callable[[], None]) -> None:
        try:
            call()
        except TallyError as wrong:
            # The next beat tries again. A lease that has run out meanwhile is fenced off by the hub, not by us.
            self._tell(f"heartbeat failed: {wrong.message}")
