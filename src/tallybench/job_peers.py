"""Two plain job queues as their users run them, to measure jobs beside: procrastinate on PostgreSQL, huey on SQLite.

Each gives the seconds that so many jobs take from the first one put in to the last one finished, first with its own
worker, then by hand: its own calls in a loop, without the worker around them. They are loaded only when asked for.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

Take = Callable[[int], float]
"""How long so many jobs take, in seconds."""


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
