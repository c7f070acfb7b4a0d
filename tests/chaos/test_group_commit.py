"""A hub that commits for many callers at once: beside other processes, on a store that is busy, and when it closes."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

from tallystick.hub import registry
from tallystick.hub.hub import Hub
from tallystick.kernel.errors import TallyError
from tallystick.storage.port import Store
from tallystick.storage.sqlite import SqliteStore
from tallystick.storage.sqlite_transaction import SqliteWrite
from tests.chaos import checker
from tests.chaos.behaviours import append_events, append_in_threads
from tests.chaos.fleet import Fleet, barrier, outcomes

THREADS = 20


class Counted(SqliteStore):
    writes = 0

    def write(self, *, unhurried: bool = False) -> SqliteWrite:
        self.writes += 1
        return super().write(unhurried=unhurried)


def create_room(hub: Hub) -> str:
    room_id: str = hub.call("rooms.create", {"title": "crowd"}, checker.WITNESS).to_data()["room_id"]
    hub.call("rooms.join", {"room_id": room_id}, checker.WITNESS)
    return room_id


def append(hub: Hub, room_id: str) -> str:
    """How one append ended."""
    try:
        hub.call("events.append", {"room_id": room_id, "kind": "x.chaos.step", "data": {}}, checker.WITNESS)
    except TallyError as error:
        return error.code
    return "ok"


def test_a_hub_that_serves_many_and_processes_on_their_own_share_one_ledger(fleet: Fleet) -> None:
    room_id, start = fleet.room(), barrier(4)
    before = fleet.head(room_id)
    fleet.start(append_in_threads, "svc:hub", room_id, start=start, times=25, grouped=True)
    for number in range(3):
        fleet.start(append_events, f"svc:writer-{number}", room_id, start=start, times=50)

    attempts = fleet.finish()

    assert outcomes(attempts) == {"ok": 8 * 25 + 3 * 50}
    assert fleet.head(room_id) == before + 8 * 25 + 3 * 50
    assert checker.problems(fleet.hub, attempts) == []


def test_callers_of_a_store_that_is_busy_hear_of_it_together_and_not_one_after_the_other(tmp_path: Path) -> None:
    store, start = Counted(tmp_path / "tally.sqlite", busy_timeout_ms=500), Barrier(THREADS)
    store.migrate(registry.schema())
    with closing(SqliteStore(tmp_path / "tally.sqlite")) as other, closing(Hub(store, grouped=True)) as hub:
        room_id, store.writes = create_room(hub), 0

        def call(_: int) -> str:
            start.wait()
            return append(hub, room_id)

        with other.write(), ThreadPoolExecutor(THREADS) as pool:
            told = list(pool.map(call, range(THREADS)))
        after = append(hub, room_id)

    assert (Counter(told), after) == ({"store_busy": THREADS}, "ok")
    assert store.writes < THREADS / 2


def test_whoever_calls_while_the_hub_closes_is_either_served_or_told(store: Store) -> None:
    store.migrate(registry.schema())
    hub = Hub(store, grouped=True)
    room_id, start = create_room(hub), Barrier(THREADS + 1)

    def call(_: int) -> list[str]:
        start.wait()
        told = ["ok"]
        while told[-1] == "ok":
            told.append(append(hub, room_id))
        return told[1:]

    with ThreadPoolExecutor(THREADS) as pool:
        calls = [pool.submit(call, number) for number in range(THREADS)]
        start.wait()
        if hub.committer:
            hub.committer.close()
        told = Counter(code for each in calls for code in each.result())

    assert set(told) <= {"ok", "hub_closed"}
    assert told["hub_closed"] == THREADS
    assert Hub(store).call("rooms.show", {"room_id": room_id}, checker.WITNESS).to_data()["head"] == 2 + told["ok"]
