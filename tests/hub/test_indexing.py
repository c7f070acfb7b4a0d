"""What a hub folds while nobody waits for it."""

from __future__ import annotations

import asyncio

from tallystick.hub import maintenance
from tallystick.hub.hub import Hub
from tallystick.hub.maintenance import LAG, QUIET_MS
from tallystick.hub.serving import Serving
from tallystick.ledger.tx import STEP
from tests.messages.talk import say
from tests.scene import Actor, Scene
from tests.waiting import until


def lag(hub: Hub, room_id: str) -> int:
    with hub.reading() as tx:
        head = tx.head(room_id)
    return head.seq - head.deferred_seq


def talk(scene: Scene, count: int) -> Actor:
    ada, _bob = scene.joined("ada", "bob")
    for number in range(count):
        say(ada, f"needle {number}")
    return ada


def test_a_room_that_has_become_quiet_is_indexed_step_by_step(scene: Scene) -> None:
    ada = talk(scene, STEP + LAG)
    scene.clock.forward(ms=QUIET_MS)
    steps = 0
    while maintenance.catch_up(scene.hub):
        steps += 1
    assert steps == 2
    assert lag(scene.hub, ada.room_id) == 0
    assert len(scene.rows("texts")) == STEP + LAG


def test_a_room_that_is_being_written_to_is_left_alone(scene: Scene) -> None:
    talk(scene, LAG)
    scene.clock.forward(ms=QUIET_MS - 1)
    before = scene.dump()
    assert not maintenance.catch_up(scene.hub)
    assert scene.dump() == before


def test_a_few_events_are_not_worth_a_write(scene: Scene) -> None:
    ada = talk(scene, 1)
    for number in range(LAG - 1 - lag(scene.hub, ada.room_id)):
        say(ada, f"needle {number}")
    scene.clock.forward(ms=QUIET_MS)
    assert not maintenance.catch_up(scene.hub)
    say(ada, "one more")
    scene.clock.forward(ms=QUIET_MS)
    assert maintenance.catch_up(scene.hub)


def test_a_serving_hub_does_it_by_itself(scene: Scene) -> None:
    ada = talk(scene, LAG)
    scene.clock.forward(ms=QUIET_MS)

    async def serve() -> None:
        hub = Hub(scene.store, clock=scene.clock, grouped=True)
        serving = Serving(hub, lambda _event: b"")
        task = asyncio.ensure_future(maintenance.keep_indexed(serving, every_seconds=0.001))
        await asyncio.to_thread(until, lambda: lag(hub, ada.room_id) == 0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await serving.close()

    asyncio.run(serve())
    assert len(scene.rows("texts")) == LAG
