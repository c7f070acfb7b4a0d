"""An agent as a member of a room, and whether it is present."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, TypeAlias

from tallystick.kernel.caller import Process, ProcessState, SessionKind
from tallystick.kernel.clock import Instant
from tallystick.ledger.capability import Holding
from tallystick.ledger.tx import Tx

RESUME = "x.tally.protocol.resume"
"""The event of an adoption."""


Probe: TypeAlias = "Callable[[Process | None], ProcessState]"


class Role(StrEnum):
    FOREMAN = "foreman"
    PEER = "peer"


class Status(StrEnum):
    ACTIVE = "active"
    INACTIVE = "inactive"


class Liveness(StrEnum):
    """Whether what an agent holds still counts."""

    ACTIVE = "active"
    STALE = "stale"
    EVICTED = "evicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    agent_id: str
    name: str
    role: Role
    harness: str
    scope_key: str
    ordinal: int
    joined_at: Instant
    last_seen_at: Instant
    session: SessionKind
    process: Process | None
    probe: Probe = field(compare=False, repr=False)
    progressed_at: Instant
    """When it last added something to the ledger."""

    @property
    def process_state(self) -> ProcessState:
        """What can be seen of its process right now; looked at only when a decision turns on it."""
        return self.probe(self.process)

    @classmethod
    def of_row(
        cls,
        *,
        probe: Probe,
        role: str,
        last_seen_at: Instant | None,
        session_kind: str | None,
        host_id: str | None,
        pid: int | None,
        process_started_at: str | None,
        agent_id: str,
        name: str,
        harness: str,
        scope_key: str,
        ordinal: int,
        joined_at: Instant,
        progressed_at: Instant | None,
    ) -> Member:
        process = Process(host_id=host_id, pid=pid, started_at=process_started_at or "") if host_id and pid else None
        return cls(
            agent_id=agent_id,
            name=name,
            role=Role(role),
            harness=harness,
            scope_key=scope_key,
            ordinal=ordinal,
            joined_at=joined_at,
            # An imported ledger brings members without presence: they were last seen when they joined.
            last_seen_at=joined_at if last_seen_at is None else last_seen_at,
            session=SessionKind(session_kind or SessionKind.NAMED),
            process=process,
            probe=probe,
            progressed_at=joined_at if progressed_at is None else progressed_at,
        )


class Holdings(Protocol):
    """All that is held in a room; gathered by the hub from every capability that has something to hold."""

    def held(self, tx: Tx, room_id: str) -> Sequence[Holding]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnedTask:
    task_id: str
    paths: Sequence[str] = ()
    """Where in the room it is worked on; none when that is not said."""


class Ownership(Protocol):
    """Which tasks an agent works on; answered by `tasks`."""

    def in_progress(self, tx: Tx, room_id: str, agent_id: str) -> Sequence[OwnedTask]: ...
