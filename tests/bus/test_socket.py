"""The socket itself: framing, bounds, who may connect, and peers that do not behave."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pytest

from tallystick.bus.connection import AT_ONCE
from tallystick.bus.delivery import Bus
from tallystick.bus.envelope import LINE_LIMIT
from tallystick.bus.records import frame
from tallystick.hub.hub import Hub
from tallystick.hub.serving import Serving
from tallystick.hub.settings import Settings
from tallystick.surfaces import bus
from tallystick.surfaces.bus import PeerLimits, opened
from tests.bus.talking import SocketWay, envelope
from tests.http.running import RunningHub
from tests.scene import refused


@pytest.fixture
def way(process_hub: RunningHub) -> Generator[SocketWay]:
    found = SocketWay(process_hub)
    yield found
    found.close()


def line(type: str = "hub.health", src: str = "boss", **fields: object) -> bytes:
    return json.dumps(envelope(type, src, **fields)).encode() + b"\n"


def test_the_socket_is_its_owners_alone_and_the_card_names_it(process_hub: RunningHub) -> None:
    path = process_hub.data_dir / "bus.sock"

    mode = path.stat().st_mode

    assert (stat.S_ISSOCK(mode), stat.S_IMODE(mode)) == (True, 0o600)
    assert json.loads((process_hub.data_dir / "hub.json").read_text())["bus_socket"] == str(path)


def test_only_the_hubs_own_user_is_let_in() -> None:
    assert bus.admitted(os.getpid(), os.geteuid()).trusted

    with refused("foreign_user"):
        bus.admitted(os.getpid(), os.geteuid() + 1)


def test_a_peer_that_is_cut_off_reads_why_and_then_the_end_whatever_it_still_sends(way: SocketWay) -> None:
    way.send(b"x" * (3 * 1024 * 1024))

    (only,) = way.rest()

    assert (only["status"], only["error"]["code"]) == ("error", "too_large")


def test_the_process_behind_a_connection_is_known(process_hub: RunningHub, way: SocketWay) -> None:
    session = way.exchange(line("session.create")[:-1])["session"]

    way.exchange(line("agent.add", session=session, payload={"id": "boss"})[:-1])

    shown = way.exchange(line("agents.show", session=session)[:-1])["payload"]
    assert (shown["pid"], shown["process"]) == (os.getpid(), "alive")


def test_a_line_may_come_in_pieces(way: SocketWay) -> None:
    for byte in line():
        way.send(bytes([byte]))

    assert way.next()["status"] == "ok"


def test_several_lines_in_one_packet_are_answered_in_order(way: SocketWay) -> None:
    lines = [line() for _ in range(20)]

    way.send(b"\n".join([b"", *lines, b"", b"\r\n"]))

    assert [way.next()["corr"] for _ in lines] == [json.loads(each)["id"] for each in lines]


def test_what_takes_its_time_is_answered_before_what_came_after_it(way: SocketWay) -> None:
    lines = [line(type) for type in ("session.create", "hub.health", "no.such.type", "rooms.list", "session.list") * 8]

    way.send(b"".join(lines))
    way.end_sending()

    assert [reply["corr"] for reply in way.rest()] == [json.loads(each)["id"] for each in lines]


def test_a_line_of_exactly_the_limit_is_read_and_a_longer_one_closes_with_the_limit(way: SocketWay) -> None:
    plain = line("events.append", session="nowhere", payload={"kind": "x.test.big", "data": {"text": ""}})
    filler = b"x" * (LINE_LIMIT - len(plain))
    exact = plain.replace(b'"text": ""', b'"text": "%b"' % filler)
    assert len(exact) == LINE_LIMIT

    way.send(exact)
    first = way.next()
    way.send(b"x" * (LINE_LIMIT + 10))
    (last,) = way.rest()

    assert first["error"]["code"] in {"room_not_found", "too_large"}
    assert (last["error"]["code"], last["error"]["details"]) == ("too_large", {"limit": LINE_LIMIT})


def test_a_connection_that_ends_within_a_line_is_told(way: SocketWay) -> None:
    way.send(line() + b'{"v":1,"type":')
    way.end_sending()

    good, bad = way.rest()

    assert (good["status"], bad["error"]["code"]) == ("ok", "invalid_envelope")
    assert bad["error"]["message"] == "The connection ended in the middle of a line."


def test_a_wait_holds_up_nothing_else_on_its_connection(way: SocketWay) -> None:
    session = way.exchange(line("session.create")[:-1])["session"]
    way.exchange(line("rooms.join", session=session)[:-1])
    waiting = line("events.follow", session=session, payload={"since_seq": 2, "max_wait_ms": 100_000})
    way.send(waiting)

    assert way.exchange(line()[:-1])["type"] == "hub.health"
    way.send(line("events.append", session=session, payload={"kind": "x.test.tick", "data": {}}))
    both = {reply["corr"]: reply["type"] for reply in (way.next(), way.next())}

    assert both[json.loads(waiting)["id"]] == "events.follow"


def test_waits_and_streams_of_one_connection_are_bounded(way: SocketWay) -> None:
    session = way.exchange(line("session.create")[:-1])["session"]
    for _ in range(AT_ONCE):
        assert way.exchange(line("events.stream", session=session)[:-1])["status"] == "ok"

    for type in ("events.stream", "events.follow"):
        reply = way.exchange(line(type, session=session, payload={"since_seq": 1})[:-1])
        assert (reply["error"]["code"], reply["error"]["details"]) == ("too_many_at_once", {"limit": AT_ONCE})


def test_a_hub_that_stops_says_so(tmp_path: Path) -> None:
    hub = RunningHub(tmp_path / "data").start()
    way = SocketWay(hub)
    try:
        way.exchange(line()[:-1])
        assert hub.stop() == 0
        (last,) = way.rest()
    finally:
        way.close()

    assert (last["error"]["code"], last["error"]["retryable"]) == ("hub_closed", True)
    assert not (hub.data_dir / "bus.sock").exists()


Way: TypeAlias = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass
class Street:
    """A bus in this process, and the connections to it."""

    bus: Bus
    path: Path
    ways: list[Way] = field(default_factory=list[Way])

    async def connect(self, limit: int = LINE_LIMIT) -> Way:
        self.ways.append(await asyncio.open_unix_connection(str(self.path), limit=limit))
        return self.ways[-1]

    async def close(self) -> None:
        for _, writer in self.ways:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@asynccontextmanager
async def served(folder: Path, bounds: PeerLimits) -> AsyncGenerator[Street]:
    hub = Hub.open(Settings(data_dir=folder), grouped=True)
    serving = Serving(hub, frame)
    bus = Bus(serving)
    try:
        async with opened(bus, folder / "bus.sock", bounds):
            street = Street(bus, folder / "bus.sock")
            yield street
            await street.close()
            bus.dismiss()
    finally:
        await bus.close()
        await serving.close()
        hub.close()


async def ask(way: Way, content: bytes) -> dict[str, object]:
    way[1].write(content)
    return json.loads(await way[0].readline())


def test_a_peer_that_never_reads_is_cut_off_and_harms_nobody_else(tmp_path: Path) -> None:
    async def play() -> dict[str, object]:
        bounds = PeerLimits(unread_bytes=256 * 1024, full_bytes=16 * 1024, unread_seconds=0.2)
        async with served(tmp_path, bounds) as street:
            deaf = await street.connect(limit=1024)
            other = await street.connect()
            request = line("hub.capabilities", "deaf")
            with suppress(ConnectionError):
                while True:
                    deaf[1].write(request)
                    await deaf[1].drain()
            while street.bus.connections > 1:
                await ask(other, line())
            return await ask(other, line())

    assert asyncio.run(play())["status"] == "ok"


def test_a_follower_that_never_reads_is_cut_off_and_the_others_go_on(tmp_path: Path) -> None:
    async def play() -> list[int]:
        bounds = PeerLimits(unread_bytes=256 * 1024, full_bytes=16 * 1024, unread_seconds=0.2)
        async with served(tmp_path, bounds) as street:
            boss, ears = await street.connect(), await street.connect()
            deaf = await street.connect(limit=1024)
            session = (await ask(boss, line("session.create")))["session"]
            await ask(boss, line("rooms.join", session=session))
            for name, way in (("deaf", deaf), ("ears", ears)):
                assert (await ask(way, line("events.stream", name, session=session)))["status"] == "ok"
            big = {"kind": "x.test.big", "data": {"text": "x" * 100_000}}
            seen: list[int] = []
            while street.bus.connections == 3 or len(seen) < 20:
                await ask(boss, line("events.append", session=session, payload=big))
                seen.append(json.loads(await ears[0].readuntil(b"\n"))["payload"]["seq"])
            return seen

    seen = asyncio.run(play())

    assert seen == list(range(3, len(seen) + 3))


def test_a_peer_that_asks_for_much_at_once_lets_the_others_have_their_turn(tmp_path: Path) -> None:
    async def play() -> list[str]:
        async with served(tmp_path, PeerLimits()) as street:
            greedy, modest = await street.connect(), await street.connect()
            for way in (greedy, modest):
                await ask(way, line("no.such.type"))
            order: list[str] = []

            async def hear(way: Way, name: str, count: int) -> None:
                for _ in range(count):
                    await way[0].readline()
                    order.append(name)

            greedy[1].write(line("no.such.type") * 100)
            modest[1].write(line("no.such.type"))
            await asyncio.gather(hear(greedy, "greedy", 100), hear(modest, "modest", 1))
            return order

    order = asyncio.run(play())

    assert order.index("modest") < 50


def test_a_peer_is_heard_again_once_what_it_sent_too_early_was_answered(tmp_path: Path) -> None:
    async def play() -> list[object]:
        async with served(tmp_path, PeerLimits()) as street:
            way = await street.connect()
            for _ in range(5):
                way[1].write(line("session.create"))
                # In a packet of its own, while the hub is still at the one before.
                await asyncio.sleep(0)
            return [json.loads(await way[0].readline())["status"] for _ in range(5)]

    assert asyncio.run(play()) == ["ok"] * 5


def test_whoever_asks_for_a_stream_and_hangs_up_at_once_leaves_none_behind(tmp_path: Path) -> None:
    async def play() -> int:
        async with served(tmp_path, PeerLimits()) as street:
            boss = await street.connect()
            session = (await ask(boss, line("session.create")))["session"]
            for _ in range(5):
                hasty = await street.connect()
                hasty[1].write(line("events.stream", "hasty", session=session) * 2)
                hasty[1].write_eof()
                await hasty[0].read()
            while street.bus.connections > 1:
                await ask(boss, line())
            for _ in range(5):
                await ask(boss, line())
            return street.bus.feeds.followers

    assert asyncio.run(play()) == 0
