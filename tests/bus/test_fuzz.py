"""Whatever bytes come: the hub answers or closes, leaks nothing, and other connections do not notice."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from tests.bus.talking import Row, SocketWay, envelope
from tests.http.running import RunningHub
from tests.waiting import until

log = logging.getLogger("tests.bus.fuzz")

BATCH = 240
AT_ONCE = 4
"""Connections whose bytes come mixed with each other's."""
KEPT = 24
"""Files that a hub may keep open for the next to come: eight watches of rooms, eight readers and the log of each."""
JUNK = cast(
    "tuple[object, ...]",
    (None, True, -1, 2**64, 1.5e308, "", "x" * 300, "\u202e\x1b[2J", "\0", "\ud800", [], {}, [[]], {"a": {}}, "S"),
)
ACTION = {"type": "message", "dst": "fuzz-1", "action_id": "A", "action_index": 0, "kind": "user", "text": "do it"}
CONTROL = {"type": "control", "dst": "fuzz-2", "action_id": "B", "action_index": 1, "command": "interrupt"}
LINES: Sequence[tuple[str, Row]] = (
    ("session.create", {"name": "x"}),
    ("session.list", {"limit": 3}),
    ("session.close", {"reason": "x"}),
    ("agent.add", {"id": "fuzz-1", "name": "x", "since_seq": 1}),
    ("agent.list", {}),
    ("agent.update", {"id": "fuzz-1", "name": "x"}),
    ("agent.remove", {"id": "fuzz-1"}),
    ("action.submit", {"group_id": "g", "actions": [ACTION, CONTROL], "context": {"context_id": "c"}, "task_id": "t"}),
    ("action.result", {"action_id": "A", "status": "completed", "detail": "x", "data": {"new_context_id": "d"}}),
    ("message.created", {"text": "hi", "kind": "user", "context_id": "c", "owner_id": "fuzz-1", "task_id": "t"}),
    ("task.updated", {"task_id": "t", "status": "running"}),
    ("task.done", {"task_id": "t", "summary": "x"}),
    ("events.history", {"limit": 3, "since_seq": 0, "types": ["agent.added"]}),
    ("events.stream", {"follow": False, "since_seq": 0, "types": ["message.created"]}),
    ("turns.state", {"room_id": "S"}),
    ("messages.send", {"text": "hi", "to": ["@all"]}),
    ("no.such.type", {}),
)
"""What is right to begin with, in a session that is there or is not."""


def changed(rand: random.Random, given: object) -> object:
    """The same with something wrong in it, however deep."""
    if isinstance(given, dict) and given and rand.random() < 0.8:
        fields = cast("Row", given)
        name = rand.choice(list(fields))
        rest = {key: value for key, value in fields.items() if key != name}
        match rand.randrange(5):
            case 0:
                return rest
            case 1:
                return {**rest, rand.choice(("Seq", "payload_ref", "room_id", "x")): rand.choice(JUNK)}
            case _:
                return {**rest, name: changed(rand, fields[name])}
    if isinstance(given, list) and given and rand.random() < 0.8:
        return [changed(rand, each) for each in cast("list[object]", given)] * rand.choice((1, 1, 40))
    return rand.choice(JUNK)


def odd(rand: random.Random, src: str, session: str) -> bytes:
    """One line that is wrong in some way, or at least strange."""
    type, payload = rand.choice(LINES)
    given = envelope(type, src, session=rand.choice((session, session, "nowhere")), payload=payload)
    if rand.random() < 0.3:
        given["seq"] = rand.choice((0, 1, 5, rand.randrange(1, 2**63), -7))
    if rand.random() < 0.2:
        given["idempotency_key"] = f"k{rand.randrange(9)}"
    kind = rand.randrange(10)
    if kind == 0:
        return rand.randbytes(rand.randrange(1, 200)).replace(b"\n", b"?")
    if kind < 7:
        given = changed(rand, given)
    line = bytearray(json.dumps(given).encode())
    if kind == 7:
        return bytes(line[: rand.randrange(1, len(line))])
    if kind == 8:
        for _ in range(rand.randrange(1, 6)):
            line[rand.randrange(len(line))] = rand.choice(b'{}[]",:\\\xff\x00a1')
    return bytes(line).replace(b"\n", b"?")


def fuzz(hub: RunningHub, *, cases: int) -> None:
    rand = random.Random(7433)
    bystander = SocketWay(hub)
    for _ in range(8):
        # What is loaded and grown once does not count as a leak.
        one_batch(hub, rand)
    files, memory = open_files(hub), resident(hub)
    for _ in range(-(-cases // BATCH)):
        one_batch(hub, rand)
        assert bystander.exchange(json.dumps(envelope("hub.health", "calm")).encode())["payload"]["ok"] is True
    until(lambda: open_files(hub) <= files + KEPT)
    bystander.close()

    grown = resident(hub) - memory
    log.info("%d cases: memory %+.1f MiB, open files %+d", cases, grown / 2**20, open_files(hub) - files)
    assert grown < 64 * 1024 * 1024
    assert [line for line in hub.log() if line.get("level") == "error"] == []


def one_batch(hub: RunningHub, rand: random.Random) -> None:
    """Connections that send many odd lines, in pieces and in turns, and leave in one way or another."""
    session = hub.user.room()
    ways = [SocketWay(hub) for _ in range(AT_ONCE)]
    last = [json.dumps(envelope("hub.health", "somebody")).encode() for _ in ways]
    lines = [[odd(rand, f"fuzz-{number}", session) for _ in range(BATCH // AT_ONCE)] for number in range(AT_ONCE)]
    send_in_turns(rand, [(way, b"\n".join([*lines[n], last[n], b""])) for n, way in enumerate(ways)])
    for way, line in zip(ways, last, strict=True):
        wanted = json.loads(line)["id"]
        while way.next().get("corr") != wanted:
            pass
        match rand.randrange(16):
            case 0:
                way.send(lines[0][0][: rand.randrange(1, 50)])
            case 1:
                way.send(b"x" * (1024 * 1024 + 2))
                way.rest()
            case _:
                pass
        way.close()


def send_in_turns(rand: random.Random, contents: list[tuple[SocketWay, bytes]]) -> None:
    while contents:
        at = rand.randrange(len(contents))
        way, content = contents[at]
        cut = rand.randrange(1, 20_000)
        way.send(content[:cut])
        contents[at : at + 1] = [(way, content[cut:])] if content[cut:] else []


def open_files(hub: RunningHub) -> int:
    return len(list(Path(f"/proc/{hub.process.pid}/fd").iterdir()))


def resident(hub: RunningHub) -> int:
    pages = Path(f"/proc/{hub.process.pid}/statm").read_text().split()[1]
    return int(pages) * 4096


def test_ten_thousand_odd_lines_are_answered_and_leave_nothing_behind(process_hub: RunningHub) -> None:
    fuzz(process_hub, cases=10_000)


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_million_odd_lines_are_answered_and_leave_nothing_behind(process_hub: RunningHub) -> None:
    fuzz(process_hub, cases=1_000_000)


def test_envelopes_that_are_interleaved_on_many_connections_stay_apart(process_hub: RunningHub) -> None:
    ways = [SocketWay(process_hub) for _ in range(20)]
    lines = [json.dumps(envelope("hub.health", f"agent-{number}")).encode() + b"\n" for number in range(20)]
    for at in range(0, max(map(len, lines)), 7):
        for way, line in zip(ways, lines, strict=True):
            way.send(line[at : at + 7])

    replies = [way.next() for way in ways]
    for way in ways:
        way.close()

    assert [reply["corr"] for reply in replies] == [json.loads(line)["id"] for line in lines]
    assert [reply["dst"] for reply in replies] == [f"agent-{number}" for number in range(20)]
