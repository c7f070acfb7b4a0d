"""Appends through the hub, one after the other and by sixteen at once, against the driver writing the same rows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator

from tallybench import rooms
from tallybench.bare import bare_store
from tallybench.callers import Callers, callers
from tallybench.figures import Budget, Figure, median
from tallybench.setting import Setting
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller
from tallystick.ledger import reading

HANDS = 16


def measure(setting: Setting) -> Iterator[Figure]:
    settings = setting.engine.fresh()
    room_id = rooms.make_room(settings, "append")
    with rooms.opened(settings) as hub:
        me = rooms.enter(hub, room_id, "writer")
        yield _figure(setting, hub, room_id, lambda count: _append(hub, me, room_id, count), "one after the other")
    with callers(settings, room_id) as many:
        yield _figure(setting, many.hub, room_id, lambda count: many.run(_together(many, count)), f"{HANDS} at once")


def _figure(setting: Setting, hub: Hub, room_id: str, append: Callable[[int], float], how: str) -> Figure:
    # Short rounds, so that the machine is as fast for the one as for the other.
    rounds, count = setting.pick(45, 2), setting.pick(400, 48)
    ours, baseline = list[float](), list[float]()
    bare = bare_store(setting.engine.fresh(), room_id)
    try:
        append(count)
        for number in range(1, rounds + 1):
            setting.tell(f"append, {how}: round {number} of {rounds}")
            with hub.reading() as tx:
                before = tx.head(room_id).seq
            ours.append(count / append(count))
            with hub.reading() as tx:
                events = reading.since(tx, room_id, before, limit=count)
            baseline.append(count / bare.write(events))
    finally:
        bare.close()
    return Figure(
        bench="append",
        what=f"events.append through the hub, {how}",
        engine=setting.engine.name,
        unit="per s",
        ours=median(ours),
        baseline=median(baseline),
        against="the driver writing the same rows",
        ratio=median([mine / theirs for mine, theirs in zip(ours, baseline, strict=True)]),
        budgets=(Budget(of="ratio", bound="at least", limit=0.5),),
    )


async def _together(many: Callers, count: int) -> float:
    given = rooms.report(many.room_id)

    async def hand() -> None:
        for _ in range(count // HANDS):
            await many.call("events.append", **given)

    started = time.perf_counter()
    await asyncio.gather(*(hand() for _ in range(HANDS)))
    return time.perf_counter() - started


def _append(hub: Hub, me: Caller, room_id: str, count: int) -> float:
    given = rooms.report(room_id)
    started = time.perf_counter()
    for _ in range(count):
        hub.call("events.append", given, me)
    return time.perf_counter() - started
