"""What carries the bus: the hub's Unix socket, or requests to its address."""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Protocol, cast

from tallystick.client import refusals
from tallystick.client.connection import Connection
from tallystick.client.place import Address, HubNotRunning, Place
from tallystick.kernel.errors import TallyError, Unavailable

STREAM, POST = "/v1/bus/stream", "/v1/bus"


class Wire(Protocol):
    """One connection of the bus. Every failure of it is an OSError."""

    def send(self, line: bytes) -> None: ...

    def lines(self) -> Iterator[bytes]:
        """What comes, replies included, until there is no more."""
        ...

    def cut(self) -> None:
        """End `lines`, from any thread."""
        ...


def wires(place: Place) -> Callable[[], Wire]:
    """How to connect to the hub of a place; refuses when none is there."""

    def connect() -> Wire:
        if place.url is None and place.over == "socket":
            return SocketWire(place.bus_socket())
        return HttpWire(place.find())

    return connect


class SocketWire:
    def __init__(self, path: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            self._socket.connect(path)
        except OSError as absent:
            self._socket.close()
            raise HubNotRunning(f"No hub is running at {path}.") from absent

    def send(self, line: bytes) -> None:
        self._socket.sendall(line)

    def lines(self) -> Iterator[bytes]:
        with self._socket, self._socket.makefile("rb") as lines:
            yield from lines

    def cut(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


class HttpWire:
    """Envelopes go out by `POST /v1/bus`, what comes is on one stream of events."""

    def __init__(self, address: Address) -> None:
        """Opens the stream; raises the hub's refusal, or that there is none."""
        self._address = address
        self._token = {"authorization": f"Bearer {address.token or ''}"}
        self._came: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stream = _connected(address)
        try:
            got = self._stream.request("GET", f"{address.prefix}{STREAM}", self._token)
            if got.status != 200:
                raise turned_away(got.status, got.read())
            lines = _envelopes(got.pieces())
            welcome = json.loads(next(lines))
        except (OSError, ValueError, StopIteration) as wrong:
            self._stream.close()
            raise _lost(wrong) from wrong
        except TallyError:
            self._stream.close()
            raise
        connection = str(welcome["payload"]["connection"])
        self._headers = {**self._token, "content-type": "application/json", "tally-bus": connection}
        threading.Thread(target=self._listen, args=(lines,), daemon=True).start()

    def send(self, line: bytes) -> None:
        # Each in its own time: a wait on the bus holds up nobody else's request.
        threading.Thread(target=self._post, args=(line,), daemon=True).start()

    def lines(self) -> Iterator[bytes]:
        while (line := self._came.get()) is not None:
            yield line

    def cut(self) -> None:
        self._came.put(None)
        self._stream.cut()

    def _post(self, line: bytes) -> None:
        try:
            connection = Connection(self._address)
            try:
                content = connection.request("POST", f"{self._address.prefix}{POST}", self._headers, line).read()
            finally:
                connection.close()
        except OSError:
            # Lost on the way, or closed meanwhile: whoever waits sends it again on the next connection.
            self._came.put(None)
        else:
            self._came.put(replied(line, content))

    def _listen(self, lines: Iterator[bytes]) -> None:
        try:
            for line in lines:
                self._came.put(line)
        except OSError:
            pass  # Cut off: as good as its end.
        finally:
            self._stream.close()
            self._came.put(None)


def _connected(address: Address) -> Connection:
    try:
        return Connection(address)
    except OSError as absent:
        raise _lost(absent) from absent


def _lost(error: Exception) -> HubNotRunning:
    return HubNotRunning(f"The hub does not answer: {error or type(error).__name__}.")


def _envelopes(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The envelopes in a stream of events."""
    rest = b""
    for piece in pieces:
        *lines, rest = (rest + piece).split(b"\n")
        yield from (line.removeprefix(b"data:").strip() for line in lines if line.startswith(b"data:"))


def replied(sent: bytes, content: bytes) -> bytes | None:
    """The line that answers an envelope; None when the connection is not there any more."""
    try:
        found = cast("dict[str, object]", json.loads(content))
    except ValueError:
        return None
    if "corr" in found:
        return content
    error = cast("dict[str, object]", found.get("error") or {})
    if error.get("code") == "unknown_connection":
        return None
    # Refused before the bus saw it.
    return json.dumps({"corr": json.loads(sent)["id"], "status": "error", "error": error}).encode()


def turned_away(status: int, content: bytes) -> TallyError:
    """Why there is no stream."""
    try:
        error = cast("dict[str, object]", json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        return HubNotRunning(f"What answers with status {status} is no hub.")
    refusal = refusals.of(status, error)
    return HubNotRunning(refusal.message) if isinstance(refusal, Unavailable) else refusal
