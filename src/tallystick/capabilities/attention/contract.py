"""Inputs and answers of `attention.*`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from msgspec import Meta

from tallystick.kernel.operation import Answer, Ask, Moment
from tallystick.ledger.contract import RoomId, Text

ITEM_LIMIT = 300
"""Of an item's id, in characters."""
SNOOZE_LIMIT = 7 * 24 * 60
SAID_LIMIT = 2_000
"""Characters of what was said that an item brings along."""


class WaitingKind(StrEnum):
    """Why something waits for the person; the order is that of urgency."""

    STICK = "stick"
    """The stick is kept for the person, and nobody can work until it is taken."""
    PERMISSION = "permission"
    """An agent may not go on before the person allows it."""
    QUESTION = "question"
    """A job asks its manager."""
    MESSAGE = "message"
    """A message that the person has to accept or answer."""
    NOTICE = "notice"
    """A notification that asks to be accepted."""
    PROOF = "proof"
    """A job says that it is done, and shows no proof."""
    ERROR = "error"
    """A running job reported an error."""
    TAKEOVER = "takeover"
    """Whoever has the stick failed, and it may be taken over."""
    FAILED = "failed"
    """A job failed, and nobody has acknowledged that."""
    LOST = "lost"
    """A job's runner fell silent."""
    OVERDUE = "overdue"
    """Agents have not accepted what the person sent."""
    INCURSION = "incursion"
    """Somebody wants what another one still has reserved."""
    UNREAD = "unread"
    """Plain messages that were not read, as a count."""


_URGENCY = tuple(WaitingKind)


class WaitingItem(Answer):
    item: str
    """Names it as long as it waits; the same cause, coming again, is another item."""
    kind: WaitingKind
    room_id: str
    sign: Literal["!", "?", "~", ""]
    """`!` cannot wait, `?` asks something, `~` is stuck."""
    who: str
    """The agent or job that it is about."""
    reason: str
    """Why it waits, as it goes on after the name."""
    said: str
    """The words that wait for an answer, if there are any."""
    since: Moment
    until: Moment | None = None
    """When others may settle it without the person."""
    seq: int | None = None
    """The event that it began with."""
    event_id: str | None = None
    """The message to accept or to mark as read."""
    job: str | None = None
    turn_id: int | None = None
    path: str | None = None
    permission: int | None = None
    """The request to allow or deny."""
    owing: list[str] = []
    """Who has not accepted what the person sent."""
    count: int = 1
    """How many messages it stands for."""
    blocks: bool = False
    """Agents wait for it: it can be snoozed, not dismissed."""

    @property
    def order(self) -> tuple[int, Moment, str]:
        """By urgency, and of what is equally urgent what has waited longest; also over several rooms."""
        return _URGENCY.index(self.kind), self.since, self.item


class ListWaiting(Ask):
    room_id: RoomId


class WaitingItems(Answer):
    room_id: str
    items: list[WaitingItem]
    """The most urgent first, and of these what has waited longest."""
    count: int
    """How many wait, also those beyond what is listed."""
    unread: int
    """Messages that the person has not read, whether they are in the list or not."""


ItemId = Annotated[Text, Meta(min_length=1, max_length=ITEM_LIMIT, description="The item, as attention.list named it.")]


class DismissItem(Ask):
    room_id: RoomId
    item: ItemId


class SnoozeItem(Ask):
    room_id: RoomId
    item: ItemId
    minutes: Annotated[int, Meta(ge=1, le=SNOOZE_LIMIT, description="For how long.")] = 60


class RestoreItem(Ask):
    room_id: RoomId
    item: ItemId


class ItemChanged(Answer):
    room_id: str
    item: str
    changed: bool
    """False when there was nothing to take back."""
    until: Moment | None = None
