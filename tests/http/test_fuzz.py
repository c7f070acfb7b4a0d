"""Requests of every kind, half right and half wrong: none is a fault of ours, and every room can be read afterwards."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from typing import cast

import pytest

from tallystick.hub.registry import OPERATIONS
from tallystick.kernel.operation import Reach
from tallystick.surfaces.mcp.tools import NINE, PORTALS
from tests.bus.test_fuzz import LINES
from tests.http.running import Client, Json, Reply, RunningHub

NAMES = sorted(OPERATIONS)
TOOLS = (*PORTALS, *NINE, "nothing")
OF_OPERATION = {
    **{name: portal.name for portal in PORTALS.values() for name in portal.commands},
    **{name: tool for tool, name in NINE.items()},
}
"""The tool behind which an operation is found."""


def _deep(levels: int) -> object:
    value: object = "x"
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


class Fuzzer:
    def __init__(self, hub: RunningHub, seed: int) -> None:
        self.random = random.Random(seed)
        self.user = hub.user
        self.rooms = [self.user.room(f"fuzzed {number}") for number in range(3)]
        self.agents = [
            ("any", hub.agent("any", reach=Reach.WORK), self.rooms[0]),
            *((f"agent-{number}", hub.agent(f"agent-{number}", room), room) for number, room in enumerate(self.rooms)),
        ]
        for _, agent, room in self.agents:
            agent.call("rooms.join", room_id=room)
        self.seen: Counter[tuple[str, int]] = Counter()

    def value(self) -> object:
        pick = self.random
        texts = ("", "x", "\0", "\u202e\x9b", "😀" * 50, "x" * 5000, "../../etc", "JOB-001", "agent-1", "@all")
        kinds: list[object] = [None, True, 0, -1, 2**63, 2**200, 1.5, list[object](), dict[str, object](), {"": None}]
        deep = _deep(pick.choice((3, 60, 70, 300, 900)))
        either: list[object] = [pick.choice(texts), pick.choice(kinds), pick.choice(self.rooms), deep, "\ud800"]
        return pick.choice(either)

    def given(self, name: str, room: str) -> Json:
        """An example of the operation, most often about the caller's own room, with something changed."""
        operation = OPERATIONS[name]
        example: Mapping[str, object] = self.random.choice(operation.examples) if operation.examples else {}
        given = {field: each for field, each in example.items() if field != "context_path"}
        if operation.takes_room:
            given["room_id"] = room if self.random.random() < 0.9 else self.random.choice(self.rooms)
        for _ in range(self.random.choice((0, 0, 1, 2))):
            field = self.random.choice([*operation.ask.__struct_fields__, "no_such_field"])
            if field != "context_path":
                given[field] = self.value()
        if "max_wait_ms" in operation.ask.__struct_fields__:
            given["max_wait_ms"] = 0
        return given

    def request(self) -> tuple[str, Reply]:
        name = self.random.choice(NAMES)
        who, agent, room = self.random.choice(self.agents)
        given = self.given(name, room)
        match self.random.choice(("http", "http", "bus", "mcp")):
            case "http":
                return f"http {name}", agent.post(name, given)
            case "bus":
                return f"bus {name}", self._bus(who, agent, name, given)
            case _:
                return f"mcp {name}", self._mcp(agent, name, given)

    def _bus(self, who: str, agent: Client, name: str, given: Json) -> Reply:
        room = given.pop("room_id", None)
        kind, payload = (name, given) if self.random.random() < 0.7 else self.random.choice(LINES)
        line: Json = {"v": 1, "id": "1", "ts": "2026-01-01T00:00:00Z", "src": who, "type": kind, "payload": payload}
        if isinstance(room, str):
            line["session"] = room
        if self.random.random() < 0.1:
            line[self.random.choice((*line, "other"))] = self.value()
        return agent.request("POST", "/v1/bus", _encoded(line), Content_Type="application/json")

    def _mcp(self, agent: Client, name: str, given: Json) -> Reply:
        tool = OF_OPERATION[name] if self.random.random() < 0.8 else self.random.choice(TOOLS)
        arguments = {"op": "call", "cmd": name, "args": given} if tool in PORTALS else given
        params: object = {"name": tool, "arguments": arguments}
        if self.random.random() < 0.1:
            params = self.value()
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return agent.request(
            "POST",
            "/mcp",
            _encoded(call),
            Content_Type="application/json",
            Accept="application/json, text/event-stream",
        )

    def run(self, count: int) -> None:
        for number in range(count):
            what, reply = self.request()
            self.seen[what.partition(" ")[0], reply.status] += 1
            assert reply.status < 500, (number, what, reply.body[:500])
            assert b"internal_fault" not in reply.body, (number, what, reply.body[:500])

    def read_everything(self) -> None:
        """Every room, from its first event to its last, by operations and by pages."""
        for room in self.rooms:
            cursor, more = 0, True
            while more:
                page = self.user.call("events.list", room_id=room, since_seq=cursor, limit=200)
                more, cursor = bool(page["events"]), cast("int", page["cursor"])
            for name in ("turns.state", "jobs.list", "tasks.list", "cards.list", "notes.list", "agents.list"):
                self.user.call(name, room_id=room)
            for path in ("", "/sessions", "/history", "/replay"):
                page = self.user.get(f"/rooms/{room}{path}", Accept="text/html")
                assert page.status == 200, (path, page.body[:300])
        self.user.call("events.verify")


def _encoded(value: object) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("count", [400, pytest.param(20_000, marks=[pytest.mark.soak, pytest.mark.timeout(3600)])])
def test_no_request_is_a_fault_and_no_room_becomes_unreadable(hub: RunningHub, count: int) -> None:
    fuzzer = Fuzzer(hub, seed=count)

    fuzzer.run(count)

    fuzzer.read_everything()
    assert {surface for surface, _ in fuzzer.seen} == {"http", "bus", "mcp"}
    assert (fuzzer.seen["http", 200] > count // 10, fuzzer.seen["bus", 200] > count // 40) == (True, True)
