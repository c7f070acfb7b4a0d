"""`/rooms/<id>`: the stick as a picture, the handoff in force, the sequence, and what a person may do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tallystick.capabilities.agents.contract import Agents, AgentView
from tallystick.capabilities.jobs.radar_views import Radar
from tallystick.capabilities.messages.contract import InboxView
from tallystick.capabilities.reservations.contract import ReservationList
from tallystick.capabilities.reservations.events import IncursionRecorded
from tallystick.capabilities.rooms.contract import RoomView
from tallystick.capabilities.turns.contract import StickEvent, StickEvents, TurnState
from tallystick.hub import event_text
from tallystick.kernel.clock import Instant, to_wire
from tallystick.kernel.operation import Moment
from tallystick.ledger.contract import Events
from tallystick.surfaces.web import chart, filters, page, rows
from tallystick.surfaces.web.page import PageReader, PageRequest, PageView

TROUBLE = frozenset({"stale_owner", "owner_gone", "recipient_gone"})


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
class Person:
    agent_id: str
    name: str
    tone: str
    """ok, warn, bad or off."""
    signs: Sequence[str]
    last_seen_at: Moment
    room: RoomView

    @property
    def seen(self) -> Instant:
        return self.last_seen_at


class HasPeople(Protocol):
    @property
    def people(self) -> Sequence[Person]: ...


def people_in(snapshot: PageReader, room: RoomView, stick: StickStatus) -> list[Person]:
    status = {member.agent_id: member.status for member in stick.facts.members}
    agents = snapshot.read("agents.list", Agents, room_id=room.room_id).agents
    return [_person(agent, status.get(agent.agent_id, "inactive"), room, stick) for agent in agents]


def _person(agent: AgentView, status: str, room: RoomView, stick: StickStatus) -> Person:
    holds = stick.facts.owner == agent.agent_id
    kept = stick.facts.reserved_for == agent.agent_id
    gone = agent.process == "gone"
    signs = [
        *(["holds the stick"] if holds else []),
        *(["is next"] if kept else []),
        *(each for each in agent.holds[:3] if each != "the stick"),
        *(["stalled"] if agent.stalled else []),
        *(["process gone"] if gone else [_presence(status, agent.liveness)]),
        *([agent.role] if agent.role == "foreman" else []),
    ]
    tone = _tone(agent, status)
    return Person(
        agent_id=agent.agent_id,
        name=agent.name,
        tone=tone,
        signs=signs,
        last_seen_at=agent.last_seen_at,
        room=room,
    )


def _presence(status: str, liveness: str) -> str:
    """Presence decides about turns and liveness about what is held; said once where both agree."""
    return status if liveness == "active" else liveness


def _tone(agent: AgentView, status: str) -> str:
    if agent.process == "gone" or agent.liveness == "evicted":
        return "bad"
    if agent.stalled or agent.liveness == "stale":
        return "warn"
    return "ok" if status == "active" else "off"


def everybody(rooms: Iterable[HasPeople]) -> list[Person]:
    """Everybody once, as last seen anywhere; those in trouble first, then the most recent."""
    found: dict[str, Person] = {}
    for person in (person for room in rooms for person in room.people):
        known = found.get(person.agent_id)
        if known is None or person.seen > known.seen:
            found[person.agent_id] = person
    return sorted(found.values(), key=lambda person: (person.tone != "bad", -person.seen))


OWED = 20
RECENT_MS = 60 * 60 * 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    sign: str
    """`!` cannot wait, `?` asks something, `~` is stuck."""
    who: str
    text: str
    room: RoomView
    href: str
    label: str
    """What the way there is called."""
    since: str | Instant | None = None

    @property
    def tone(self) -> str:
        return "bad" if self.sign == "!" else "warn"


def needs_in(snapshot: PageReader, room: RoomView, stick: StickStatus) -> Sequence[Need]:
    """The worst first."""
    found = [*_takeover(room, stick), *_owed(snapshot, room), *_jobs(snapshot, room), *_incursions(snapshot, room)]
    return sorted(found, key=lambda need: "!?~".index(need.sign))


def _takeover(room: RoomView, stick: StickStatus) -> Iterator[Need]:
    if stick.failed and stick.facts.takeover:
        yield Need(
            sign="~",
            who=stick.failed,
            text=f"{filters.opening(stick.facts.takeover)}; takeover is open",
            room=room,
            href=f"/rooms/{room.room_id}#stick",
            label="Take over",
            since=stick.facts.updated_at,
        )


def _owed(snapshot: PageReader, room: RoomView) -> Iterator[Need]:
    """Messages that ask for the person's attention and have not been accepted."""
    inbox = snapshot.read("messages.inbox", InboxView, room_id=room.room_id, owed=True, limit=OWED)
    for event in (received.event for received in inbox.messages):
        yield Need(
            sign="?",
            who=event.by,
            text=filters.clip(event_text.of(event, filters.person).text, 200),
            room=room,
            href=f"/rooms/{room.room_id}/sessions?at={event.seq}#e{event.seq}",
            label="Answer",
            since=event.ts,
        )


def _jobs(snapshot: PageReader, room: RoomView) -> Iterator[Need]:
    """What the manager's radar marks: a missing proof or an error, a question, a claim that ran out."""
    for each in snapshot.read("jobs.radar", Radar, room_id=room.room_id, limit=OWED).jobs:
        if each.marker:
            job, last = each.job, each.last
            yield Need(
                sign=each.marker,
                who=job.job_id,
                text=filters.clip(f"{filters.spaced(last.kind)}: {last.message}", 200),
                room=room,
                href=f"/rooms/{room.room_id}/jobs/{job.job_id}",
                label=f"Open {last.ref}",
                since=job.updated_at,
            )


def _incursions(snapshot: PageReader, room: RoomView) -> Iterator[Need]:
    """Attempts of the last hour to enter what another agent holds."""
    since = to_wire(snapshot.now - RECENT_MS)
    given = {"kinds": [IncursionRecorded.kind], "since_ts": since, "newest": True, "limit": 3}
    for event in snapshot.read("events.list", Events, room_id=room.room_id, **given).events:
        if isinstance(incursion := event.content, IncursionRecorded):
            yield Need(
                sign="~",
                who=incursion.from_agent,
                text=f"tried {filters.clip(incursion.scope, 120)}, reserved by {filters.person(incursion.to_agent)}",
                room=room,
                href=f"/rooms/{room.room_id}/reservations",
                label="Look",
                since=event.ts,
            )


HISTORY = 80
TALK = 12
GLANCE = 6
"""Jobs and reservations beside the stick; each has a view of its own."""
FILTERS = (
    ("", "all", ""),
    ("handoffs", "handoffs", "h"),
    ("needs-input", "needs input", "b"),
    ("incursions", "incursions", "i"),
)
"""The ways on into the whole conversation: its filter, its label and its tone."""


def view(snapshot: PageReader, asked: PageRequest) -> PageView:
    around = page.framed(snapshot, asked)
    room = around.room
    state = stick_of(snapshot, asked.room_id)
    events = snapshot.read("turns.history", StickEvents, room_id=asked.room_id, newest=True, limit=HISTORY).events
    order = [member.agent_id for member in state.facts.members]
    context: dict[str, object] = {
        **around.context,
        "stick": state,
        "handoff": _handoff(events),
        "picture": chart.draw(events, order, snapshot.now),
        "needs": needs_in(snapshot, room, state),
        "people": people_in(snapshot, room, state),
        "mine": state.facts.owner == snapshot.me,
        "member": snapshot.me in order,
        "rows": rows.newest(snapshot, asked.room_id, limit=TALK),
        "filters": FILTERS,
        "jobs": snapshot.read("jobs.radar", Radar, room_id=asked.room_id, limit=GLANCE).jobs,
        "held": snapshot.read("reservations.status", ReservationList, room_id=asked.room_id, limit=GLANCE).reservations,
        "heartbeat_ms": state.facts.policy.heartbeat_interval_ms,
    }
    return PageView(template="room.html", context=context)


def _handoff(events: Sequence[StickEvent]) -> StickEvent | None:
    """The newest handoff, which the holder got or the next one will get; a takeover brings none."""
    for event in reversed(events):
        if event.handoff or event.event_type == "takeover":
            return event if event.handoff else None
    return None
