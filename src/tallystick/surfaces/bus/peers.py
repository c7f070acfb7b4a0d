"""Who is at the other end of the socket, where the system says it."""

from __future__ import annotations

import os
import socket

from tallystick.bus.errors import ForeignUser
from tallystick.harnesses import peers, processes
from tallystick.hub.tokens_reach import Visitor
from tallystick.kernel.caller import Caller, SessionKind


def visitor(sock: socket.socket) -> Visitor:
    """The process at the other end, trusted like whoever can open the store; refused when it is somebody else's."""
    found = peers.credentials(sock)
    return admitted(*found) if found else _trusted(0)


def admitted(pid: int, uid: int) -> Visitor:
    if uid != os.geteuid():
        raise ForeignUser
    return _trusted(pid)


def _trusted(pid: int) -> Visitor:
    # It has no name until its first envelope gives it one.
    process = processes.facts(pid) if pid else None
    return Visitor(caller=Caller(agent_id="", session=SessionKind.NAMED, process=process), trusted=True)
