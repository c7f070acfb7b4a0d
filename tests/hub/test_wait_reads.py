"""How often a wait reads: presence, answer and notices together, and not again for a room that is watched already."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import TypeVar

import pytest

from tallystick.hub import engine
from tallystick.hub.engine import CallRequest
from tallystick.hub.feed import Wake
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.hub.visitor import Visitor
from tallystick.kernel.operation import Answer
from tallystick.ledger.tx import Tx
from tests.scene import Actor, Scene

T = TypeVar("T")

GIVEN_UP = 60
LONG = 100_000


class Reading(Serving):
    """A served hub that counts its reads."""

    def __init__(self, scene: Scene) -> None:
        world = scene.hub.world
        hub = Hub(scene.store, clock=world.clock, process_state=world.process_state, machine_id="test", grouped=True)
        super().__init__(hub, lambda _event: b"")
        self.reads = 0
        self._glance = hub.read_at_once
        hub.read_at_once = self._reading

    def waiting(self, actor: Actor) -> asyncio.Task[Answer]:
        asked = {"room_id": actor.room_id, "max_wait_ms": LONG}
        return asyncio.ensure_future(self.call(Visitor(caller=actor.caller, trusted=True), "turns.wait", asked))

    def _reading(self, run: Callable[[Tx], T]) -> T:
        self.reads += 1
        return self._glance(run)


@asynccontextmanager
async def serving(scene: Scene) -> AsyncGenerator[Reading]:
    reading = Reading(scene)
    try:
        async with asyncio.timeout(GIVEN_UP):
            yield reading
    finally:
        reading.dismiss()
        await reading.close()
        reading.hub.close()


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0)


class Counting(Wake):
    rings = 0

    def ring(self) -> None:
        self.rings += 1


@pytest.fixture(autouse=True)
def only_when_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "LOOK_SECONDS", LONG)


def test_presence_answer_and_notices_are_one_read(scene: Scene) -> None:
    ada, bob = scene.joined("ada", "bob")
    ada.claim()
    ada.here("messages.send", text="the parser is yours", to=["bob"])

    async def responded() -> tuple[str, int, int]:
        asked = {"room_id": bob.room_id, "max_wait_ms": 0}
        visitor = Visitor(caller=bob.caller, trusted=True)
        async with serving(scene) as hub:
            request = CallRequest(visitor=visitor, operation="turns.wait", given=asked, with_notices=True)
            response = await hub.respond(request)
            return str(response.answer.to_data()["status"]), len(response.notices), hub.reads

    assert asyncio.run(responded()) == ("not_yet", 1, 1)


def test_who_comes_to_a_room_that_is_watched_already_reads_once(scene: Scene) -> None:
    ada, bob, eve = scene.joined("ada", "bob", "eve")
    turn = ada.claim()

    async def reads() -> tuple[int, object]:
        async with serving(scene) as hub:
            first = hub.waiting(bob)
            await until(lambda: hub.reads == len(["the first look", "once more when the room is watched"]))
            second = hub.waiting(eve)
            await until(lambda: hub.waits == len([bob, eve]))
            # A wake would have been noticed in the next rounds of the loop.
            for _ in range(100):
                await asyncio.sleep(0)
            seen = hub.reads
            ada.pass_to(turn, "eve")
            answer = await second
            first.cancel()
            return seen, answer.to_data()["status"]

    assert asyncio.run(reads()) == (3, "your_turn")


def test_who_begins_to_listen_is_told_of_what_came_since_it_looked(scene: Scene) -> None:
    (ada,) = scene.joined("ada")

    async def told() -> tuple[int, int]:
        async with serving(scene) as hub:
            with hub.feeds.listen(ada.room_id) as first:
                assert await first.wait(GIVEN_UP), "the room is watched"
                before = monotonic()
                ada.here("notes.add", body="CI is red")
                assert await first.wait(GIVEN_UP)
                early, late = Counting(), Counting()
                with (
                    hub.feeds.listen(ada.room_id, early, before),
                    hub.feeds.listen(ada.room_id, late, monotonic()),
                ):
                    return early.rings, late.rings

    assert asyncio.run(told()) == (1, 0)
