"""Who is at the other end of a connection, as the server that runs the app knows it from the kernel.

ASGI has no field for it, so it travels in two scope extensions, both of which a server may leave out:

    scope["extensions"]["tallystick.peer"]   {"pid": 4711, "uid": 1000}: the process at the other end of a Unix socket.
                                             Absent: a client from the network, which has to show a token.
    scope["extensions"]["tallystick.abort"]  a callable that drops the connection with whatever was not sent yet.
                                             Absent: a reader that takes nothing in is left to the server's own bounds.

A server that puts the same dict into every request of a connection saves looking up the same process again.
"""

from __future__ import annotations

import socket
from asyncio import BaseTransport
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NotRequired, TypedDict

from starlette.types import Scope

from tallystick.harnesses import identity, processes
from tallystick.harnesses.identity import Surface
from tallystick.harnesses.processes import Ancestor
from tallystick.harnesses.registry import HarnessSession
from tallystick.hub import local_sockets
from tallystick.kernel.caller import Caller
from tallystick.surfaces.http.errors import NamelessCaller

PEER = "tallystick.peer"
ABORT = "tallystick.abort"


class Facts(TypedDict):
    """The value of `tallystick.peer`. Where the system does not name the process, `pid` is 0."""

    pid: int
    uid: int
    seen: NotRequired[PeerFacts]
    """Ours: what was seen of this process."""


@dataclass(kw_only=True)
class PeerFacts:
    """What was seen of a connected process, once and for all its requests."""

    pid: int
    callers: dict[tuple[object, ...], Caller] = field(default_factory=dict[tuple[object, ...], Caller])

    @cached_property
    def environ(self) -> Mapping[str, str]:
        return processes.environment(self.pid)

    @cached_property
    def terminal(self) -> str | None:
        return processes.terminal(self.pid)

    @cached_property
    def above(self) -> Sequence[Ancestor]:
        return tuple(processes.ancestors(self.pid))

    @cached_property
    def shares_environment(self) -> bool:
        """Whether its environment may be that of another window, which started the service above it."""
        window = identity.nearest_window(self.above)
        return window is not None and window.serves_many


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerProcess:
    """One connected process. Without a pid the socket's mode is the only check."""

    pid: int
    uid: int
    seen: PeerFacts

    def caller(
        self,
        explicit: str | None,
        surface: Surface = "cli",
        client_name: str | None = None,
        told: HarnessSession | None = None,
    ) -> Caller:
        """The agent behind this process; with the same things told it cannot change while the connection lasts."""
        local_sockets.check_user(self.uid)
        if not self.pid and not explicit:
            raise NamelessCaller
        key = (explicit, surface, told)
        if key not in self.seen.callers:
            # Whoever says its name is not asked for what only tells who is nameless: three files of /proc.
            environ: Mapping[str, str] = self.seen.environ if explicit is None else {}
            self.seen.callers[key] = identity.resolve(
                environ,
                pid=self.pid,
                user=identity.user(environ, self.uid),
                tty=self.seen.terminal if explicit is None else None,
                surface=surface,
                client_name=client_name,
                explicit=explicit,
                told=told,
                above=self.seen.above,
            )
        return self.seen.callers[key]

    def command(self, head: Mapping[bytes, bytes]) -> Caller:
        """The agent behind a request, by its headers: its name, its session, and the number it has for itself.

        A process that goes by another number there is in a namespace of its own, where its ancestors are others.
        """
        if head.get(b"tally-pid", b"%d" % self.pid) != b"%d" % self.pid:
            raise NamelessCaller
        name = head.get(b"tally-agent")
        if name is None and not (self.pid and self.seen.shares_environment):
            name = head.get(b"tally-agent-variable")
        told = HarnessSession.read(head.get(b"tally-told", b"").decode("ascii", "replace"))
        caller = self.caller(name.decode("utf-8", "replace") if name else None, told=told)
        return identity.guardian(caller, self.pid) if head.get(b"tally-session") == b"guardian" else caller

    @property
    def folder(self) -> str | None:
        """Where the process works."""
        try:
            return str(Path(f"/proc/{self.pid}/cwd").readlink())
        except OSError:
            return None


def of(scope: Scope) -> PeerProcess | None:
    """The process behind a request; None for a client from the network."""
    facts: Facts | None = _extension(scope, PEER)
    if facts is None:
        return None
    return PeerProcess(pid=facts["pid"], uid=facts["uid"], seen=facts.setdefault("seen", PeerFacts(pid=facts["pid"])))


def abort(scope: Scope) -> None:
    """Drop the connection of a request, where the server can."""
    drop: Callable[[], object] | None = _extension(scope, ABORT)
    if drop is not None:
        drop()


def facts_of(transport: BaseTransport) -> Facts | None:
    """What the kernel says about the peer of a Unix socket; None for TCP."""
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is None or sock.family != socket.AF_UNIX:
        return None
    pid, uid = local_sockets.peer(sock)
    return {"pid": pid or 0, "uid": uid}


def _extension(scope: Scope, name: str) -> Any:
    extensions: dict[str, Any] = scope.get("extensions") or {}
    return extensions.get(name)
