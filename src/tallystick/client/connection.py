"""Just enough HTTP/1.1 for a hub: one request after the other on a Unix socket or over TCP, and streams of events.

It uses sockets and nothing above them: a command asks its hub in less time than importing an HTTP library takes.
"""

from __future__ import annotations

import select
import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tallystick.client.place import Address

CONNECT_SECONDS = 5.0
PIECE = 65536
LONGEST_HEAD = 256 * 1024


class Stopped(Exception):
    """The caller does not want the answer any more."""


class Unreachable(ConnectionError):
    """Nobody takes connections at that address."""


class Garbled(ConnectionError):
    """What answers does not speak HTTP."""


class Response:
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
    ) -> Response:
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

    def body(self, response: Response) -> Iterator[bytes]:
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

    def _head(self) -> Response:
        head = self._until(b"\r\n\r\n").decode("utf-8", "replace").split("\r\n")
        version, _, status = head[0].partition(" ")
        if not version.startswith("HTTP/1."):
            raise Garbled(f"{head[0][:40]!r} is no answer")
        headers = [
            (name.strip().lower(), value.strip()) for name, _, value in (each.partition(":") for each in head[1:])
        ]
        response = Response(self, _number(status[:3], 10), headers)
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
