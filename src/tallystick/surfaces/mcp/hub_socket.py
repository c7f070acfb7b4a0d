"""The hub's side of `tally mcp`: a Unix socket on which every connection is one MCP client with a server of its own.

Whoever connects runs as the hub's own user, and the kernel says which process it is; another user's is refused. A
process that cannot be seen from here, or means another store, gets no welcome and serves its client by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import msgspec

from tallystick.hub import local_sockets
from tallystick.hub.serving import Serving
from tallystick.hub.settings import Settings
from tallystick.kernel import places
from tallystick.kernel.errors import ForeignUser
from tallystick.kernel.hints import tool_call
from tallystick.surfaces.mcp.shim import OURS, SETS, SOCKET

if TYPE_CHECKING:
    import anyio
    from mcp.server.lowlevel import Server

    from tallystick.surfaces.mcp.server import Tools

LONGEST_LINE = 64 * 1024 * 1024
HELLO_SECONDS = 10.0
WELCOME = {"welcome": True}

log = logging.getLogger("tallystick.mcp")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """What a client's process says of itself."""

    pid: Annotated[int, msgspec.Meta(gt=0)]
    environ: Mapping[str, str]
    folder: str | None
    database: str | None
    tools: str


@asynccontextmanager
async def opened(serving: Serving, folder: Path) -> AsyncGenerator[None]:
    """Take clients for as long as this lasts; those who are connected at its end are let go."""
    sessions = Sessions(serving, places.database_mark(Settings.of().database_url))
    async with local_sockets.taking(sessions.serve, folder / SOCKET, log, limit=LONGEST_LINE):
        yield


class Sessions:
    def __init__(self, serving: Serving, database: str | None) -> None:
        self._serving, self._database = serving, database

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if hello := await self._hello(reader, writer):
            await self._converse(hello, reader, writer)

    async def _hello(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Hello | None:
        """The client's first line, if it may stay."""
        pid, uid = local_sockets.peer(writer.get_extra_info("socket"))
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                hello = msgspec.json.decode(await reader.readline(), type=dict[str, Hello]).get(OURS)
            local_sockets.check_user(uid)
        except ForeignUser as stranger:
            tell(writer, {"refused": stranger.payload(tool_call)})
            return None
        except (TimeoutError, ValueError):
            return None
        # A process that has another number for itself is not in our namespace, and its ancestors cannot be seen.
        if hello is None or pid not in {None, hello.pid} or hello.tools not in SETS:
            return None
        if hello.database != self._database:
            return None
        tell(writer, WELCOME)
        return hello

    async def _converse(self, hello: Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The SDK is slow to import, and meanwhile the hub serves.
        server = await asyncio.to_thread(self._server, hello, writer)
        from mcp.server.stdio import stdio_server

        from tallystick.surfaces.mcp.server import Screened

        lines = cast("anyio.AsyncFile[str]", cast("object", _Lines(reader, writer)))
        async with stdio_server(lines, lines) as (incoming, outgoing):
            await server.run(Screened(incoming, outgoing), outgoing, server.create_initialization_options())

    def _server(self, hello: Hello, writer: asyncio.StreamWriter) -> Server[None]:
        # The whole package first: two threads that enter its import cycles from different ends would deadlock.
        import mcp as _  # noqa: F401

        from tallystick.surfaces.mcp.server import ProcessClient, build_server

        async def serving() -> Serving:
            return self._serving

        def folder() -> str | None:
            return hello.folder if hello.folder and Path(hello.folder).is_dir() else None

        client = ProcessClient(
            serving,
            pid=hello.pid,
            environ=hello.environ,
            folder=folder,
            renamed=lambda name: tell(writer, {"called": name}),
        )
        return build_server(client, cast("Tools", hello.tools))


def tell(writer: asyncio.StreamWriter, what: Mapping[str, object]) -> None:
    """Say something to the process at the other end, not to the client behind it."""
    with suppress(ConnectionError):
        writer.write(msgspec.json.encode({OURS: what}) + b"\n")


class _Lines:
    """A connection as the SDK's standard input and output."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def __aiter__(self) -> AsyncIterator[str]:
        while line := await self._reader.readline():
            yield line.decode("utf-8", "replace")

    async def write(self, text: str) -> None:
        self._writer.write(text.encode())

    async def flush(self) -> None:
        with suppress(ConnectionError):
            await self._writer.drain()
