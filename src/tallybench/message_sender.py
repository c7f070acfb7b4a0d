"""A client of one message after the other over JSON lines, the same for our bus and for CCCC's daemon."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass

import msgspec

from tallybench import rooms


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """One client process: where it connects, and as whom it says what to whom."""

    socket: str
    ours: bool
    room: str
    name: str
    text: str
    to: str
    keeps: bool
    """Whether it keeps its connection, or connects for every message."""
    seconds: float

    def request(self, number: int) -> bytes:
        if self.ours:
            said = {"room_id": self.room, "text": self.text, "to": [self.to]}
            head = {"v": 1, "type": "messages.send", "id": str(number), "ts": "2026-01-31T12:00:00Z", "src": self.name}
            return msgspec.json.encode({**head, "payload": said}) + b"\n"
        # Mail is appended for its reader; the other modes also start a program to hand it to.
        said = {"group_id": self.room, "text": self.text, "to": [self.to], "by": self.name, "message_mode": "mail"}
        return msgspec.json.encode({"v": 1, "op": "send", "args": said}) + b"\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    ids: list[str]
    """Of the messages that were acknowledged."""
    took: float


class NotAcknowledged(RuntimeError):
    """A message was refused."""


class _Event(msgspec.Struct):
    id: str


class _Holding(msgspec.Struct):
    event: _Event | None = None


class _Answer(msgspec.Struct):
    """Of an answer, what says that the message was taken: ours has a payload, CCCC's a result."""

    payload: _Holding = msgspec.field(default_factory=_Holding)
    result: _Holding = msgspec.field(default_factory=_Holding)


_decode = msgspec.json.Decoder(_Answer).decode


def send(sender: Sender) -> Sent:
    """Send until the time is up, reading each answer before the next message."""
    ids = list[str]()
    connection = _connected(sender.socket)
    rooms.together()
    started = now = time.perf_counter()
    while now - started < sender.seconds:
        if not sender.keeps:
            connection.close()
            connection = _connected(sender.socket)
        ids.append(_ask(connection, sender.request(len(ids) + 1)))
        now = time.perf_counter()
    connection.close()
    return Sent(ids=ids, took=now - started)


def _connected(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(path)
    return connection


def _ask(connection: socket.socket, request: bytes) -> str:
    connection.sendall(request)
    line = b""
    while not line.endswith(b"\n"):
        part = connection.recv(65536)
        if not part:
            raise NotAcknowledged("the connection ended")
        line += part
    answer = _decode(line)
    event = answer.payload.event or answer.result.event
    if event is None:
        raise NotAcknowledged(line.decode())
    return event.id
