"""What carries a line: the hub's Unix socket. `wires_http` is the other way."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Protocol, cast

from tallystick.client.place import HubNotRunning


class Wire(Protocol):
    """One connection of the bus. Every failure of it is an OSError."""

    def send(self, line: bytes) -> None: ...

    def lines(self) -> Iterator[bytes]:
        """What comes, replies included, until there is no more."""
        ...

    def cut(self) -> None:
        """End `lines`, from any thread."""
        ...


class SocketWire:
    def __init__(self, data_dir: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            card = cast("dict[str, object]", json.loads((data_dir / "hub.json").read_bytes()))
            self._socket.connect(str(card["bus_socket"]))
        except (OSError, ValueError, KeyError) as absent:
            self._socket.close()
            raise HubNotRunning(f"No hub is running in {data_dir}.") from absent

    def send(self, line: bytes) -> None:
        self._socket.sendall(line)

    def lines(self) -> Iterator[bytes]:
        with self._socket, self._socket.makefile("rb") as lines:
            yield from lines

    def cut(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
