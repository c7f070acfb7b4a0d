"""Histories written by hand, to see whether the checker finds what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tallystick.kernel.envelope import Event, to_json
from tests.chaos.checker import Rule, Story
from tests.chaos.diary import Attempt, Outcome

ROOM = "room"


@dataclass
class Tale:
    """A history written by hand; each step takes one tick, and its attempt is asked and answered within it."""

    events: list[Event] = field(default_factory=list[Event])
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    tick: int = 0

    def event(self, kind: str, by: str, **data: object) -> int:
        seq = len(self.events) + 1
        body = to_json(data)
        self.events.append(
            Event(room_id=ROOM, seq=seq, id=f"e{seq}", ts=seq, kind=kind, scope_key="", by=by, body=body)
        )
        return seq

    def said(self, by: str, operation: str, answer: dict[str, object], **given: object) -> Attempt:
        self.tick += 10
        attempt = Attempt(
            by=by,
            operation=operation,
            given={"room_id": ROOM, **given},
            asked_at=self.tick,
            answered_at=self.tick + 1,
            outcome=Outcome.OK,
            answer=answer,
        )
        self.attempts.append(attempt)
        return attempt

    def join(self, by: str) -> None:
        seq = self.event("actor.add", by, actor_id=by)
        self.said(by, "rooms.join", {"room_id": ROOM, "cursor": str(seq)})

    def claim(self, by: str, turn_id: int, *, handoff_seq: int | None = None) -> None:
        data: dict[str, object] = {"turn_id": turn_id, "to_agent_id": by, "handoff_seq": handoff_seq}
        self.event("x.tally.stick.claim", by, **data)
        self.granted(by, turn_id, handoff=self.events[handoff_seq - 1].data["handoff"] if handoff_seq else None)

    def granted(self, by: str, turn_id: int, *, reason: str = "sequence", handoff: object = None) -> Attempt:
        turn: dict[str, object] = {"status": "your_turn", "turn_id": turn_id, "lease_id": f"lease {turn_id}"}
        return self.said(by, "turns.wait", {**turn, "reason": reason, "handoff": handoff})

    def take_over(self, by: str, turn_id: int, *, revoked: str) -> None:
        data: dict[str, object] = {"turn_id": turn_id, "to_agent_id": by, "from_agent_id": revoked}
        self.event("x.tally.stick.takeover", by, **data)
        turn: dict[str, object] = {"status": "your_turn", "turn_id": turn_id, "lease_id": f"lease {turn_id}"}
        self.said(by, "turns.takeover", {**turn, "reason": "silence"}, expected_turn_id=turn_id - 1)

    def release(self, by: str, turn_id: int, *, to: str | None) -> int:
        handoff: dict[str, object] = {"status": f"{by} {turn_id}", "next_action": "go on"}
        seq = self.event("x.tally.stick.release", by, turn_id=turn_id, reserved_for=to, handoff=handoff)
        answer: dict[str, object] = {"status": "released", "event_seq": seq}
        self.said(by, "turns.release", answer, expected_turn_id=turn_id, handoff=handoff)
        return seq

    def beat(self, by: str, turn_id: int) -> Attempt:
        return self.said(by, "turns.heartbeat", {"status": "ok", "turn_id": turn_id}, expected_turn_id=turn_id)

    def append(self, by: str, words: str) -> None:
        seq = self.event("x.chaos.step", by, mark=words)
        self.said(by, "events.append", {"event": {"seq": seq}}, kind="x.chaos.step", data={"mark": words})

    def found(self, rule: Rule) -> list[str]:
        return list(rule(Story(self.attempts, {ROOM: self.events})))
