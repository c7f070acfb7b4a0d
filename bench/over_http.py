"""HTTP writes and streams, beside a bare Starlette endpoint that does one SQLite write per request. Medians of one run.

Run: python bench/over_http.py [seconds per measurement] [rounds]
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import uvloop

BARE = """
import sys, apsw, json, uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
db = apsw.Connection(sys.argv[1])
db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL")
db.execute("CREATE TABLE events (seq INTEGER PRIMARY KEY, kind TEXT, body TEXT); CREATE TABLE heads (seq INTEGER)")
db.execute("INSERT INTO heads VALUES (0)")
async def append(request):
    given = await request.json()
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO events (kind, body) VALUES (?, ?)", (given["kind"], json.dumps(given["data"])))
    db.execute("UPDATE heads SET seq = seq + 1")
    db.execute("COMMIT")
    return JSONResponse({"event": {"kind": given["kind"], "data": given["data"], "seq": db.last_insert_rowid()}})
app = Starlette(routes=[Route("/v1/events.append", append, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False, loop="uvloop", http="httptools")
"""
HUB = "import sys; from tallystick.surfaces.http.serve import main; sys.exit(main(sys.argv[1:]))"


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


async def reach(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


def request(port: int, path: str, token: str, body: dict[str, object]) -> bytes:
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


async def answer(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError((head + await reader.read(1000)).decode())
    size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    return await reader.readexactly(size)


async def one(port: int, path: str, token: str, body: dict[str, object]) -> dict[str, object]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request(port, path, token, body))
    got = json.loads(await answer(reader))
    writer.close()
    return got


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def rate(port: int, token: str, body: dict[str, object], connections: int, seconds: float) -> float:
    """Requests answered per second, each connection sending the next as soon as it has the last answer."""
    message = request(port, "/v1/events.append", token, body)
    until = 0.0
    counts: list[int] = []

    async def keep_sending() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        sent = 0
        while time.perf_counter() < until:
            writer.write(message)
            await answer(reader)
            sent += 1
        counts.append(sent)
        writer.close()

    until = time.perf_counter() + seconds
    await asyncio.gather(*(keep_sending() for _ in range(connections)))
    return sum(counts) / seconds


async def delay(port: int, token: str, room: str, times: int) -> list[float]:
    """From sending an append to its arrival at a follower, in milliseconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    query = f"/v1/events?room_id={room}&follow=true&kinds=x.bench.ping"
    writer.write(f"GET {query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    await reader.readuntil(b"retry: 1000\n\n")
    sender, out = await asyncio.open_connection("127.0.0.1", port)
    waits: list[float] = []
    for number in range(times):
        body = {"room_id": room, "kind": "x.bench.ping", "data": {"number": number}}
        began = time.perf_counter()
        out.write(request(port, "/v1/events.append", token, body))
        await reader.readuntil(b"event: x.bench.ping")
        waits.append((time.perf_counter() - began) * 1000)
        await answer(sender)
    writer.close()
    out.close()
    return waits[10:]


async def crowd(port: int, token: str, room: str, followers: int, events: int) -> list[float]:
    """From sending an append to its arrival at each of many followers, in milliseconds."""
    sent: dict[bytes, float] = {}
    waits: list[float] = []
    heard = asyncio.Semaphore(0)

    async def follow() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        query = f"/v1/events?room_id={room}&follow=true&kinds=x.bench.crowd"
        head = f"GET {query} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
        writer.write(head.encode())
        await reader.readuntil(b"retry: 1000\n\n")
        heard.release()
        for _ in range(events):
            frame = await reader.readuntil(b'"v":1}\n\n')
            number = frame.partition(b'"number":')[2].partition(b"}")[0]
            waits.append((time.perf_counter() - sent[number]) * 1000)
            heard.release()
        writer.close()

    following = [asyncio.ensure_future(follow()) for _ in range(followers)]
    for _ in range(followers):
        await heard.acquire()
    for number in range(events):
        sent[b"%d" % number] = time.perf_counter()
        await one(
            port, "/v1/events.append", token, {"room_id": room, "kind": "x.bench.crowd", "data": {"number": number}}
        )
        for _ in range(followers):
            await heard.acquire()
    await asyncio.gather(*following)
    return waits


def memory_mib(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


async def measure(seconds: float, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bare_port, hub_port = free_port(), free_port()
        env = {**os.environ, "TALLYSTICK_DATA_DIR": folder, "TALLYSTICK_HTTP_RATE": "0"}
        bare = subprocess.Popen([sys.executable, "-c", BARE, f"{folder}/bare.sqlite", str(bare_port)])
        hub = subprocess.Popen([sys.executable, "-c", HUB, "--port", str(hub_port)], env=env, stdout=subprocess.DEVNULL)
        try:
            await reach(bare_port)
            await reach(hub_port)
            token = (Path(folder) / "token").read_text().strip()
            room = str((await one(hub_port, "/v1/rooms.create", token, {"title": "bench"}))["room_id"])
            body = {"room_id": room, "kind": "x.bench.event", "data": {"text": "x" * 200, "n": 1}}
            for connections in (1, 4, 16):
                pairs: list[tuple[float, float]] = []
                costs: list[tuple[float, float]] = []
                for _ in range(rounds):
                    before = cpu_seconds(bare.pid), cpu_seconds(hub.pid)
                    plain = await rate(bare_port, "", body, connections, seconds)
                    ours = await rate(hub_port, token, body, connections, seconds)
                    after = cpu_seconds(bare.pid), cpu_seconds(hub.pid)
                    pairs.append((plain, ours))
                    costs.append(((after[0] - before[0]) / plain / seconds, (after[1] - before[1]) / ours / seconds))
                plain, ours = (statistics.median(each) for each in zip(*pairs, strict=True))
                cost, our_cost = (statistics.median(each) * 1e6 for each in zip(*costs, strict=True))
                print(
                    f"{connections:>3} connections: bare {plain:7.0f}/s {cost:4.0f} us cpu   "
                    f"hub {ours:7.0f}/s {our_cost:4.0f} us cpu   ratio {ours / plain:.2f}"
                )
            waits = sorted(await delay(hub_port, token, room, 500))
            print(
                f"append to follower: p50 {waits[len(waits) // 2]:.2f} ms  p99 {waits[int(len(waits) * 0.99)]:.2f} ms"
            )
            waits = sorted(await crowd(hub_port, token, room, 1000, 20))
            middle, late = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
            print(f"append to 1000 followers: p50 {middle:.0f} ms  p99 {late:.0f} ms  {memory_mib(hub.pid):.0f} MiB")
        finally:
            for process in (bare, hub):
                process.send_signal(signal.SIGTERM)
                process.wait()


if __name__ == "__main__":
    numbers = [float(each) for each in sys.argv[1:]] + [2.0, 5][len(sys.argv) - 1 :]
    uvloop.run(measure(numbers[0], int(numbers[1])))
