"""Who is at the other end of the socket, where the system says it."""

from __future__ import annotations

import os
import socket
import struct

from tallystick.bus.errors import ForeignUser
from tallystick.harnesses import processes
from tallystick.hub.tokens_reach import Visitor
from tallystick.kernel.caller import Caller, SessionKind

_CREDENTIALS = struct.Struct("3i")


def visitor(sock: socket.socket) -> Visitor:
    """The process at the other end, trusted like whoever can open the store; refused when it is somebody else's."""
    if not hasattr(socket, "SO_PEERCRED"):
        return _trusted(0)  # The socket's mode is the only check that there is.
    pid, uid, _ = _CREDENTIALS.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return admitted(pid, uid)


def admitted(pid: int, uid: int) -> Visitor:
    if uid != os.geteuid():
        raise ForeignUser
    return _trusted(pid)


def _trusted(pid: int) -> Visitor:
    # It has no name until its first envelope gives it one.
    process = processes.facts(pid) if pid else None
    return Visitor(caller=Caller(agent_id="", session=SessionKind.NAMED, process=process), trusted=True)
