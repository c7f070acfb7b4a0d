"""`/rooms/<id>`: a room as one lives in it, with its conversation, what waits and everybody there; and its stick.

`/rooms/<id>/sessions` is the conversation of a room, an agent or a task, and a place to join it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tallystick.capabilities.jobs.views import Radar
from tallystick.capabilities.reservations.contract import ReservationList
from tallystick.capabilities.rooms.contract import Rooms, RoomSummary
from tallystick.capabilities.turns.contract import StickEvent, StickEvents, TurnState
from tallystick.surfaces.web import chart, chat, page, people, rows
from tallystick.surfaces.web.page import PageReader, PageRequest, PageView, RoomFrame
from tallystick.surfaces.web.rows import EventRow

TROUBLE = frozenset({"stale_owner", "owner_gone", "recipient_gone"})
HISTORY = 80
LONG_HISTORY = 500
TALK = 60
GLANCE = 6
"""Jobs and reservations beside the conversation; each has a view of its own."""
COUNTED = 200
"""So many are counted for who wants to close the room."""
FILTERS = (
    ("", "all", ""),
    ("messages", "messages", ""),
    ("handoffs", "handoffs", "h"),
    ("needs-input", "needs input", "b"),
    ("incursions", "incursions", "i"),
)
"""The ways on into the whole conversation: its filter, its label and its tone."""

SESSIONS_LIMIT = 80
RELAYED_TO = 200

SESSIONS_SHOWN: Mapping[str, tuple[str, Callable[[EventRow], bool]]] = {
    "": ("all", lambda _: True),
    "handoffs": ("handoffs", lambda row: row.tag == "Passed to" or row.handoff is not None),
    "needs-input": ("needs input", lambda row: row.tag == "Needs input" or (row.tone == "b" and bool(row.tag))),
    "incursions": ("incursions", lambda row: row.tag == "Incursion"),
    "messages": ("messages", lambda row: row.speech),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StickStatus:
    facts: TurnState
    """What `turns.state` says."""

    @property
    def next(self) -> str | None:
        return self.facts.next

    @property
    def tone(self) -> str:
        """ok, warn, bad or off, for the dot beside it."""
        state = self.facts.state
        if state in TROUBLE or self.facts.takeover:
            return "bad"
        return {"owned": "ok", "reserved": "warn"}.get(state, "off")

    @property
    def failed(self) -> str | None:
        """Who is to be taken over from, while that is open."""
        if self.facts.takeover is None:
            return None
        return self.facts.owner or self.facts.reserved_for


def stick_of(snapshot: PageReader, room_id: str) -> StickStatus:
    return StickStatus(facts=snapshot.read("turns.state", TurnState, room_id=room_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class LastHandoff:
    """The newest handoff of a room; it stays what it is when the stick is taken over."""

    event: StickEvent
    taken_by: str | None
    """Who took the stick over since, without having been handed it."""

    @property
    def told(self) -> str:
        return str((self.event.handoff or {}).get("next_action") or "")


def last_handoff(events: Sequence[StickEvent]) -> LastHandoff | None:
    taken: str | None = None
    for event in reversed(events):
        if event.handoff:
            return LastHandoff(event=event, taken_by=taken)
        if event.event_type == "takeover" and taken is None:
            taken = event.to_agent_id
    return None


def around_stick(snapshot: PageReader, asked: PageRequest, frame: RoomFrame, *, history: int) -> dict[str, object]:
    """What both views of a room say of its stick, and who is there."""
    room, state = frame.room, StickStatus(facts=frame.stick)
    events = snapshot.read("turns.history", StickEvents, room_id=asked.room_id, newest=True, limit=history).events
    handoff = last_handoff(events)
    order = [member.agent_id for member in state.facts.members]
    present = people.people_in(snapshot, frame, handoff.told if handoff else "")
    jobs = snapshot.read("jobs.radar", Radar, room_id=asked.room_id, limit=COUNTED).jobs
    held = snapshot.read("reservations.status", ReservationList, room_id=asked.room_id, limit=COUNTED).reservations
    window = chart.window(asked.word("window"), snapshot.now - room.created_at)
    return {
        **frame.context,
        "stick": state,
        "handoff": handoff,
        "picture": chart.draw(events, order, snapshot.now, begun=room.created_at, window=window, end=_end(asked)),
        "windows": chart.WINDOWS,
        "window": window.name,
        "people": present,
        "jobs": jobs[:GLANCE],
        "held": held[:GLANCE],
        "open_ends": {"job": len(jobs), "reservation": len(held), "thing": frame.waiting.count},
        "state_of": {person.agent_id: person.state for person in present},
    }


def _end(asked: PageRequest) -> int | None:
    """Until when the picture goes, when it does not go until now."""
    return asked.number("end")


def view(snapshot: PageReader, asked: PageRequest) -> PageView:
    frame = page.framed(snapshot, asked)
    waiting = page.needs_of(frame.room, frame.waiting)
    found = rows.stretch(snapshot, asked.room_id, limit=TALK)
    shown = asked.number("needs") or page.NEEDS_SHOWN
    context: dict[str, object] = {
        **around_stick(snapshot, asked, frame, history=HISTORY),
        "needs": waiting.needs[:shown],
        "more": len(waiting.needs) > shown,
        "entries": chat.conversation(found.rows),
        "older": found.older,
        "filters": FILTERS,
        "rooms": rooms_to_relay_to(snapshot, asked.room_id),
    }
    return PageView(template="room.html", context=context)


def stick_view(snapshot: PageReader, asked: PageRequest) -> PageView:
    """The stick at full width: its picture, the handoff in force, the order, and every action."""
    frame = page.framed(snapshot, asked)
    return PageView(template="stick.html", context=around_stick(snapshot, asked, frame, history=LONG_HISTORY))


def sessions_view(snapshot: PageReader, asked: PageRequest) -> PageView:
    around = page.framed(snapshot, asked)
    agent, task, show, at = asked.word("agent"), asked.word("task"), asked.word("show"), asked.number("at")
    show = show if show in SESSIONS_SHOWN else ""
    # A row that is pointed at stands a little below the top, with what came after it in sight.
    before = asked.number("before") or (at + SESSIONS_LIMIT // 4 if at else None)

    def wanted(row: EventRow) -> bool:
        return SESSIONS_SHOWN[show][1](row) and _about(row, agent)

    found = rows.stretch(snapshot, asked.room_id, limit=SESSIONS_LIMIT, before=before, wanted=wanted, task=task)
    agents = around.agents
    context: dict[str, object] = {
        **around.context,
        "rows": found.rows,
        "entries": chat.conversation(found.rows),
        "agents": agents,
        "agent": agent,
        "task": task,
        "show": show,
        "shown": [(name, label) for name, (label, _) in SESSIONS_SHOWN.items()],
        "before": before,
        "older": found.older,
        "rooms": rooms_to_relay_to(snapshot, asked.room_id),
    }
    return PageView(template="sessions.html", context=context)


def _about(row: EventRow, agent: str) -> bool:
    if not agent or agent in {row.by, *row.to}:
        return True
    return agent in row.data.get("recipients", ()) or agent == row.data.get("to_agent_id")


def rooms_to_relay_to(snapshot: PageReader, room_id: str) -> list[RoomSummary]:
    """Where a message may be relayed to; a token for one room reaches no other."""
    if snapshot.visitor.room_id is not None:
        return []
    every = snapshot.read("rooms.list", Rooms, limit=RELAYED_TO).rooms
    return [room for room in every if not room.closed_at and room.room_id != room_id]
