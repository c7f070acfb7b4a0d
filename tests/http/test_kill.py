"""A hub that is killed at work: nothing acknowledged is lost, nothing asked again is done twice, followers go on."""

from __future__ import annotations

import http.client
import random
import socket
import sys
import threading
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from tests.http.running import Client, Json, RunningHub
from tests.places import Place

WRITERS = 8


@pytest.fixture
def hub(place: Place) -> Generator[RunningHub]:
    hub = RunningHub(place.data_dir, place.database_url).start()
    yield hub
    hub.kill()


@dataclass
class Writer:
    """Sends numbered events, each under its own key, and sends one again until it is acknowledged."""

    client: Client
    room: str
    name: str
    stop: threading.Event
    up: threading.Event
    acknowledged: dict[int, int] = field(default_factory=dict[int, int])
    """Number to seq."""

    def run(self) -> None:
        number = 0
        while not self.stop.is_set():
            if (seq := self._send(number)) is not None:
                self.acknowledged[number] = seq
                number += 1
            else:
                self.up.wait(30)

    def _send(self, number: int) -> int | None:
        given: Json = {"room_id": self.room, "kind": "x.test.event", "data": {"who": self.name, "number": number}}
        try:
            reply = self.client.post("events.append", given, Idempotency_Key=f"{self.name}-{number}")
        except (OSError, http.client.HTTPException):
            return None
        assert reply.status in {200, 503}, reply.body
        return cast("int", cast("Json", reply.json["event"])["seq"]) if reply.status == 200 else None


@dataclass
class Reader:
    """Follows the room, and connects again where it was."""

    client: Client
    room: str
    stop: threading.Event
    up: threading.Event
    seen: list[int] = field(default_factory=list[int])
    enough: int = sys.maxsize

    def run(self) -> None:
        while not (self.stop.is_set() and len(self.seen) >= self.enough):
            try:
                for frame in self.client.stream(self.room, Last_Event_ID=str(len(self.seen))):
                    if frame.id is not None:
                        self.seen.append(frame.id)
                    if self.stop.is_set() and len(self.seen) >= self.enough:
                        return
            except (OSError, http.client.HTTPException):
                self.up.wait(30)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.soak)])
def test_nothing_acknowledged_is_lost_and_nothing_is_done_twice(hub: RunningHub, kills: int) -> None:
    room, user = hub.user.room(), hub.user
    stop, up = threading.Event(), threading.Event()
    up.set()
    writers = [Writer(user, room, f"writer-{number}", stop, up) for number in range(WRITERS)]
    reader = Reader(user, room, stop, up)
    threads = [threading.Thread(target=each.run) for each in (*writers, reader)]
    for thread in threads:
        thread.start()

    for _ in range(kills):
        head = cast("int", user.call("events.list", room_id=room)["head"])
        user.stream(room, f"&since_seq={head}").take(random.randint(40, 200))
        up.clear()
        hub.kill()
        hub.start()
        up.set()
    stop.set()
    for thread in threads[:-1]:
        thread.join()

    events = everything(user, room)
    reader.enough = len(events)
    user.append(room, last=True)
    threads[-1].join()
    found = [(cast("Json", event["data"])["who"], cast("Json", event["data"])["number"]) for event in events[1:]]
    lost = [
        (writer.name, number)
        for writer in writers
        for number, seq in writer.acknowledged.items()
        if cast("Json", events[seq - 1]["data"]) != {"who": writer.name, "number": number}
    ]
    assert lost == []
    assert len(found) == len(set(found))
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert reader.seen[: len(events)] == list(range(1, len(events) + 1))
    assert user.call("events.verify", room_id=room)["ok"] is True


def everything(client: Client, room: str) -> list[Json]:
    events: list[Json] = []
    while True:
        page = client.call("events.list", room_id=room, since_seq=len(events), limit=1000)
        events += cast("list[Json]", page["events"])
        if page["cursor"] == page["head"]:
            return events


def test_a_killed_hub_leaves_no_half_uploaded_file_in_the_way(hub: RunningHub) -> None:
    user = hub.user
    room = user.room()
    wire = socket.create_connection(("127.0.0.1", hub.port))
    head = f"PUT /v1/blobs.put?room_id={room} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {user.token}\r\n"
    wire.sendall(f"{head}Content-Length: 5000000\r\n\r\n".encode() + b"x" * 3_000_000)
    folder: Path = hub.data_dir / "blobs"
    while not (folder.exists() and any(folder.iterdir())):
        user.get("/healthz")

    hub.kill()
    wire.close()
    hub.start()

    assert hub.user.request("PUT", f"/v1/blobs.put?room_id={room}", b"y" * 1000).status == 200
    assert hub.user.call("events.list", room_id=room)["head"] == 2
