"""Checks what the ledger tells about jobs: one end each, every write under the valid claim, no claim too early."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

Event: TypeAlias = Mapping[str, Any]

ENDS = frozenset({"completed", "failed", "canceled"})


@dataclass
class Life:
    """One job so far."""

    job_id: str
    ended: str = ""
    ends: int = 0
    holder: tuple[str, int] | None = None
    revision: int = 0
    kept_until: float = 0
    """The claim is valid at least so long; heartbeats, which leave no event, may have kept it longer."""
    problems: list[str] = field(default_factory=list[str])

    def see(self, event: Event, lease_ms: int) -> None:
        data: Mapping[str, Any] = event["data"]
        kind, at = data["event"], _ms(event["ts"])
        if self.ended and kind != "requeued":
            self.problems.append(f"{self.job_id}: {kind} at seq {event['seq']} after it was {self.ended}")
        if kind in {"claimed", "reclaimed"}:
            self._claimed(kind, data, at, event["seq"])
        elif "claim_revision" in data:
            self._written(kind, data, at, event["seq"], lease_ms)
        if kind in ENDS:
            self.ended, self.holder = kind, None
            self.ends += 1

    def _claimed(self, kind: str, data: Mapping[str, Any], at: float, seq: int) -> None:
        if data["claim_revision"] != self.revision + 1:
            self.problems.append(f"{self.job_id}: claim {data['claim_revision']} at seq {seq} follows {self.revision}")
        if (kind == "reclaimed") != (self.holder is not None):
            self.problems.append(f"{self.job_id}: {kind} at seq {seq} while held by {self.holder}")
        if self.holder and at < self.kept_until:
            self.problems.append(f"{self.job_id}: taken from {self.holder} at seq {seq}, before its claim ran out")
        self.revision = data["claim_revision"]
        self.holder = (data["runner_id"], self.revision)
        self.kept_until = float(data["expires_at"])

    def _written(self, kind: str, data: Mapping[str, Any], at: float, seq: int, lease_ms: int) -> None:
        by = (data["runner_id"], data["claim_revision"])
        if by != self.holder:
            self.problems.append(f"{self.job_id}: {kind} at seq {seq} by {by}, while held by {self.holder}")
        self.kept_until = max(self.kept_until, at + lease_ms)


def problems(events: Iterable[Event], lease_ms: int) -> list[str]:
    """Everything that is wrong with a room's job events; the leases were all of this length."""
    lives = dict[str, Life]()
    for event in events:
        job_id: str = event["data"]["job_id"]
        lives.setdefault(job_id, Life(job_id)).see(event, lease_ms)
    return [problem for life in lives.values() for problem in [*life.problems, *_unfinished(life)]]


def _unfinished(life: Life) -> Iterator[str]:
    if life.ends != 1:
        yield f"{life.job_id}: ended {life.ends} times"


def _ms(ts: str) -> float:
    return datetime.fromisoformat(ts).timestamp() * 1000
