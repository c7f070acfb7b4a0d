"""Where the hub is, and just enough HTTP/1.1 to talk to it: one request after the other on a Unix socket or over TCP.

The data directory says where its hub listens, unless the caller names an address. It uses sockets and nothing above
them: a command asks its hub in less time than importing an HTTP library takes.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import select
import socket

from tallystick.kernel import places
from tallystick.kernel.errors import Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    Over: TypeAlias = Literal["socket", "tcp"]
    from collections.abc import Iterator, Mapping


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


class HubLocation:
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
        if not self._runs():
            raise self._absent()
        try:
            token = self._token or _read(f"{self.data_dir}/token").decode().strip()
        except OSError as absent:
            raise self._absent() from absent
        return Address(url=str(card.get("url")), token=token)

    def _runs(self) -> bool:
        """Whether a hub holds the lock: after one that was killed anybody may listen at its address for a token."""
        try:
            descriptor = os.open(f"{self.data_dir}/hub.lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

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


CONNECT_SECONDS = 5.0
PIECE = 65536
LONGEST_HEAD = 256 * 1024


class Stopped(Exception):
    """The caller does not want the answer any more."""


class Unreachable(ConnectionError):
    """Nobody takes connections at that address."""


class Garbled(ConnectionError):
    """What answers does not speak HTTP."""


class HttpResponse:
    __slots__ = ("_connection", "headers", "status")

    def __init__(self, connection: Connection, status: int, headers: list[tuple[str, str]]) -> None:
        self._connection, self.status, self.headers = connection, status, headers

    def header(self, name: str) -> str:
        return next((value for each, value in self.headers if each == name), "")

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes."""
        return self._connection.body(self)

    def read(self) -> bytes:
        return b"".join(self.pieces())


class Connection:
    """One connection, used by one thread at a time. Every failure of it is an OSError."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.used = False
        """Whether a request was answered on it."""
        self._rest = b""
        self._ends = False
        host, port, tls = address.parts()
        try:
            if address.socket:
                self._socket = socket.socket(socket.AF_UNIX)
                self._connect(address.socket)
            else:
                self._socket = socket.create_connection((host, port), CONNECT_SECONDS)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls:
                import ssl

                self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=host)
        except OSError as absent:
            raise Unreachable(str(absent)) from absent

    def _connect(self, path: str) -> None:
        try:
            self._socket.settimeout(CONNECT_SECONDS)
            self._socket.connect(path)
            if not places.is_ours(self._socket):
                raise ConnectionRefusedError(errno.ECONNREFUSED, "another user listens there", path)
        except OSError:
            self._socket.close()
            raise

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        seconds: float | None = None,
        stop: int | None = None,
    ) -> HttpResponse:
        """The head of the answer. Waits `seconds` for every part of it, and for the first until `stop` is readable."""
        self._socket.settimeout(seconds)
        lines = [f"{method} {path} HTTP/1.1", f"host: {self.address.host}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None:
            lines.append(f"content-length: {len(body)}")
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode() + (body or b""))
        if stop is not None:
            self._await(stop, seconds)
        return self._head()

    def body(self, response: HttpResponse) -> Iterator[bytes]:
        length = response.header("content-length")
        if response.status in {204, 304}:
            return
        if "chunked" in response.header("transfer-encoding").lower():
            yield from self._chunks()
        elif length:
            yield from self._exactly(_number(length, 10))
        else:
            self._ends = True
            while piece := self._some():
                yield piece
        self.used = True

    @property
    def reusable(self) -> bool:
        """Whether another request may follow, as far as can be seen from here."""
        if not self.used or self._ends or self._rest:
            return False
        return not select.select([self._socket], [], [], 0)[0]

    def close(self) -> None:
        self._socket.close()

    def cut(self) -> None:
        """End a read in another thread."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # It was over already.

    def _await(self, stop: int, seconds: float | None) -> None:
        readable, _, _ = select.select([self._socket, stop], [], [], seconds)
        if not readable:
            raise TimeoutError("the hub does not answer in time")
        if self._socket not in readable:
            raise Stopped

    def _head(self) -> HttpResponse:
        head = self._until(b"\r\n\r\n").decode("utf-8", "replace").split("\r\n")
        version, _, status = head[0].partition(" ")
        if not version.startswith("HTTP/1."):
            raise Garbled(f"{head[0][:40]!r} is no answer")
        headers = [
            (name.strip().lower(), value.strip()) for name, _, value in (each.partition(":") for each in head[1:])
        ]
        response = HttpResponse(self, _number(status[:3], 10), headers)
        self._ends = response.header("connection").lower() == "close"
        return response

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._rest:
            if len(self._rest) > LONGEST_HEAD:
                raise Garbled("the answer's head has no end")
            self._rest += self._more()
        found, _, self._rest = self._rest.partition(mark)
        return found

    def _exactly(self, count: int) -> Iterator[bytes]:
        while count:
            piece = self._rest[:count] or self._more()
            self._rest = self._rest[count:] if self._rest else piece[count:]
            piece = piece[:count]
            count -= len(piece)
            yield piece

    def _chunks(self) -> Iterator[bytes]:
        while size := _number(self._until(b"\r\n").partition(b";")[0].decode("latin-1"), 16):
            yield from self._exactly(size)
            self._until(b"\r\n")
        while self._until(b"\r\n"):
            pass  # Trailers.

    def _more(self) -> bytes:
        piece = self._socket.recv(PIECE)
        if not piece:
            raise ConnectionResetError("the hub went away in the middle of an answer")
        return piece

    def _some(self) -> bytes:
        if self._rest:
            piece, self._rest = self._rest, b""
            return piece
        return self._socket.recv(PIECE)


def _number(text: str, base: int) -> int:
    try:
        return int(text, base)
    except ValueError:
        raise Garbled(f"{text[:40]!r} is no number") from None
