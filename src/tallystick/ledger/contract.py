"""Inputs and results of `events.*`."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tallystick.kernel.envelope import BODIES, TASK_LIMIT, Body, Event
from tallystick.kernel.operation import NO_NUL, Answer, Ask, JsonObject, Moment, as_record

LIST_LIMIT = 1000
WAIT_LIMIT_MS = 110_000
SEQ_LIMIT = 2**63 - 1
"""The largest number that both engines store."""


Text = Annotated[str, Meta(pattern=NO_NUL)]
"""Text that is stored or looked up by itself, not inside a JSON body: PostgreSQL keeps no NUL there."""
RoomId = Annotated[Text, Meta(max_length=200, description="The room's id.")]
WaitMs = Annotated[int, Meta(ge=0, le=WAIT_LIMIT_MS, description="How long to wait, in ms; 0 looks once.")]


class Envelope(Answer):
    """One event, in the CCCS v1 envelope."""

    v: int
    id: str
    ts: str
    seq: int
    kind: str
    group_id: str
    scope_key: str
    by: str
    data: JsonObject

    @classmethod
    def of(cls, event: Event) -> Envelope:
        wire: dict[str, Any] = event.wire()
        return cls(**wire)

    @property
    def content(self) -> Body | None:
        """What the event says as the struct of its kind; None for a kind that is not ours or not imported here.

        None too for a body that does not fit, which an import may have brought: whoever shows it shows it as it is.
        """
        declared = BODIES.get(self.kind)
        try:
            return as_record(declared, self.data) if declared else None
        except msgspec.ValidationError:
            return None


SinceSeq = Annotated[
    Annotated[int, Meta(ge=0, le=SEQ_LIMIT)] | None, Meta(description="Events after this seq (0: from the start).")
]


class InRoom(Ask):
    room_id: RoomId


class Since(Ask):
    """A place in a room's ledger, named in one of three ways; `reading.start` finds it."""

    since_seq: SinceSeq = None
    since_event_id: Annotated[
        Annotated[Text, Meta(max_length=200)] | None, Meta(description="Events after this event.")
    ] = None
    since_ts: Annotated[
        Annotated[str, Meta(max_length=60)] | None,
        Meta(description="Only events younger than this time. Go on with a seq: two events may have one time."),
    ] = None


class Cursor(Since):
    """Which events of a room, and from where: what is listed, waited for and streamed."""

    room_id: RoomId
    kinds: Annotated[
        list[Annotated[Text, Meta(max_length=200)]], Meta(max_length=50, description="Only these kinds.")
    ] = []


class Page(Cursor):
    limit: Annotated[int, Meta(ge=1, le=LIST_LIMIT, description="At most this many.")] = 100


class ListEvents(Page):
    newest: Annotated[bool, Meta(description="The last `limit` events instead of the first.")] = False
    before_seq: Annotated[
        Annotated[int, Meta(ge=0, le=SEQ_LIMIT)] | None,
        Meta(description="Only events before this seq; with `newest` to page back."),
    ] = None
    by: Annotated[Annotated[Text, Meta(max_length=200)] | None, Meta(description="Only what this principal did.")] = (
        None
    )
    task_id: Annotated[
        Annotated[Text, Meta(max_length=TASK_LIMIT)] | None,
        Meta(description="Only what is about this task, its jobs included."),
    ] = None


class FollowEvents(Page):
    max_wait_ms: WaitMs = 30_000


class Replay(Ask):
    """A past moment of a room."""

    room_id: RoomId
    seq: Annotated[int, Meta(ge=1, le=SEQ_LIMIT, description="The event after which to look.")]


class Events(Answer):
    events: list[Envelope]
    cursor: int
    """Pass it as `since_seq` to go on."""
    head: int
    """The room's newest seq."""


class AppendEvent(Ask):
    room_id: RoomId
    kind: Annotated[
        str, Meta(max_length=200, pattern=r"^[a-z][a-z0-9_.-]*\Z", description="x.<vendor>.* or vendor.<name>.*")
    ]
    data: Annotated[JsonObject, Meta(description="The event's body.")]


class Appended(Answer):
    event: Envelope


class ListHeads(Ask):
    limit: Annotated[int, Meta(ge=1, le=10_000, description="At most this many.")] = LIST_LIMIT


class HeadView(Answer):
    """Where one room's ledger ends."""

    room_id: str
    seq: int
    ts: Moment
    closed: bool


class Heads(Answer):
    heads: list[HeadView]


class VerifyEvents(Ask):
    room_id: Annotated[
        Annotated[Text, Meta(max_length=200)] | None, Meta(description="One room; all rooms when left out.")
    ] = None
    expect: Annotated[
        dict[Annotated[Text, Meta(max_length=200)], Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]],
        Meta(max_length=1000, description="A hash for each of these rooms that one of its events must have."),
    ] = {}


class RoomVerdict(Answer):
    room_id: str
    ok: bool
    events: int
    hash: str
    """The hash of its newest event: whoever keeps it elsewhere can have it checked later (`expect`)."""
    bad_seq: int | None = None
    problem: str = ""
    expected_seq: int | None = None
    """Where the expected hash stands."""


class CheckpointsVerdict(Answer):
    """What signed checkpoints prove of the rooms that were verified."""

    count: int
    newest_at: str | None = None
    keys: list[str] = []
    """The public keys that signed them: they prove as much as you know whose these are."""
    problem: str = ""


class Verified(Answer):
    ok: bool
    events: int
    rooms: list[RoomVerdict]
    checkpoints: CheckpointsVerdict
