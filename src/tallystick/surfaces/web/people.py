"""Who is in a room: how they are called, what they do now, and whether they are there; one word for one state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tallystick.capabilities.agents.contract import AgentView
from tallystick.capabilities.rooms.contract import RoomView
from tallystick.capabilities.turns.contract import TurnState
from tallystick.harnesses.registry import TITLES
from tallystick.hub import event_text
from tallystick.kernel.clock import Instant
from tallystick.kernel.operation import Moment
from tallystick.ledger.contract import Envelope, Events
from tallystick.surfaces.web import filters
from tallystick.surfaces.web.page import PageReader, RoomFrame

HEARD = 60
"""Events of a room that are looked through for what everybody said last."""
EDITS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    agent_id: str
    name: str
    harness: str
    """What it runs in, if that is known."""
    tone: str
    """ok, warn, bad or off."""
    state: str
    """The one word for whether it is there."""
    signs: Sequence[str]
    edits: Sequence[str]
    """What it has reserved."""
    last_seen_at: Moment
    room: RoomView
    branch: str = ""
    doing: str = ""
    """What it was told to do next, while it holds the stick, else its last words."""

    @property
    def seen(self) -> Instant:
        return self.last_seen_at

    @property
    def holds(self) -> bool:
        return "holds the stick" in self.signs

    @property
    def told(self) -> str:
        return " · ".join([*self.signs, *self.edits, self.state])


class HasPeople(Protocol):
    @property
    def people(self) -> Sequence[Person]: ...


def harness_of(agent: AgentView) -> str:
    named = f"{agent.harness} {agent.agent_id}".lower()
    return next((shown for word, shown in TITLES.items() if word in named), agent.harness)


def people_in(snapshot: PageReader, frame: RoomFrame, told: str = "") -> list[Person]:
    """Everybody in the room with their last words; `told` is what the holder of the stick was asked to do next."""
    stick = frame.stick
    return with_words(
        snapshot, members_in(frame.room, stick, frame.agents), {stick.owner: told} if stick.owner and told else {}
    )


def with_words(snapshot: PageReader, people: Sequence[Person], told: Mapping[str, str]) -> list[Person]:
    """The same people with what they are doing: read for those who are shown, since it takes a look at their rooms."""
    words = {room_id: last_words(_newest(snapshot, room_id)) for room_id in {each.room.room_id for each in people}}
    return [
        replace(each, doing=told.get(each.agent_id) or words[each.room.room_id].get(each.agent_id, ""))
        for each in people
    ]


def _newest(snapshot: PageReader, room_id: str) -> Sequence[Envelope]:
    return snapshot.read("events.list", Events, room_id=room_id, newest=True, limit=HEARD).events


def members_in(room: RoomView, stick: TurnState, agents: Iterable[AgentView]) -> list[Person]:
    """Everybody in the room."""
    status = {member.agent_id: member.status for member in stick.members}
    return [_person(agent, status.get(agent.agent_id, "inactive"), room, stick) for agent in agents]


def last_words(events: Iterable[Envelope]) -> dict[str, str]:
    """What everybody said last, of events oldest first."""
    found: dict[str, str] = {}
    for event in events:
        said = event_text.of(event, filters.person)
        words = said.text if said.speech or not said.handoff else str(said.handoff.get("status") or "")
        if words and (said.speech or said.handoff or said.tone in {"b", "i"}):
            found[event.by] = " ".join(words.split())
    return found


def _person(agent: AgentView, status: str, room: RoomView, stick: TurnState) -> Person:
    signs = [
        *(["holds the stick"] if stick.owner == agent.agent_id else []),
        *(["is next"] if stick.reserved_for == agent.agent_id else []),
        *([agent.role] if agent.role == "foreman" else []),
    ]
    return Person(
        agent_id=agent.agent_id,
        name=agent.name if agent.name and agent.name != agent.agent_id else "",
        harness=harness_of(agent),
        tone=_tone(agent, status),
        state=state_of(agent, status),
        signs=signs,
        edits=[each for each in agent.holds if each != "the stick"][:EDITS],
        last_seen_at=agent.last_seen_at,
        room=room,
        branch=agent.branch or "",
    )


def state_of(agent: AgentView, status: str) -> str:
    """The one word: death beats silence, silence beats standing still."""
    if agent.process == "gone":
        return "process gone"
    if agent.liveness != "active":
        return agent.liveness
    return "stalled" if agent.stalled else status


def _tone(agent: AgentView, status: str) -> str:
    if agent.process == "gone" or agent.liveness == "evicted":
        return "bad"
    if agent.stalled or agent.liveness == "stale":
        return "warn"
    return "ok" if status == "active" else "off"


def everybody(rooms: Iterable[HasPeople]) -> list[Person]:
    """Everybody once, where they hold the stick or were seen last; trouble first, then who holds it."""
    found: dict[str, Person] = {}
    for person in (person for room in rooms for person in room.people):
        known = found.get(person.agent_id)
        if known is None or _telling(person) > _telling(known):
            found[person.agent_id] = person
    return sorted(found.values(), key=lambda person: (person.tone != "bad", not person.holds, -person.seen))


def _telling(person: Person) -> tuple[bool, Instant]:
    return person.holds, person.seen
