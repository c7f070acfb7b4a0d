"""A room, its policy, and the little it must know about the stick."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

import msgspec
from msgspec import structs

from tallystick.capabilities.agents.model import Member, Participant
from tallystick.kernel.caller import Caller
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event
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


class Glimpse(msgspec.Struct, frozen=True, kw_only=True):
    """The stick as a room listing shows it."""

    state: RoomState
    owner: str | None
    reserved_for: str | None
    turn_id: int


class Sticks(Protocol):
    """What rooms need to know of the stick; answered by `turns`."""

    def glimpse(self, tx: Tx, room: Room, members: Sequence[Member]) -> Glimpse: ...

    def turn_id(self, tx: Tx, room_id: str) -> int: ...

    def let_go(self, tx: Tx, room: Room, me: Caller) -> None:
        """Refuse when the caller holds the stick: nobody leaves with it."""
        ...


class Post(msgspec.Struct, frozen=True, kw_only=True):
    """What a wait brings besides a turn."""

    events: Sequence[Event]
    cursor: int
    """Where to go on listening."""
    act: bool
    """There is something to write down before it may be handed over: look again in a write transaction."""


class Mail(Protocol):
    """What waits need to know of messages; answered by `messages`."""

    def begin(self, tx: Tx, room_id: str, me: Caller, *, wait_ms: int) -> str:
        """Register the caller's one listener; refuse while another one lives."""
        ...

    def end(self, tx: Tx, room_id: str, me: Caller, listener_id: str) -> None: ...

    def waiting(self, tx: Tx, room: Room, me: Caller, *, kinds: Collection[str], after: int | None) -> Post:
        """What was addressed to the caller after a cursor; without one, after what its last wait was given."""
        ...


class Blobs(Protocol):
    """What messages need to know of a room's files; answered by `blobs`."""

    def check(self, tx: Tx, room_id: str, sha256: str) -> None:
        """Refuse when the room has no such file."""
        ...

    def bring(self, tx: Tx, sha256: str, *, source: str, target: str, by: str) -> None:
        """Let the target room have a file of the source room too."""
        ...


class Speech(msgspec.Struct, frozen=True, kw_only=True):
    """A message that goes with something else, such as an action."""

    by: str
    scope_key: str
    to: str
    text: str
    about: Mapping[str, object]
    """The conversation it belongs to."""


class Talk(Protocol):
    """What actions need of messages; answered by `messages`."""

    def say(self, tx: Tx, room: Room, members: Sequence[Participant], speech: Speech) -> str:
        """Put a message into its recipient's inbox and give its event id."""
        ...


class Conversations(Protocol):
    """What messages need to know of conversations; answered by `actions`."""

    def admit(self, tx: Tx, room_id: str, by: str, about: Mapping[str, object]) -> None:
        """Refuse a message that its author may not say in that conversation."""
        ...


class Errands(Protocol):
    """What waits need to know of actions; answered by `actions`."""

    def next(self, tx: Tx, room_id: str, me: Caller) -> Mapping[str, object] | None:
        """What the caller is asked to do now."""
        ...


class Letters(Protocol):
    """How others write into inboxes; answered by `messages`."""

    def send(self, tx: Tx, room: Room, me: Caller, *, to: str, text: str, attention: bool) -> Event:
        """Send a message to one recipient; with `attention` it has to be acknowledged."""
        ...

    def acked_at(self, tx: Tx, room_id: str, event_id: str, recipient: str) -> Instant | None:
        """When a recipient acknowledged a message, if it has."""
        ...

    def tell(self, tx: Tx, room_id: str, *, to: str, title: str, message: str, related_event_id: str) -> Event:
        """Leave a notification of the hub itself in somebody's inbox."""
        ...


class TaskBoard(Protocol):
    """What actions need of tasks; answered by `tasks`."""

    def progress(self, tx: Tx, room_id: str, by: str, *, task_id: str, status: str, summary: str | None) -> None:
        """Change a task of ours accordingly; an id that is none of ours is somebody else's task."""
        ...


class Questions(Protocol):
    """What waits need to know of jobs; answered by `jobs`."""

    def asked(self, tx: Tx, room_id: str, *, after: int | None) -> Sequence[Event]:
        """What jobs asked their manager after a cursor; without one, all that is still unanswered."""
        ...


class TaskBook(Protocol):
    """What messages need to know of tasks; answered by `tasks`."""

    def check_ref(self, tx: Tx, room_id: str, task_id: str) -> None:
        """Refuse an id of ours that names no task of the room; another store's ids are not ours to judge."""
        ...
