"""Reading a room of a million events and 10,000 jobs, against the same room when it had a thousand and a hundred."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TypeAlias

from tallybench import rooms
from tallybench.engines import Setting
from tallybench.growing import TASK, Grown, grow, member
from tallybench.report import Budget, Detail, Figure, median
from tallystick.hub.hub import Hub
from tallystick.kernel.clock import to_wire
from tallystick.ledger import reading

READER = member("bo")
UNREAD = 5
NOTES = ["x.tally.note.add"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedRoom:
    """A store of one size, opened, with the places to read from."""

    events: int
    hub: Hub
    room_id: str
    middle: int
    middle_id: str
    middle_ts: str

    @classmethod
    def of(cls, grown: Grown, hub: Hub) -> SizedRoom:
        with hub.reading() as tx:
            event = reading.event_at(tx, grown.room_id, grown.events // 2)
            messages = reading.before(tx, grown.room_id, grown.events, kinds=["chat.message"], limit=UNREAD + 1)
        hub.call("messages.read", {"room_id": grown.room_id, "event_id": messages[0].id}, READER)
        return cls(
            events=grown.events,
            hub=hub,
            room_id=grown.room_id,
            middle=event.seq,
            middle_id=event.id,
            middle_ts=to_wire(event.ts),
        )


Question: TypeAlias = Callable[[SizedRoom], Mapping[str, object]]

QUESTIONS: Mapping[str, tuple[str, Question]] = {
    "room state": ("turns.state", lambda view: {"room_id": view.room_id}),
    "list of 20 rooms": ("rooms.list", lambda _: {}),
    "100 events from the start": ("events.list", lambda view: {"room_id": view.room_id, "since_seq": 0}),
    "100 events from the middle": ("events.list", lambda view: {"room_id": view.room_id, "since_seq": view.middle}),
    "100 events after an event id": (
        "events.list",
        lambda view: {"room_id": view.room_id, "since_event_id": view.middle_id},
    ),
    "100 events after a time": ("events.list", lambda view: {"room_id": view.room_id, "since_ts": view.middle_ts}),
    "the newest 100 events": ("events.list", lambda view: {"room_id": view.room_id, "newest": True}),
    "5 rare events from the middle": (
        "events.list",
        lambda view: {"room_id": view.room_id, "since_seq": view.middle, "kinds": NOTES, "limit": 5},
    ),
    "the newest 5 rare events": (
        "events.list",
        lambda view: {"room_id": view.room_id, "newest": True, "kinds": NOTES, "limit": 5},
    ),
    "the newest 20 stick events": (
        "turns.history",
        lambda view: {"room_id": view.room_id, "newest": True, "limit": 20},
    ),
    f"an inbox with {UNREAD} unread messages": ("messages.inbox", lambda view: {"room_id": view.room_id}),
    f"{UNREAD} messages of an inbox never read": (
        "messages.inbox",
        lambda view: {"room_id": view.room_id, "actor_id": "cleo", "limit": UNREAD},
    ),
    "25 of all jobs": ("jobs.radar", lambda view: {"room_id": view.room_id}),
    "25 of all jobs as lines": ("jobs.radar", lambda view: {"room_id": view.room_id, "fmt": "lines"}),
    "25 jobs of a task with all of them": ("jobs.radar", lambda view: {"room_id": view.room_id, "task": TASK}),
    "the first 5 events of the longest job": (
        "jobs.tail",
        lambda view: {"room_id": view.room_id, "job": "JOB-001", "limit": 5},
    ),
    "what the longest job said last": (
        "jobs.tail",
        lambda view: {"room_id": view.room_id, "job": "JOB-001", "after_seq": view.events - 500},
    ),
    "the task in focus, with all those jobs": ("tasks.snapshot", lambda view: {"room_id": view.room_id}),
    "follow, 100 events behind": (
        "events.follow",
        lambda view: {"room_id": view.room_id, "since_seq": view.events - 100},
    ),
}


def measure(setting: Setting) -> Iterator[Figure]:
    sizes = (1_000, 100_000, 1_000_000) if not setting.quick else (1_000, 2_000, 3_000)
    rounds, calls = setting.pick(15, 2), setting.pick(20, 2)
    with ExitStack() as stack:
        views = [
            SizedRoom.of(grown, stack.enter_context(rooms.opened(grown.settings)))
            for grown in grow(setting.folder, sizes, setting.tell)
        ]
        for what, (operation, question) in QUESTIONS.items():
            setting.tell(f"size: {what}")
            asked = [(view, question(view)) for view in views]
            samples: list[list[float]] = [[] for _ in views]
            for number in range(rounds + 1):
                for place, (view, given) in enumerate(asked):
                    took = _ask(view.hub, operation, given, calls)
                    # The first round only fills the caches of every store alike.
                    if number:
                        samples[place].append(took)
            yield _figure(setting, f"{operation}: {what}", sizes, [median(each) for each in samples])
        setting.tell("size: reading and acking what was just sent")
        yield from _answered(setting, sizes, views, rounds * calls)


def _answered(setting: Setting, sizes: tuple[int, ...], views: list[SizedRoom], times: int) -> Iterator[Figure]:
    """What a message costs its sender and its reader: send, read and ack, each the first of its kind."""
    samples: dict[str, list[list[float]]] = {name: [[] for _ in views] for name in ("send", "read", "ack")}
    for _ in range(times):
        for place, view in enumerate(views):
            given = {"room_id": view.room_id, "text": "Please look.", "to": [READER.agent_id], "priority": "attention"}
            started = time.perf_counter()
            sent = view.hub.call("messages.send", given, member("ada")).to_data()
            samples["send"][place].append((time.perf_counter() - started) * 1000)
            about = {"room_id": view.room_id, "event_id": sent["event"]["id"]}
            for verb in ("read", "ack"):
                started = time.perf_counter()
                view.hub.call(f"messages.{verb}", about, READER)
                samples[verb][place].append((time.perf_counter() - started) * 1000)
    for verb, found in samples.items():
        yield _figure(setting, f"messages.{verb}: a new message", sizes, [median(each) for each in found])


def _ask(hub: Hub, operation: str, given: Mapping[str, object], calls: int) -> float:
    """The mean time of one call, in ms."""
    started = time.perf_counter()
    for _ in range(calls):
        hub.call(operation, given, READER)
    return (time.perf_counter() - started) / calls * 1000


def _figure(setting: Setting, what: str, sizes: tuple[int, ...], times: list[float]) -> Figure:
    small, middle, large = times
    return Figure(
        bench="size",
        what=what,
        engine=setting.engine.name,
        unit="ms",
        ours=large,
        baseline=small,
        against=f"{sizes[0]:,} events instead of {sizes[2]:,}",
        ratio=large / small,
        budgets=(Budget(of="ratio", bound="at most", limit=1.5),),
        details=(Detail(name=f"at {sizes[1]:,}", value=middle),),
    )
