"""Whatever bytes come: the hub answers or closes, leaks nothing, and other connections do not notice."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from tests.bus.talking import Row, SocketWay, envelope
from tests.http.running import RunningHub
from tests.waiting import until

BATCH = 250
TYPES = (
    "session.create",
    "session.list",
    "session.close",
    "agent.add",
    "agent.list",
    "agent.update",
    "action.submit",
    "action.result",
    "message.created",
    "task.updated",
    "task.done",
    "events.history",
    "turns.state",
    "messages.send",
    "no.such.type",
)
JUNK = cast(
    "tuple[object, ...]",
    (None, True, -1, 2**64, 1.5e308, "", "x" * 300, "\u202e\x1b[2J", "\0", [], {}, [[]], {"a": {}}),
)


def seed_line(rand: random.Random) -> Row:
    payload = {rand.choice(("id", "name", "text", "limit", "actions", "status", "x")): rand.choice(JUNK)}
    return envelope(rand.choice(TYPES), "fuzz", session=rand.choice(("nowhere", "S")), payload=payload)


def odd(rand: random.Random) -> bytes:
    """One line that is wrong in some way, or at least strange."""
    given = seed_line(rand)
    match rand.randrange(8):
        case 0:
            given[rand.choice(list(given))] = rand.choice(JUNK)
        case 1:
            del given[rand.choice(list(given))]
        case 2:
            given[rand.choice(("Seq", "payload_ref", "topic"))] = rand.choice(JUNK)
        case 3:
            given["seq"] = rand.choice((0, 1, 5, 2**63, -7))
        case 4:
            return rand.randbytes(rand.randrange(1, 200)).replace(b"\n", b"?")
        case 5:
            line = json.dumps(given).encode()
            return line[: rand.randrange(1, len(line))]
        case 6:
            line = bytearray(json.dumps(given).encode())
            for _ in range(rand.randrange(1, 6)):
                line[rand.randrange(len(line))] = rand.choice(b'{}[]",:\\\xff\x00a1')
            return bytes(line).replace(b"\n", b"?")
        case _:
            pass
    return json.dumps(given).encode()


def fuzz(hub: RunningHub, *, cases: int) -> None:
    rand = random.Random(7433)
    bystander = SocketWay(hub)
    for _ in warmed(hub, rand):
        pass
    files, memory = open_files(hub), resident(hub)
    for _ in range(cases // BATCH):
        one_batch(hub, rand)
        assert bystander.exchange(json.dumps(envelope("hub.health", "calm")).encode())["payload"]["ok"] is True
    until(lambda: open_files(hub) <= files)
    bystander.close()

    assert resident(hub) - memory < 64 * 1024 * 1024
    assert [line for line in hub.log() if line.get("level") == "error"] == []


def warmed(hub: RunningHub, rand: random.Random) -> Iterator[None]:
    """What is loaded and grown once does not count as a leak."""
    for _ in range(8):
        one_batch(hub, rand)
        yield


def one_batch(hub: RunningHub, rand: random.Random) -> None:
    """A connection that sends many odd lines, in pieces, and leaves in one way or another."""
    way = SocketWay(hub)
    lines = [odd(rand) for _ in range(BATCH)]
    last = json.dumps(envelope("hub.health", "somebody")).encode()
    content = b"\n".join([*lines, last, b""])
    send_in_pieces(rand, way.send, content)
    wanted = json.loads(last)["id"]
    while way.next().get("corr") != wanted:
        pass
    match rand.randrange(4):
        case 0:
            way.send(lines[0][: rand.randrange(1, 50)])
        case 1:
            way.send(b"x" * (1024 * 1024 + 2))
            way.rest()
        case _:
            pass
    way.close()


def send_in_pieces(rand: random.Random, send: Callable[[bytes], None], content: bytes) -> None:
    while content:
        cut = rand.randrange(1, 60_000)
        send(content[:cut])
        content = content[cut:]


def open_files(hub: RunningHub) -> int:
    return len(list(Path(f"/proc/{hub.process.pid}/fd").iterdir()))


def resident(hub: RunningHub) -> int:
    pages = Path(f"/proc/{hub.process.pid}/statm").read_text().split()[1]
    return int(pages) * 4096


def test_ten_thousand_odd_lines_are_answered_and_leave_nothing_behind(sqlite_hub: RunningHub) -> None:
    fuzz(sqlite_hub, cases=10_000)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_million_odd_lines_are_answered_and_leave_nothing_behind(sqlite_hub: RunningHub) -> None:
    fuzz(sqlite_hub, cases=1_000_000)


def test_envelopes_that_are_interleaved_on_many_connections_stay_apart(sqlite_hub: RunningHub) -> None:
    ways = [SocketWay(sqlite_hub) for _ in range(20)]
    lines = [json.dumps(envelope("hub.health", f"agent-{number}")).encode() + b"\n" for number in range(20)]
    for at in range(0, max(map(len, lines)), 7):
        for way, line in zip(ways, lines, strict=True):
            way.send(line[at : at + 7])

    replies = [way.next() for way in ways]
    for way in ways:
        way.close()

    assert [reply["corr"] for reply in replies] == [json.loads(line)["id"] for line in lines]
    assert [reply["dst"] for reply in replies] == [f"agent-{number}" for number in range(20)]
