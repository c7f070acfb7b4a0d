"""A job's whole life, created, claimed, reported and completed, beside what a plain job queue does on the same store.

On PostgreSQL the baseline is procrastinate (defer, fetch, finish) on the same server, on SQLite huey (enqueue, dequeue,
execute). They keep no history, no fencing and no proof; they are what one would use for the queue alone.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from tallystick.bench import rooms
from tallystick.bench.figures import Budget, Detail, Figure, median
from tallystick.bench.setting import Setting
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.caller import Caller

HANDS = 16
"""How many work at once: jobs are for fleets."""


PEERS = {"postgres": "procrastinate", "sqlite": "huey"}


def measure(setting: Setting) -> Iterator[Figure]:
    name = PEERS[setting.engine.name]
    if importlib.util.find_spec(name) is None:
        setting.tell(
            f"jobs: left out, since {name} is not installed; `pip install --group bench` in a checkout brings it"
        )
        return
    rounds, count = setting.pick(9, 1), setting.pick(320, 16)
    settings = setting.engine.fresh()
    room_id = rooms.make_room(settings, "jobs")
    hub = Hub.open(settings, grouped=True)
    peer = _procrastinate(setting) if setting.engine.name == "postgres" else _huey(setting.folder)
    ours, theirs = list[float](), list[float]()
    try:
        me = rooms.enter(hub, room_id, "manager")
        with ThreadPoolExecutor(HANDS) as hands:
            for number in range(rounds + 1):
                setting.tell(f"jobs: round {number} of {rounds}")
                mine, other = count / _ours(hub, me, room_id, hands, count), count / peer(count)
                # The first round only fills caches and learns the statements, for both alike.
                if number:
                    ours.append(mine)
                    theirs.append(other)
    finally:
        hub.close()
    peered = (
        "procrastinate: defer, fetch, finish"
        if setting.engine.name == "postgres"
        else "huey: enqueue, dequeue, execute"
    )
    yield Figure(
        bench="jobs",
        what=f"create, claim, report, complete, {HANDS} at once",
        engine=setting.engine.name,
        unit="cycles per s",
        ours=median(ours),
        baseline=median(theirs),
        against=f"{peered}, {HANDS if setting.engine.name == 'postgres' else 1} at once",
        ratio=median([mine / other for mine, other in zip(ours, theirs, strict=True)]),
        budgets=(Budget(of="ratio", bound="at least", limit=1.5),) if setting.engine.name == "postgres" else (),
        details=(Detail(name="calls per s", value=median(ours) * 4),),
    )


def _ours(hub: Hub, me: Caller, room_id: str, hands: ThreadPoolExecutor, count: int) -> float:
    started = time.perf_counter()
    work = partial(_hand, hub, me, room_id, count // HANDS)
    list(hands.map(work, range(HANDS)))
    return time.perf_counter() - started


def _hand(hub: Hub, me: Caller, room_id: str, count: int, hand: int) -> None:
    runner = {"room_id": room_id, "runner_id": f"r{hand}"}
    hub.call("runners.heartbeat", {**runner, "status": "idle", "lease_ttl_ms": 300_000}, me)
    for number in range(count):
        # Pinned, so that each hand can take what any hand has made, as with the baseline.
        made = {"room_id": room_id, "title": f"job {number}", "prompt": "Make it work.", "executor": "codex"}
        hub.call("jobs.create", made, me)
        claimed = hub.call("jobs.claim", runner, me).model_dump(mode="json")
        held = {**runner, "job": claimed["job"]["job_id"], "claim_revision": claimed["claim_revision"]}
        hub.call("jobs.report", {**held, "message": "half way", "percent": 50}, me)
        hub.call("jobs.complete", {**held, "status": "DONE", "refs": ["CMD: pytest -q (exit 0)"]}, me)


def _huey(folder: Path) -> Callable[[int], float]:
    huey: Any = importlib.import_module("huey").SqliteHuey(filename=str(folder / "huey.db"), results=True)

    @huey.task()
    def work(number: int) -> int:
        return number

    def cycle(count: int) -> float:
        started = time.perf_counter()
        for number in range(count):
            work(number)
            huey.execute(huey.dequeue())
        return time.perf_counter() - started

    return cycle


def _procrastinate(setting: Setting) -> Callable[[int], float]:
    procrastinate: Any = importlib.import_module("procrastinate")
    settings: Settings = setting.engine.fresh()
    url, ready = settings.database_url, list[bool]()

    async def cycle(count: int) -> float:
        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url, min_size=HANDS, max_size=HANDS))

        @app.task(name="work")
        def work(number: int) -> int:
            return number

        async with app.open_async():
            if not ready:
                await app.schema_manager.apply_schema_async()
                ready.append(True)
            jobs, done = app.job_manager, importlib.import_module("procrastinate.jobs").Status.SUCCEEDED
            worker = await jobs.register_worker()

            async def hand() -> None:
                for number in range(count // HANDS):
                    await work.defer_async(number=number)
                    job = await jobs.fetch_job(queues=None, worker_id=worker)
                    await jobs.finish_job(job=job, status=done, delete_job=False)

            started = time.perf_counter()
            await asyncio.gather(*(hand() for _ in range(HANDS)))
            return time.perf_counter() - started

    return lambda count: asyncio.run(cycle(count))
