"""All that a runner says to the hub and hears from it, and nothing else does; field names of the hub end here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, cast

from tallystick.capabilities.jobs.contract import MESSAGE_LIMIT, PAGE_LIMIT, SHORTEST_LEASE_MS, SUMMARY_LIMIT
from tallystick.kernel.errors import TallyError
from tallystick.runner.answer import ExecutorNote, clipped
from tallystick.runner.model import Entry, Job, Surroundings

THREAD_EVENTS = 40
CLAIM_EVENTS = PAGE_LIMIT
TASK_CHARS, ANCHOR_CHARS, CARD_CHARS = 7_000, 2_500, 300
LAST_LEASE_MS = SHORTEST_LEASE_MS

Data: TypeAlias = dict[str, object]

LOST = frozenset({"claim_mismatch", "job_not_running", "job_canceled", "unknown_job", "room_closed", "room_not_found"})
"""Refusals which mean that a job is no longer this runner's."""


class Calls(Protocol):
    """Any way to call an operation."""

    def call(self, operation: str, /, **given: object) -> Data: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Abilities:
    """What a runner says it can do."""

    executors: tuple[str, ...]
    profiles: tuple[str, ...]
    max_parallel: int
    sandbox_policy: str
    meta: Mapping[str, object] = field(default_factory=dict[str, object])


def claim_lost(refusal: TallyError) -> bool:
    return refusal.code in LOST


class JobSource:
    def __init__(self, calls: Calls, room_id: str, runner_id: str, abilities: Abilities, lease_ms: int) -> None:
        self._calls = calls
        self.room_id, self.runner_id = room_id, runner_id
        self._abilities, self._lease_ms = abilities, lease_ms

    def present(self, running: Sequence[str], *, leaving: bool = False) -> None:
        """Renew the runner's own lease; one that leaves lets it run out."""
        able = self._abilities
        status: Literal["live", "idle"] = "live" if running else "idle"
        self._calls.call(
            "runners.heartbeat",
            room_id=self.room_id,
            runner_id=self.runner_id,
            status=status,
            active_job_id=running[0] if running else None,
            lease_ttl_ms=LAST_LEASE_MS if leaving else self._lease_ms,
            executors=list(able.executors),
            profiles=list(able.profiles),
            max_parallel=able.max_parallel,
            sandbox_policy=able.sandbox_policy,
            meta=dict(able.meta),
        )

    def claim(self) -> Job | None:
        """The next job for this runner, lost ones included; None when there is nothing to do."""
        got = self._calls.call(
            "jobs.claim",
            room_id=self.room_id,
            runner_id=self.runner_id,
            lease_ttl_ms=self._lease_ms,
            allow_stale=True,
        )
        if got["job"] is None:
            return None
        row, event = cast("Data", got["job"]), cast("Data", got["event"])
        return Job(
            room_id=self.room_id,
            job_id=cast("str", row["job_id"]),
            claim_revision=cast("int", got["claim_revision"]),
            title=cast("str", row["title"]),
            kind=cast("str", row["kind"]),
            priority=cast("str", row["priority"]),
            prompt=cast("str", got["prompt"]),
            executor=cast("str", got["executor"]),
            profile=cast("str", row["executor_profile"]),
            task_id=cast("str | None", row["task"]),
            anchor_id=cast("str | None", row["anchor"]),
            reclaimed=event["kind"] == "reclaimed",
            meta=cast("Data", got["meta"]),
        )

    def report(self, job: Job, note: ExecutorNote) -> int | None:
        """Put something on the job's record, and renew the claim; the seq of its event, if it left one."""
        got = self._calls.call(
            "jobs.report",
            **self._holder(job),
            kind=note.kind,
            message=clipped(note.message, MESSAGE_LIMIT),
            percent=note.percent,
            refs=list(note.refs),
            lease_ttl_ms=self._lease_ms,
        )
        return cast("int", cast("Data", got["event"])["seq"]) if got["event"] else None

    def renew(self, job: Job, message: str) -> None:
        """Keep the claim; leaves no event."""
        self.report(job, ExecutorNote(kind="heartbeat", message=message))

    def give_back(self, job: Job, message: str) -> None:
        """Let the claim run out at once, so that another runner goes on where this one stops."""
        beat: Data = {"kind": "heartbeat", "message": message, "lease_ttl_ms": LAST_LEASE_MS}
        self._calls.call("jobs.report", **self._holder(job), **beat)

    def complete(self, job: Job, status: str, summary: str, refs: Sequence[str]) -> None:
        self._calls.call(
            "jobs.complete",
            **self._holder(job),
            status=status,
            summary=clipped(summary, SUMMARY_LIMIT),
            refs=list(refs),
        )

    def surroundings(self, job: Job) -> Surroundings:
        """The thread of a job, and its task and anchor as they are now."""
        got = self._open(job, THREAD_EVENTS)
        return Surroundings(
            task=clipped(self._task(job.task_id), TASK_CHARS) if job.task_id else "",
            anchor=clipped(self._anchor(job.anchor_id), ANCHOR_CHARS) if job.anchor_id else "",
            thread=tuple(_entry(event) for event in cast("list[Data]", got["events"])),
        )

    def claims(self, job: Job) -> int:
        """How often the job has been claimed since it was last put into the queue."""
        count = 0
        for event in cast("list[Data]", self._open(job, CLAIM_EVENTS)["events"]):
            if event["kind"] in {"created", "requeued"}:
                break
            count += event["kind"] in {"claimed", "reclaimed"}
        return count

    def await_manager(self, job: Job, after_seq: int, max_wait_ms: int) -> tuple[int, bool]:
        """Wait for something new on the job's record; tells how far it was read, and whether the manager spoke."""
        got = self._calls.call(
            "jobs.wait",
            room_id=self.room_id,
            job=job.job_id,
            until="event",
            after_seq=after_seq,
            max_wait_ms=max_wait_ms,
        )
        spoke = any(event["kind"] == "manager" for event in cast("list[Data]", got["events"]))
        return cast("int", got["next_after_seq"]), spoke

    def head(self) -> int:
        """The seq of the room's newest event."""
        return cast("int", self._calls.call("events.list", room_id=self.room_id, limit=1, newest=True)["head"])

    def await_work(self, since_seq: int, max_wait_ms: int) -> int:
        """Wait until a job may have become free; tells the cursor for the next wait."""
        got = self._calls.call(
            "events.follow",
            room_id=self.room_id,
            since_seq=since_seq,
            kinds=["x.tally.job.create", "x.tally.job.requeue", "x.tally.job.complete"],
            max_wait_ms=max_wait_ms,
        )
        return cast("int", got["cursor"])

    def _open(self, job: Job, events: int) -> Data:
        return self._calls.call("jobs.open", room_id=self.room_id, job=job.job_id, max_events=events)

    def _task(self, task_id: str) -> str:
        got = self._calls.call("tasks.snapshot", room_id=self.room_id, task=task_id)
        task = cast("Data", got["task"])
        steps = (f"step: {each['text']}" for each in cast("list[Data]", task["steps"]) if not each["done"])
        return "\n".join([str(got["text"]), *steps, *_cards(got), "", str(task["description"])])

    def _anchor(self, anchor_id: str) -> str:
        got = self._calls.call("anchors.show", room_id=self.room_id, anchor=anchor_id)
        tasks = (f"{each['task_id']} ({each['status']}) {each['title']}" for each in cast("list[Data]", got["tasks"]))
        return "\n".join([f"{anchor_id} {cast('Data', got['anchor'])['title']}", *tasks, *_cards(got)])

    def _holder(self, job: Job) -> Data:
        return {
            "room_id": self.room_id,
            "job": job.job_id,
            "runner_id": self.runner_id,
            "claim_revision": job.claim_revision,
        }


def _cards(got: Data) -> list[str]:
    rows = cast("list[Data]", got["cards"])
    lines = (f"{each['card_id']} {each['title']}: {each['body']}" for each in rows)
    return [clipped(" ".join(line.split()), CARD_CHARS) for line in lines]


def _entry(event: Data) -> Entry:
    return Entry(
        seq=cast("int", event["seq"]),
        kind=cast("str", event["kind"]),
        message=cast("str", event["message"]),
        refs=tuple(cast("list[str]", event["refs"])),
    )
