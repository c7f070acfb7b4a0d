"""One append after the other through the hub, against the driver writing the same rows."""

from __future__ import annotations

import time
from collections.abc import Iterator

from tallystick.bench import rooms
from tallystick.bench.bare import bare_store
from tallystick.bench.figures import Budget, Figure, median
from tallystick.bench.setting import Setting
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller
from tallystick.ledger import reading


def measure(setting: Setting) -> Iterator[Figure]:
    # Short rounds, so that the machine is as fast for the one as for the other.
    rounds, count = setting.pick(45, 2), setting.pick(400, 50)
    settings = setting.engine.fresh()
    room_id = rooms.make_room(settings, "append")
    ours, baseline = list[float](), list[float]()
    with rooms.opened(settings) as hub:
        me = rooms.enter(hub, room_id, "writer")
        bare = bare_store(setting.engine.fresh(), room_id)
        try:
            _append(hub, me, room_id, count)
            for number in range(1, rounds + 1):
                setting.tell(f"append: round {number} of {rounds}")
                with hub.reading() as tx:
                    before = tx.head(room_id).seq
                ours.append(count / _append(hub, me, room_id, count))
                with hub.reading() as tx:
                    events = reading.since(tx, room_id, before, limit=count)
                baseline.append(count / bare.write(events))
        finally:
            bare.close()
    yield Figure(
        bench="append",
        what="events.append through the hub",
        engine=setting.engine.name,
        unit="per s",
        ours=median(ours),
        baseline=median(baseline),
        against="the driver writing the same rows",
        ratio=median([mine / theirs for mine, theirs in zip(ours, baseline, strict=True)]),
        budgets=(Budget(of="ratio", bound="at least", limit=0.5),),
    )


def _append(hub: Hub, me: Caller, room_id: str, count: int) -> float:
    given = rooms.report(room_id)
    started = time.perf_counter()
    for _ in range(count):
        hub.call("events.append", given, me)
    return time.perf_counter() - started
