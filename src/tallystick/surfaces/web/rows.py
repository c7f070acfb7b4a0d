"""Events as rows of a conversation: what each says in plain words, with what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tallystick.capabilities.actions.events import ActionSubmitted
from tallystick.capabilities.agents.events import AgentResumed
from tallystick.capabilities.attention.events import ItemRestored, ItemSetAside
from tallystick.capabilities.blobs.contract import PICTURES
from tallystick.capabilities.jobs.events import JobMessaged, JobQuestioned, JobWaived
from tallystick.capabilities.messages.contract import DeliveryReceipt, DeliveryReceipts
from tallystick.capabilities.messages.events import (
    ContextChanged,
    MessageAcked,
    MessageSent,
    MessagesRead,
    NotificationAcked,
    NotificationSent,
    ReactionAdded,
)
from tallystick.capabilities.protocol.events import WorkBlocked, WorkHandedOver
from tallystick.capabilities.rooms.contract import RoomView
from tallystick.capabilities.rooms.events import NoteAdded, StickClosed
from tallystick.capabilities.tasks.events import TaskFocused
from tallystick.capabilities.turns.events import StickPassed, StickReleased, StickRevoked, StickTakenOver
from tallystick.hub import event_text
from tallystick.kernel.envelope import tasks_of
from tallystick.kernel.errors import TallyError
from tallystick.kernel.operation import JsonObject
from tallystick.ledger.contract import Envelope, Events
from tallystick.surfaces.web import filters
from tallystick.surfaces.web.page import PageReader

_MARKS = (
    *(MessagesRead, MessageAcked, ReactionAdded, NotificationAcked, ContextChanged, TaskFocused),
    *(ItemSetAside, ItemRestored),
)
_SPOKEN = (
    *(MessageSent, NotificationSent, NoteAdded, WorkHandedOver, WorkBlocked, AgentResumed, ActionSubmitted),
    *(StickReleased, StickPassed, StickTakenOver, StickRevoked, StickClosed),
    *(JobQuestioned, JobMessaged, JobWaived),
)
_WORDS = (NoteAdded, JobQuestioned, JobMessaged, JobWaived)
"""Said to everybody and to nobody, so there is nothing to reply to."""
QUIET = frozenset(each.kind for each in _MARKS)
"""Kinds that show as marks on other rows, not as rows of their own; the history has them all."""
PAGE = 200
STEPS = 5
"""Pages that one look goes back through in search of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaySource:
    """Where a relayed message came from; without an address when it cannot be opened from here."""

    room_id: str
    event_id: str
    title: str = ""
    href: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredRow:
    """The message that another one replies to, as far as it is shown beside it."""

    seq: int
    by: str
    text: str


def is_image(file: JsonObject) -> bool:
    return file.get("mime_type") in PICTURES


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    seq: int
    id: str
    ts: str
    by: str
    kind: str
    tag: str = ""
    tone: str = ""
    """h handed over, b blocked, i trouble, r good news."""
    to: Sequence[str] = ()
    text: str = ""
    handoff: JsonObject | None = None
    data: JsonObject
    receipts: Sequence[DeliveryReceipt] = ()
    mine: DeliveryReceipt | None = None
    """What became of it at the reader."""
    source: RelaySource | None = None
    speech: bool = False
    """Somebody says something, so it can be answered, quoted and relayed."""
    bubble: bool = False
    """Words of somebody, and not what happened to them."""
    machinery: bool = False
    """What programs do all day; a conversation folds it."""
    answers: AnsweredRow | None = None
    """What this row replies to."""

    @property
    def files(self) -> Sequence[JsonObject]:
        """What came along, images first to be seen."""
        given: Sequence[JsonObject] = self.data.get("attachments") or () if self.speech else ()
        return sorted(given[:20], key=lambda file: not is_image(file))

    @property
    def clipped(self) -> bool:
        return len(self.text) > filters.CLIPPED

    @property
    def brief(self) -> bool:
        """Short enough to stand on one line with its author."""
        return not self.speech and len(self.text) < 140 and "\n" not in self.text

    @property
    def owed(self) -> int:
        return sum(1 for receipt in self.receipts if receipt.needs_ack)

    @property
    def accepted(self) -> int:
        return sum(1 for receipt in self.receipts if receipt.acked_at)

    @property
    def target(self) -> str:
        """The message to read, accept or relay: a protocol event comes with one of its own."""
        return str(self.data.get("message_id") or self.id)

    @property
    def action(self) -> str:
        """The request among agents that this is, or says something of."""
        return str(self.data.get("action_id") or "")

    @property
    def answered_action(self) -> str:
        """The request that this message answers."""
        return _named(self.data, "conversation", "reply_to_action_id")

    @property
    def context(self) -> str:
        """The conversation among agents that it belongs to."""
        return _named(self.data, "context", "context_id") or str(self.data.get("task_id") or self.id)

    @property
    def notice(self) -> bool:
        return self.kind == NotificationSent.kind

    @property
    def job(self) -> str:
        """The job whose thread this is part of."""
        return str(self.data.get("job_id") or "") if self.kind.startswith("x.tally.job.") else ""

    @property
    def task(self) -> str:
        return next(iter(tasks_of(self.data)), "")


def _named(data: JsonObject, part: str, name: str) -> str:
    found: JsonObject | None = data.get(part)
    return str(found.get(name) or "") if found else ""


def row(event: Envelope) -> EventRow:
    text = event_text.of(event, filters.person)
    return EventRow(
        seq=event.seq,
        id=event.id,
        ts=event.ts,
        by=event.by,
        kind=event.kind,
        data=event.data,
        tag=text.tag,
        tone=text.tone,
        to=text.to,
        text=text.text,
        handoff=text.handoff,
        speech=text.speech,
        bubble=text.speech or text.handoff is not None or isinstance(event.content, _WORDS),
        # Whoever does not speak, hand over or ask is machinery.
        machinery=not isinstance(event.content, _SPOKEN),
    )


def with_receipts(snapshot: PageReader, room_id: str, found: Sequence[EventRow]) -> list[EventRow]:
    """Rows, newest first, with who has read and accepted them, and whether what they point at is still there."""
    if not found:
        return []
    first, last = min(row.seq for row in found), max(row.seq for row in found)
    receipts: dict[str, list[DeliveryReceipt]] = {}
    # The message of a protocol event stands right before it.
    for start in range(max(first - 1, 0), last + 1, 1000):
        stretch = {"first_seq": start, "last_seq": min(last, start + 999)}
        for each in snapshot.read("messages.receipts", DeliveryReceipts, room_id=room_id, **stretch).receipts:
            receipts.setdefault(each.event_id, []).append(each)
    # A protocol event has a message of its own; what is asked of an agent stands where it was said.
    letters = {row.target for row in found if row.target != row.id and row.kind != ActionSubmitted.kind}
    shown = sorted((row for row in found if row.id not in letters), key=lambda row: -row.seq)
    known = {each.id: each for each in found}
    return [
        replace(
            _with_receipts(snapshot, row, receipts.get(row.target, [])),
            answers=_answered(snapshot, room_id, row, known),
        )
        for row in shown
    ]


def _answered(snapshot: PageReader, room_id: str, row: EventRow, known: Mapping[str, EventRow]) -> AnsweredRow | None:
    """What a reply answers, wherever in the room it was said."""
    event_id = row.data.get("reply_to") if row.speech else None
    if not isinstance(event_id, str):
        return None
    found = known.get(event_id) or _by_id(snapshot, room_id, event_id)
    return AnsweredRow(seq=found.seq, by=found.by, text=found.text) if found else None


def _by_id(snapshot: PageReader, room_id: str, event_id: str) -> EventRow | None:
    try:
        seq = _seq_of(snapshot, room_id, event_id)
    except TallyError:
        return None
    found = snapshot.read("events.list", Events, room_id=room_id, since_seq=seq - 1, limit=1).events
    return row(found[0]) if found and found[0].id == event_id else None


def _seq_of(snapshot: PageReader, room_id: str, event_id: str) -> int:
    """Where in a room an event is."""
    after = snapshot.read("events.list", Events, room_id=room_id, since_event_id=event_id, limit=1)
    # The cursor of an empty page is the head, which may be the event itself.
    return after.events[0].seq - 1 if after.events else after.head


def _with_receipts(snapshot: PageReader, row: EventRow, receipts: Sequence[DeliveryReceipt]) -> EventRow:
    mine = next((each for each in receipts if each.recipient == snapshot.me), None)
    return replace(row, receipts=receipts, mine=mine, source=_source(snapshot, row.data))


def _source(snapshot: PageReader, data: JsonObject) -> RelaySource | None:
    """Where a relayed message came from; without an address when it cannot be opened from here."""
    room_id, event_id = data.get("src_group_id"), data.get("src_event_id")
    if not room_id or not event_id:
        return None
    try:
        seq = _seq_of(snapshot, room_id, event_id)
        title = snapshot.read("rooms.show", RoomView, room_id=room_id).title
    except TallyError:
        return RelaySource(room_id=room_id, event_id=event_id)
    href = f"/rooms/{room_id}/sessions?at={seq}#e{seq}"
    return RelaySource(room_id=room_id, event_id=event_id, title=title, href=href)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventPage:
    """Rows, newest first, and the seq to go on before; None where the room begins."""

    rows: Sequence[EventRow]
    older: int | None


def stretch(
    snapshot: PageReader,
    room_id: str,
    *,
    limit: int,
    before: int | None = None,
    wanted: Callable[[EventRow], bool] = lambda _: True,
    kinds: Sequence[str] = (),
    task: str = "",
) -> EventPage:
    """The last rows before a seq; a filter that fits little goes back a bounded way and says how far it came."""
    found: list[EventRow] = []
    end = before
    for _ in range(STEPS):
        page = _page(snapshot, room_id, end, kinds, task)
        found += [each for each in map(row, reversed(page)) if each.kind not in QUIET and wanted(each)]
        end = page[0].seq if len(page) == PAGE else None
        if len(found) > limit or end is None:
            break
    older = found[limit - 1].seq if len(found) > limit else end
    return EventPage(rows=with_receipts(snapshot, room_id, found[:limit]), older=older)


def newest(
    snapshot: PageReader, room_id: str, *, limit: int, before: int | None = None, kinds: Sequence[str] = ()
) -> Sequence[EventRow]:
    """The last rows alone, for a view that leads elsewhere for more."""
    return stretch(snapshot, room_id, limit=limit, before=before, kinds=kinds).rows


def _page(snapshot: PageReader, room_id: str, end: int | None, kinds: Iterable[str], task: str) -> Sequence[Envelope]:
    given: dict[str, object] = {name: value for name, value in {"before_seq": end, "task_id": task}.items() if value}
    given |= {"newest": True, "limit": PAGE, "kinds": list(kinds)}
    return snapshot.read("events.list", Events, room_id=room_id, **given).events
