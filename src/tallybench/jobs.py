"""A job's whole life, created, claimed, reported and completed, beside what a plain job queue does on the same store.

Both sides put all jobs in by sixteen hands at once and take them out by sixteen: ours through one hub in this process,
as it serves many callers (see `hub.serving`), the peer with its own worker (see `job_peers`). A second row has the
peer's calls in a loop. The peers keep no history, no fencing and no proof; they are what one would use for the queue
alone.
"""

from __future__ import annotations

import asyncio
import importlib.util
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager

from tallybench import job_peers, rooms
from tallybench.callers import Callers, callers
from tallybench.figures import Budget, Detail, Figure, median
from tallybench.job_peers import Peer
from tallybench.setting import Setting

HANDS = 16
"""How many work at once: jobs are for fleets."""
PEERS = {"postgres": "procrastinate", "sqlite": "huey"}


def measure(setting: Setting) -> Iterator[Figure]:
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


def _peer(setting: Setting) -> AbstractContextManager[Peer]:
    if setting.engine.name == "sqlite":
        return job_peers.huey(setting.folder, HANDS)
    return job_peers.procrastinate(setting.engine.fresh().database_url or "", HANDS)


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
            await self._call("jobs.complete", **held, status="DONE", refs=["CMD: pytest -q (exit 0)"])
