"""Whatever is submitted, answered, disconnected and restarted: order holds, nothing is lost, nothing comes again.

The dispatcher runs in this process on a real store; connections are boxes in memory. A small model says what must come.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import tempfile
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tallystick.bus.connection import BusConnection, BusReply
from tallystick.bus.delivery import Bus
from tallystick.bus.records import frame
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.hub.settings import Settings
from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import Caller, SessionKind
from tallystick.kernel.errors import TallyError
from tests.bus.talking import envelope

Row: TypeAlias = dict[str, Any]
Step: TypeAlias = tuple[Any, ...]

TARGETS = ("ann", "ben", "cid")
STATUSES = ("accepted", "queued", "blocked", "completed", "rejected", "error")
FINAL = {"completed", "rejected", "error"}

STEPS = st.one_of(
    st.tuples(
        st.just("submit"),
        st.lists(
            st.tuples(st.sampled_from(TARGETS), st.sampled_from(("message", "message", "new", "interrupt"))),
            min_size=1,
            max_size=4,
        ),
    ),
    st.tuples(st.just("connect"), st.sampled_from(TARGETS)),
    st.tuples(st.just("disconnect"), st.sampled_from(TARGETS)),
    st.tuples(st.just("answer"), st.sampled_from(TARGETS), st.integers(0, 3), st.sampled_from(STATUSES)),
    st.tuples(st.just("restart")),
)


@dataclass
class Asked:
    """An action as the model knows it."""

    action_id: str
    index: int
    group: str
    what: str
    status: str | None = None
    released: bool = False
    handed: bool = False


class Box:
    """One connection, with what came on it."""

    def __init__(self) -> None:
        self.connection: BusConnection | None = None
        self.lines: deque[Row] = deque()
        self.handed: set[str] = set()
        self._some = asyncio.Event()

    def put(self, line: bytes) -> None:
        self.lines.append(json.loads(line))
        self._some.set()

    async def drained(self) -> None:
        pass

    def cut(self, reason: TallyError) -> None:
        pass

    async def take(self) -> Row:
        while not self.lines:
            self._some.clear()
            await self._some.wait()
        return self.lines.popleft()


@dataclass
class World:
    """A hub that can be started again, its connections, and the model beside it."""

    folder: Path
    database_url: str | None = None
    queues: dict[str, list[Asked]] = field(default_factory=lambda: {name: [] for name in TARGETS})
    boxes: dict[str, Box] = field(default_factory=dict[str, Box])
    results: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])
    seen: list[tuple[str, int, str]] = field(default_factory=list[tuple[str, int, str]])
    session: str = ""
    cursor: int | None = None
    numbers: itertools.count[int] = field(default_factory=itertools.count)

    def start(self) -> None:
        self.hub = Hub.open(Settings(data_dir=self.folder, database_url=self.database_url), grouped=True)
        self.serving = Serving(self.hub, frame)
        self.bus = Bus(self.serving)

    async def stop(self) -> None:
        for name in tuple(self.boxes):
            self.disconnect(name)
        self.bus.dismiss()
        await self.bus.close()
        await self.serving.close()
        self.hub.close()

    async def ask(self, box: Box, src: str, type: str, payload: Row) -> Row:
        here = {"session": self.session} if self.session else {}
        request = cast("BusConnection", box.connection).read(
            json.dumps(envelope(type, src, payload=payload, **here)).encode()
        )
        assert not isinstance(request, BusReply), request.line
        reply = json.loads((await cast("BusConnection", box.connection).answered(request)).line)
        assert reply["status"] == "ok", reply
        return cast("Row", reply)

    async def connect(self, name: str, **more: object) -> Box:
        box = self.boxes[name] = Box()
        nobody = Caller(agent_id="", session=SessionKind.NAMED)
        box.connection = self.bus.connect(Visitor(caller=nobody, trusted=True), box)
        if not self.session:
            self.session = (await self.ask(box, name, "session.create", {}))["session"]
        await self.ask(box, name, "agent.add", {"id": name, **more})
        return box

    def disconnect(self, name: str) -> None:
        if box := self.boxes.pop(name, None):
            cast("BusConnection", box.connection).close()

    async def begin(self) -> None:
        """Everybody joins once; who is connected afterwards is up to the play."""
        self.start()
        await self.boss()
        for name in TARGETS:
            await self.connect(name)
            self.disconnect(name)

    async def boss(self) -> Box:
        if "boss" not in self.boxes:
            await self.connect("boss", **({} if self.cursor is None else {"since_seq": self.cursor}))
        return self.boxes["boss"]

    async def do(self, step: Step) -> None:
        match step:
            case ("submit", actions):
                await self.submit(actions)
            case ("connect", name):
                self.disconnect(name)
                await self.connect(name)
            case ("disconnect", name):
                self.disconnect(name)
            case ("answer", name, which, status):
                await self.answer(name, which, status)
            case _:
                await self.stop()
                self.start()
                await self.boss()
        await self.settle()

    async def submit(self, actions: list[tuple[str, str]]) -> None:
        number = next(self.numbers)
        group, sent = f"g{number}", list[Row]()
        for index, (name, what) in enumerate(actions):
            asked = Asked(f"a{number}-{index}", index, group, what)
            common = {"dst": name, "action_id": asked.action_id, "action_index": index}
            said = {"type": "message", "kind": "user", "text": "do it"}
            sent.append({**common, **(said if what == "message" else {"type": "control", "command": what})})
            self.queues[name].append(asked)
        await self.ask(await self.boss(), "boss", "action.submit", {"group_id": group, "actions": sent})

    async def answer(self, name: str, which: int, status: str) -> None:
        open_ = [each for each in self.queues[name] if each.handed and each.status not in FINAL]
        if name not in self.boxes or not open_:
            return
        asked = open_[which % len(open_)]
        if asked.status == status:
            return
        await self.ask(self.boxes[name], name, "action.result", {"action_id": asked.action_id, "status": status})
        asked.status = status
        asked.released |= status in FINAL or (status == "accepted" and asked.what == "message")
        self.results.append((asked.action_id, asked.index, status))

    def due(self, name: str) -> Asked | None:
        """What the rules let through, told in another way than the rules are."""
        stuck = [each for each in self.queues[name] if not each.released]
        first = next((each for each in stuck if each.what == "interrupt"), stuck[0] if stuck else None)
        return first if first and first.status is None else None

    async def settle(self) -> None:
        """Take exactly what must have come, at every connection."""
        for name in TARGETS:
            box, due = self.boxes.get(name), self.due(name)
            if box and due and due.action_id not in box.handed:
                (action,) = (await box.take())["payload"]["actions"]
                assert action["action_id"] == due.action_id
                box.handed.add(due.action_id)
                due.handed = True
        boss = await self.boss()
        while len(self.seen) < len(self.results):
            result = await boss.take()
            said = result["payload"]
            self.cursor = cast("int", result["seq"])
            self.seen.append((said["action_id"], said["action_index"], said["status"]))

    async def finish(self) -> None:
        """Everybody comes back and works off what is left."""
        for name in TARGETS:
            if name not in self.boxes:
                await self.connect(name)
        await self.settle()
        while any(each.status not in FINAL for queue in self.queues.values() for each in queue):
            for name in TARGETS:
                await self.answer(name, 0, "completed")
                await self.settle()


async def play(steps: list[Step], database_url: str | None) -> World:
    with tempfile.TemporaryDirectory(prefix="tally-") as folder:
        world = World(Path(folder), database_url)
        await world.begin()
        try:
            for step in steps:
                await world.do(step)
            await world.finish()
            left = {name: list(box.lines) for name, box in world.boxes.items()}
            assert left == {name: [] for name in world.boxes}
        finally:
            await world.stop()
        return world


def check(steps: list[Step], database_url: str | None = None) -> None:
    world = asyncio.run(asyncio.wait_for(play(steps, database_url), 60))

    assert world.seen == world.results
    assert all(each.handed for queue in world.queues.values() for each in queue)


LAX = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=15, **LAX)  # pyright: ignore[reportArgumentType]
@given(st.lists(STEPS, max_size=25))
def test_order_holds_and_nothing_is_lost_or_comes_twice(steps: list[Step]) -> None:
    check(steps)


@pytest.mark.postgres
@settings(max_examples=5, **LAX)  # pyright: ignore[reportArgumentType]
@given(steps=st.lists(STEPS, max_size=25))
def test_the_same_on_postgresql(postgres_url: str, steps: list[Step]) -> None:
    check(steps, postgres_url)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@settings(max_examples=1000, **LAX)  # pyright: ignore[reportArgumentType]
@given(st.lists(STEPS, max_size=60))
def test_order_holds_in_a_thousand_long_plays(steps: list[Step]) -> None:
    check(steps)
