"""What the ledger says about messages: who got what, who owes an ack, and who is listening."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, TypeAlias

import msgspec

from tallystick.kernel.caller import Process
from tallystick.kernel.clock import Instant
from tallystick.kernel.envelope import Event

USER = "user"
SYSTEM = "system"


class Selector(StrEnum):
    ALL = "@all"
    PEERS = "@peers"
    FOREMAN = "@foreman"
    USER = "@user"


class Author(msgspec.Struct, frozen=True, kw_only=True):
    """Who an event is ascribed to, and the scope it speaks from."""

    principal: str
    scope_key: str = ""


class InboxCounts(msgspec.Struct, frozen=True, kw_only=True):
    """One recipient's counts. `read_seq` is its watermark."""

    delivered: int = 0
    read_seq: int = 0
    unread: int = 0
    unacked: int = 0


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """One event in one recipient's inbox; `place` counts that recipient's deliveries."""

    seq: int
    place: int
    sender: str
    needs_ack: int
    acked_at: Instant | None


class DeliveredEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A delivered event together with its state."""

    event: Event
    needs_ack: bool
    acked_at: Instant | None

    @classmethod
    def of_row(cls, *, needs_ack: int, acked_at: Instant | None, **event: object) -> DeliveredEvent:
        return cls(event=Event(**event), needs_ack=needs_ack == 1, acked_at=acked_at)  # pyright: ignore[reportArgumentType]


class NewMail(msgspec.Struct, frozen=True, kw_only=True):
    """What came for a member that waits."""

    events: Sequence[Event]
    cursor: int
    """Where to go on listening."""
    act: bool
    """Something has to be written before it may be handed over: read again in a write transaction."""


class AwaitedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message whose sender still waits for acks."""

    seq: int
    event_id: str
    sender: str
    sent_at: Instant


class Reaction(msgspec.Struct, frozen=True, kw_only=True):
    seq: int
    """Of the event it is about."""
    actor_id: str
    emoji: str


class ClientIdUse(msgspec.Struct, frozen=True, kw_only=True):
    """What a client_id was used for."""

    digest: str
    seq: int
    sent_at: Instant


class InboxListener(msgspec.Struct, frozen=True, kw_only=True):
    """How far a member has listened, and the wait that listens for it now, if any."""

    heard_seq: int
    listener_id: str | None
    since: Instant
    until: Instant
    process: Process | None

    @classmethod
    def of_row(
        cls,
        *,
        heard_seq: int,
        listener_id: str | None,
        since: Instant | None,
        until: Instant | None,
        host_id: str | None,
        pid: int | None,
        process_started_at: str | None,
    ) -> InboxListener:
        process = Process(host_id=host_id, pid=pid, started_at=process_started_at or "") if host_id and pid else None
        return cls(heard_seq=heard_seq, listener_id=listener_id, since=since or 0, until=until or 0, process=process)


Searched: TypeAlias = Literal["message", "note", "handoff"]
"""What of an event a search finds."""
