"""What must hold of any history, however its processes were killed, paused or raced.

A rule takes the attempts of all processes and the ledger they left behind, and returns what it finds wrong, in words.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TypeAlias, cast

from tallystick.capabilities.turns.events import StickPassed, StickReleased
from tallystick.hub import maintenance
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.envelope import Event
from tallystick.ledger import reading
from tests.chaos.diary import Attempt, Outcome
from tests.chaos.stick import Stick, Turn

Ledger: TypeAlias = Mapping[str, Sequence[Event]]

WITNESS = Caller(agent_id="witness", session=SessionKind.NAMED)
GRANTS = {"turns.wait", "turns.takeover"}
WRITES = {"events.append", "turns.release", "turns.pass", "turns.takeover"}
"""Operations whose answer acknowledges a write of their caller's."""
OWNER_CALLS = {"turns.heartbeat", "turns.release", "turns.pass"}
HAND_OVERS = {"turns.release": StickReleased.kind, "turns.pass": StickPassed.kind}


@dataclass(frozen=True)
class Story:
    attempts: Sequence[Attempt]
    ledger: Ledger

    @cached_property
    def sticks(self) -> Mapping[str, Stick]:
        return {room_id: Stick.replayed(events) for room_id, events in self.ledger.items()}

    @cached_property
    def answered(self) -> Sequence[Attempt]:
        return [attempt for attempt in self.attempts if attempt.ok]

    def event(self, room_id: object, seq: object) -> Event | None:
        events = self.ledger.get(cast("str", room_id), ())
        return next((event for event in events[cast("int", seq) - 1 :][:1] if event.seq == seq), None)

    def turn(self, attempt: Attempt) -> Turn | None:
        """The turn on the ledger that an answer or an owner's call is about."""
        stick = self.sticks.get(cast("str", attempt.given["room_id"]))
        turn_id = attempt.answer.get("turn_id", attempt.given.get("expected_turn_id"))
        return stick.turns.get(cast("int", turn_id)) if stick else None

    def position(self, attempt: Attempt) -> int | None:
        """The seq up to which this answer proves the room's ledger to reach."""
        answer = attempt.answer
        if attempt.operation == "events.append":
            return cast("int", cast("dict[str, object]", answer["event"])["seq"])
        if "event_seq" in answer or "cursor" in answer:
            return int(cast("str | int", answer.get("event_seq", answer.get("cursor"))))
        turn = self.turn(attempt) if attempt.operation in GRANTS and "lease_id" in answer else None
        return turn.granted.seq if turn else None

    @cached_property
    def _acknowledged(self) -> Mapping[str, tuple[Sequence[int], Sequence[int]]]:
        """For each room the times of its answers, and the highest position that was known at each of them."""
        known: dict[str, list[tuple[int, int]]] = {}
        for attempt in self.answered:
            position = self.position(attempt)
            if position is not None:
                room_id = cast("str", attempt.answer.get("room_id", attempt.given.get("room_id")))
                known.setdefault(room_id, []).append((cast("int", attempt.answered_at), position))
        return {
            room_id: ([at for at, _ in sorted(seen)], list(accumulate((seq for _, seq in sorted(seen)), max)))
            for room_id, seen in known.items()
        }

    def known_before(self, attempt: Attempt) -> int:
        """How far the room's ledger was already known to reach when this call was made."""
        room_id = cast("str", attempt.answer.get("room_id", attempt.given.get("room_id")))
        times, highest = self._acknowledged.get(room_id, ((), ()))
        earlier = bisect_left(times, attempt.asked_at)
        return highest[earlier - 1] if earlier else 0


def dense(story: Story) -> Iterator[str]:
    """A room's seqs count from 1 without a gap."""
    for room_id, events in story.ledger.items():
        seqs = [event.seq for event in events]
        if seqs != list(range(1, len(seqs) + 1)):
            yield f"{room_id}: the ledger is not dense: {seqs}"


def forward(story: Story) -> Iterator[str]:
    """No event is older than the one before it, whatever the clocks say."""
    for room_id, events in story.ledger.items():
        for before, event in pairwise(events):
            if event.ts < before.ts:
                yield f"{room_id}: event {event.seq} is older than the one before it"


def one_holder(story: Story) -> Iterator[str]:
    """By the ledger, turns are consecutive, nobody is granted a held stick, and only its holder hands it over."""
    for room_id, stick in story.sticks.items():
        yield from (f"{room_id}: {flaw}" for flaw in stick.flaws)


def one_lease(story: Story) -> Iterator[str]:
    """Everybody who was told "your turn" is the holder on the ledger, and a turn has one lease of its own."""
    of_lease: dict[object, object] = {}
    of_turn: dict[object, object] = {}
    for attempt in story.answered:
        if attempt.operation not in GRANTS or "lease_id" not in attempt.answer:
            continue
        turn, lease = story.turn(attempt), attempt.answer["lease_id"]
        if turn is None or turn.holder != attempt.by:
            yield f"told of a turn that the ledger does not give it: {attempt}"
            continue
        place = (attempt.given["room_id"], turn.turn_id)
        if (of_lease.setdefault(lease, place), of_turn.setdefault(place, lease)) != (place, lease):
            yield f"a lease that is not this turn's own: {attempt}"


def one_session(story: Story) -> Iterator[str]:
    """A turn serves one session only, however many processes work under its holder's name."""
    of_turn: dict[object, str] = {}
    for attempt in story.answered:
        granted = attempt.operation in GRANTS and "lease_id" in attempt.answer
        if not granted and attempt.operation not in OWNER_CALLS:
            continue
        turn_id = attempt.answer.get("turn_id", attempt.given.get("expected_turn_id"))
        if of_turn.setdefault((attempt.given["room_id"], turn_id), attempt.session) != attempt.session:
            yield f"served in two sessions: {attempt}"


def nothing_lost(story: Story) -> Iterator[str]:
    """Every acknowledged write is on the ledger, as it was asked for."""
    for attempt in story.answered:
        if (seq := _written_at(attempt)) is None:
            continue
        event = story.event(attempt.answer.get("room_id", attempt.given.get("room_id")), seq)
        if event is None or event.by != attempt.by or not _same(attempt, event):
            yield f"acknowledged and not on the ledger: {attempt}"


def _written_at(attempt: Attempt) -> object:
    if attempt.operation == "events.append":
        return cast("dict[str, object]", attempt.answer["event"])["seq"]
    return attempt.answer["event_seq"] if attempt.operation in HAND_OVERS else None


def _same(attempt: Attempt, event: Event) -> bool:
    if attempt.operation == "events.append":
        return (event.kind, event.data) == (attempt.given["kind"], attempt.given["data"])
    written = (event.kind, event.data["turn_id"], event.data["handoff"])
    return written == (HAND_OVERS[attempt.operation], attempt.given["expected_turn_id"], attempt.given["handoff"])


def joined(story: Story) -> Iterator[str]:
    """Whoever was told that it joined is on the ledger of that room."""
    added = {
        (room_id, event.data["actor_id"])
        for room_id, events in story.ledger.items()
        for event in events
        if event.kind == "actor.add"
    }
    for attempt in story.answered:
        if attempt.operation == "rooms.join" and (attempt.answer["room_id"], attempt.by) not in added:
            yield f"acknowledged and not on the ledger: {attempt}"


def mark(body: Mapping[str, object]) -> object:
    """The words by which a worker's own write is told from all others; it never writes the same ones twice."""
    handoff = cast("Mapping[str, object]", body.get("handoff") or {})
    return handoff.get("status") or body.get("mark")


def once(story: Story) -> Iterator[str]:
    """A write stands on the ledger at most once, and not at all when its caller was told that it failed."""
    found = Counter(mark(event.data) for events in story.ledger.values() for event in events if mark(event.data))
    yield from (f"written {times} times: {words}" for words, times in found.items() if times > 1)
    failed = {Outcome.REFUSED, Outcome.UNAVAILABLE, Outcome.FAULT}
    for attempt in story.attempts:
        words = mark(cast("Mapping[str, object]", attempt.given.get("data") or attempt.given))
        if attempt.outcome in failed and words in found:
            yield f"on the ledger although its caller was told that it failed: {attempt}"


def fenced(story: Story) -> Iterator[str]:
    """Nobody is served as the holder of a turn once its end has been told to anybody."""
    for attempt in story.answered:
        renewed = attempt.operation == "turns.heartbeat"
        if not renewed and attempt.answer.get("reason") != "already_owner":
            continue
        turn = story.turn(attempt)
        if turn is None or turn.holder != attempt.by:
            yield f"served as a holder that it is not: {attempt}"
        elif turn.ended is not None and turn.ended <= story.known_before(attempt):
            yield f"served although the turn had ended at {turn.ended}: {attempt}"


def in_order(story: Story) -> Iterator[str]:
    """What was asked after an answer stands after it, and no read looks further back than an earlier answer.

    Not so a call with a key, whose answer may be the one it was given before.
    """
    for attempt in story.answered:
        position, known = story.position(attempt), story.known_before(attempt)
        if position is None or attempt.key or attempt.answer.get("reason") == "already_owner":
            continue
        wrote = attempt.operation in {*GRANTS, *HAND_OVERS, "events.append"} and "cursor" not in attempt.answer
        if position < known + wrote:
            yield f"stands at {position}, but {known} was known before it was asked: {attempt}"


def handed_on(story: Story) -> Iterator[str]:
    """A claimant gets the handoff that was left for it, word for word."""
    for attempt in story.answered:
        turn = story.turn(attempt) if attempt.answer.get("status") == "your_turn" else None
        if attempt.operation != "turns.wait" or turn is None:
            continue
        left = story.event(attempt.given["room_id"], turn.granted.data.get("handoff_seq") or 0)
        if attempt.answer["handoff"] != (left.data["handoff"] if left else None):
            yield f"got another handoff than the one that was left: {attempt}"


Rule: TypeAlias = Callable[[Story], Iterator[str]]
RULES: Sequence[Rule] = (
    dense,
    forward,
    one_holder,
    one_lease,
    one_session,
    nothing_lost,
    joined,
    once,
    fenced,
    in_order,
    handed_on,
)


def problems(hub: Hub, attempts: Sequence[Attempt]) -> list[str]:
    """Everything that is wrong with a history and the store it left behind; empty when all is well."""
    with hub.reading() as tx:
        ledger = {room_id: reading.since(tx, room_id, 0, limit=2**31) for room_id in reading.every_room(tx)}
    story = Story(attempts, ledger)
    found = [problem for rule in RULES for problem in rule(story)]
    verdict = hub.call("events.verify", {}, WITNESS).to_data()
    if not verdict["ok"]:
        return [*found, *(f"{room['room_id']}: {room['problem']}" for room in verdict["rooms"] if not room["ok"])]
    return found + [f"{table} is not what the ledger says" for table in maintenance.check(hub)]
