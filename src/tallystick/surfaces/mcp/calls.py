"""What a transport brings to the MCP server: who is calling, from where, and a hub that answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from mcp.server.context import ServerRequestContext

from tallystick.surfaces.mcp.workers import Attention, Workers

if TYPE_CHECKING:
    from tallystick.kernel.caller import Caller
    from tallystick.kernel.operation import Answer

Request: TypeAlias = ServerRequestContext[Workers, Any]
"""One MCP request as the SDK hands it over."""


class Calls(Protocol):
    """Asked anew at every request, from worker threads: MCP of 2026-07-28 has no session to tie anything to."""

    def caller(self, request: Request, /) -> Caller: ...

    def workspace(self, request: Request, /) -> str | None:
        """Where the caller works, for those who join without saying so."""
        ...

    def call(
        self,
        name: str,
        given: Mapping[str, object],
        caller: Caller,
        interest: Attention | None = None,
        /,
        *,
        key: str | None = None,
    ) -> Answer:
        """Run an operation; a write with a key that was done before only gives its answer again."""
        ...

    def notices(self, name: str, given: Mapping[str, object], answer: Answer, caller: Caller, /) -> Sequence[str]:
        """Short signs beside that answer, such as unread mail."""
        ...
