"""Talking to the bus of a running hub: one peer over the socket or over HTTP, with the same words."""

from __future__ import annotations

import itertools
import json
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

from tests.http.running import Client, RunningHub, Stream

Row: TypeAlias = dict[str, Any]

_ids = itertools.count(1)


def envelope(type: str, src: str, **fields: object) -> Row:
    return {"v": 1, "type": type, "id": f"r{next(_ids)}", "ts": "2026-01-31T12:00:00.000Z", "src": src, **fields}


class Way(Protocol):
    """A connection of the bus, whatever carries it."""

    def exchange(self, line: bytes) -> Row:
        """Send one line and give its reply; what else comes is kept."""
        ...

    def receive(self) -> Row:
        """The next envelope that is no reply."""
        ...

    def close(self) -> None: ...


class SocketWay:
    def __init__(self, hub: RunningHub) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(60)
        self._socket.connect(str(hub.data_dir / "bus.sock"))
        self._file = self._socket.makefile("rb")
        self._kept: deque[Row] = deque()

    def exchange(self, line: bytes) -> Row:
        self.send(line + b"\n")
        while not _is_reply(found := self.next()):
            self._kept.append(found)
        return found

    def send(self, content: bytes) -> None:
        self._socket.sendall(content)

    def next(self) -> Row:
        """Whatever comes next."""
        line = self._file.readline()
        if not line:
            raise EOFError
        return cast("Row", json.loads(line))

    def receive(self) -> Row:
        return self._kept.popleft() if self._kept else self.next()

    def end_sending(self) -> None:
        self._socket.shutdown(socket.SHUT_WR)

    def rest(self) -> list[Row]:
        """Everything until the hub closes the connection."""
        return [json.loads(line) for line in self._file]

    def close(self) -> None:
        self._file.close()
        self._socket.close()


class HttpWay:
    """The stream as the way back, and a request for each envelope."""

    def __init__(self, client: Client, query: str = "", **headers: str) -> None:
        self.client = client
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection, response = client.start("GET", f"/v1/bus/stream{query}", None, named)
        assert response.status == 200, response.read()
        self.stream = Stream(connection, response)
        self._frames = iter(self.stream)
        self.welcome = self.receive()
        self.name = cast("str", self.welcome["payload"]["connection"])

    def exchange(self, line: bytes) -> Row:
        reply = self.client.request("POST", "/v1/bus", line, Content_Type="application/json", Tally_Bus=self.name)
        return cast("Row", reply.json)

    def receive(self) -> Row:
        return cast("Row", next(self._frames).json)

    def close(self) -> None:
        self.stream.close()


def _is_reply(found: Row) -> bool:
    return "status" in found


Opening: TypeAlias = Callable[[RunningHub], Way]
WAYS: dict[str, Opening] = {"socket": SocketWay, "http": lambda hub: HttpWay(hub.local)}


class BusPeer:
    """One agent, script or person at a connection."""

    def __init__(self, way: Way, src: str, session: str | None = None) -> None:
        self.way, self.src, self.session = way, src, session

    def ask(self, type: str, payload: Row | None = None, **fields: object) -> Row:
        """Send an envelope and give the whole reply."""
        here = {"session": self.session} if self.session else {}
        given = envelope(type, self.src, **{**here, **fields}, **({} if payload is None else {"payload": payload}))
        reply = self.way.exchange(json.dumps(given).encode())
        assert reply["corr"] == given["id"], reply
        return reply

    def do(self, type: str, payload: Row | None = None, **fields: object) -> Row:
        """Send an envelope that must succeed and give its payload."""
        reply = self.ask(type, payload, **fields)
        assert reply["status"] == "ok", reply
        return cast("Row", reply["payload"])

    def refused(self, type: str, payload: Row | None = None, **fields: object) -> str:
        """The code with which an envelope is refused."""
        reply = self.ask(type, payload, **fields)
        assert reply["status"] == "error", reply
        assert set(reply["error"]) == {"code", "message", "hint", "retryable", "details"}
        return cast("str", reply["error"]["code"])

    def submit(self, *actions: Row, group: str = "", **more: object) -> Row:
        placed = [{**action, "action_index": index} for index, action in enumerate(actions)]
        return self.do(
            "action.submit", {"group_id": group or f"g-{actions[0]['action_id']}", "actions": placed, **more}
        )

    def answer(self, action_id: str, *statuses: str, **more: object) -> None:
        for status in statuses:
            self.do("action.result", {"action_id": action_id, "status": status, **more})

    def receive(self, type: str) -> Row:
        found = self.way.receive()
        assert found["type"] == type, found
        return found

    def handed(self) -> str:
        """The id of the action that is delivered next."""
        (action,) = cast("Sequence[Row]", self.receive("action.submit")["payload"]["actions"])
        return cast("str", action["action_id"])

    def close(self) -> None:
        self.way.close()


class BusSession:
    """A session in a running hub, and the peers that are opened in it."""

    def __init__(self, hub: RunningHub, opening: Opening) -> None:
        self.hub, self._opening = hub, opening
        self._peers: list[BusPeer] = []
        self.session = ""

    def peer(self, src: str) -> BusPeer:
        found = BusPeer(self._opening(self.hub), src, self.session or None)
        self._peers.append(found)
        return found

    def agents(self, *names: str) -> Iterator[BusPeer]:
        """Agents that are in the session and connected."""
        if not self.session:
            opener = self.peer(names[0])
            self.session = cast("str", opener.ask("session.create", {"name": "a session"})["session"])
            opener.close()
        for name in names:
            peer = self.peer(name)
            peer.do("agent.add", {"id": name})
            yield peer

    def close(self) -> None:
        for peer in self._peers:
            peer.close()


def running(folder: Path, database_url: str | None = None) -> RunningHub:
    return RunningHub(folder / "data", database_url, environ={"TALLYSTICK_HTTP_RATE": "0"})
