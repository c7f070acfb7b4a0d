"""The parts of the operations' answers that commands put into words. The answers themselves may say more."""

from __future__ import annotations

import msgspec


class Room(msgspec.Struct, frozen=True):
    room_id: str
    title: str
    canonical_path: str
    room_state: str
    owner: str | None
    reserved_for: str | None
    turn_id: int
    members: list[str]


class Rooms(msgspec.Struct, frozen=True):
    rooms: list[Room]


class Member(msgspec.Struct, frozen=True):
    agent_id: str
    role: str
    status: str
    last_seen_at: str
    session_kind: str
    pid: int | None


class Policy(msgspec.Struct, frozen=True):
    heartbeat_interval_ms: int


class Joined(msgspec.Struct, frozen=True):
    agent_id: str
    room_id: str
    canonical_path: str
    joined_existing_room: bool
    warning: str | None
    policy: Policy
    room_state: str
    owner: str | None
    members: list[Member]
    cursor: str


class Artifact(msgspec.Struct, frozen=True):
    path: str
    role: str
    lines: list[int] | None = None
    note: str | None = None

    def line(self) -> str:
        where = f"{self.path}:{self.lines[0]}-{self.lines[-1]}" if self.lines else self.path
        return f"{where} ({self.role}){f': {self.note}' if self.note else ''}"


class Handoff(msgspec.Struct, frozen=True):
    status: str
    next_action: str
    artifacts: list[Artifact] | None = None
    open_questions: list[str] | None = None
    do_not: list[str] | None = None


class Turn(msgspec.Struct, frozen=True):
    """What waiting brought; which fields are set depends on `status`."""

    status: str
    room_id: str = ""
    turn_id: int = 0
    lease_id: str = ""
    reason: str = ""
    handoff: Handoff | None = None
    from_agent_id: str | None = None
    room_state: str = ""
    current_owner: str | None = None
    reserved_for: str | None = None


class State(msgspec.Struct, frozen=True):
    room_id: str
    canonical_path: str
    members: list[Member]
    owner: str | None
    reserved_for: str | None
    turn_id: int
    lease_id: str | None
    lease_expires_at: str | None
    claim_expires_at: str | None
    state: str
    takeover: str | None
    takeover_candidates: list[str]
    policy: Policy
    cursor: str


class HandedOver(msgspec.Struct, frozen=True):
    reserved_for: str | None
    event_seq: int


class TookOver(msgspec.Struct, frozen=True):
    turn_id: int
    lease_id: str
    revoked_agent_id: str | None


class Event(msgspec.Struct, frozen=True):
    seq: int
    ts: str
    kind: str
    by: str
    data: dict[str, object]


class Events(msgspec.Struct, frozen=True):
    events: list[Event]
    cursor: int
    head: int


class RoomVerdict(msgspec.Struct, frozen=True):
    room_id: str
    ok: bool
    events: int
    bad_seq: int | None
    problem: str


class Verified(msgspec.Struct, frozen=True):
    ok: bool
    events: int
    rooms: list[RoomVerdict]


class Note(msgspec.Struct, frozen=True):
    ref: str


class Left(msgspec.Struct, frozen=True):
    agent_id: str
    left: bool
