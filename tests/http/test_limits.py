"""Bounds: on what one principal may ask for, on what a request may hold, and on how long it may take to arrive."""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import cast

import pytest

from tests.http.running import Client, Json, RunningHub

PROGRAM = Path(__file__).parent / "programs" / "impatient.py"
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def impatient() -> Generator[RunningHub]:
    """A hub with small limits."""
    with tempfile.TemporaryDirectory(prefix="tally-") as folder:
        hub = RunningHub(Path(folder), program=(str(PROGRAM),)).start()
        yield hub
        hub.stop()


class Wire:
    """A connection on which anything can be said."""

    def __init__(self, hub: RunningHub) -> None:
        self._socket = socket.create_connection(("127.0.0.1", hub.port), timeout=60)

    def say(self, *parts: bytes) -> None:
        self._socket.sendall(b"".join(parts))

    def hear(self) -> bytes:
        """Everything until the other end hangs up."""
        heard = b""
        with self._socket as wire:
            while chunk := wire.recv(65536):
                heard += chunk
        return heard

    def answer(self) -> tuple[int, object]:
        """Status and code of the one refusal before the hang-up."""
        head, _, body = self.hear().partition(b"\r\n\r\n")
        return int(head.split()[1]), cast("Json", json.loads(body)["error"])["code"]


def head(hub: RunningHub, *lines: str, path: str = "/v1/rooms.create", method: str = "POST") -> bytes:
    fields = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{hub.port}", f"Authorization: Bearer {hub.user.token}"]
    return "\r\n".join([*fields, *lines, "", ""]).encode()


def test_a_hundred_megabytes_are_refused_before_they_are_sent(impatient: RunningHub) -> None:
    wire = Wire(impatient)

    wire.say(head(impatient, "Content-Type: application/json", f"Content-Length: {100 * MIB}", "Connection: close"))

    assert wire.answer() == (413, "too_large")


def test_a_body_that_hides_its_size_is_refused_when_it_gets_too_large(process_hub: RunningHub) -> None:
    wire = Wire(process_hub)
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"

    wire.say(head(process_hub, "Content-Type: application/json", "Transfer-Encoding: chunked", "Connection: close"))
    wire.say(*[chunk] * 17, b"0\r\n\r\n")

    assert wire.answer() == (413, "too_large")


def test_a_body_of_just_the_allowed_size_is_read(process_hub: RunningHub) -> None:
    padding = b" " * (MIB - len(b'{"title":"x"}'))

    reply = process_hub.user.request(
        "POST", "/v1/rooms.create", b'{"title":"x"}' + padding, Content_Type="application/json"
    )

    assert reply.status == 200


def test_a_flood_of_headers_is_refused(process_hub: RunningHub) -> None:
    wire = Wire(process_hub)

    wire.say(head(process_hub, *(f"X-{number}: y" for number in range(200))))

    assert wire.answer() == (431, "head_too_large")


def test_headers_that_never_end_are_refused(process_hub: RunningHub) -> None:
    wire = Wire(process_hub)

    wire.say(b"GET /healthz HTTP/1.1\r\nX-Long: ", b"y" * 100_000)

    assert wire.answer() == (431, "head_too_large")


def test_an_address_that_never_ends_is_refused(process_hub: RunningHub) -> None:
    wire = Wire(process_hub)

    wire.say(b"GET /", b"y" * 100_000)

    assert wire.answer() == (431, "head_too_large")


@pytest.mark.parametrize(
    "request_",
    [
        b"not http at all\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET  HTTP/1.1\r\n\r\n",
        b"\x00\x01\x02\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_not_http_is_answered_and_hung_up_on(process_hub: RunningHub, request_: bytes) -> None:
    wire = Wire(process_hub)

    wire.say(request_)

    assert wire.answer() == (400, "malformed_request")


def test_a_request_that_stops_in_its_headers_is_ended(impatient: RunningHub) -> None:
    wire = Wire(impatient)

    wire.say(b"GET /healthz HTTP/1.1\r\nHost: local")

    assert wire.answer() == (408, "too_late")


def test_a_connection_that_says_nothing_is_ended(impatient: RunningHub) -> None:
    assert Wire(impatient).answer() == (408, "too_late")


def test_a_body_that_stops_is_ended(impatient: RunningHub) -> None:
    wire = Wire(impatient)

    wire.say(head(impatient, "Content-Type: application/json", "Content-Length: 100"), b'{"title":')

    assert wire.answer() == (408, "too_late")


def test_a_slow_client_keeps_nobody_else_waiting(impatient: RunningHub) -> None:
    slow = [Wire(impatient) for _ in range(50)]
    for wire in slow:
        wire.say(b"GET /healthz HTTP/1.1\r\n")

    assert Client(impatient).get("/healthz").status == 200
    assert [wire.answer() for wire in slow] == [(408, "too_late")] * 50


def test_whoever_asks_too_often_is_told_when_to_come_back(impatient: RunningHub) -> None:
    eager, calm = impatient.agent("eager"), impatient.agent("calm")

    replies = [eager.get("/v1/hub.health") for _ in range(60)]

    last = next(reply for reply in replies if reply.status != 200)
    assert last.refused == (429, "too_many_requests")
    assert (last.headers["retry-after"], last.error["retryable"]) == ("1", True)
    assert calm.get("/v1/hub.health").status == 200


def test_a_principal_has_so_many_streams_and_waits_and_no_more(impatient: RunningHub) -> None:
    owner = impatient.agent("owner-of-streams")
    room = owner.room()
    streams = [owner.stream(room) for _ in range(3)]
    for stream in streams:
        stream.take(1)

    stream_refused = owner.get(f"/v1/events?room_id={room}&follow=true")
    wait_refused = owner.post("events.follow", {"room_id": room, "since_seq": 1})
    tool_refused = owner.request("POST", "/mcp", b"{}", Content_Type="application/json", Accept="application/json")

    refused = [stream_refused.refused, wait_refused.refused, tool_refused.refused]
    assert refused == [(429, "too_many_streams")] * 3
    assert impatient.agent("somebody-else").stream(room).take(1)[0].id == 1


def test_connections_are_kept_for_the_next_request(process_hub: RunningHub) -> None:
    connection = process_hub.user.connect()
    statuses: list[int] = []
    for _ in range(3):
        connection.request("GET", "/healthz")
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()

    assert statuses == [200, 200, 200]


def test_a_refused_body_does_not_spoil_the_next_request_on_the_connection(process_hub: RunningHub) -> None:
    user = process_hub.user
    connection = user.connect()
    head = {"Authorization": f"Bearer {user.token}", "Content-Type": "application/json"}
    statuses: list[int] = []
    for body in (b" " * (2 * MIB), b"{}"):
        connection.request("POST", "/v1/hub.health", body, head)
        response = connection.getresponse()
        response.read()
        statuses.append(response.status)
    connection.close()

    assert statuses == [413, 200]


@pytest.mark.parametrize("levels", [65, 300, 900, 1_500, 20_000])
def test_a_job_whose_meta_is_nested_too_deep_is_refused_and_its_room_stays_readable(user: Client, levels: int) -> None:
    room_id = user.call("rooms.create", title="deep")["room_id"]
    meta = '{"a":' * levels + "{}" + "}" * levels
    body = f'{{"room_id":"{room_id}","title":"x","prompt":"p","meta":{meta}}}'

    reply = user.request("POST", "/v1/jobs.create", body.encode(), Content_Type="application/json")

    assert reply.refused == (413, "too_large")
    assert user.call("jobs.list", room_id=room_id)["jobs"] == []
    assert [event["kind"] for event in cast("list[Json]", user.call("events.list", room_id=room_id)["events"])] == [
        "group.create"
    ]


def test_one_huge_header_is_refused_also_when_it_comes_in_one_piece(process_hub: RunningHub) -> None:
    wire = Wire(process_hub)

    wire.say(head(process_hub, "X-Huge: " + "y" * 40_000))

    assert wire.answer() == (431, "head_too_large")
