"""A job's whole life, created, claimed, reported and completed, beside what a plain job queue does on the same store.

Both sides put all jobs in by sixteen hands at once and take them out by sixteen: ours through one hub in this process,
as it serves many callers (see `hub.serving`), the peer with its own worker (see `job_peers`). A second row has the
peer's calls in a loop. The peers keep no history, no fencing and no proof; they are what one would use for the queue
alone.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import logging
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from tallybench import rooms
from tallybench.callers import Callers, callers
from tallybench.engines import Setting
from tallybench.report import Budget, Detail, Figure, median

Take = Callable[[int], float]
"""How long so many jobs take, in seconds."""


SEEN = {"command": "pytest -q", "exit_code": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    name: str
    worker: Take
    worker_does: str
    by_hand: Take
    by_hand_does: str


@contextmanager
def huey(folder: Path, hands: int) -> Generator[Peer]:
    """A file of huey's own, with its defaults: WAL, results kept."""
    app: Any = importlib.import_module("huey").SqliteHuey(filename=str(folder / "huey.db"))
    left, done = [0], threading.Event()
    counting = threading.Lock()

    @app.task()
    def work(number: int) -> int:
        with counting:
            left[0] -= 1
            if not left[0]:
                done.set()
        return number

    def fill(count: int) -> None:
        left[0] = count
        done.clear()
        with ThreadPoolExecutor(hands) as pool:
            list(pool.map(work, range(count)))

    def worker(count: int) -> float:
        started = time.perf_counter()
        fill(count)
        consumer: Any = app.create_consumer(workers=hands, periodic=False)
        with _signals_kept():
            consumer.start()
        done.wait()
        took = time.perf_counter() - started
        consumer.stop(graceful=True)
        return took

    def by_hand(count: int) -> float:
        left[0] = count
        started = time.perf_counter()
        for number in range(count):
            work(number)
            app.execute(app.dequeue())
        return time.perf_counter() - started

    with _quiet("huey"):
        yield Peer(
            name="huey",
            worker=worker,
            worker_does=f"{hands} threads enqueue, its consumer of {hands} threads executes",
            by_hand=by_hand,
            by_hand_does="enqueue, dequeue, execute in one thread",
        )
    app.storage.close()


@contextmanager
def procrastinate(url: str, hands: int) -> Generator[Peer]:
    """An app of procrastinate's own database, opened once, on a loop that stays."""
    module: Any = importlib.import_module("procrastinate")
    finished: Any = importlib.import_module("procrastinate.jobs").Status.SUCCEEDED
    app: Any = module.App(connector=module.PsycopgConnector(conninfo=url, min_size=hands, max_size=hands))

    # A coroutine: a plain function would go through a thread each, which is slower.
    @app.task(name="work")
    async def work(number: int) -> int:
        return number

    async def defer(count: int) -> None:
        for number in range(count // hands):
            await work.defer_async(number=number)

    async def worker(count: int) -> float:
        started = time.perf_counter()
        await asyncio.gather(*(defer(count) for _ in range(hands)))
        await app.run_worker_async(concurrency=hands, wait=False, install_signal_handlers=False)
        return time.perf_counter() - started

    async def by_hand(count: int) -> float:
        jobs = app.job_manager
        me = await jobs.register_worker()

        async def hand() -> None:
            for number in range(count // hands):
                await work.defer_async(number=number)
                # None when others were faster with all that was there when it looked; they left as much behind.
                while (job := await jobs.fetch_job(queues=None, worker_id=me)) is None:
                    pass
                await jobs.finish_job(job=job, status=finished, delete_job=False)

        started = time.perf_counter()
        await asyncio.gather(*(hand() for _ in range(hands)))
        return time.perf_counter() - started

    async def opened() -> None:
        await app.open_async()
        await app.schema_manager.apply_schema_async()

    # The event loop that our hub runs on, so that it makes no difference.
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as loop, _quiet("procrastinate"):
        loop.run(opened())
        try:
            yield Peer(
                name="procrastinate",
                worker=lambda count: loop.run(worker(count)),
                worker_does=f"{hands} coroutines defer, its worker with concurrency {hands} fetches, runs and finishes",
                by_hand=lambda count: loop.run(by_hand(count)),
                by_hand_does=f"defer, fetch, finish by {hands} coroutines, without its worker",
            )
        finally:
            loop.run(app.close_async())


@contextmanager
def _signals_kept() -> Generator[None]:
    """A consumer takes the process's signals, which are not its own here."""
    before = {each: signal.getsignal(each) for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def _quiet(name: str) -> Generator[None]:
    """Neither has to write a log of its work, as we write none of ours."""
    logger = logging.getLogger(name)
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


HANDS = 16
"""How many work at once: jobs are for fleets."""
PEERS = {"postgres": "procrastinate", "sqlite": "huey"}


FANNED_OUT, RUNNERS, WORK_S = 64, 8, 0.02
"""So many `auto` jobs, so many runners, and how long each job takes."""


def measure(setting: Setting) -> Iterator[Figure]:
    yield _fan_out(setting)
    name = PEERS[setting.engine.name]
    if importlib.util.find_spec(name) is None:
        setting.tell(
            f"jobs: left out, since {name} is not installed; `make bench` brings it, "
            "or `pip install --group bench` in a checkout"
        )
        return
    rounds, count = setting.pick(9, 1), setting.pick(320, 16)
    rates: dict[str, list[float]] = {"ours": [], "worker": [], "by hand": []}
    settings = setting.engine.fresh()
    with callers(settings, rooms.make_room(settings, "jobs")) as ours, _peer(setting) as peer:
        takes = {"ours": Hands(ours).take, "worker": peer.worker, "by hand": peer.by_hand}
        for number in range(rounds + 1):
            setting.tell(f"jobs: round {number} of {rounds}")
            found = {who: count / take(count) for who, take in takes.items()}
            # The first round only fills caches and learns the statements, for all alike.
            if number:
                for who, rate in found.items():
                    rates[who].append(rate)
    # The budget is for PostgreSQL, where the peer is the one that a fleet would use instead.
    budgets = (Budget(of="ratio", bound="at least", limit=1.5),) if setting.engine.name == "postgres" else ()
    yield _figure(setting, rates, "worker", f"{peer.name}: {peer.worker_does}", budgets)
    yield _figure(setting, rates, "by hand", f"{peer.name}: {peer.by_hand_does}", ())


def _fan_out(setting: Setting) -> Figure:
    """How long a fan-out takes when all runners but one come after the jobs, beside all being there before."""
    rounds, late, early = setting.pick(5, 1), list[float](), list[float]()
    settings = setting.engine.fresh()
    with callers(settings, rooms.make_room(settings, "fan-out")) as ours:
        hands = Hands(ours)
        for number in range(rounds + 1):
            setting.tell(f"jobs: fan-out {number} of {rounds}")
            found = hands.fan_out(there=1, of=f"late{number}"), hands.fan_out(there=RUNNERS, of=f"early{number}")
            if number:
                late.append(found[0])
                early.append(found[1])
    return Figure(
        bench="jobs",
        what=f"fan-out of {FANNED_OUT} jobs over {RUNNERS} runners, all but one come late",
        engine=setting.engine.name,
        unit="s",
        ours=median(late),
        baseline=median(early),
        against="all runners there from the start",
        ratio=median([mine / other for mine, other in zip(late, early, strict=True)]),
        budgets=(Budget(of="ratio", bound="at most", limit=1.3),),
        details=(),
    )


def _peer(setting: Setting) -> AbstractContextManager[Peer]:
    if setting.engine.name == "sqlite":
        return huey(setting.folder, HANDS)
    return procrastinate(setting.engine.fresh().database_url or "", HANDS)


def _figure(
    setting: Setting, rates: Mapping[str, list[float]], who: str, against: str, budgets: tuple[Budget, ...]
) -> Figure:
    ours, theirs = rates["ours"], rates[who]
    return Figure(
        bench="jobs",
        what=f"create, claim, report, complete, {HANDS} at once",
        engine=setting.engine.name,
        unit="cycles per s",
        ours=median(ours),
        baseline=median(theirs),
        against=against,
        ratio=median([mine / other for mine, other in zip(ours, theirs, strict=True)]),
        budgets=budgets,
        details=(Detail(name="calls per s", value=median(ours) * 4),),
    )


class Hands:
    """Those who make jobs and work them off, sixteen at a time."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers
        self._call = callers.call

    def take(self, count: int) -> float:
        return self._callers.run(self._take(count))

    async def _take(self, count: int) -> float:
        started = time.perf_counter()
        await asyncio.gather(*(self._create(count // HANDS) for _ in range(HANDS)))
        await asyncio.gather(*(self._work(number) for number in range(HANDS)))
        return time.perf_counter() - started

    def fan_out(self, *, there: int, of: str) -> float:
        """Seconds from the last creation to the last end; so many runners are there before the jobs."""
        return self._callers.run(self._fan_out([f"{of}-r{number}" for number in range(RUNNERS)], there))

    async def _fan_out(self, runners: list[str], there: int) -> float:
        for runner in runners[:there]:
            await self._call("runners.heartbeat", runner_id=runner, status="idle", lease_ttl_ms=300_000)
        for _ in range(FANNED_OUT):
            await self._call("jobs.create", title="a job", prompt="Make it work.")
        started = time.perf_counter()
        await asyncio.gather(*(self._share(runner) for runner in runners))
        return time.perf_counter() - started

    async def _share(self, runner: str) -> None:
        await self._call("runners.heartbeat", runner_id=runner, status="idle", lease_ttl_ms=300_000)
        while (claimed := (await self._call("jobs.claim", runner_id=runner)).to_data())["job"]:
            await asyncio.sleep(WORK_S)
            held = {"runner_id": runner, "job": claimed["job"]["job_id"], "claim_revision": claimed["claim_revision"]}
            await self._call("jobs.complete", **held, status="CANCELED")

    async def _create(self, count: int) -> None:
        # Pinned, so that every hand may take what any hand has made, as with the baseline.
        for _ in range(count):
            await self._call("jobs.create", title="a job", prompt="Make it work.", executor="codex")

    async def _work(self, hand: int) -> None:
        """What a runner does: be there, then claim, report and complete until nothing is left."""
        runner = f"r{hand}"
        await self._call("runners.heartbeat", runner_id=runner, status="idle", lease_ttl_ms=300_000)
        while True:
            claimed = (await self._call("jobs.claim", runner_id=runner)).to_data()
            if claimed["job"] is None:
                return
            held = {"runner_id": runner, "job": claimed["job"]["job_id"], "claim_revision": claimed["claim_revision"]}
            await self._call("jobs.report", **held, message="half way", percent=50)
            await self._call("jobs.complete", **held, status="DONE", refs=["CMD: pytest -q (exit 0)"], observed=[SEEN])
