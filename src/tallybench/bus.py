"""The bus over its socket: one envelope there and back, actions to one and to a hundred targets, and idle connections.

The baseline of the round trip is a bare asyncio server that sends every line back; of the rest, the rate to one target
and the hub before anybody connected. Client, hub and echo share one processor for the round trips: otherwise the
scheduler decides whether a reply has to wake a sleeping processor, and gives the echo and the hub different answers.
One row shows what it makes of them when it is left alone.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import uvloop

from tallybench import servers
from tallybench.engines import Setting
from tallybench.report import Budget, Detail, Figure, median, percentile
from tallybench.servers import Served

ECHO = """
import asyncio, sys
import uvloop


async def echo(reader, writer):
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()


async def main():
    server = await asyncio.start_unix_server(echo, sys.argv[1])
    await server.serve_forever()


uvloop.run(main())
"""
IN_FLIGHT = 8
"""Groups that are under way at once, each submitted when an earlier one is finished."""


class _Delivered(msgspec.Struct):
    actions: list[dict[str, object]]


class _Agents(msgspec.Struct):
    agents: list[dict[str, object]]


class Line:
    """One connection: a line out, a line back."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, src: str) -> None:
        self._reader, self._writer, self._src = reader, writer, src
        self.session: str | None = None
        self._count = 0

    @classmethod
    async def open(cls, path: Path, src: str) -> Line:
        return cls(*await asyncio.open_unix_connection(path, limit=2**21), src)

    def envelope(self, type: str, payload: object, **more: object) -> bytes:
        self._count += 1
        here = {"session": self.session} if self.session else {}
        head = {"v": 1, "type": type, "id": f"{self._src}-{self._count}", "ts": "2026-01-31T12:00:00Z"}
        return msgspec.json.encode({**head, "src": self._src, "payload": payload, **here, **more}) + b"\n"

    def send(self, type: str, payload: object, **more: object) -> None:
        self._writer.write(self.envelope(type, payload, **more))

    async def next(self) -> dict[str, object]:
        return msgspec.json.decode(await self._reader.readuntil(b"\n"), type=dict[str, object])

    async def ask(self, type: str, payload: object, **more: object) -> dict[str, object]:
        self.send(type, payload, **more)
        while (reply := await self.next()).get("corr") is None:
            pass
        return reply

    async def there_and_back(self, line: bytes) -> float:
        started = time.perf_counter()
        self._writer.write(line)
        await self._reader.readuntil(b"\n")
        return (time.perf_counter() - started) * 1e6

    def close(self) -> None:
        self._writer.close()


def measure(setting: Setting) -> Iterator[Figure]:
    settings = setting.engine.fresh()
    echo = settings.data_dir.with_name(f"{settings.data_dir.name}.echo")
    with servers.hub(settings) as hub, servers.process([sys.executable, "-c", ECHO, str(echo)], echo.exists) as peer:
        bus = settings.data_dir / "bus.sock"
        setting.tell("bus: idle connections")
        yield uvloop.run(_idle(setting, hub, bus))
        setting.tell("bus: round trips")
        with servers.on_one_processor(hub.pid, peer):
            yield uvloop.run(_round_trips(setting, bus, echo, store=False))
            yield uvloop.run(_round_trips(setting, bus, echo, store=True))
        yield uvloop.run(_round_trips(setting, bus, echo, store=True, bound=False))
        setting.tell("bus: actions")
        yield uvloop.run(_actions(setting, bus))


async def _round_trips(setting: Setting, bus: Path, echo: Path, *, store: bool, bound: bool = True) -> Figure:
    ours, bare = await Line.open(bus, "bench"), await Line.open(echo, "bench")
    found, baseline = list[float](), list[float]()
    await ours.ask("hub.health", {}, seq=1)
    # Counting backwards is answered by the bus itself, with a whole reply and without a look at the store.
    more = {} if store else {"seq": 1}
    # In turns, so that both see the same machine.
    for _ in range(setting.pick(20, 2)):
        for line, samples in ((ours, found), (bare, baseline)):
            for _ in range(setting.pick(250, 5)):
                samples.append(await line.there_and_back(line.envelope("hub.health", {}, **more)))
    for line in (ours, bare):
        line.close()
    where = "" if bound else ", on any processor"
    # An echo has no server of its own to ask: what one on the network adds is shown, not budgeted.
    asks_server = store and setting.engine.name == "postgres"
    return Figure(
        bench="bus",
        what=f"an envelope there and back, answered {'from' if store else 'without'} the store{where}",
        engine=setting.engine.name,
        unit="us",
        ours=median(found),
        baseline=median(baseline),
        against="a bare asyncio echo server",
        ratio=median(found) / median(baseline),
        budgets=(Budget(of="ratio", bound="at most", limit=5),) if bound and not asks_server else (),
        details=(
            Detail(name="p95", value=percentile(found, 0.95)),
            Detail(name="baseline p95", value=percentile(baseline, 0.95)),
        ),
    )


async def _actions(setting: Setting, bus: Path) -> Figure:
    one = await _per_second(bus, targets=1, count=setting.pick(2000, 20))
    many = await _per_second(bus, targets=setting.pick(100, 3), count=setting.pick(4000, 30))
    return Figure(
        bench="bus",
        what="actions from submission to result, to 100 targets",
        engine=setting.engine.name,
        unit="1/s",
        ours=many,
        baseline=one,
        against="one target",
        ratio=many / one,
    )


async def _per_second(bus: Path, *, targets: int, count: int) -> float:
    """How many actions a second are submitted, delivered, completed and told to their sender."""
    boss = await Line.open(bus, "boss")
    boss.session = str((await boss.ask("session.create", {}))["session"])
    await boss.ask("agent.add", {"id": "boss"})
    workers = [asyncio.ensure_future(_work(bus, f"worker-{n}", boss.session)) for n in range(targets)]
    while await _online(boss) <= targets:
        pass
    started, sent, done = time.perf_counter(), 0, 0
    while done < count:
        while sent < count and sent - done < IN_FLIGHT * targets:
            boss.send("action.submit", _group(sent, f"worker-{sent % targets}"))
            sent += 1
        done += (await boss.next())["type"] == "action.result"
    elapsed = time.perf_counter() - started
    for worker in workers:
        worker.cancel()
    await asyncio.gather(*workers, return_exceptions=True)
    boss.close()
    return count / elapsed


async def _online(boss: Line) -> int:
    found = msgspec.convert((await boss.ask("agent.list", {}))["payload"], type=_Agents)
    return sum(each["status"] == "online" for each in found.agents)


def _group(number: int, target: str) -> dict[str, object]:
    action = {"type": "message", "dst": target, "action_id": f"a{number}", "action_index": 0, "kind": "user"}
    return {"group_id": f"g{number}", "actions": [{**action, "text": "measure it"}], "context": {"context_id": "bench"}}


async def _work(bus: Path, name: str, session: str) -> None:
    line = await Line.open(bus, name)
    line.session = session
    try:
        await line.ask("agent.add", {"id": name})
        while True:
            got = await line.next()
            if got["type"] == "action.submit" and "status" not in got:
                line.send("action.result", {"action_id": _action_id(got), "status": "completed"})
    finally:
        line.close()


def _action_id(delivered: dict[str, object]) -> object:
    return msgspec.convert(delivered["payload"], type=_Delivered).actions[0]["action_id"]


async def _idle(setting: Setting, hub: Served, bus: Path) -> Figure:
    before = servers.memory_mib(hub)
    lines = [await Line.open(bus, f"idle-{number}") for number in range(setting.pick(1000, 20))]
    for line in lines:
        await line.ask("hub.health", {})
    held = servers.memory_mib(hub)
    for line in lines:
        line.close()
    return Figure(
        bench="bus",
        what=f"memory with {len(lines):,} idle connections, over the idle hub",
        engine=setting.engine.name,
        unit="MiB",
        ours=max(held - before, 0.1),
        baseline=before,
        against="the idle hub",
        ratio=held / before,
        budgets=(Budget(of="ours", bound="at most", limit=150),),
    )
