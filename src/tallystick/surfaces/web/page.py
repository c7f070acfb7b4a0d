"""What a page is made of: what the browser asked for, the operations a view may read, and what it gives the template.

A view reads everything in one transaction, so that what stands on a page belongs together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from tallystick.capabilities.rooms.contract import RoomView
from tallystick.hub import engine
from tallystick.hub.hub import Hub
from tallystick.hub.visitor import Visitor
from tallystick.kernel.clock import Instant
from tallystick.kernel.operation import Answer
from tallystick.surfaces.web.links import LinkContext

T = TypeVar("T")
AnswerT = TypeVar("AnswerT", bound=Answer)


@dataclass(frozen=True, slots=True)
class PageReader:
    visitor: Visitor
    now: Instant
    answer: Callable[[str, Mapping[str, object]], Answer]
    """What an operation answers in the page's transaction."""

    @property
    def me(self) -> str:
        return self.visitor.caller.agent_id

    def read(self, operation: str, answer: type[AnswerT], **given: object) -> AnswerT:
        """The answer of an operation that only reads; a wait reads once."""
        found = self.answer(operation, given)
        if not isinstance(found, answer):
            raise TypeError(f"{operation} answers {type(found).__name__}, not {answer.__name__}")
        return found


def read_page(hub: Hub, visitor: Visitor, view: Callable[[PageReader], T]) -> T:
    with hub.reading() as tx:
        return view(PageReader(visitor, tx.now, lambda name, given: engine.within(tx, visitor, name, given)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    room_id: str = ""
    item: str = ""

    def number(self, name: str) -> int | None:
        """A count or seq of the query; anything else counts as not given."""
        text = self.query.get(name, "")
        return int(text) if text.isdecimal() and len(text) < 19 else None

    def word(self, name: str) -> str:
        return self.query.get(name, "").strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class PageView:
    template: str
    context: Mapping[str, object]


TABS = (
    ("", "Room"),
    ("sessions", "Conversation"),
    ("stick", "Stick"),
    ("reservations", "Reservations"),
    ("jobs", "Jobs"),
    ("history", "History"),
)
"""Each view of a room and its name."""
SELECTORS = ("@all", "@peers", "@foreman")
"""Whom a message of the person may go to besides single agents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomFrame:
    room: RoomView
    context: dict[str, object]


def place_of(room: RoomView) -> LinkContext:
    """Where the ids of a text in this room lead."""
    names = frozenset(name for each in room.members for name in (each.agent_id, each.name))
    return LinkContext(room_id=room.room_id, names=names - {"user", "system", ""})


def framed(snapshot: PageReader, asked: PageRequest) -> RoomFrame:
    room = snapshot.read("rooms.show", RoomView, room_id=asked.room_id)
    context: dict[str, object] = {
        "now": snapshot.now,
        "room": room,
        "room_id": asked.room_id,
        "head": room.head,
        "tabs": TABS,
        "selectors": SELECTORS,
        "place": place_of(room),
        "tab": asked.path.removeprefix(f"/rooms/{asked.room_id}").strip("/").partition("/")[0],
    }
    return RoomFrame(room=room, context=context)
