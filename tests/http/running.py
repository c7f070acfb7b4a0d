"""A hub as a process of its own, and clients that speak to it over TCP or its Unix socket."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from tallystick.hub import tokens
from tallystick.hub.hub import Hub
from tallystick.hub.settings import Settings
from tallystick.kernel.operation import Reach
from tests.waiting import eventually

Json: TypeAlias = dict[str, object]

TALLY = str(Path(sys.executable).with_name("tally"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        return cast("Json", json.loads(self.body))

    @property
    def error(self) -> Json:
        return cast("Json", self.json["error"])

    @property
    def refused(self) -> tuple[int, object]:
        """Status and code."""
        return self.status, self.error["code"]


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """One Server-Sent Event; a comment has neither name nor data."""

    id: int | None
    event: str
    data: str

    @property
    def json(self) -> Json:
        return cast("Json", json.loads(self.data))


class Response(Protocol):
    """As much of `http.client.HTTPResponse` as is used here."""

    status: int

    def getheaders(self) -> list[tuple[str, str]]: ...

    def read(self) -> bytes: ...

    def __iter__(self) -> Iterator[bytes]: ...

    def close(self) -> None: ...


class Connection(Protocol):
    """As much of `http.client.HTTPConnection` as is used here."""

    def request(
        self, method: str, path: str, body: bytes | str | None = None, headers: Mapping[str, str] = ..., /
    ) -> None: ...

    def getresponse(self) -> Response: ...

    def close(self) -> None: ...


OPEN: list[Stream] = []
"""Streams to close when a test is over."""


class Stream:
    """An open stream of events."""

    def __init__(self, connection: Connection, response: Response) -> None:
        self._connection, self._response = connection, response
        OPEN.append(self)

    def __iter__(self) -> Iterator[Frame]:
        """Every named event until the server ends the stream."""
        found: dict[str, str] = {}
        for raw in self._response:
            line = raw.decode().rstrip("\n")
            if line:
                name, _, value = line.partition(": ")
                found[name] = value
                continue
            if "event" in found:
                yield Frame(id=int(found["id"]) if "id" in found else None, event=found["event"], data=found["data"])
            found = {}

    def take(self, count: int) -> list[Frame]:
        return [frame for _, frame in zip(range(count), self, strict=False)]

    def until(self, event: str) -> list[Frame]:
        """The frames up to and including the first of this name."""
        frames: list[Frame] = []
        for frame in self:
            frames.append(frame)
            if frame.event == event:
                return frames
        raise AssertionError(f"the stream ended without {event}: {frames[-3:]}")

    def raw_until(self, last: bytes) -> list[bytes]:
        """The lines as they came, before the one that is `last`."""
        lines: list[bytes] = []
        for line in self._response:
            if line.rstrip() == last:
                break
            lines.append(line.rstrip())
        return lines

    def close(self) -> None:
        self._response.close()
        self._connection.close()


@dataclass
class Client:
    """One principal's way in."""

    hub: RunningHub
    token: str | None = None
    over_socket: bool = False
    headers: dict[str, str] = field(default_factory=dict[str, str])

    def connect(self) -> Connection:
        return self.hub.connect(over_socket=self.over_socket)

    def start(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[Connection, Response]:
        connection = self.connect()
        own = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            connection.request(method, path, body, {**own, **self.headers, **headers})
            return connection, connection.getresponse()
        except BaseException:
            connection.close()
            raise

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """Send a request; header names have underscores for dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection, response = self.start(method, path, body, named)
        try:
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Reply(status=response.status, headers=fields, body=response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Reply:
        return self.request("GET", path, None, **headers)

    def post(self, operation: str, given: Mapping[str, object], **headers: str) -> Reply:
        """Call an operation, whatever comes of it."""
        headers.setdefault("Content_Type", "application/json")
        return self.request("POST", f"/v1/{operation}", json.dumps(given).encode(), **headers)

    def call(self, operation: str, **given: object) -> Json:
        """Call an operation that must succeed."""
        reply = self.post(operation, given)
        assert reply.status == 200, reply.body
        return reply.json

    def room(self, title: str = "a room") -> str:
        return cast("str", self.call("rooms.create", title=title)["room_id"])

    def append(self, room_id: str, **data: object) -> int:
        """Append an event and return its seq."""
        event = cast("Json", self.call("events.append", room_id=room_id, kind="x.test.event", data=data)["event"])
        return cast("int", event["seq"])

    def stream(self, room_id: str, query: str = "", **headers: str) -> Stream:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection, response = self.start("GET", f"/v1/events?room_id={room_id}&follow=true{query}", None, named)
        assert response.status == 200, response.read()
        return Stream(connection, response)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """What a browser holds that has followed a one-time link."""

    url: str
    """The page, under its own name."""
    cookie: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Host": self.url.removeprefix("http://"), "Cookie": self.cookie}


def signed_in(hub: RunningHub, link: str) -> SignedIn:
    """Follow a one-time link as a browser does: on to the page's own name, and there to a cookie."""
    path = "/" + link.partition("//")[2].partition("/")[2]
    hop = Client(hub).get(path)
    assert hop.status == 200, hop.body
    url = hop.body.decode().partition('data-go="')[2].partition("/login")[0]
    reply = Client(hub, headers={"Host": url.removeprefix("http://")}).get(path)
    assert reply.status == 200, reply.body
    return SignedIn(url=url, cookie=reply.headers["set-cookie"].partition(";")[0])


@dataclass
class RunningHub:
    """`tally up` in a process, with its data directory and perhaps a PostgreSQL database."""

    data_dir: Path
    database_url: str | None = None
    program: Sequence[str] = (TALLY, "up")
    environ: dict[str, str] = field(default_factory=dict[str, str])
    port: int = 0
    greeting: list[str] = field(default_factory=list[str])

    def start(self, *args: str) -> RunningHub:
        self.greeting.clear()
        self.process = subprocess.Popen(
            [sys.executable, *self.program, "--port", str(self.port), *args],
            env=self.settings,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        for line in self.process.stdout:
            self.greeting.append(line.rstrip())
            if "stops it" in line:
                break
        self.port = int(self.greeting[0].partition("/login")[0].rpartition(":")[2]) if self.greeting else 0
        assert self.process.poll() is None, "the hub did not start"
        return self

    def connect(self, *, over_socket: bool) -> Connection:
        if over_socket:
            return _Unix(self.data_dir / "hub.sock")
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    @property
    def settings(self) -> dict[str, str]:
        keep = {name: value for name, value in os.environ.items() if not name.startswith("TALLYSTICK_")}
        url = {"TALLYSTICK_DATABASE_URL": self.database_url} if self.database_url else {}
        return {**keep, "TALLYSTICK_DATA_DIR": str(self.data_dir), **url, **self.environ}

    @property
    def user(self) -> Client:
        """The person who owns the hub, by the token of its first start."""
        return Client(self, (self.data_dir / "token").read_text().strip())

    @property
    def local(self) -> Client:
        """A process of the same user on the Unix socket."""
        return Client(self, over_socket=True)

    def agent(self, name: str, room_id: str | None = None, reach: Reach = Reach.WORK) -> Client:
        """An agent with a token of its own, issued as `tally token` does it: in the store, from another process."""
        store = Hub.open(Settings(data_dir=self.data_dir, database_url=self.database_url))
        try:
            issued = tokens.issue(store, principal=name, room_id=room_id, reach=reach)
        finally:
            store.close()
        return Client(self, issued.secret)

    def control(self, command: str, *args: str) -> subprocess.CompletedProcess[str]:
        """Run `tally` for this hub."""
        return subprocess.run(
            [TALLY, command, *args],
            env=self.settings,
            capture_output=True,
            text=True,
            check=False,
        )

    def log(self) -> list[Json]:
        return [json.loads(line) for line in (self.data_dir / "hub.log").read_text().splitlines()]

    def logged(self, reply: Reply) -> Json:
        """The line of log about a request, once it has been written."""
        wanted = reply.headers["x-request-id"]
        return eventually(lambda: next((line for line in self.log() if line.get("request") == wanted), None))

    def kill(self) -> None:
        self.process.kill()
        self.ended()

    def stop(self) -> int:
        """End it as `tally down` does, and return its exit code."""
        self.process.terminate()
        return self.ended()

    def ended(self) -> int:
        """Wait for its end; the exit code."""
        code = self.process.wait(60)
        if self.process.stdout:
            self.process.stdout.close()
        return code
