"""What runners tell and are told: their evidence of a job's work at first hand, and the answers of `runners.*`.

A runner tells of commands that it saw end, files that it measured, and the branch that it left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta

from tallystick.capabilities.jobs.model import Runner, RunnerState
from tallystick.kernel.clock import Instant
from tallystick.kernel.operation import Answer, Ask, JsonObject, Moment, as_record
from tallystick.ledger.contract import SEQ_LIMIT, Text
from tallystick.proof.refs import REF_LIMIT, REFS_LIMIT

COMMAND_LIMIT = 2_000
BRANCH_LIMIT = 200


class ObservedAsk(Ask):
    command: Annotated[Text, Meta(min_length=1, max_length=COMMAND_LIMIT, description="As it was run.")]
    exit_code: Annotated[int, Meta(ge=-SEQ_LIMIT, le=SEQ_LIMIT, description="The status it ended with.")]
    ms_ago: Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="How long ago it ended.")] = 0


class FileAsk(Ask):
    path: Annotated[Text, Meta(min_length=1, max_length=REF_LIMIT, description="From the room's root.")]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z", description="Of its content.")]
    ms_ago: Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="How long ago it last changed.")]
    elsewhere: Annotated[bool, Meta(description="Whether it lies outside the room's own folder.")] = False


Branch = Annotated[Text, Meta(min_length=1, max_length=BRANCH_LIMIT, description="Its name.")]
Count = Annotated[int, Meta(ge=0, le=SEQ_LIMIT, description="How many.")]


class ConflictAsk(Ask):
    branch: Branch
    paths: Annotated[
        list[Annotated[Text, Meta(max_length=1000)]], Meta(max_length=100, description="The files that conflict.")
    ]


class BranchAsk(Ask):
    name: Branch
    base: Annotated[Text, Meta(max_length=BRANCH_LIMIT, description="The branch it began from.")]
    commit: Annotated[str, Meta(pattern=r"^[0-9a-f]{40,64}\Z", description="Where it ends.")]
    commits: Count = 0
    files: Count = 0
    insertions: Count = 0
    deletions: Count = 0
    uncommitted: Count = 0
    conflicts: Annotated[list[ConflictAsk], Meta(max_length=100, description="What it cannot be merged with.")] = []


Observed = Annotated[
    list[ObservedAsk],
    Meta(max_length=REFS_LIMIT, description="Commands that you saw end yourself, the newest last; for runners."),
]


class RunnerView(Answer):
    runner_id: str
    state: RunnerState
    """From its lease alone: offline when that has run out."""
    status: Literal["idle", "live"]
    """What it last said."""
    active_job_id: str | None
    executors: list[str]
    profiles: list[str]
    supports_artifacts: list[str]
    max_parallel: int
    sandbox_policy: str | None
    jobs: int
    """How many jobs it has."""
    job_ids: list[str]
    """Those."""
    meta: JsonObject
    """What it says of itself, such as host, pid and folder."""
    agent_id: str
    lease_expires_at: Moment
    created_at: Moment
    updated_at: Moment

    @classmethod
    def of(cls, runner: Runner, job_ids: Sequence[str], now: Instant) -> RunnerView:
        given = [name for name in cls.__struct_fields__ if name not in {"state", "job_ids", "meta"}]
        return as_record(
            cls,
            {
                **{name: getattr(runner, name) for name in given},
                "job_ids": list(job_ids),
                "meta": runner.meta_data,
                "executors": list(runner.executors),
                "profiles": list(runner.profiles),
                "supports_artifacts": list(runner.supports_artifacts),
                "state": runner.state(now),
            },
        )


class RunnerLease(Answer):
    lease: RunnerView


class Runners(Answer):
    runners: list[RunnerView]
    """Those that are there first, then the most recently lost."""
    count: int
    has_more: bool


class ExecutorsView(Answer):
    """One row of the table that `auto` chooses by."""

    profile: str
    executors: list[str]
    """Those that suit it, the best first."""
    changed: bool
    """Whether this room has changed it."""


class ExecutorTable(Answer):
    profiles: list[ExecutorsView]
