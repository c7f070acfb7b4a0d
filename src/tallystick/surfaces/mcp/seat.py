"""One connected client: who calls from there, from where, and the hub that answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallystick.hub.hub import Hub
    from tallystick.kernel.caller import Caller
    from tallystick.kernel.operation import Answer
    from tallystick.surfaces.mcp.calls import Request
    from tallystick.surfaces.mcp.workers import Attention


class Seat:
    def __init__(
        self,
        hub: Callable[[], Hub],
        *,
        pid: int,
        environ: Mapping[str, str],
        folder: Callable[[], str | None],
        called: str | None = None,
        renamed: Callable[[str], None] = lambda _name: None,
    ) -> None:
        """`pid`, `environ` and `folder` are those of the process that the client started as its server."""
        self._hub, self._pid, self._environ, self._folder = hub, pid, environ, folder
        self._called = called
        """What the caller chose to be called when it joined with `agent_id_override`."""
        self._renamed = renamed

    def caller(self, request: Request) -> Caller:
        from tallystick.harnesses import identity
        from tallystick.kernel.caller import SessionKind

        client = request.session.client_params
        found = identity.resolve(
            self._environ,
            pid=self._pid,
            user="",
            tty=None,
            surface="mcp",
            client_name=client.client_info.name if client else None,
        )
        name = self._called
        if name is None:
            return found
        return replace(found, agent_id=name, display_name=name, session=SessionKind.NAMED, overridden=True)

    def workspace(self, _request: Request) -> str | None:
        return self._environ.get("CLAUDE_PROJECT_DIR") or self._folder()

    def call(
        self,
        name: str,
        given: Mapping[str, object],
        caller: Caller,
        interest: Attention | None = None,
        *,
        key: str | None = None,
    ) -> Answer:
        answer = self._hub().call(name, given, caller, interest, key=key)
        if name == "rooms.join" and given.get("agent_id_override") is not None:
            self._called = str(given["agent_id_override"])
            self._renamed(self._called)
        return answer

    def notices(self, name: str, given: Mapping[str, object], answer: Answer, caller: Caller) -> Sequence[str]:
        from tallystick.hub import notices

        return notices.after(self._hub(), name, given, answer, caller)
