"""A room's events as a conversation in reading order.

What programs did is folded away between what was said, and a request to an agent stands with what became of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tallystick.capabilities.actions.events import (
    ActionResultReported,
    ActionStatus,
    ActionSubmitted,
    TaskDoneReported,
    TaskProgressReported,
)
from tallystick.surfaces.web.rows import EventRow

_NOUNS: Mapping[str, tuple[str, str]] = {
    "job": ("job event", "job events"),
    "runner": ("runner event", "runner events"),
    "stick": ("stick event", "stick events"),
    "reservation": ("reservation event", "reservation events"),
    "protocol": ("incursion", "incursions"),
    "actor": ("arrival", "arrivals"),
    "action": ("step", "steps"),
    "task": ("task event", "task events"),
    "card": ("card event", "card events"),
    "blob": ("file", "files"),
    "permission": ("permission event", "permission events"),
}
_OTHER = ("event", "events")
_STEPS = frozenset({ActionResultReported.kind, TaskProgressReported.kind, TaskDoneReported.kind})


@dataclass(frozen=True, slots=True, kw_only=True)
class Bubble:
    row: EventRow
    unread: bool = False
    """It is the first one that the reader has not read."""
    form: str = "bubble"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """What programs did between two things that were said."""

    rows: Sequence[EventRow]
    form: str = "fold"

    @property
    def id(self) -> str:
        return f"fold-{self.rows[0].seq}"

    @property
    def label(self) -> str:
        """Such as: 12 job events, 1 incursion."""
        counted = Counter(_noun(row.kind) for row in self.rows)
        return ", ".join(f"{count} {many if count > 1 else one}" for (one, many), count in counted.items())

    @property
    def trouble(self) -> bool:
        return any(row.tone == "i" for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request to an agent, the steps it took, and what it answered."""

    asked: EventRow
    steps: Sequence[EventRow] = ()
    answers: Sequence[EventRow] = ()
    form: str = "exchange"

    @property
    def state(self) -> str:
        """What became of it, in a word."""
        reported = [row.data.get("status") for row in self.steps if row.kind == ActionResultReported.kind]
        said = reported[-1] if reported else None
        if said is None:
            return "answered" if self.answers else "waiting"
        return {ActionStatus.ACCEPTED: "working", ActionStatus.COMPLETED: "answered"}.get(said, str(said))

    @property
    def tone(self) -> str:
        return {"answered": "r", "error": "i", "rejected": "i", "blocked": "b"}.get(self.state, "h")


Entry = Bubble | Fold | Exchange


def _noun(kind: str) -> tuple[str, str]:
    return _NOUNS.get(kind.removeprefix("x.tally.").partition(".")[0], _OTHER)


@dataclass(slots=True)
class _Threads:
    """Which request a row belongs to, by the ids that actions and answers carry."""

    exchanges: dict[str, Exchange] = field(default_factory=dict[str, Exchange])
    """By the action's id."""
    contexts: dict[str, str] = field(default_factory=dict[str, str])
    """The newest action of a conversation among agents."""

    def open(self, row: EventRow) -> None:
        self.exchanges[row.action] = Exchange(asked=row)
        self.contexts[row.context] = row.action

    def takes(self, row: EventRow) -> bool:
        """Add the row to the request it belongs to, if it belongs to one that is shown."""
        answered = row.answered_action
        action_id = answered or (self._step_of(row) if row.kind in _STEPS else "")
        found = self.exchanges.get(action_id)
        if found is None:
            return False
        if answered:
            self.exchanges[action_id] = replace(found, answers=[*found.answers, row])
        else:
            self.exchanges[action_id] = replace(found, steps=[*found.steps, row])
        return True

    def _step_of(self, row: EventRow) -> str:
        return row.action or self.contexts.get(row.context, "")


def conversation(rows: Iterable[EventRow]) -> list[Entry]:
    """Rows as they come from the ledger, newest first, as what one reads from top to bottom."""
    threads, places = _Threads(), list[Bubble | Fold | str]()
    machinery = list[EventRow]()

    def fold() -> None:
        if machinery:
            places.append(Fold(rows=list(machinery)))
            machinery.clear()

    ordered = sorted(rows, key=lambda each: each.seq)
    unread = next((each for each in ordered if each.speech and each.mine and not each.mine.read), None)
    for row in ordered:
        if threads.takes(row):
            continue
        if row.machinery:
            machinery.append(row)
            continue
        fold()
        if row.kind == ActionSubmitted.kind and row.data.get("type") == "message":
            threads.open(row)
            places.append(row.action)
        else:
            places.append(Bubble(row=row, unread=row is unread))
    fold()
    return [threads.exchanges[each] if isinstance(each, str) else each for each in places]
