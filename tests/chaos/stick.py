"""The stick as the ledger alone tells it: an independent replay that shares no code with the rules under test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from tallystick.capabilities.rooms.events import StickClosed
from tallystick.capabilities.turns.events import StickClaimed, StickPassed, StickReleased, StickTakenOver
from tallystick.kernel.envelope import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    turn_id: int
    holder: str
    granted: Event
    ended: int | None = None
    """The seq of the event that ended it."""


@dataclass(slots=True)
class Stick:
    turns: dict[int, Turn] = field(default_factory=dict[int, Turn])
    flaws: list[str] = field(default_factory=list[str])
    held: Turn | None = None
    reserved_for: str | None = None

    @classmethod
    def replayed(cls, events: Sequence[Event]) -> Stick:
        stick = cls()
        for event in events:
            match event.kind:
                case StickClaimed.kind:
                    stick._claim(event)
                case StickTakenOver.kind:
                    stick._take_over(event)
                case StickReleased.kind | StickPassed.kind:
                    stick._hand_over(event)
                case StickClosed.kind:
                    stick._end(event.seq)
                case "actor.remove" if event.data["actor_id"] == stick.reserved_for:
                    stick.reserved_for = None
                case _:
                    pass
        return stick

    def _claim(self, event: Event) -> None:
        if self.held:
            self.flaws.append(f"claimed at {event.seq} by {event.by} while {self.held.holder} held it")
        elif self.reserved_for not in {None, event.by}:
            self.flaws.append(f"claimed at {event.seq} by {event.by} while reserved for {self.reserved_for}")
        self._grant(event)

    def _take_over(self, event: Event) -> None:
        present = self.held.holder if self.held else self.reserved_for
        if present is None or event.data["from_agent_id"] != present:
            self.flaws.append(f"taken over at {event.seq} from {event.data['from_agent_id']}, but {present} had it")
        self._grant(event)

    def _grant(self, event: Event) -> None:
        self._end(event.seq)
        turn_id = cast("int", event.data["turn_id"])
        if turn_id != len(self.turns) + 1:
            self.flaws.append(f"turn {turn_id} at {event.seq} follows turn {len(self.turns)}")
        if event.data["to_agent_id"] != event.by:
            self.flaws.append(f"granted at {event.seq} to {event.data['to_agent_id']} by {event.by}")
        self.held = self.turns[turn_id] = Turn(turn_id=turn_id, holder=event.by, granted=event)

    def _hand_over(self, event: Event) -> None:
        if self.held is None or (self.held.holder, self.held.turn_id) != (event.by, event.data["turn_id"]):
            holder = self.held.holder if self.held else "nobody"
            self.flaws.append(f"handed over at {event.seq} by {event.by}, but {holder} held it")
        self._end(event.seq)
        self.reserved_for = cast("str | None", event.data["reserved_for"])

    def _end(self, seq: int) -> None:
        if self.held:
            self.turns[self.held.turn_id] = replace(self.held, ended=seq)
        self.held = self.reserved_for = None
