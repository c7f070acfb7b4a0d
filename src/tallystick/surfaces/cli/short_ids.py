"""What a person types for an id: an event's seq, the beginning of an id, the number of a job.

A command that gets one asks the hub which is meant. What nothing fits is passed on as it is, and refused by the
operation in its own words; what fits several is refused here.
"""

from __future__ import annotations

from tallystick.kernel.errors import Refused
from tallystick.kernel.ids import is_beginning, meant, one_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from tallystick.client.nearest import Stop
    from tallystick.surfaces.cli.session import CallReply, Session

LOOKED_THROUGH = 1_000
AGENT_FIELDS = frozenset({"actor_id", "agent_id", "target_actor_id", "to_agent_id"})
UNKNOWN_AGENT = frozenset({"agent_not_found", "unknown_member"})
EVENT_FIELDS = {
    "event_id": "room_id",
    "parent_message_id": "room_id",
    "related_event_id": "room_id",
    "reply_to": "room_id",
    "since_event_id": "room_id",
    "src_event_id": "src_group_id",
}
"""Each with the field that says of which room it is."""
ROOM_FIELDS = frozenset({"dst_group_id", "src_group_id"})
NUMBERED = {
    "job": "JOB",
    "jobs": "JOB",
    "after": "JOB",
    "reply_job": "JOB",
    "task": "TASK",
    "task_id": "TASK",
    "card": "CARD",
}


def event(session: Session, room_id: str, given: str) -> str:
    """An event's id from its seq (`10`, `notes@10`) or the beginning of its id."""
    seq = given.rpartition("@")[2].removeprefix("#")
    if seq.isdecimal() and not seq.startswith("0"):
        asked = {"room_id": room_id, "since_seq": int(seq) - 1, "limit": 1}
        found = session.call("events.list", asked).data["events"]
        return found[0]["id"] if found and found[0]["seq"] == int(seq) else given
    if not is_beginning(given):
        return given
    newest = session.call("events.list", {"room_id": room_id, "newest": True, "limit": LOOKED_THROUGH}).data["events"]
    return meant(given, [each["id"] for each in newest])


def room(session: Session, given: str) -> str:
    """A room's id from its beginning."""
    if not is_beginning(given):
        return given
    found = session.call("rooms.list", {"limit": LOOKED_THROUGH}).data["rooms"]
    return meant(given, [each["room_id"] for each in found])


def reservation(session: Session, room_id: str, given: str) -> str:
    """A reservation's id from its beginning."""
    if not is_beginning(given):
        return given
    found = session.call("reservations.status", {"room_id": room_id}).data["reservations"]
    return meant(given, [each["reservation_id"] for each in found])


def call(session: Session, operation: str, given: Mapping[str, object], stop: Stop | None = None) -> CallReply:
    """Call an operation; where it knows no agent as it was typed, with the one whose id or name begins like that."""
    try:
        return session.call(operation, given, stop)
    except Refused as refusal:
        words = {name: str(given[name]) for name in AGENT_FIELDS & given.keys()}
        if refusal.code not in UNKNOWN_AGENT or not words:
            raise
        found = agents(session, str(given["room_id"]), list(words.values()))
        meant = dict(zip(words, found, strict=True))
        if meant == words:
            raise
    return session.call(operation, {**given, **meant}, stop)


def agents(session: Session, room_id: str, words: list[str]) -> list[str]:
    """Recipients that the room knows, each by id, name or the beginning of either."""
    known = session.call("agents.list", {"room_id": room_id}).data["agents"]
    return [one_of(word, (each["agent_id"] for each in known if _fits(word, each))) for word in words]


def _fits(word: str, agent: dict[str, Any]) -> bool:
    return agent["agent_id"].startswith(word) or str(agent["name"]).startswith(word)


def numbered(field: str, given: str) -> str:
    """`7` and `job-7` for JOB-007."""
    kind = NUMBERED.get(field)
    digits = given.upper().removeprefix(f"{kind}-") if kind else ""
    return f"{kind}-{int(digits):03d}" if digits.isdecimal() else given
