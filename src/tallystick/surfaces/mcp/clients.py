"""What a transport brings to the MCP server: who is calling, from where, and the hub that answers.

Asked anew at every request: MCP of 2026-07-28 has no session to tie anything to.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mcp.server.context import ServerRequestContext

if TYPE_CHECKING:
    from tallystick.hub.serving import Serving
    from tallystick.hub.visitor import Visitor
    from tallystick.kernel.caller import Caller

McpRequest: TypeAlias = ServerRequestContext[None, Any]
"""One MCP request as the SDK hands it over."""


class ClientContext(Protocol):
    async def visitor(self, request: McpRequest, /) -> Visitor: ...

    def workspace(self, request: McpRequest, /) -> str | None:
        """Where the caller works, for those who join without saying so."""
        ...

    async def serving(self) -> Serving: ...

    def named(self, name: str, /) -> None:
        """The caller has joined under a name it chose itself (`agent_id_override`)."""
        ...


class ProcessClient:
    """A client on this machine, known by the process that it started as its server."""

    def __init__(
        self,
        serving: Callable[[], Awaitable[Serving]],
        *,
        pid: int,
        environ: Mapping[str, str],
        folder: Callable[[], str | None],
        called: str | None = None,
        renamed: Callable[[str], None] = lambda _name: None,
    ) -> None:
        """`pid`, `environ` and `folder` are those of that process; `renamed` hears of a name the caller chose."""
        self._serving, self._pid, self._environ, self._folder = serving, pid, environ, folder
        self._called, self._renamed = called, renamed
        self._callers: dict[str | None, Caller] = {}

    async def visitor(self, request: McpRequest) -> Visitor:
        from tallystick.hub.visitor import Visitor

        info = request.session.client_params
        client = info.client_info.name if info else None
        if client not in self._callers:
            # Reads a few files of /proc; the process above us cannot change while it keeps this connection.
            self._callers[client] = self._resolved(client)
        return Visitor(caller=self._callers[client], trusted=True)

    def _resolved(self, client: str | None) -> Caller:
        from tallystick.harnesses import identity
        from tallystick.kernel.caller import SessionKind

        found = identity.resolve(self._environ, pid=self._pid, user="", tty=None, surface="mcp", client_name=client)
        name = self._called
        if name is None:
            return found
        return replace(found, agent_id=name, display_name=name, session=SessionKind.NAMED, overridden=True)

    def workspace(self, _request: McpRequest) -> str | None:
        return self._environ.get("CLAUDE_PROJECT_DIR") or self._folder()

    async def serving(self) -> Serving:
        return await self._serving()

    def named(self, name: str) -> None:
        self._called = name
        self._callers.clear()
        self._renamed(name)
