"""What a page is made of: what the browser asked for, the operations a view may read, and what it gives the template.

A view reads everything in one transaction, so that what stands on a page belongs together. What waits for the person is
listed on several: the hub decides what and in which order (`attention.list`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar
from urllib.parse import quote

from tallystick.capabilities.agents.contract import Agents, AgentView
from tallystick.capabilities.attention.contract import SAID_LIMIT, WaitingItem, WaitingItems, WaitingKind
from tallystick.capabilities.rooms.contract import RoomView
from tallystick.capabilities.turns.contract import TurnState
from tallystick.hub import engine
from tallystick.hub.hub import Hub
from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import is_person
from tallystick.kernel.clock import Instant
from tallystick.kernel.operation import Answer
from tallystick.surfaces.web.filters import LinkContext

T = TypeVar("T")
AnswerT = TypeVar("AnswerT", bound=Answer)

NEEDS_SHOWN = 20
"""Items on one page; the rest is a link away."""


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
BELOW: Mapping[str, str] = {
    "event": "history",
    "replay": "history",
    "agents": "sessions",
    "actions": "sessions",
    "blobs": "sessions",
    "tasks": "jobs",
    "cards": "jobs",
    "runners": "jobs",
}
"""The view that each page of one thing belongs to."""
SELECTORS = ("@all", "@peers", "@foreman")
"""Whom a message of the person may go to besides single agents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomFrame:
    room: RoomView
    stick: TurnState
    waiting: WaitingItems
    agents: Sequence[AgentView]
    """Everybody who has joined, also who is not here now."""
    context: dict[str, object]


class Named(Protocol):
    @property
    def agent_id(self) -> str: ...

    @property
    def name(self) -> str: ...


def place_of(room_id: str, agents: Iterable[Named]) -> LinkContext:
    """Where the ids of a text in this room lead."""
    names = frozenset(name for each in agents for name in (each.agent_id, each.name))
    return LinkContext(room_id=room_id, names=names - {"user", "system", ""})


def framed(snapshot: PageReader, asked: PageRequest) -> RoomFrame:
    """What every view of a room has: its tabs, how much waits there, and what the reader holds in it."""
    room = snapshot.read("rooms.show", RoomView, room_id=asked.room_id)
    stick = snapshot.read("turns.state", TurnState, room_id=asked.room_id)
    waiting = snapshot.read("attention.list", WaitingItems, room_id=asked.room_id)
    agents = snapshot.read("agents.list", Agents, room_id=asked.room_id).agents
    context: dict[str, object] = {
        "now": snapshot.now,
        "room": room,
        "room_id": asked.room_id,
        "head": room.head,
        "tabs": TABS,
        "selectors": SELECTORS,
        "place": place_of(asked.room_id, agents),
        "tab": _tab(asked),
        "needed": waiting.count,
        "mine": stick.owner == snapshot.me,
        "member": in_order(stick, snapshot.me),
        "standing": standing([stick], snapshot.me),
        "names": {asked.room_id: names_of(agents)},
    }
    return RoomFrame(room=room, stick=stick, waiting=waiting, agents=agents, context=context)


def _tab(asked: PageRequest) -> str:
    """The view that this is, or the one that leads back."""
    name = asked.path.removeprefix(f"/rooms/{asked.room_id}").strip("/").partition("/")[0]
    return BELOW.get(name, name)


def names_of(agents: Iterable[AgentView]) -> Mapping[str, str]:
    """What the members of a room called themselves, by their ids."""
    return {each.agent_id: each.name for each in agents if each.name and not is_person(each.agent_id)}


def in_order(stick: TurnState, me: str) -> bool:
    return any(each.agent_id == me and each.in_order for each in stick.members)


def standing(sticks: Iterable[TurnState], me: str) -> Sequence[Mapping[str, object]]:
    """Where the reader has a place in the turn order, and the leases that an open page keeps for them."""
    return [
        {
            "room": stick.room_id,
            "lease": stick.lease_id if stick.owner == me else None,
            "turn": stick.turn_id,
            "every": stick.policy.heartbeat_interval_ms,
        }
        for stick in sticks
        if stick.state != "closed" and (stick.owner == me or in_order(stick, me))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    item: WaitingItem
    room: RoomView

    @property
    def id(self) -> str:
        """Its element: the same as long as it waits."""
        named = f"{self.item.room_id} {self.item.item}"
        return f"need-{hashlib.blake2s(named.encode('utf-8', 'replace'), digest_size=6).hexdigest()}"

    @property
    def tone(self) -> str:
        return {"!": "bad", "": "quiet"}.get(self.item.sign, "warn")

    @property
    def cut(self) -> bool:
        return len(self.item.said) >= SAID_LIMIT

    @property
    def href(self) -> str:
        """Where it is told at length."""
        at, item = f"/rooms/{self.item.room_id}", self.item
        if item.job:
            return f"{at}/jobs/{quote(item.job)}"
        match item.kind:
            case WaitingKind.STICK | WaitingKind.TAKEOVER:
                return f"{at}/stick"
            case WaitingKind.PERMISSION:
                return f"{at}/event/{item.seq}"
            case WaitingKind.INCURSION:
                return f"{at}/reservations?path={quote(item.path or '')}"
            case _:
                return f"{at}/sessions?at={item.seq}#e{item.seq}" if item.seq else at


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomNeeds:
    """What waits in one room."""

    needs: Sequence[Need]
    count: int
    unread: int


def needs_in(snapshot: PageReader, room: RoomView) -> RoomNeeds:
    return needs_of(room, snapshot.read("attention.list", WaitingItems, room_id=room.room_id))


def needs_of(room: RoomView, found: WaitingItems) -> RoomNeeds:
    return RoomNeeds(needs=[Need(item=item, room=room) for item in found.items], count=found.count, unread=found.unread)


def by_urgency(needs: Iterable[Need]) -> list[Need]:
    """Over all rooms: the most urgent first, whatever room it is in."""
    return sorted(needs, key=lambda need: need.item.order)
