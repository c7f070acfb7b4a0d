"""What tasks need to know of jobs, which stand above them: a Protocol that `jobs` answers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from tallystick.kernel.caller import Caller
from tallystick.ledger.tx import Tx


class JobLine(Protocol):
    """A job as a task sees it."""

    @property
    def job_id(self) -> str: ...
    @property
    def status(self) -> StrEnum: ...
    @property
    def title(self) -> str: ...
    @property
    def ref(self) -> str: ...


class Inbox(Protocol):
    """How much delegated work there is, and whether anybody does it."""

    @property
    def running(self) -> int: ...
    @property
    def queued(self) -> int: ...
    @property
    def runner(self) -> str: ...


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """A job that a macro wants to have made."""

    title: str
    prompt: str
    kind: str
    priority: str
    executor: str
    profile: str
    task: str | None
    anchor: str


class Outcome(JobLine, Protocol):
    """What became of a job, for a report."""

    @property
    def anchor_id(self) -> str | None: ...
    @property
    def summary(self) -> str | None: ...
    @property
    def refs(self) -> Sequence[str]: ...
    @property
    def evidence(self) -> Sequence[tuple[str, str]]:
        """Each ref that was given as proof, and what was found out about it."""
        ...

    @property
    def proven(self) -> bool: ...
    @property
    def question(self) -> str:
        """What it still asks its manager."""
        ...


class Work(Protocol):
    """What tasks need of jobs; answered by `jobs`, bound by the hub."""

    def inbox(self, tx: Tx, room_id: str) -> Inbox: ...

    def active(self, tx: Tx, room_id: str, task_id: str) -> JobLine | None:
        """The one job of a task that most needs to be seen."""
        ...

    def order(self, tx: Tx, me: Caller, room_id: str, order: Order) -> JobLine:
        """Make a job."""
        ...

    def outcomes(self, tx: Tx, room_id: str, job_ids: Sequence[str]) -> Sequence[Outcome]:
        """What became of these jobs, each once, in the order of their numbers; refuses one that is not there."""
        ...
