"""How long the hub stands still when those who wait in it are killed, as a harness is that somebody closes.

A process of its own asks for `/healthz` over the socket every few milliseconds. Meanwhile twenty `tally mcp` in
`wait_for_turn` are killed, in turns with twenty HTTP clients in `turns.wait`, and with nobody at all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import IO, cast

from tallybench import rooms, servers
from tallybench.access import environment
from tallybench.engines import Setting, tally
from tallybench.report import Budget, Detail, Figure, median
from tallybench.servers import Served
from tallybench.wire import StdioServer
from tallystick.hub.settings import Settings

CLIENTS = 20
LIMIT_MS = 50
BEFORE_S = 0.5
"""How long the hub is watched before the kill."""
WAIT_MS = 30_000

POLLER = """
import socket, sys, time

connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])



def ask():
    connection.sendall(b"GET /healthz HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n")
    answer = b""
    while not answer.endswith(b"}"):
        part = connection.recv(65536)
        answer += part
        if not part or not answer.startswith(b"HTTP/1.1 200"):
            raise SystemExit("not the hub's health: %r" % answer)


until, longest = time.perf_counter() + float(sys.argv[2]), 0.0
print("begun", flush=True)
while (began := time.perf_counter()) < until:
    ask()
    longest = max(longest, time.perf_counter() - began)
    time.sleep(0.003)
print(longest * 1000, flush=True)
"""
HTTP_CLIENT = """
import socket, sys

path, name, join, wait = sys.argv[1:]
connection = socket.socket(socket.AF_UNIX)
connection.connect(path)


def post(operation, given):
    head = "POST /v1/%s HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nTally-Agent: %s\\r\\n" % (operation, name)
    head += "Content-Type: application/json\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(given)
    connection.sendall((head + given).encode())


post("rooms.join", join)
answer = b""
while not answer.endswith(b"}"):
    answer += connection.recv(65536)
post("turns.wait", wait)
print("waits", flush=True)
if not connection.recv(65536).startswith(b"HTTP/1.1 200"):
    raise SystemExit("the wait was refused")
"""


def measure(setting: Setting) -> Iterator[Figure]:
    settings = setting.engine.fresh()
    clients, rounds, after_s = setting.pick(CLIENTS, 2), setting.pick(5, 1), setting.pick(30, 3) / 10
    names = [f"agent-{number}" for number in range(clients)]
    room_id = rooms.make_held_room(settings, "kills")
    with servers.hub(settings) as hub:
        ways: Mapping[str, Callable[[], float]] = {
            "nobody": lambda: _pause(hub, nullcontext(lambda: None), after_s),
            "HTTP": lambda: _pause(hub, _http_clients(hub, room_id, names), after_s),
            "MCP": lambda: _pause(hub, _mcp_clients(settings, room_id, names), after_s),
        }
        pauses: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(1, rounds + 1):
            setting.tell(f"kills: round {number} of {rounds}")
            for name, pause in ways.items():
                pauses[name].append(pause())
    budget = Budget(of="ours", bound="at most", limit=LIMIT_MS)
    yield _figure(setting, f"{clients} MCP clients", pauses["MCP"], pauses["HTTP"], "HTTP clients killed", budget)
    yield _figure(setting, f"{clients} HTTP clients", pauses["HTTP"], pauses["nobody"], "nobody killed")


def _figure(
    setting: Setting, who: str, ours: Sequence[float], baseline: Sequence[float], against: str, *budgets: Budget
) -> Figure:
    return Figure(
        bench="kills",
        what=f"longest pause of /healthz while {who} that wait are killed",
        engine=setting.engine.name,
        unit="ms",
        ours=max(ours),
        baseline=max(baseline),
        against=against,
        ratio=max(ours) / max(baseline),
        budgets=budgets,
        details=(Detail(name="median of rounds", value=median(ours)),),
    )


def _pause(hub: Served, waiting: AbstractContextManager[Callable[[], None]], after_s: float) -> float:
    """The longest that `/healthz` took to answer around the end of those who wait, in ms."""
    command = [sys.executable, "-c", POLLER, hub.socket, str(BEFORE_S + after_s)]
    with waiting as kill, subprocess.Popen(command, stdout=subprocess.PIPE) as poller:
        told = cast("IO[bytes]", poller.stdout)
        told.readline()
        time.sleep(BEFORE_S)
        kill()
        return float(told.readline())


@contextmanager
def _mcp_clients(settings: Settings, room_id: str, names: Sequence[str]) -> Generator[Callable[[], None]]:
    """Agents that wait for the stick through `tally mcp`, and what kills them all."""
    with ExitStack() as stack:
        clients = [
            stack.enter_context(StdioServer(tally("mcp"), {**environment(settings), "TALLYSTICK_AGENT": name}))
            for name in names
        ]
        for client in clients:
            client.initialize()
            client.call("join_path", {"room_id": room_id})
            client.begin("wait_for_turn", {"room_id": room_id, "max_wait_ms": WAIT_MS})
        for client in clients:
            # Answered only after the wait was taken in hand, and refused if that has ended.
            client.call("get_room_state", {"room_id": room_id})

        def kill() -> None:
            for client in clients:
                client.kill()

        yield kill


@contextmanager
def _http_clients(hub: Served, room_id: str, names: Sequence[str]) -> Generator[Callable[[], None]]:
    join = json.dumps({"room_id": room_id})
    wait = json.dumps({"room_id": room_id, "max_wait_ms": WAIT_MS})
    with ExitStack() as stack:
        clients = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", HTTP_CLIENT, hub.socket, name, join, wait], stdout=subprocess.PIPE
                )
            )
            for name in names
        ]
        for client in clients:
            cast("IO[bytes]", client.stdout).readline()

        def kill() -> None:
            if any(client.poll() is not None for client in clients):
                raise RuntimeError("a wait over HTTP ended before its client was killed")
            for client in clients:
                client.kill()

        yield kill
