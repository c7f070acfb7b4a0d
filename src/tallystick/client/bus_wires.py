"""What carries the bus for a client that blocks: the hub's Unix socket, or requests to its address."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Protocol

import httpx2

from tallystick.client import bus_http
from tallystick.client.link import TIMEOUT
from tallystick.client.place import HubNotRunning, Place


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
        address = place.find()
        return HttpWire(address.url, address.token or "")

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
    def __init__(self, url: str, token: str) -> None:
        """Opens the stream; raises the hub's refusal, or that there is none."""
        self._http = httpx2.Client(base_url=url, headers={"authorization": f"Bearer {token}"}, timeout=TIMEOUT)
        self._came: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._welcomed: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()
        welcome = self._welcomed.get()
        if isinstance(welcome, Exception):
            self._http.close()
            raise welcome
        self._headers = bus_http.headers(bus_http.connection_of(welcome))

    def send(self, line: bytes) -> None:
        threading.Thread(target=self._post, args=(line,), daemon=True).start()

    def lines(self) -> Iterator[bytes]:
        while (line := self._came.get()) is not None:
            yield line
        self._http.close()

    def cut(self) -> None:
        self._came.put(None)

    def _post(self, line: bytes) -> None:
        try:
            reply = self._http.post(bus_http.POST, content=line, headers=self._headers)
        except (httpx2.HTTPError, RuntimeError):
            # Lost on the way, or closed meanwhile: whoever waits sends it again on the next connection.
            self._came.put(None)
        else:
            self._came.put(bus_http.replied(line, reply.content))

    def _listen(self) -> None:
        told = self._welcomed.put
        try:
            with self._http.stream("GET", bus_http.STREAM) as stream:
                if stream.status_code != 200:
                    told(bus_http.turned_away(stream.status_code, stream.read()))
                    return
                for line in stream.iter_lines():
                    if envelope := bus_http.came(line):
                        told(envelope)
                        told = self._came.put
        except (httpx2.HTTPError, RuntimeError) as wrong:
            self._welcomed.put(bus_http.lost(wrong))
        finally:
            self._welcomed.put(HubNotRunning("The hub let us go at once."))
            self._came.put(None)
