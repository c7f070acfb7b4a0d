"""Eight processes appending at once, in one room and in eight, against one process appending alone."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tallybench import rooms
from tallybench.engines import Setting
from tallybench.report import Budget, Detail, Figure, median
from tallystick.hub.settings import Settings
from tallystick.kernel.errors import TallyError

WRITERS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    settings: Settings
    room_id: str
    name: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    appended: int
    errors: int
    took: float
    longest_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """What some writers did in the same few seconds."""

    rate: float
    errors: int
    spread: float
    """The busiest writer's count over the least busy one's."""
    longest_ms: float

    @classmethod
    def of(cls, written: Sequence[Written]) -> Together:
        counts = [each.appended for each in written]
        return cls(
            rate=sum(each.appended / each.took for each in written),
            errors=sum(each.errors for each in written),
            spread=max(counts) / max(1, min(counts)),
            longest_ms=max(each.longest_ms for each in written),
        )


def measure(setting: Setting) -> Iterator[Figure]:
    alone, shared, apart = list[Together](), list[Together](), list[Together]()
    rounds = setting.pick(5, 1)
    for number in range(1, rounds + 1):
        setting.tell(f"contend: round {number} of {rounds}")
        alone.append(_round(setting, writers=1, rooms_wanted=1))
        shared.append(_round(setting, writers=WRITERS, rooms_wanted=1))
        apart.append(_round(setting, writers=WRITERS, rooms_wanted=WRITERS))
    yield _figure(setting, f"{WRITERS} processes in one room", shared, alone)
    yield _figure(setting, f"{WRITERS} processes in {WRITERS} rooms", apart, alone)


def _figure(setting: Setting, what: str, many: Sequence[Together], alone: Sequence[Together]) -> Figure:
    return Figure(
        bench="contend",
        what=what,
        engine=setting.engine.name,
        unit="per s",
        ours=median([each.rate for each in many]),
        baseline=median([each.rate for each in alone]),
        against="one process",
        ratio=median([each.rate / one.rate for each, one in zip(many, alone, strict=True)]),
        budgets=(
            Budget(of="ratio", bound="at least", limit=0.7),
            Budget(of="detail", detail="spread", bound="at most", limit=3),
            Budget(of="detail", detail="errors", bound="at most", limit=0),
        ),
        details=(
            Detail(name="spread", value=median([each.spread for each in many])),
            Detail(name="errors", value=sum(each.errors for each in many)),
            Detail(name="longest ms", value=max(each.longest_ms for each in many)),
        ),
    )


def _round(setting: Setting, *, writers: int, rooms_wanted: int) -> Together:
    settings = setting.engine.fresh()
    found = [rooms.make_room(settings, f"contend {number}") for number in range(rooms_wanted)]
    seconds = setting.pick(300, 20) / 100
    tasks = [
        Writer(settings=settings, room_id=found[number % rooms_wanted], name=f"writer-{number}", seconds=seconds)
        for number in range(writers)
    ]
    return Together.of(rooms.gather(_write, tasks))


def _write(writer: Writer) -> Written:
    """Append until the time is up; whatever is refused is counted, not hidden."""
    appended, errors, longest = 0, 0, 0.0
    given = rooms.report(writer.room_id)
    with rooms.opened(writer.settings) as hub:
        me = rooms.enter(hub, writer.room_id, writer.name)
        hub.call("events.append", given, me)
        rooms.together()
        started = last = time.perf_counter()
        while last - started < writer.seconds:
            try:
                hub.call("events.append", given, me)
                appended += 1
            except TallyError:
                errors += 1
            now = time.perf_counter()
            longest, last = max(longest, now - last), now
    return Written(appended=appended, errors=errors, took=last - started, longest_ms=longest * 1000)
