"""A job as the ledger tells it, its claim, and the runners that may take it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from types import MappingProxyType
from typing import Literal, TypeAlias

import msgspec

from tallystick.capabilities.jobs.events import JobStatus
from tallystick.kernel.clock import Instant, ahead

AUTO = "auto"
EXECUTORS = ("codex", "claude_code", "gemini", "command")
PROFILES = ("fast", "deep", "audit", "xhigh")
"""From the cheapest to the most thorough."""
SHORTEST_LEASE_MS, LONGEST_LEASE_MS = 1_000, 300_000
ARTIFACTS = ("report", "diff", "patch", "bench", "docs_update")
ExecutorOrder: TypeAlias = Mapping[str, Sequence[str]]
"""For each profile the executors that suit it, the best first."""
EXECUTOR_ORDER: ExecutorOrder = MappingProxyType(
    {
        "fast": ("codex", "claude_code", "gemini", "command"),
        "deep": ("claude_code", "codex", "gemini", "command"),
        "audit": ("claude_code", "codex", "gemini", "command"),
        "xhigh": ("codex", "claude_code", "gemini", "command"),
    }
)
"""What holds in a room until somebody changes it."""
RESERVED_META = frozenset(
    {"executor", "executor_profile", "policy", "expected_artifacts", "checks", "routing", "after"}
)
"""Written by the hub from a job's own fields; a report cannot change them."""

HUB_KINDS = frozenset(
    {
        *("manager", "created", "claimed", "reclaimed", "completed", "done", "failed", "canceled", "requeued"),
        *("released", "acknowledged", "waived", "routed", "artifact"),
    }
)
"""What the hub says of a job; nobody else may."""


class Priority(IntEnum):
    """In the order in which jobs are claimed."""

    HIGH = 0
    MEDIUM = 1
    LOW = 2


_JOB_ID = re.compile(r"JOB-(\d{3,18})")


def job_id(number: int) -> str:
    return f"JOB-{number:03d}"


def number_of(text: str) -> int | None:
    """The number of a job id; None when it is not one."""
    found = _JOB_ID.fullmatch(text)
    number = int(found[1]) if found else 0
    return number if found and job_id(number) == text else None


class RoutingPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How an `auto` job chooses its executor."""

    prefer: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    min_profile: str | None = None

    def data(self) -> dict[str, object]:
        return {"prefer": list(self.prefer), "forbid": list(self.forbid), "min_profile": self.min_profile}


class Needs(msgspec.Struct, frozen=True, kw_only=True):
    """What a runner must be able to do for a job."""

    executor: str
    profile: str
    policy: RoutingPolicy
    artifacts: tuple[str, ...]
    checks: tuple[str, ...] = ()
    """Commands that have to be seen to end with 0."""


class JobAttention(msgspec.Struct, frozen=True, kw_only=True):
    failed: bool
    """It failed, and nobody has said yet that this was seen."""
    has_error: bool
    needs_manager: bool
    needs_proof: bool

    @property
    def rank(self) -> int:
        """0 is most urgent, 3 is none."""
        return 0 if self.failed or self.has_error else 1 if self.needs_manager else 2 if self.needs_proof else 3


class _NeedsInMeta(msgspec.Struct, frozen=True):
    """The part of a job's meta that the hub wrote from its fields."""

    policy: RoutingPolicy = RoutingPolicy()
    expected_artifacts: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """The row of one job. The `*_seq` columns name the newest event of their sort; 0 means none yet.

    A struct, like an event: every fold makes several, at a tenth of a frozen dataclass's price.
    """

    room_id: str
    number: int
    job_id: str
    revision: int
    status: JobStatus
    priority: Priority
    blocked: int
    """How many jobs it still comes after."""
    followers: int
    """How many jobs come after it."""
    title: str
    kind: str
    task_id: str | None
    anchor_id: str | None
    executor: str
    profile: str
    runner_id: str | None
    created_by: str
    created_seq: int
    created_at: Instant
    updated_at: Instant
    completed_at: Instant | None
    completed_seq: int | None
    last_seq: int
    said_seq: int
    """The newest that is worth showing: not a runner's note about itself."""
    said_at: Instant
    question_seq: int
    manager_seq: int
    error_seq: int
    checkpoint_seq: int
    gate_seq: int
    proof_seq: int
    """Where proof that answers a proof gate came in."""
    delivered_seq: int
    """The newest message of the manager that the agent has been given."""
    read_seq: int
    """The newest that it has answered for."""
    slices: int
    """How many slices have begun since it was queued."""
    resume_seq: int
    """The event that says where the last slice left it."""
    acknowledged_seq: int
    """Where the manager said that its failure was seen."""
    meta: str
    refs: str
    summary: str | None

    @classmethod
    def of_row(cls, *, status: str, priority: int, **row: object) -> Job:
        return cls(status=JobStatus(status), priority=Priority(priority), **row)  # pyright: ignore[reportArgumentType]

    @property
    def ref(self) -> str:
        return f"{self.job_id}@{self.last_seq}"

    @property
    def meta_data(self) -> dict[str, object]:
        return msgspec.json.decode(self.meta, type=dict[str, object])

    @property
    def ref_list(self) -> list[str]:
        return msgspec.json.decode(self.refs, type=list[str])

    @property
    def needs(self) -> Needs:
        asked = msgspec.json.decode(self.meta, type=_NeedsInMeta)
        return Needs(
            executor=self.executor,
            profile=self.profile,
            policy=asked.policy,
            artifacts=asked.expected_artifacts,
            checks=asked.checks,
        )

    @property
    def ready(self) -> bool:
        """Whether it may be claimed: queued, nothing comes before it, and it waits for no answer."""
        return self.status is JobStatus.QUEUED and self.blocked == 0 and not self.attention.needs_manager

    @property
    def assigned(self) -> str | None:
        """The runner that has this job."""
        return self.runner_id if self.status is JobStatus.RUNNING else None

    @property
    def on_radar(self) -> bool:
        """Whether somebody has to look after it: it has not ended, or nobody has seen yet that it failed."""
        return self.status.active or self.attention.failed

    @property
    def message_state(self) -> MessageState | None:
        """How far the manager's newest message has come; None when there is none."""
        if not self.manager_seq:
            return None
        if self.read_seq >= self.manager_seq:
            return "read"
        return "delivered" if self.delivered_seq >= self.manager_seq else "sent"

    @property
    def attention(self) -> JobAttention:
        running = self.status is JobStatus.RUNNING
        return JobAttention(
            failed=self.status is JobStatus.FAILED and (self.completed_seq or 0) > self.acknowledged_seq,
            has_error=running and self.error_seq > self.checkpoint_seq,
            needs_manager=self.status.active and self.question_seq > self.manager_seq,
            needs_proof=running and self.gate_seq > self.proof_seq,
        )

    @property
    def place(self) -> int:
        """Where the job stands in the radar: by attention, then running before queued."""
        return self.attention.rank * 2 + (self.status is not JobStatus.RUNNING)

    @property
    def shown_seq(self) -> int:
        """The event to open first: what waits for an answer, else what is stuck anyway, else what was said last."""
        now = self.attention
        if now.needs_manager:
            return self.question_seq
        stuck = [*([self.gate_seq] if now.needs_proof else []), *([self.error_seq] if now.has_error else [])]
        return next((seq for seq in stuck if seq > self.manager_seq), stuck[0] if stuck else self.said_seq)

    def stale(self, expires_at: Instant | None, *, now: Instant) -> bool:
        return self.status is JobStatus.RUNNING and (expires_at is None or lease_over(expires_at, now))

    def stalled(self, expires_at: Instant | None, *, now: Instant, after_ms: int) -> bool:
        """Its runner renews, and nothing comes of it."""
        running = self.status is JobStatus.RUNNING and not self.stale(expires_at, now=now)
        return running and self.said_at + after_ms <= now


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a running job and until when; the newest heartbeat is here and nowhere else."""

    runner_id: str
    revision: int
    expires_at: Instant
    beat_at: Instant | None
    beat_message: str | None
    beat_percent: int | None

    def expired(self, now: Instant) -> bool:
        """Without a runner it is no lease, but until when a question waits for its answer."""
        return lease_over(self.expires_at, now) if self.runner_id else self.expires_at <= now


def lease_over(expires_at: Instant, now: Instant) -> bool:
    """One that would last longer than the longest was granted by a clock that has been set back since."""
    return expires_at <= now or ahead(expires_at - LONGEST_LEASE_MS, now)


MessageState: TypeAlias = Literal["sent", "delivered", "read"]
RunnerActivity: TypeAlias = Literal["idle", "live"]
RunnerState: TypeAlias = Literal["idle", "live", "offline"]


class Runner(msgspec.Struct, frozen=True, kw_only=True):
    runner_id: str
    status: RunnerActivity
    active_job_id: str | None
    executors: tuple[str, ...]
    profiles: tuple[str, ...]
    supports_artifacts: tuple[str, ...]
    """Empty: whatever is asked for."""
    max_parallel: int
    sandbox_policy: str | None
    meta: str
    agent_id: str
    lease_expires_at: Instant
    created_at: Instant
    updated_at: Instant
    jobs: int
    """How many jobs it has."""

    @classmethod
    def of_row(
        cls, *, executors: str, profiles: str, supports_artifacts: str, jobs: int | None, **row: object
    ) -> Runner:
        lists = (msgspec.json.decode(text, type=list[str]) for text in (executors, profiles, supports_artifacts))
        able, levels, made = (tuple(each) for each in lists)
        return cls(executors=able, profiles=levels, supports_artifacts=made, jobs=jobs or 0, **row)  # pyright: ignore[reportArgumentType]

    @property
    def meta_data(self) -> dict[str, object]:
        return msgspec.json.decode(self.meta, type=dict[str, object])

    def online(self, now: Instant) -> bool:
        return not lease_over(self.lease_expires_at, now)

    def state(self, now: Instant) -> RunnerState:
        return self.status if self.online(now) else "offline"


class JobArtifact(msgspec.Struct, frozen=True, kw_only=True):
    artifact_key: str
    seq: int
    size: int
    sha256: str


def texts(values: Sequence[str]) -> str:
    return msgspec.json.encode(list(values)).decode()
