"""Servers to measure over HTTP: a hub on a fresh store, and the baseline, a Starlette endpoint that does one write."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tallybench.access import environment
from tallybench.engines import tally
from tallystick.hub.settings import Settings

BARE = """
import json, sys
import apsw, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

db = apsw.Connection(sys.argv[1])
db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
db.execute("CREATE TABLE messages (seq INTEGER PRIMARY KEY, sender TEXT, body TEXT)")


async def send(request):
    given = await request.json()
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO messages (sender, body) VALUES (?, ?)", ("user", json.dumps(given)))
    db.execute("COMMIT")
    return JSONResponse({"seq": db.last_insert_rowid(), **given})


app = Starlette(routes=[Route("/v1/messages.send", send, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False, loop="uvloop", http="httptools")
"""
START_SECONDS = 60


class NotServing(RuntimeError):
    """A server to be measured did not start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Where a server listens, and which process it is."""

    port: int
    pid: int
    token: str = ""
    socket: str = ""


@contextmanager
def bare(folder: Path) -> Generator[Served]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-c", BARE, str(folder / f"bare-{port}.sqlite"), str(port)]
    with _process(command, {}) as server:
        _until(server, lambda: _listens(port))
        yield Served(port=port, pid=server.pid)


@contextmanager
def hub(settings: Settings) -> Generator[Served]:
    """`tally up` with no limit on how often one principal may call."""
    env = {**environment(settings), "TALLYSTICK_HTTP_RATE": "0"}
    card = settings.data_dir / "hub.json"
    with _process(tally("up", "--port", "0"), env) as server:
        _until(server, card.exists)
        about = json.loads(card.read_text("utf-8"))
        yield Served(
            port=int(str(about["url"]).rpartition(":")[2]),
            pid=server.pid,
            token=(settings.data_dir / "token").read_text("utf-8").strip(),
            socket=str(about["http_socket"]),
        )


@contextmanager
def process(command: Sequence[str], ready: Callable[[], bool], env: Mapping[str, str] | None = None) -> Generator[int]:
    """Any other program to measure against, by its pid, for as long as this lasts."""
    with _process(command, env or {}) as server:
        _until(server, ready)
        yield server.pid


@contextmanager
def on_one_processor(*pids: int) -> Generator[None]:
    """These programs and this one share a processor, where the system lets us say so."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    everywhere = os.sched_getaffinity(0)
    _bind(pids, {max(everywhere)})
    try:
        yield
    finally:
        _bind(pids, everywhere)


def _bind(pids: Sequence[int], processors: set[int]) -> None:
    for thread in (int(each.name) for pid in (os.getpid(), *pids) for each in Path(f"/proc/{pid}/task").iterdir()):
        with suppress(ProcessLookupError):  # It has just ended.
            os.sched_setaffinity(thread, processors)


def memory_mib(served: Served) -> float:
    """What a server holds in memory now."""
    status = Path(f"/proc/{served.pid}/status").read_text("utf-8")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def peak_memory_mib(served: Served) -> float:
    status = Path(f"/proc/{served.pid}/status").read_text("utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@contextmanager
def _process(command: Sequence[str], env: Mapping[str, str]) -> Generator[subprocess.Popen[bytes]]:
    server = subprocess.Popen(command, env=env or None, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield server
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def _until(server: subprocess.Popen[bytes], ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        if server.poll() is not None or time.monotonic() > deadline:
            raise NotServing(" ".join(map(str, server.args)) if isinstance(server.args, list) else "")
        time.sleep(0.02)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
