"""Unix sockets in the data directory: only its user may connect, and every connection is let go when the hub stops."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias, cast

from tallystick.kernel.errors import ForeignUser

Converse: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_CREDENTIALS = struct.Struct("3i")


def peer(sock: socket.socket) -> tuple[int | None, int]:
    """The pid and uid at the other end, as the kernel says; the pid is 0 in a namespace that cannot be seen from here.

    Without SO_PEERCRED it is None and the user ours: the socket's mode is then the only check that there is.
    """
    if not hasattr(socket, "SO_PEERCRED"):
        return None, os.geteuid()
    pid, uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return pid, uid


def check_user(uid: int) -> None:
    """Refuse another user's process, although it could connect."""
    if uid != os.geteuid():
        raise ForeignUser


def bound(path: Path) -> socket.socket:
    """What an earlier hub left behind is replaced: only one runs in a data directory."""
    _remove(path)
    listening = socket.socket(socket.AF_UNIX)
    before = os.umask(0o177)
    try:
        listening.bind(str(path))
    finally:
        os.umask(before)
    return listening


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


@asynccontextmanager
async def listening(
    protocol: Callable[[], asyncio.BaseProtocol], path: Path, *, backlog: int = 100
) -> AsyncGenerator[None]:
    """Take connections for as long as this lasts, each with a protocol of its own."""
    server = await asyncio.get_running_loop().create_unix_server(protocol, sock=bound(path), backlog=backlog)
    try:
        yield
    finally:
        server.close()
        _remove(path)


@asynccontextmanager
async def taking(converse: Converse, path: Path, log: logging.Logger, *, limit: int) -> AsyncGenerator[None]:
    """The same for conversations over streams; those that are open at the end are let go."""
    connections = _Connections(converse, log)

    def protocol() -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(limit=limit), connections.serve)

    try:
        async with listening(protocol, path):
            yield
    finally:
        await connections.close()


class _Connections:
    def __init__(self, converse: Converse, log: logging.Logger) -> None:
        self._converse, self._log = converse, log
        self._open: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine = cast("asyncio.Task[None]", asyncio.current_task())
        self._open.add(mine)
        try:
            await self._converse(reader, writer)
        except (ConnectionError, asyncio.CancelledError):
            pass  # The peer left, or the hub is about to.
        except Exception:  # noqa: BLE001 - the outermost of a connection: one that fails ends no other
            self._log.exception("a connection ended by itself")
        finally:
            self._open.discard(mine)
            writer.close()

    async def close(self) -> None:
        ending = tuple(self._open)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
