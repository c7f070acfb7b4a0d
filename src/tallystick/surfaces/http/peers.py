"""Who is at the other end of the Unix socket, as the kernel says, and which agent that process is."""

from __future__ import annotations

import pwd
import socket
from asyncio import BaseTransport
from dataclasses import dataclass, field
from pathlib import Path

from tallystick.harnesses import identity, processes
from tallystick.harnesses.identity import Surface
from tallystick.hub import local_sockets
from tallystick.kernel.caller import Caller
from tallystick.surfaces.http.errors import NamelessCaller


@dataclass(slots=True, kw_only=True)
class Peer:
    """One connected process. Where the system does not name it, `pid` is 0 and the socket's mode is the only check."""

    pid: int
    uid: int
    _callers: dict[tuple[str | None, Surface], Caller] = field(default_factory=dict[tuple[str | None, Surface], Caller])

    def caller(self, explicit: str | None, surface: Surface = "cli", client_name: str | None = None) -> Caller:
        """The agent behind this process; it cannot change while the connection lasts."""
        local_sockets.check_user(self.uid)
        if not self.pid and not explicit:
            raise NamelessCaller
        key = (explicit, surface)
        if key not in self._callers:
            self._callers[key] = identity.resolve(
                _environment(self.pid),
                pid=self.pid,
                user=_user(self.uid),
                tty=processes.terminal(self.pid),
                surface=surface,
                client_name=client_name,
                explicit=explicit,
            )
        return self._callers[key]

    @property
    def folder(self) -> str | None:
        """Where the process works."""
        try:
            return str(Path(f"/proc/{self.pid}/cwd").readlink())
        except OSError:
            return None


def of(transport: BaseTransport) -> Peer | None:
    """The peer of a Unix socket; None for TCP."""
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is None or sock.family != socket.AF_UNIX:
        return None
    pid, uid = local_sockets.peer(sock)
    return Peer(pid=pid or 0, uid=uid)


def _environment(pid: int) -> dict[str, str]:
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
