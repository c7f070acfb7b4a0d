"""A room, its policy and its roots."""

from __future__ import annotations

from enum import StrEnum
from functools import lru_cache

import msgspec
from msgspec import structs

from tallystick.kernel.clock import Instant

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


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """How long things may take in a room."""

    owner_lease_ttl_ms: int = 45 * MINUTE
    heartbeat_interval_ms: int = 5 * MINUTE
    claim_ttl_ms: int = 20 * MINUTE
    wait_for_turn_max_wait_ms: int = 30_000
    wait_for_turn_poll_ms: int = 250
    presence_ttl_ms: int = 240 * MINUTE
    ack_overdue_ms: int = 30 * MINUTE

    @classmethod
    @lru_cache(maxsize=256)
    def read(cls, text: str) -> Policy:
        """Kept, since every call reads its room's and most are alike."""
        return cls(**msgspec.json.decode(text, type=dict[str, int]))

    def data(self) -> dict[str, int]:
        return structs.asdict(self)


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
