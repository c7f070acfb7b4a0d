"""`messages.send` over HTTP and over the Unix socket, beside a bare endpoint that does one SQLite write per request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import uvloop

from tallybench import servers
from tallybench.caller import CallerConnection
from tallybench.engines import Setting
from tallybench.report import Budget, Figure, median
from tallybench.servers import Served

TEXT = "The parser accepts trailing commas now; the three failing cases are in the corpus and pass. " * 2
CONNECTIONS = (1, 4, 16)
UNDER_LOAD = 16


def measure(setting: Setting) -> Iterator[Figure]:
    with servers.bare(setting.folder) as bare, servers.hub(setting.engine.fresh()) as hub:
        yield from uvloop.run(_measured(setting, bare, hub))


async def _measured(setting: Setting, bare: Served, hub: Served) -> list[Figure]:
    first = await CallerConnection.open(hub)
    room = await first.call("rooms.create", {"title": "sends"})
    first.close()
    given: dict[str, object] = {"room_id": room["room_id"], "text": TEXT, "to": ["user"]}
    rounds, seconds = setting.pick(7, 1), setting.pick(10, 1) / 10
    figures = list[Figure]()
    for connections in CONNECTIONS:
        setting.tell(f"sends: {connections} at once")
        plain, tcp, unix = list[float](), list[float](), list[float]()
        for _ in range(rounds):
            plain.append(await _rate(bare, given, connections, seconds, unix=False))
            tcp.append(await _rate(hub, given, connections, seconds, unix=False))
            unix.append(await _rate(hub, given, connections, seconds, unix=True))
        figures += [
            _figure(setting, name, connections, ours, plain) for name, ours in (("HTTP", tcp), ("socket", unix))
        ]
    return figures


async def _rate(served: Served, given: dict[str, object], connections: int, seconds: float, *, unix: bool) -> float:
    """Calls answered per second, each connection sending the next as soon as it has the last answer."""
    opened = [await CallerConnection.open(served, unix=unix) for _ in range(connections)]
    until = time.perf_counter() + seconds

    async def keep_sending(connection: CallerConnection) -> int:
        request, sent = connection.request("messages.send", given), 0
        while time.perf_counter() < until:
            await connection.send(request)
            sent += 1
        connection.close()
        return sent

    return sum(await asyncio.gather(*map(keep_sending, opened))) / seconds


def _figure(setting: Setting, way: str, connections: int, ours: list[float], plain: list[float]) -> Figure:
    budget = Budget(of="ratio", bound="at least", limit=0.5)
    return Figure(
        bench="sends",
        what=f"messages.send over {way}, {connections} at once",
        engine=setting.engine.name,
        unit="per s",
        ours=median(ours),
        baseline=median(plain),
        against="a bare endpoint doing one write",
        ratio=median([mine / theirs for mine, theirs in zip(ours, plain, strict=True)]),
        budgets=(budget,) if connections == UNDER_LOAD else (),
    )
