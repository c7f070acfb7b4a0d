"""A room, its policy and its roots."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec
from msgspec import structs

from tallystick.capabilities.agents.model import Member
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant

if TYPE_CHECKING:  # The contract reads this module, and must load nothing of the store.
    from tallystick.ledger.tx import Tx

MINUTE = 60_000


class RoomState(StrEnum):
    IDLE = "idle"
    OWNED = "owned"
    RESERVED = "reserved"
    STALE_OWNER = "stale_owner"
    OWNER_GONE = "owner_gone"
    RECIPIENT_GONE = "recipient_gone"
    DORMANT = "dormant"
    CLOSED = "closed"


ProofPolicy: TypeAlias = Literal["evidence", "claimed"]
"""Whether a job is DONE only with something found or observed, or also with what its runner claims."""

RoomMode: TypeAlias = Literal["turns", "parallel"]
"""Whether agents change things one at a time, or side by side by what each has reserved."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How long things may take in a room, and what counts there."""

    owner_lease_ttl_ms: int = 45 * MINUTE
    heartbeat_interval_ms: int = 5 * MINUTE
    claim_ttl_ms: int = 20 * MINUTE
    wait_for_turn_max_wait_ms: int = 30_000
    wait_for_turn_poll_ms: int = 250
    presence_ttl_ms: int = 240 * MINUTE
    ack_overdue_ms: int = 30 * MINUTE
    proof: ProofPolicy = "evidence"
    mode: RoomMode = "turns"

    @classmethod
    @lru_cache(maxsize=256)
    def read(cls, text: str) -> Policy:
        """Kept, since every call reads its room's and most are alike."""
        return msgspec.json.decode(text, type=cls)

    def data(self) -> dict[str, int | str]:
        """As events have it: what is not a time is left out while it is the default, as in rooms that never set it."""
        usual = {("proof", "evidence"), ("mode", "turns")}
        return {name: value for name, value in structs.asdict(self).items() if (name, value) not in usual}


class Room(msgspec.Struct, frozen=True, kw_only=True):
    room_id: str
    title: str
    canonical_path: str
    policy: Policy
    created_at: Instant
    created_by: str
    closed_at: Instant | None

    @classmethod
    def of_row(
        cls,
        *,
        room_id: str,
        title: str,
        canonical_path: str,
        policy: str,
        created_at: Instant,
        created_by: str,
        closed_at: Instant | None,
    ) -> Room:
        return cls(
            room_id=room_id,
            title=title,
            canonical_path=canonical_path,
            policy=Policy.read(policy),
            created_at=created_at,
            created_by=created_by,
            closed_at=closed_at,
        )


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """A root on one machine that belongs to a room."""

    room_id: str
    scope_key: str
    machine_id: str
    root: str


class StickSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The stick as a room listing shows it."""

    state: RoomState
    owner: str | None
    reserved_for: str | None
    turn_id: int


class Sticks(Protocol):
    def summary(self, tx: Tx, room: Room, members: Sequence[Member]) -> StickSummary: ...

    def turn_id(self, tx: Tx, room_id: str) -> int: ...

    def check_leaving(self, tx: Tx, room_id: str, me: Caller) -> None:
        """Refuse while the caller holds the stick: nobody leaves with it."""
        ...

    def check_closing(
        self, tx: Tx, room_id: str, me: Caller, *, lease_id: str | None, expected_turn_id: int | None
    ) -> int:
        """The turn at which the caller may close the room; refused while somebody else holds the stick."""
        ...
