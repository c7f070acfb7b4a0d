"""Where the hub is: at its Unix socket or its address, as the data directory says, or wherever the caller says."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast

from tallystick.kernel.errors import Unavailable

Over: TypeAlias = Literal["socket", "tcp"]


class HubNotRunning(Unavailable):
    """No hub is running in this data directory."""

    hint = "Start one with `tally up`, or name its address and a token."


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    url: str
    socket: str | None = None
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Asked anew at every connection, since a hub that starts again may listen elsewhere."""

    data_dir: Path
    over: Over = "socket"
    url: str | None = None
    token: str | None = field(default=None, repr=False)

    def find(self) -> Address:
        if self.url is not None:
            return Address(url=self.url.rstrip("/"), token=self.token)
        try:
            card = cast("dict[str, object]", json.loads((self.data_dir / "hub.json").read_bytes()))
            if self.over == "socket":
                return Address(url="http://localhost", socket=_answering(str(card["http_socket"])))
            token = self.token or (self.data_dir / "token").read_text("utf-8").strip()
            return Address(url=str(card["url"]), token=token)
        except (OSError, ValueError, KeyError) as absent:
            raise HubNotRunning(f"No hub is running in {self.data_dir}.") from absent

    def bus_socket(self) -> str:
        """The socket of the bus, which may be one that a killed hub has left behind."""
        try:
            card = cast("dict[str, object]", json.loads((self.data_dir / "hub.json").read_bytes()))
            return str(card["bus_socket"])
        except (OSError, ValueError, KeyError) as absent:
            raise HubNotRunning(f"No hub is running in {self.data_dir}.") from absent


def _answering(path: str) -> str:
    """The path, once somebody takes connections there: a hub that was killed leaves its files behind."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.connect(path)
    return path
