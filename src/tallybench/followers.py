"""From a send to those who follow: one follower, and a thousand while four writers append."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import uvloop

from tallybench import servers
from tallybench.caller import CallerConnection
from tallybench.engines import Setting
from tallybench.report import Budget, Detail, Figure, median, percentile
from tallybench.servers import Served

ONE, CROWD = "x.bench.one", "x.bench.crowd"
WRITERS = 4
PAUSE = 0.4
POLL_MS = 125.0
"""What a follower who asks every quarter of a second waits on average."""


def measure(setting: Setting) -> Iterator[Figure]:
    with servers.hub(setting.engine.fresh()) as hub:
        yield from uvloop.run(_measured(setting, hub))


async def _measured(setting: Setting, hub: Served) -> list[Figure]:
    writer = await CallerConnection.open(hub)
    room_id = str((await writer.call("rooms.create", {"title": "followers"}))["room_id"])
    setting.tell("followers: one")
    alone = await _to_one(hub, writer, room_id, setting.pick(600, 5))
    writer.close()
    count = setting.pick(1000, 10)
    setting.tell(f"followers: {count:,}")
    crowd = await _to_many(hub, room_id, count, setting.pick(20, 2))
    memory = servers.peak_memory_mib(hub)
    return [
        _figure(setting, "send to one follower", alone, (Budget(of="ours", bound="at most", limit=3),)),
        _figure(
            setting,
            f"send to {count:,} followers, {WRITERS} writers",
            crowd,
            (
                Budget(of="detail", bound="at most", limit=250, detail="p99 ms"),
                Budget(of="detail", bound="at most", limit=300, detail="hub MiB"),
            ),
            Detail(name="hub MiB", value=memory),
        ),
    ]


def _figure(setting: Setting, what: str, waits: list[float], budgets: tuple[Budget, ...], *more: Detail) -> Figure:
    ours = median(waits)
    return Figure(
        bench="followers",
        what=what,
        engine=setting.engine.name,
        unit="ms",
        ours=ours,
        baseline=POLL_MS,
        against="asking every 250 ms",
        ratio=ours / POLL_MS,
        budgets=budgets,
        details=(Detail(name="p99 ms", value=percentile(waits, 0.99)), *more),
    )


async def _to_one(hub: Served, writer: CallerConnection, room_id: str, times: int) -> list[float]:
    """From sending an append to its arrival at a follower, in milliseconds."""
    follower = await _following(hub, room_id, ONE)
    waits = list[float]()
    for number in range(times):
        request = writer.request("events.append", {"room_id": room_id, "kind": ONE, "data": {"name": str(number)}})
        began = time.perf_counter()
        answered = asyncio.ensure_future(writer.send(request))
        await follower.next_event()
        waits.append((time.perf_counter() - began) * 1000)
        await answered
    follower.close()
    return waits


async def _following(hub: Served, room_id: str, kind: str) -> CallerConnection:
    follower = await CallerConnection.open(hub)
    await follower.follow(room_id, kind)
    return follower


async def _to_many(hub: Served, room_id: str, count: int, rounds: int) -> list[float]:
    """Each of four writers sends one event at a time; every follower must see each of them once, in order."""
    followers = [await _following(hub, room_id, CROWD) for _ in range(count)]
    writers = [await CallerConnection.open(hub) for _ in range(WRITERS)]
    sent, waits = dict[str, float](), list[float]()

    async def hear(follower: CallerConnection) -> None:
        last = 0
        for _ in range(rounds * WRITERS):
            event = await follower.next_event()
            if event.seq <= last:
                raise RuntimeError(f"seq {event.seq} came after {last}")
            last = event.seq
            waits.append((time.perf_counter() - sent[event.data["name"]]) * 1000)

    async def tell(number: int, writer: CallerConnection) -> None:
        await asyncio.sleep(PAUSE * number / WRITERS)
        for turn in range(rounds):
            name = f"{number}-{turn}"
            sent[name] = time.perf_counter()
            await writer.call("events.append", {"room_id": room_id, "kind": CROWD, "data": {"name": name}})
            # Not as fast as possible but as agents write: else this measures a queue.
            await asyncio.sleep(PAUSE)

    hearing = [asyncio.ensure_future(hear(follower)) for follower in followers]
    await asyncio.gather(*(tell(number, writer) for number, writer in enumerate(writers)))
    await asyncio.gather(*hearing)
    for connection in (*followers, *writers):
        connection.close()
    return waits
