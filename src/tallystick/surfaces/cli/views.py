"""The parts of the operations' answers that commands put into words. The answers themselves may say more."""

from __future__ import annotations

from typing import cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import ClassVar


class View:
    """A part of an answer, read by its fields' names. The hub has checked it; here it is only looked at.

    Fields that are views themselves, or lists of them, are named with the class: `class Rooms(View, rooms=Room)`.
    """

    _parts: ClassVar[Mapping[str, type[View]]]

    def __init_subclass__(cls, **parts: type[View]) -> None:
        cls._parts = parts

    def __init__(self, data: Mapping[str, object]) -> None:
        fields = vars(self)
        for name, value in data.items():
            part = self._parts.get(name)
            fields[name] = _read(part, value) if part else value


def _read(part: type[View], value: object) -> object:
    if isinstance(value, list):
        return [part(each) for each in cast("list[Mapping[str, object]]", value)]
    return part(cast("Mapping[str, object]", value)) if isinstance(value, dict) else value


class Room(View):
    room_id: str
    title: str
    canonical_path: str
    room_state: str
    owner: str | None
    reserved_for: str | None
    turn_id: int
    members: list[str]


class Rooms(View, rooms=Room):
    rooms: list[Room]


class Member(View):
    agent_id: str
    role: str
    status: str
    last_seen_at: str
    session_kind: str
    pid: int | None


class Policy(View):
    heartbeat_interval_ms: int


class Joined(View, policy=Policy, members=Member):
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


class Artifact(View):
    path: str
    role: str
    lines: list[int] | None = None
    note: str | None = None

    def line(self) -> str:
        where = f"{self.path}:{self.lines[0]}-{self.lines[-1]}" if self.lines else self.path
        return f"{where} ({self.role}){f': {self.note}' if self.note else ''}"


class Handoff(View, artifacts=Artifact):
    status: str
    next_action: str
    artifacts: list[Artifact] | None = None
    open_questions: list[str] | None = None
    do_not: list[str] | None = None


class Turn(View, handoff=Handoff):
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


class State(View, members=Member, policy=Policy):
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


class HandedOver(View):
    reserved_for: str | None
    event_seq: int


class TookOver(View):
    turn_id: int
    lease_id: str
    revoked_agent_id: str | None


class Event(View):
    seq: int
    ts: str
    kind: str
    by: str
    data: dict[str, object]


class Events(View, events=Event):
    events: list[Event]
    cursor: int
    head: int


class RoomVerdict(View):
    room_id: str
    ok: bool
    events: int
    bad_seq: int | None
    problem: str


class Verified(View, rooms=RoomVerdict):
    ok: bool
    events: int
    rooms: list[RoomVerdict]


class Note(View):
    ref: str


class Left(View):
    agent_id: str
    left: bool
