"""Inputs and results of `events.*`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, SkipValidation

from tallystick.kernel.envelope import Event
from tallystick.kernel.operation import Answer, Ask, Moment
from tallystick.kernel.subjects import TASK_LIMIT

LIST_LIMIT = 1000
WAIT_LIMIT_MS = 110_000
SEQ_LIMIT = 2**63 - 1
"""The largest number that both engines store."""


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("a NUL character cannot be stored here")
    return text


Text = Annotated[str, AfterValidator(_storable)]
"""Text that is stored or looked up by itself, not inside a JSON body: PostgreSQL keeps no NUL there."""
RoomId = Annotated[
    str,
    # The bound before the check: pydantic applies it itself only where no function of ours stands before it.
    Field(description="The room's id, as `rooms.join` or `rooms.list` gave it.", max_length=200),
    AfterValidator(_storable),
]
WaitMs = Annotated[int, Field(ge=0, le=WAIT_LIMIT_MS, description="How long to wait, in ms; 0 looks once.")]


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
    data: Annotated[dict[str, object], SkipValidation]
    """As it was stored: what was checked when it was written is not walked through at each reading."""

    @classmethod
    def of(cls, event: Event) -> Envelope:
        return cls.model_validate(event.wire())


SinceSeq = Annotated[int | None, Field(ge=0, le=SEQ_LIMIT, description="Events after this seq (0: from the start).")]


class InRoom(Ask):
    room_id: RoomId


class Since(Ask):
    """A place in a room's ledger, named in one of three ways; `reading.start` finds it."""

    since_seq: SinceSeq = None
    since_event_id: Annotated[Text | None, Field(description="Events after this event.", max_length=200)] = None
    since_ts: Annotated[str | None, Field(description="Events younger than this time.", max_length=60)] = None


class Cursor(Since, InRoom):
    """Which events of a room, and from where: what is listed, waited for and streamed."""

    kinds: Annotated[
        list[Annotated[Text, Field(max_length=200)]], Field(description="Only these kinds.", max_length=50)
    ] = []


class Page(Cursor):
    limit: Annotated[int, Field(ge=1, le=LIST_LIMIT, description="At most this many.")] = 100


class ListEvents(Page):
    newest: Annotated[bool, Field(description="The last `limit` events instead of the first.")] = False
    before_seq: Annotated[
        int | None, Field(ge=0, le=SEQ_LIMIT, description="Only events before this seq; with `newest` to page back.")
    ] = None
    by: Annotated[Text | None, Field(description="Only what this principal did.", max_length=200)] = None
    task_id: Annotated[
        Text | None, Field(description="Only what is about this task, its jobs included.", max_length=TASK_LIMIT)
    ] = None


class FollowEvents(Page):
    max_wait_ms: WaitMs = 30_000


class Replay(Ask):
    """A past moment of a room."""

    room_id: RoomId
    seq: Annotated[int, Field(ge=1, le=SEQ_LIMIT, description="The event after which to look.")]


class Events(Answer):
    events: list[Envelope]
    cursor: int
    """Pass it as `since_seq` to go on."""
    head: int
    """The room's newest seq."""


class AppendEvent(Ask):
    room_id: RoomId
    kind: Annotated[
        str, Field(max_length=200, pattern=r"^[a-z][a-z0-9_.-]*$", description="x.<vendor>.* or vendor.<name>.*")
    ]
    data: Annotated[dict[str, object], Field(description="The event's body.")]
    scope_key: Annotated[Text, Field(max_length=200, description="The scope it belongs to, if any.")] = ""


class Appended(Answer):
    event: Envelope


class ListHeads(Ask):
    limit: Annotated[int, Field(ge=1, le=10_000, description="At most this many.")] = LIST_LIMIT


class HeadView(Answer):
    """Where one room's ledger ends."""

    room_id: str
    seq: int
    ts: Moment
    closed: bool


class Heads(Answer):
    heads: list[HeadView]


class VerifyEvents(Ask):
    room_id: Annotated[Text | None, Field(description="One room; all rooms when left out.", max_length=200)] = None


class RoomVerdict(Answer):
    room_id: str
    ok: bool
    events: int
    hash: str
    bad_seq: int | None = None
    problem: str = ""


class Verified(Answer):
    ok: bool
    events: int
    rooms: list[RoomVerdict]
