"""Who works in a room, and how alive each of them looks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from tallystick.kernel.clock import Instant
from tallystick.surfaces.web import words
from tallystick.surfaces.web.snapshot import Facts, Snapshot
from tallystick.surfaces.web.stick import Stick


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    agent_id: str
    name: str
    tone: str
    """ok, warn, bad or off."""
    signs: Sequence[str]
    last_seen_at: str
    room: Facts

    @property
    def seen(self) -> Instant:
        return words.instant(self.last_seen_at)


class Peopled(Protocol):
    @property
    def people(self) -> Sequence[Person]: ...


def of_room(snapshot: Snapshot, room: Facts, stick: Stick) -> list[Person]:
    status = {member["agent_id"]: member["status"] for member in stick.facts["members"]}
    agents = snapshot.rows("agents.list", "agents", room_id=room["room_id"])
    return [_person(agent, status.get(agent["agent_id"], "inactive"), room, stick) for agent in agents]


def _person(agent: Facts, status: str, room: Facts, stick: Stick) -> Person:
    holds = stick.facts["owner"] == agent["agent_id"]
    kept = stick.facts["reserved_for"] == agent["agent_id"]
    gone = agent["process"] == "gone"
    signs = [
        *(["holds the stick"] if holds else []),
        *(["is next"] if kept else []),
        *(each for each in agent["holds"][:3] if each != "the stick"),
        *(["stalled"] if agent["stalled"] else []),
        *(["process gone"] if gone else [_presence(status, agent["liveness"])]),
        *([agent["role"]] if agent["role"] == "foreman" else []),
    ]
    tone = _tone(agent, status)
    return Person(
        agent_id=agent["agent_id"],
        name=agent["name"],
        tone=tone,
        signs=signs,
        last_seen_at=agent["last_seen_at"],
        room=room,
    )


def _presence(status: str, liveness: str) -> str:
    """Presence decides about turns and liveness about what is held; said once where both agree."""
    return status if liveness == "active" else liveness


def _tone(agent: Facts, status: str) -> str:
    if agent["process"] == "gone" or agent["liveness"] == "evicted":
        return "bad"
    if agent["stalled"] or agent["liveness"] == "stale":
        return "warn"
    return "ok" if status == "active" else "off"


def merged(rooms: Iterable[Peopled]) -> list[Person]:
    """Everybody once, as last seen anywhere; those in trouble first, then the most recent."""
    found: dict[str, Person] = {}
    for person in (person for room in rooms for person in room.people):
        known = found.get(person.agent_id)
        if known is None or person.seen > known.seen:
            found[person.agent_id] = person
    return sorted(found.values(), key=lambda person: (person.tone != "bad", -person.seen))
