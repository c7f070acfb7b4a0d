"""Who is at the other end of the socket, where the system says it."""

from __future__ import annotations

import socket

from tallystick.harnesses import processes
from tallystick.hub import local_sockets
from tallystick.hub.visitor import Visitor
from tallystick.kernel.caller import Caller, SessionKind


def visitor(sock: socket.socket) -> Visitor:
    """The process at the other end, trusted like whoever can open the store; refused when it is somebody else's."""
    pid, uid = local_sockets.peer(sock)
    return admitted(pid or 0, uid)


def admitted(pid: int, uid: int) -> Visitor:
    local_sockets.check_user(uid)
    # It has no name until its first envelope gives it one.
    process = processes.facts(pid) if pid else None
    return Visitor(caller=Caller(agent_id="", session=SessionKind.NAMED, process=process), trusted=True)
