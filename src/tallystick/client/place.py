"""Where the hub is: at its Unix socket or its address, as the data directory says, or wherever the caller says."""

from __future__ import annotations

import json
import os

from tallystick.kernel import places
from tallystick.kernel.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    Over: TypeAlias = Literal["socket", "tcp"]

PORTS = {"http": 80, "https": 443}


class HubNotRunning(Unavailable):
    """No hub is running in this data directory."""

    hint = "Start one with `tally up`, or name its address and a token."


class Address:
    __slots__ = ("_token", "socket", "url")

    def __init__(self, *, url: str, socket: str | None = None, token: str | None = None) -> None:
        self.url, self.socket, self._token = url, socket, token

    @property
    def token(self) -> str | None:
        return self._token

    @property
    def host(self) -> str:
        return self.url.partition("://")[2].partition("/")[0]

    @property
    def prefix(self) -> str:
        """What stands before every path, for a hub behind some other server."""
        _, slash, rest = self.url.partition("://")[2].partition("/")
        return f"{slash}{rest}".rstrip("/")

    def parts(self) -> tuple[str, int, bool]:
        """Host, port, and whether it speaks TLS."""
        scheme = self.url.partition("://")[0].lower()
        host, colon, port = self.host.rpartition(":")
        if not colon or "]" in port:
            host, port = self.host, ""
        if scheme not in PORTS or not (port.isdigit() or not port):
            raise HubNotRunning(f"'{self.url[:80]}' is no address of a hub.")
        return host.strip("[]"), int(port or PORTS[scheme]), scheme == "https"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Address) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, str | None, str | None]:
        return self.url, self.socket, self._token


class Place:
    """Asked anew at every connection, since a hub that starts again may listen elsewhere."""

    def __init__(
        self,
        *,
        data_dir: str | os.PathLike[str] | None = None,
        over: Over = "socket",
        url: str | None = None,
        token: str | None = None,
    ) -> None:
        self.data_dir: str = os.path.expanduser(str(data_dir)) if data_dir else places.data_dir()  # noqa: PTH111
        self.over: Over = over
        self.url = url
        self._token = token

    def find(self) -> Address:
        if self.url is not None:
            return Address(url=self.url.rstrip("/"), token=self._token)
        card = self._card()
        if self.over == "socket":
            return Address(url="http://localhost", socket=str(card.get("http_socket")))
        try:
            token = self._token or _read(f"{self.data_dir}/token").decode().strip()
        except OSError as absent:
            raise self._absent() from absent
        return Address(url=str(card.get("url")), token=token)

    def bus_socket(self) -> str:
        """The socket of the bus, which may be one that a killed hub has left behind."""
        return str(self._card().get("bus_socket"))

    def serves(self, database_url: str | None) -> bool:
        """Whether the hub that shows itself here works on that database, or on this data directory's file for None."""
        return self._card().get("database") == places.database_mark(database_url)

    def _card(self) -> dict[str, object]:
        try:
            card: object = json.loads(_read(f"{self.data_dir}/hub.json"))
        except (OSError, ValueError) as absent:
            raise self._absent() from absent
        if not isinstance(card, dict):
            raise self._absent()
        return card  # pyright: ignore[reportUnknownVariableType] - JSON has text keys

    def _absent(self) -> HubNotRunning:
        return HubNotRunning(f"No hub is running in {self.data_dir}.")


def _read(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to import
        return file.read()
