"""A call to the running hub over its Unix socket, for commands on the same machine."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import cast


class _Unix(http.client.HTTPConnection):
    def __init__(self, path: Path, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))


def get(path: Path, address: str, seconds: float = 5) -> dict[str, object] | None:
    """The JSON at an address of the hub; None when nobody answers."""
    connection = _Unix(path, seconds)
    try:
        connection.request("GET", address)
        return cast("dict[str, object]", json.loads(connection.getresponse().read()))
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
