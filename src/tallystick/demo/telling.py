"""From the ledger's events to the beats of a story: who did what, whose stick it is now, and what was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tallystick.capabilities.agents.events import MemberAdded
from tallystick.capabilities.rooms.events import NoteAdded, RoomCreated
from tallystick.capabilities.turns.contract import Handoff
from tallystick.capabilities.turns.events import StickClaimed, StickPassed, StickReleased, StickTakenOver
from tallystick.demo import script
from tallystick.kernel.clock import Instant, from_wire
from tallystick.kernel.operation import as_record
from tallystick.ledger.contract import Envelope

STICK = "x.tally.stick."
_WHY = {"open_claim": "it was free", "sequence": "next in turn", "direct_pass": "it was passed here"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One event of the ledger."""

    seq: int
    at: Instant
    kind: str
    by: str
    data: Mapping[str, object]

    @classmethod
    def of(cls, envelope: Envelope) -> Seen:
        return cls(seq=envelope.seq, at=from_wire(envelope.ts), kind=envelope.kind, by=envelope.by, data=envelope.data)

    @property
    def turn_id(self) -> int:
        """Of an event of the stick."""
        return as_record(int, self.data["turn_id"])

    def word(self, name: str) -> str:
        found = self.data.get(name)
        return found if isinstance(found, str) else ""


class Lane(StrEnum):
    AWAY = "away"
    HERE = "here"
    HOLDS = "holds"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    seconds: float
    who: str
    text: str
    said: Sequence[str] = ()
    """What somebody wrote, to be quoted."""
    to: str | None = None
    """Who the stick goes to."""
    lanes: Mapping[str, Lane] = field(default_factory=dict[str, Lane])
    turn_id: int = 0


class Story:
    """Folds events into beats, and with them who is where."""

    def __init__(self) -> None:
        self.lanes = dict.fromkeys(script.CAST, Lane.AWAY)
        self.turn_id = 0
        self._began: Instant | None = None

    def tell(self, event: Seen) -> Beat | None:
        self._began = event.at if self._began is None else self._began
        self._move(event)
        text = _text(event)
        if not text:
            return None
        return Beat(
            seconds=(event.at - self._began) / 1000,
            who=_who(event),
            text=text,
            said=_said(event),
            to=event.word("reserved_for") or None,
            lanes=dict(self.lanes),
            turn_id=self.turn_id,
        )

    def _move(self, event: Seen) -> None:
        who = _who(event)
        if event.kind == script.KILLED:
            self.lanes[who] = Lane.DEAD
        elif who not in self.lanes:
            return
        elif event.kind in {StickClaimed.kind, StickTakenOver.kind}:
            self.turn_id = event.turn_id
            self.lanes[who] = Lane.HOLDS
        elif event.kind in {StickReleased.kind, StickPassed.kind, MemberAdded.kind} or self.lanes[who] is Lane.DEAD:
            self.lanes[who] = Lane.HERE


def _who(event: Seen) -> str:
    if event.kind == script.KILLED:
        return event.word("agent")
    return "you" if event.by == "user" or event.by.startswith("human:") else event.by


def _text(event: Seen) -> str:
    match event.kind:
        case RoomCreated.kind:
            return f"opens the room of {event.word('title')}/"
        case MemberAdded.kind:
            return "joins" if event.by in script.CAST else "join"
        case NoteAdded.kind:
            return "leave a note"
        case script.KILLED:
            return f"is killed: kill -9 {event.data['pid']}"
        case script.DID | script.SAW:
            return event.word("text")
        case _:
            return _stick(event)


def _stick(event: Seen) -> str:
    turn, to = event.data.get("turn_id"), event.word("reserved_for")
    match event.kind:
        case StickClaimed.kind:
            return f"has the stick: turn {turn}, {_WHY[event.word('reason')]}"
        case StickReleased.kind:
            return f"releases the stick; {to} is next"
        case StickPassed.kind:
            return f"passes the stick to {to}"
        case StickTakenOver.kind:
            return f"takes the stick over: turn {turn}"
        case _:
            return ""


def _said(event: Seen) -> list[str]:
    handoff = event.data.get("handoff")
    if handoff is not None:
        return _handoff(as_record(Handoff, handoff))
    match event.kind:
        case NoteAdded.kind:
            return [event.word("body")]
        case script.SAW if event.word("error"):
            return [event.word("message"), event.word("hint")]
        case StickTakenOver.kind:
            return [event.word("reason")]
        case _:
            return []


def _handoff(handoff: Handoff) -> list[str]:
    return [
        handoff.status,
        f"Next: {handoff.next_action}",
        *(f"Open: {question}" for question in handoff.open_questions or []),
        *(handoff.do_not or []),
    ]
