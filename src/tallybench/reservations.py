"""Reserving and checking a path in a room with ten thousand reservations, against the same in a room with ten."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from tallybench import rooms
from tallybench.engines import Setting
from tallybench.report import Budget, Figure, median
from tallystick.hub.hub import Hub
from tallystick.kernel.caller import Caller

MINE = "bench/mine.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedRoom:
    """A store with one room of so many reservations."""

    hub: Hub
    room_id: str
    me: Caller

    def reserve(self) -> None:
        given = {"room_id": self.room_id, "path": MINE}
        self.hub.call("reservations.reserve", given, self.me)
        self.hub.call("reservations.release", given, self.me)

    def check(self) -> None:
        paths = [MINE, "part-3/module-0/file.py", "elsewhere/deep/down/below/file.py"]
        self.hub.call("reservations.check", {"room_id": self.room_id, "paths": paths}, self.me)


ACTIONS: dict[str, Callable[[ReservedRoom], None]] = {
    "reservations.reserve and release: one path": ReservedRoom.reserve,
    "reservations.check: three paths": ReservedRoom.check,
}


def measure(setting: Setting) -> Iterator[Figure]:
    few, many = 10, setting.pick(10_000, 30)
    rounds, calls = setting.pick(30, 2), setting.pick(20, 2)
    with ExitStack() as stack:
        views = [_filled(setting, stack, count) for count in (few, many)]
        for what, action in ACTIONS.items():
            setting.tell(f"reservations: {what}")
            samples: list[list[float]] = [[], []]
            for number in range(rounds + 1):
                for place, view in enumerate(views):
                    took = _time(action, view, calls)
                    # The first round only fills the caches of both stores alike.
                    if number:
                        samples[place].append(took)
            small, large = (median(each) for each in samples)
            yield Figure(
                bench="reservations",
                what=what,
                engine=setting.engine.name,
                unit="ms",
                ours=large,
                baseline=small,
                against=f"{few} reservations instead of {many:,}",
                ratio=large / small,
                budgets=(Budget(of="ratio", bound="at most", limit=1.5),),
            )


def _filled(setting: Setting, stack: ExitStack, count: int) -> ReservedRoom:
    settings = setting.engine.fresh()
    room_id = rooms.make_room(settings, "reservations")
    hub = stack.enter_context(rooms.opened(settings))
    owner, me = rooms.enter(hub, room_id, "owner"), rooms.enter(hub, room_id, "me")
    setting.tell(f"reservations: filling a room with {count:,}")
    for number in range(count):
        path = f"part-{number % 100}/module-{number // 100}/file.py"
        hub.call("reservations.reserve", {"room_id": room_id, "path": path, "ttl_minutes": 1440}, owner)
    return ReservedRoom(hub=hub, room_id=room_id, me=me)


def _time(action: Callable[[ReservedRoom], None], view: ReservedRoom, calls: int) -> float:
    """The mean time of one call, in ms."""
    started = time.perf_counter()
    for _ in range(calls):
        action(view)
    return (time.perf_counter() - started) / calls * 1000
