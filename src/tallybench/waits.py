"""Five hundred agents in `wait_for_turn` over `/mcp` at once, for eight seconds each, in rooms of ten.

Each has a connection of its own to the hub's HTTP socket, where its name is a header and no token is needed, and sends
one `tools/call`, as the stateless transport lets it. The stick is held by this process, so that every wait lasts its
whole time; what it lasts longer, it waited for the hub. Beside it the same waits are made by `turns.wait` over HTTP.
The hub runs without its limit of requests per second and principal (TALLYSTICK_HTTP_RATE=0); its limit of waits per
principal is left as it is.
"""

from __future__ import annotations

import asyncio
import resource
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import msgspec
import uvloop

from tallybench import rooms, servers
from tallybench.engines import Setting
from tallybench.report import Budget, Detail, Figure, percentile
from tallybench.servers import Served
from tallybench.wire import REVISION

AGENTS, PER_ROOM = 500, 10
WAIT_MS = 8000
LIMIT_S, LIMIT_MIB = 9, 200
FILES = 4096


class WaitFailed(RuntimeError):
    """A wait was refused, or ended in something else than its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiter:
    name: str
    room_id: str
    wait_ms: int

    @property
    def ask(self) -> dict[str, object]:
        return {"room_id": self.room_id, "max_wait_ms": self.wait_ms}

    def over_mcp(self) -> bytes:
        params = {"name": "wait_for_turn", "arguments": self.ask}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        more = f"Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {REVISION}\r\n"
        return self._post("/mcp", msgspec.json.encode(call), more)

    def over_http(self) -> bytes:
        return self._post("/v1/turns.wait", msgspec.json.encode(self.ask), "")

    def _post(self, path: str, body: bytes, more: str) -> bytes:
        head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTally-Agent: {self.name}\r\nConnection: close\r\n{more}"
        return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def measure(setting: Setting) -> Iterator[Figure]:
    setting.tell("waits: over /mcp")
    ours, memory = _seconds(setting, Waiter.over_mcp)
    setting.tell("waits: over HTTP")
    plain, plain_memory = _seconds(setting, Waiter.over_http)
    yield Figure(
        bench="waits",
        what=f"the longest of {len(ours)} wait_for_turn of {_wait_ms(setting) / 1000:g} s over /mcp at once",
        engine=setting.engine.name,
        unit="s",
        ours=max(ours),
        baseline=max(plain),
        against="turns.wait over HTTP",
        ratio=max(ours) / max(plain),
        budgets=(
            Budget(of="ours", bound="at most", limit=LIMIT_S),
            Budget(of="detail", detail="hub MiB", bound="at most", limit=LIMIT_MIB),
        ),
        details=(
            Detail(name="median", value=percentile(ours, 0.5)),
            Detail(name="hub MiB", value=memory),
            Detail(name="baseline hub MiB", value=plain_memory),
        ),
    )


def _wait_ms(setting: Setting) -> int:
    return setting.pick(WAIT_MS, 200)


def _seconds(setting: Setting, request: Callable[[Waiter], bytes]) -> tuple[list[float], float]:
    """How long each wait lasted, and the most that the hub had in memory."""
    settings = setting.engine.fresh()
    names = [f"agent-{number}" for number in range(PER_ROOM)]
    held = [
        rooms.make_held_room(settings, f"waits {number}", names)
        for number in range(setting.pick(AGENTS // PER_ROOM, 1))
    ]
    waiters = [Waiter(name=name, room_id=room_id, wait_ms=_wait_ms(setting)) for room_id in held for name in names]
    with servers.hub(settings) as hub, _files(FILES):
        # One before the others, so that nobody waits for what a hub loads only once.
        uvloop.run(_all(hub, waiters[:1], request))
        lasted = uvloop.run(_all(hub, waiters, request))
        return lasted, servers.peak_memory_mib(hub)


@contextmanager
def _files(wanted: int) -> Generator[None]:
    """This process may have so many open; the hub, which runs already, has what a user's has."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY in (soft, hard)
    if not unlimited and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def _all(hub: Served, waiters: Sequence[Waiter], request: Callable[[Waiter], bytes]) -> list[float]:
    # Connected before the first one asks: what is measured is the wait.
    opened = [(waiter, *await asyncio.open_unix_connection(hub.socket)) for waiter in waiters]
    return await asyncio.gather(*(_one(reader, writer, request(waiter)) for waiter, reader, writer in opened))


async def _one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes) -> float:
    began = time.perf_counter()
    writer.write(request)
    answer = await reader.read()
    took = time.perf_counter() - began
    writer.close()
    if not answer.startswith(b"HTTP/1.1 200") or b'"not_yet"' not in answer.replace(b"\\", b""):
        raise WaitFailed(answer.decode("utf-8", "replace"))
    return took
