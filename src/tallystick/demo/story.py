"""The text of the play: the files that are edited, what the agents say, and the events at which the demo acts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from tallystick.capabilities.agents.events import MemberAdded
from tallystick.capabilities.rooms.events import NoteAdded, RoomCreated
from tallystick.capabilities.turns.contract import Handoff
from tallystick.capabilities.turns.events import StickClaimed, StickPassed, StickReleased, StickTakenOver
from tallystick.kernel.caller import is_person
from tallystick.kernel.clock import Instant, from_wire
from tallystick.kernel.operation import as_record
from tallystick.ledger.contract import Envelope

CAST: tuple[str, ...] = ("ada", "bo", "cleo")


DID = "x.demo.did"


SAW = "x.demo.saw"


KILLED = "x.demo.killed"


class Cue(StrEnum):
    """What the demo waits for."""

    HALF_WRITTEN = "half_written"
    """bo is in the middle of a line: kill him."""
    HISTORY_READ = "history_read"
    """cleo knows what went before: the person at the keyboard has a wish."""


README = """\
# The light at Skerry Point

The chart calls it Fl(3) 12s: three flashes, then dark, every twelve seconds, all night.
"""


LAMP = '''\
"""The lamp of Skerry Point: Fl(3) 12s."""

FLASHES = (0, 3, 6)
PERIOD = 12


def lit(second: int) -> bool:
    """Whether the lamp is lit at this second of the night."""
    return second in FLASHES
'''


TEST_LAMP = """\
import unittest

from lamp import lit


class Lamp(unittest.TestCase):
    def test_it_flashes_three_times(self) -> None:
        self.assertEqual([s for s in range(12) if lit(s)], [0, 3, 6])

    def test_it_flashes_again_in_the_next_round(self) -> None:
        self.assertEqual([s for s in range(12, 24) if lit(s)], [12, 15, 18])
"""


HALF_A_LAMP = LAMP.replace("    return second in FLASHES\n", "    return second % PER")


WHOLE_LAMP = LAMP.replace("return second in FLASHES", "return second % PERIOD in FLASHES")


HORN = '''\
"""The fog horn: one blast a minute, and none while the village sleeps."""

QUIET = range(22, 24), range(6)


def sounds(hour: int, second: int) -> bool:
    """Whether the horn sounds at this second of the hour."""
    return second % 60 == 0 and not any(hour in hours for hours in QUIET)
'''


TEST_HORN = """\
import unittest

from horn import sounds


class Horn(unittest.TestCase):
    def test_it_sounds_once_a_minute(self) -> None:
        self.assertEqual([s for s in range(180) if sounds(20, s)], [0, 60, 120])

    def test_it_is_quiet_from_ten_to_six(self) -> None:
        self.assertEqual([h for h in range(24) if not sounds(h, 0)], [0, 1, 2, 3, 4, 5, 22, 23])
"""


LOGBOOK = """\
# Logbook

- The lamp stopped after twelve seconds; ada proved it with a test.
- bo went overboard in the middle of line 9. cleo took the stick and finished the line.
- The keeper asked for a horn. ada built one that lets the village sleep.
- bo came back, found his stick gone and the light burning, and wrote this.
"""


NOTE = "Fog tonight. Could we also have a horn, once a minute? But not from ten to six: the village sleeps."


TAKEOVER_REASON = "bo's process is gone, and the lamp must not stay dark tonight."


ADA_TO_BO: Mapping[str, object] = {
    "status": "The lamp flashes for twelve seconds and then never again; the ships have noticed. I wrote test_lamp.py,"
    " and it fails as it should: at second 12 there is no light.",
    "next_action": "Let lit() start over every PERIOD seconds. It is one line in lamp.py.",
    "artifacts": [
        {"path": "lamp.py", "lines": [7, 9], "role": "edit", "note": "the line that forgets the second round"},
        {"path": "test_lamp.py", "role": "context"},
    ],
    "do_not": ["Do not change FLASHES: the sailors have it on their charts."],
}


CLEO_TO_ADA: Mapping[str, object] = {
    "status": "bo died in the middle of a line. His last word was `PER`, and with your handoff in the history I could"
    " finish it for him. The lamp goes round; all tests pass.",
    "next_action": "The keeper left a note about a horn. You know how this place likes its tests: please build it.",
    "artifacts": [{"path": "lamp.py", "lines": [9, 9], "role": "review"}],
    "open_questions": ["Does ten to six include six o'clock? I would say that by six the village is up."],
}


ADA_TO_NEXT: Mapping[str, object] = {
    "status": "horn.py sounds once a minute and is quiet from ten to six; six o'clock itself is loud. Both ends of the"
    " night are in test_horn.py.",
    "next_action": "Somebody should write all this into the logbook, and who better than the one it happened to.",
    "artifacts": [{"path": "horn.py", "role": "review"}, {"path": "test_horn.py", "role": "context"}],
}


BO_TO_NEXT: Mapping[str, object] = {
    "status": "The logbook is written. I do not remember my first turn and did not have to: it is all in the history.",
    "next_action": "Nothing tonight. The lamp turns, and the horn is quiet.",
    "artifacts": [{"path": "LOGBOOK.md", "role": "output"}],
}


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
        self.lanes = dict.fromkeys(CAST, Lane.AWAY)
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
        if event.kind == KILLED:
            self.lanes[who] = Lane.DEAD
        elif who not in self.lanes:
            return
        elif event.kind in {StickClaimed.kind, StickTakenOver.kind}:
            self.turn_id = event.turn_id
            self.lanes[who] = Lane.HOLDS
        elif event.kind in {StickReleased.kind, StickPassed.kind, MemberAdded.kind} or self.lanes[who] is Lane.DEAD:
            self.lanes[who] = Lane.HERE


def _who(event: Seen) -> str:
    if event.kind == KILLED:
        return event.word("agent")
    return "you" if is_person(event.by) else event.by


def _text(event: Seen) -> str:
    match event.kind:
        case RoomCreated.kind:
            return f"opens the room of {event.word('title')}/"
        case MemberAdded.kind:
            return "joins" if event.by in CAST else "join"
        case NoteAdded.kind:
            return "leave a note"
        case kind if kind == KILLED:
            return f"is killed: kill -9 {event.data['pid']}"
        case kind if kind in {DID, SAW}:
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
        case kind if kind == SAW and event.word("error"):
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
