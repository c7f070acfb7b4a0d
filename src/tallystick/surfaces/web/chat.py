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
    AgentAttached,
    AgentDetached,
    TaskDoneReported,
    TaskProgressReported,
)
from tallystick.capabilities.blobs.events import BlobAdded
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
_FURTHEST = (
    *(ActionStatus.ERROR, ActionStatus.REJECTED, ActionStatus.BLOCKED, ActionStatus.ACCEPTED),
    *("", ActionStatus.COMPLETED),
)
"""What is said of a request, the farther from an answer the earlier; nothing is said before its agent begins."""


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
    """A request to one or more agents, the steps they took, and what they answered."""

    asked: EventRow
    actions: Sequence[str] = ()
    """What it put into the queues of those it asked."""
    steps: Sequence[EventRow] = ()
    answers: Sequence[EventRow] = ()
    unread: bool = False
    form: str = "exchange"

    @property
    def state(self) -> str:
        """What became of it, in a word: of several, what is furthest from an answer."""
        results = (row for row in self.steps if row.kind == ActionResultReported.kind)
        last = {row.action: str(row.data.get("status")) for row in results}
        said = {*last.values(), *(() if len(last) == len(self.actions) else [""])}
        if "" in said and len(self.answers) >= len(self.actions):
            return "answered"
        found = next((each for each in _FURTHEST if each in said), "")
        return {ActionStatus.ACCEPTED: "working", ActionStatus.COMPLETED: "answered", "": "waiting"}.get(found, found)

    @property
    def tone(self) -> str:
        return {"answered": "r", "error": "i", "rejected": "i", "blocked": "b"}.get(self.state, "h")


Entry = Bubble | Fold | Exchange


def _noun(kind: str) -> tuple[str, str]:
    if kind in {AgentAttached.kind, AgentDetached.kind}:
        return _NOUNS["actor"]
    return _NOUNS.get(kind.removeprefix("x.tally.").partition(".")[0], _OTHER)


@dataclass(slots=True)
class _Threads:
    """Which request a row belongs to, by the ids that actions and answers carry."""

    exchanges: dict[str, Exchange] = field(default_factory=dict[str, Exchange])
    """By the id of the row that asked."""
    actions: dict[str, str] = field(default_factory=dict[str, str])
    """Which of them an action belongs to, by its id."""
    contexts: dict[str, str] = field(default_factory=dict[str, str])
    """The newest action of a conversation among agents."""

    def open(self, row: EventRow, *, unread: bool = False) -> None:
        self.exchanges[row.id] = Exchange(asked=row, unread=unread)

    def takes(self, row: EventRow) -> bool:
        """Add the row to the request it belongs to, if it belongs to one that is shown."""
        if row.kind == ActionSubmitted.kind:
            return row.target != row.id and self.asks(row, row.target)
        answered = row.answered_action
        place = self.actions.get(answered or (self._step_of(row) if row.kind in _STEPS else ""), "")
        found = self.exchanges.get(place)
        if found is None:
            return False
        if answered:
            self.exchanges[place] = replace(found, answers=[*found.answers, row])
        else:
            self.exchanges[place] = replace(found, steps=[*found.steps, row])
        return True

    def asks(self, row: EventRow, place: str) -> bool:
        """Note the action as part of the request that began with that row."""
        found = self.exchanges.get(place)
        if found is None:
            return False
        self.exchanges[place] = replace(found, actions=[*found.actions, row.action])
        self.actions[row.action] = place
        self.contexts[row.context] = row.action
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
    requests = [row for row in ordered if row.kind == ActionSubmitted.kind and row.data.get("type") == "message"]
    # What was said to an agent is its request; the action that says the same stands alone only where it came alone.
    alone = {row.id for row in requests}
    asking = {row.target for row in requests} - alone
    attached = {str(file.get("path")) for row in ordered for file in row.files}
    for row in ordered:
        if threads.takes(row) or (row.kind == BlobAdded.kind and f"blobs/{row.data['sha256']}" in attached):
            continue
        if row.machinery:
            machinery.append(row)
            continue
        fold()
        if row.id in asking or row.id in alone:
            threads.open(row, unread=row is unread)
            places.append(row.id)
            if row.id in alone:
                threads.asks(row, row.id)
        else:
            places.append(Bubble(row=row, unread=row is unread))
    fold()
    return [threads.exchanges[each] if isinstance(each, str) else each for each in places]
