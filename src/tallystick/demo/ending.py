"""The reckoning: that the ledger tells the story as it was meant, and the workspace shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from tallystick.demo import script
from tallystick.demo.cast import StoryFailed
from tallystick.demo.telling import STICK, Seen
from tallystick.demo.workspace import DemoRepository
from tallystick.hub import maintenance
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller
from tallystick.kernel.operation import as_record
from tallystick.ledger.contract import Verified

TOLD = (
    ("claim", 1, "ada"),
    ("release", 1, "ada"),
    ("claim", 2, "bo"),
    ("takeover", 3, "cleo"),
    ("pass", 3, "cleo"),
    ("claim", 4, "ada"),
    ("release", 4, "ada"),
    ("claim", 5, "bo"),
    ("release", 5, "bo"),
)
COMMITS = [
    "keeper: The light at Skerry Point",
    "ada: A test for the second round of flashes",
    "cleo: Flash again every twelve seconds",
    "ada: A fog horn that lets the village sleep",
    "bo: What happened tonight",
]
_HOW = {"claim": "claimed", "takeover": "took over", "release": "released", "pass": "passed"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    events: int
    turns: Sequence[tuple[str, str, str, str]]
    """Turn, agent, how it began, how it ended."""
    handover_ms: int
    noticed_ms: int


def reckon(hub: Hub, me: Caller, room_id: str, seen: Sequence[Seen], workspace: DemoRepository) -> Ending:
    """Check everything the story claims; refuses to end well otherwise."""
    verified = as_record(Verified, hub.call("events.verify", {"room_id": room_id}, me).to_data())
    stick = [event for event in seen if event.kind.startswith(STICK)]
    claims: Mapping[str, Callable[[], bool]] = {
        "the ledger verifies": lambda: verified.ok,
        "the projections equal a fresh fold of the ledger": lambda: not maintenance.check(hub),
        "the stick went as told": lambda: tuple(map(_step, stick)) == TOLD,
        "the returned holder was refused": lambda: any(event.word("error") == "turn_mismatch" for event in seen),
        "a person's note is on record": lambda: any(event.word("body") == script.NOTE for event in seen),
        "the commits are the agents'": lambda: workspace.log() == COMMITS,
        "nothing is left uncommitted": lambda: not workspace.git("status", "--porcelain"),
        "the tests pass": workspace.tests_pass,
    }
    if broken := [claim for claim, holds in claims.items() if not holds()]:
        raise StoryFailed(f"Not so: {'; '.join(broken)}.")
    return Ending(
        events=verified.events,
        turns=_turns(stick),
        handover_ms=_handover(stick),
        noticed_ms=_noticed(seen),
    )


def _step(event: Seen) -> tuple[str, int, str]:
    return event.kind.removeprefix(STICK), event.turn_id, event.by


def _turns(stick: Sequence[Seen]) -> list[tuple[str, str, str, str]]:
    rows = list[tuple[str, str, str, str]]()
    for number in range(1, max(turn for _, turn, _ in TOLD) + 1):
        steps = [event for event in stick if event.data["turn_id"] == number]
        began, *rest = [_HOW[_step(event)[0]] for event in steps]
        to = steps[-1].word("reserved_for")
        ended = f"{rest[0]} to {to}" if rest else "killed at work"
        rows.append((str(number), steps[0].by, began, ended))
    return rows


def _handover(stick: Sequence[Seen]) -> int:
    """From a release or pass to the claim that follows it, in ms, by the hub's own clock."""
    waits = [after.at - before.at for before, after in pairwise(stick) if after.kind == f"{STICK}claim"]
    return round(median(waits))


def _noticed(seen: Sequence[Seen]) -> int:
    """From the kill to the moment when another agent knew of it, in ms."""
    killed = next(event.at for event in seen if event.kind == script.KILLED)
    return next(event.at for event in seen if event.kind == script.SAW) - killed
